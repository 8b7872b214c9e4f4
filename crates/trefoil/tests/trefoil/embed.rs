//! The program in README and documentation is the example. The documentation's test shows that it runs.

use crate::root;

/// The first Rust block after a text, without the prefix of each line.
fn block(text: &str, after: &str, prefix: &str) -> String {
    let rest = text.split_once(after).unwrap_or_else(|| panic!("there is no `{after}`")).1;
    let lines =
        rest.lines().map(|line| line.strip_prefix(prefix).unwrap_or(line.trim_start_matches(prefix.trim_end())));
    let block = lines.skip_while(|line| !line.starts_with("```")).skip(1).take_while(|line| !line.starts_with("```"));
    block.map(|line| format!("{line}\n")).collect()
}

#[test]
fn readme_documentation_and_example_show_one_program() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let example = read("crates/trefoil/examples/embed.rs");
    let (_, program) = example.split_once("\n\n").unwrap();
    assert_eq!(block(&read("README.md"), "## In your own program", ""), program);
    assert_eq!(block(&read("crates/trefoil/src/lib.rs"), "//! # Example", "//! "), program);
}
