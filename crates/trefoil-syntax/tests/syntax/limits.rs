//! Hostile files.

use std::time::{Duration, Instant};

use expect_test::expect;
use trefoil_syntax::yaml::{YamlDocument, YamlLimits, parse};
use trefoil_syntax::{FileId, SourceFile};

use crate::read;

/// The message of the only finding, which must be about a limit.
fn only(parsed: &YamlDocument) -> &str {
    assert_eq!(parsed.diagnostics.len(), 1, "{:#?}", parsed.diagnostics);
    assert!(!parsed.complete);
    assert_eq!(parsed.diagnostics[0].rule, "yaml-limit");
    &parsed.diagnostics[0].message
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let file = SourceFile::new("big.yaml", "a: b\n".repeat(20 << 20));
    let start = Instant::now();
    let parsed = parse(FileId(0), &file, &YamlLimits::default());
    expect!["the file has 104857600 bytes; the limit is 16777216"].assert_eq(only(&parsed));
    assert!(parsed.root.is_none());
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn deep_nesting_stops_at_the_limit_and_keeps_what_came_before() {
    let block: String = (0..100_000).fold(String::new(), |mut s, _| {
        s.push_str("- ");
        s
    });
    let indented: String = (0..2000).map(|i| format!("{}a:\n", " ".repeat(i))).collect();
    for text in
        ["[".repeat(100_000), "{a: ".repeat(100_000), block, indented, "? ".repeat(50_000), "[{a: ".repeat(9999)]
    {
        let text = format!("before: 1\ndeep:\n  {}", text.replace('\n', "\n  "));
        let (_, parsed) = read(&text);
        assert!(only(&parsed).contains("128"), "{}", &text[..40]);
        assert!(parsed.root.unwrap().as_mapping().unwrap().get("before").is_some());
    }
}

#[test]
fn the_depth_limit_counts_collections() {
    let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert_eq!(read(&nested(128)).1.diagnostics, []);
    only(&read(&nested(129)).1);
    // Whatever the limits say, no tree is deep enough to overflow the stack.
    let limits = YamlLimits { depth: usize::MAX, ..YamlLimits::default() };
    let parsed = parse(FileId(0), &SourceFile::new("f", nested(50_000)), &limits);
    only(&parsed);
}

#[test]
fn billion_laughs_end_at_the_node_limit() {
    let mut text = "a0: &a0 [[], [], [], [], [], [], [], [], []]\n".to_owned();
    for i in 1..30 {
        let aliases = vec![format!("*a{}", i - 1); 9].join(", ");
        text.push_str(&format!("a{i}: &a{i} [{aliases}]\n"));
    }
    let start = Instant::now();
    let (_, parsed) = read(&text);
    expect!["the file has more than 1000000 values with its aliases expanded"].assert_eq(only(&parsed));
    assert!(parsed.root.is_some());
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn merge_keys_count_what_they_copy() {
    let mut text = "a0: &a0 {k0: 1}\n".to_owned();
    for i in 1..2000 {
        text.push_str(&format!("a{i}: &a{i} {{<<: *a{}, k{i}: 1}}\n", i - 1));
    }
    only(&read(&text).1);
}

#[test]
fn a_chain_of_aliases_is_as_deep_as_what_it_expands_to() {
    let mut text = "a0: &a0 [x]\n".to_owned();
    for i in 1..100_000 {
        text.push_str(&format!("a{i}: &a{i} [*a{}]\n", i - 1));
    }
    expect!["lists and mappings are nested more than 128 levels deep"].assert_eq(only(&read(&text).1));
}

#[test]
fn findings_are_counted_too() {
    let text: String = (0..30_000).map(|_| "a: 1\n".to_owned()).collect();
    let (_, parsed) = read(&text);
    assert_eq!(parsed.diagnostics.len(), 1001);
    assert_eq!(parsed.diagnostics.last().unwrap().rule, "yaml-limit");
}

#[test]
fn many_mistakes_in_a_large_file_do_not_take_long() {
    let text: String = (0..20_000).map(|i| format!("key{i}: {{{{ a }}}} and @ [ b\n- \"x\n")).collect();
    let start = Instant::now();
    let (_, parsed) = read(&text);
    assert!(!parsed.diagnostics.is_empty());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn one_line_of_a_megabyte_is_read_and_placed() {
    let mut text = "[".to_owned();
    text.push_str(&"{a: 1, a: 2}, ".repeat(60_000));
    text.push(']');
    let start = Instant::now();
    let (files, parsed) = read(&text);
    let out = trefoil_syntax::diagnostic::render::render_text(&parsed.diagnostics, &files, Default::default());
    assert!(out.lines().all(|line| line.chars().count() < 400));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_long_text_behind_many_aliases_counts_as_often_as_it_is_there() {
    // A few kilobytes that expand to hundreds of megabytes of text, each text parsed as a template.
    let text = format!("t: &t \"{}\"\nlist:\n{}", "{{ x }} ".repeat(5000), "  - *t\n".repeat(10_000));
    let (_, parsed) = read(&text);
    expect!["the aliases in the file expand to more than 1048576 bytes of text"].assert_eq(only(&parsed));
    let few = format!("t: &t \"{}\"\nlist:\n{}", "{{ x }} ".repeat(5000), "  - *t\n".repeat(20));
    assert_eq!(read(&few).1.diagnostics, []);
}
