//! What the library re-exports is what the map of the code lists.

use std::collections::BTreeSet;

/// The names in braces, or at the end of a path, of `pub use` lines, and the public modules.
fn exported() -> BTreeSet<String> {
    let text = include_str!("../../src/lib.rs");
    let uses = text.split("\npub use ").skip(1).filter_map(|rest| rest.split_once(';'));
    let names = uses.flat_map(|(path, _)| match path.split_once('{') {
        Some((_, inside)) => inside.trim_end_matches('}').split(',').map(str::trim).collect::<Vec<_>>(),
        None => path.rsplit("::").take(1).collect(),
    });
    let names = names.filter(|name| !name.is_empty()).map(|name| name.rsplit(" as ").next().unwrap_or(name).to_owned());
    let modules = text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    names.chain(modules.map(str::to_owned)).collect()
}

#[test]
fn the_map_lists_what_the_library_exports() {
    let page = std::fs::read_to_string(crate::root().join("docs/architecture.md")).unwrap();
    let table = page.split("It re-exports:").nth(1).and_then(|rest| rest.split("\n\n").nth(1)).unwrap();
    let listed: BTreeSet<String> = table.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert_eq!(listed, exported());
}
