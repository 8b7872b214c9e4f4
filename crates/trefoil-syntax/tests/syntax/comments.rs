//! Comments are distinguished from text that looks like them.

use trefoil_syntax::yaml::find_comments;

use crate::{read, slice};

/// The comments of a text; those that are alone on their line are marked.
fn found(text: &str) -> Vec<String> {
    let (_, parsed) = read(text);
    assert!(parsed.complete, "{:?}", parsed.diagnostics);
    let all = find_comments(text, &parsed.root.unwrap()).all;
    all.iter().map(|c| format!("{}{}", if c.alone { "= " } else { "" }, slice(text, c.span))).collect()
}

#[test]
fn a_hash_in_a_scalar_is_text() {
    let text =
        "# one\na: 'x # no'\nb: \"y\n  # no\n  z\" # two\nc: u#no # three\n'd # no': [1, # four\n  2]\ne#no: 1\r\n";
    assert_eq!(found(text), ["= # one", "# two", "# three", "# four"]);
}

#[test]
fn a_block_is_text_and_its_header_is_not() {
    let text = "a: |  # one\n  text\n  # no\n\n  # no\n# two\nb: >- # three\n  x # no\n   # no\n  # no\nc: # four\n  - |+\n    # no\n\n  # five\n  - y\n";
    assert_eq!(found(text), ["# one", "= # two", "# three", "# four", "= # five"]);
}

#[test]
fn the_beginning_and_the_end_of_a_file() {
    assert_eq!(found("\u{feff}# one\r\na: 1\r\n# two\r\n"), ["= # one", "= # two"]);
    assert_eq!(found("a: 1 # one"), ["# one"]);
    assert_eq!(found("%YAML 1.2\n---\na: &x#no 1\nb: *x#no\n".replace("*x#no", "2").as_str()), [""; 0]);
}
