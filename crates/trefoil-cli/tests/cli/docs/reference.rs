//! The page of settings and variables has all of them, and its example can be used as it is.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use super::block::blocks;
use crate::world::{AGENT, Folder, root};

/// Variables for the tests of the program itself, and names that are examples.
const INTERNAL: &[&str] =
    &["TREFOIL_PANIC", "TREFOIL_MCP_WAIT_MS", "TREFOIL_VALUE_", "TREFOIL_SECRET_", "TREFOIL_COMMAND"];

fn settings() -> String {
    std::fs::read_to_string(root().join("docs/settings.md")).unwrap()
}

fn sources(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(path).unwrap();
            all.push_str(text.split("mod tests {").next().unwrap());
        }
    }
}

#[test]
fn every_variable_is_in_the_page() {
    let mut text = String::new();
    for krate in std::fs::read_dir(root().join("crates")).unwrap() {
        sources(&krate.unwrap().path().join("src"), &mut text);
    }
    let names = Regex::new(r#""(TREFOIL_[A-Z_]+)"#).unwrap();
    let found: BTreeSet<&str> = names.captures_iter(&text).map(|found| found.get(1).unwrap().as_str()).collect();
    let page = settings();
    let missing: Vec<&&str> =
        found.iter().filter(|name| !INTERNAL.contains(name) && !page.contains(&format!("`{name}`"))).collect();
    assert!(found.len() > 7 && missing.is_empty(), "{missing:?} of {found:?}");
}

#[test]
fn every_setting_is_in_the_page_and_the_example_can_be_used() {
    let folder = Folder::new();
    folder
        .write("flows/a.yaml", AGENT)
        .write("shared/x", "")
        .write("release/ship.yaml", AGENT.replace("helper", "ship"));
    let run = |config: &str| {
        folder.write("flows/config.toml", config);
        let mut command = folder.command(&["run", "flows/a.yaml", "--model", "embedded", "-i", "x"]);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("flows"));
        crate::world::finish(command)
    };
    let page = settings();
    let tables: Vec<String> =
        blocks(&page).iter().filter(|block| block.kind == "toml").map(|block| block.body(&page)).collect();
    let [open, trusted] = &tables[..] else { panic!("two examples") };
    run(trusted).exits(0);
    folder.write("flows/trefoil.toml", open);
    let checked = folder.trefoil(&["check", "flows/a.yaml"]);
    assert!(!checked.out.contains("project-file"), "{}", checked.out);
    // A table that does not exist, or a wrong key, is reported with all keys that could be meant.
    let words = Regex::new("`([a-z_-]+)`").unwrap();
    let program = "command = [\"x\"]\n";
    for (table, needs) in [
        ("limits", ""),
        ("limits.openai", ""),
        ("store", ""),
        ("recovery", ""),
        ("python", ""),
        ("tools.x", program),
        ("mcp.x", program),
        ("prices.\"a:b\"", ""),
        ("serve.flows.x", ""),
    ] {
        let ran = run(&format!("[{table}]\n{needs}zzz = 1\n"));
        let known = ran.err.split_once("keys are ").unwrap_or_else(|| panic!("{table}: {}", ran.err)).1;
        for key in words.captures_iter(known.lines().next().unwrap()) {
            let key = key.get(1).unwrap().as_str();
            assert!(Regex::new(&format!(r"(?m)(^|\{{ |, ){key} = ")).unwrap().is_match(trusted), "[{table}] {key}");
        }
    }
    // The other tables.
    let source = include_str!("../../../../trefoil-project/src/settings/trusted_tables.rs");
    for pair in Regex::new(r#"\("([a-z]+)", "([a-z_-]+)"\) =>"#).unwrap().captures_iter(source) {
        let (table, key) = (&pair[1], &pair[2]);
        let part = trusted.split_once(&format!("[{table}]")).unwrap_or_else(|| panic!("[{table}]")).1;
        // A setting may be a table with names, whose keys are compared above.
        let is_named_table = part.contains(&format!("\n[{table}.{key}."));
        let has_key = part.split("\n[").next().unwrap().contains(&format!("\n{key} = "));
        assert!(is_named_table || has_key, "[{table}] {key}");
    }
    let known = source.split_once("pub const TABLES").unwrap().1.split_once("];").unwrap().0;
    for table in Regex::new(r#"\("([a-z]+)", "#).unwrap().captures_iter(known) {
        assert!(Regex::new(&format!(r"(?m)^\[{}[].]", &table[1])).unwrap().is_match(trusted), "[{}]", &table[1]);
    }
}
