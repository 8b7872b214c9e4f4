//! The documents: every command in them is executed, and what it prints is compared with the page.
//!
//! | block | what the test does |
//! |---|---|
//! | `console` | enters the commands (lines that start with `$ `) and compares the output below each; a block without a command is what `trefoil dev` prints after the edit before it |
//! | `sh` | enters each line; it must succeed |
//! | `diff FILE` | edits the file |
//! | any other with a file's name | writes the file |
//!
//! The blocks of a page are followed in order, in one folder, on a terminal without a keyboard. `UPDATE_EXPECT=1` writes the
//! real output into the pages.

mod alike;
mod block;
mod links;
mod reference;
mod screen;
mod session;
mod words;

use std::path::PathBuf;

use crate::world::root;
use session::Session;

/// Pages that explain a task: they start with at least three commands and their output.
const TASKS: &[&str] = &[
    "tutorial",
    "recipes",
    "from-agntz",
    "from-aegis",
    "from-sirenspec",
    "runs",
    "dev",
    "tools",
    "models",
    "projects",
    "workers",
    "editors",
];
/// Pages to look things up in.
const REFERENCES: &[&str] = &[
    "api",
    "server",
    "concepts",
    "settings",
    "limits",
    "json",
    "rules",
    "errors",
    "embedding",
    "architecture",
    "decisions/README",
    "glossary",
    "performance",
    "compat/agntz",
    "compat/aegis",
    "compat/sirenspec",
];

fn page(name: &str) -> PathBuf {
    root().join(if name == "README" { "README.md".to_owned() } else { format!("docs/{name}.md") })
}

/// Follows a page to its end.
fn follow(name: &str) {
    let text = std::fs::read_to_string(page(name)).unwrap();
    let (mut session, mut changed, mut wrong) = (Session::new(text.contains(" examples/")), text.clone(), Vec::new());
    let mut grown = 0_isize;
    for block in block::blocks(&text) {
        let body = block.body(&text);
        if let Some(real) = session.follow(&block, &body) {
            wrong.push(format!("the page shows:\n{body}and this is printed:\n{real}"));
            let (start, real) = (block.at.start.checked_add_signed(grown).unwrap(), block.indented(&real));
            changed.replace_range(start..start + block.at.len(), &real);
            grown += real.len() as isize - block.at.len() as isize;
        }
    }
    session.quit();
    assert!(session.entered >= 3 || !TASKS.contains(&name), "{name}: only {} commands", session.entered);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(page(name), changed).unwrap();
    } else {
        assert!(wrong.is_empty(), "{name}: UPDATE_EXPECT=1 corrects the page\n{}", wrong.join("\n"));
    }
}

macro_rules! followed {
    ($($test:ident $name:literal)*) => {
        const FOLLOWED: &[&str] = &[$($name),*];
        $(#[test] fn $test() { follow($name); })*
    };
}

followed! {
    readme "README"
    tutorial "tutorial"
    recipes "recipes"
    concepts "concepts"
    settings "settings"
    from_agntz "from-agntz"
    from_aegis "from-aegis"
    from_sirenspec "from-sirenspec"
    runs "runs"
    dev "dev"
    tools "tools"
    models "models"
    projects "projects"
    workers "workers"
    editors "editors"
    limits "limits"
    json "json"
}

#[test]
fn every_page_is_a_task_or_a_reference() {
    let mut all: Vec<&str> = [TASKS, REFERENCES].concat();
    let found = links::pages();
    all.sort_unstable();
    // A decision is neither: it explains the code.
    let is_decision = |name: &&str| name.starts_with("decisions/") && *name != "decisions/README";
    let names = found.iter().filter_map(|file| file.strip_prefix("docs/")?.strip_suffix(".md"));
    let mut names: Vec<&str> = names.filter(|name| !is_decision(name)).collect();
    names.sort_unstable();
    assert_eq!(names, all);
    for name in all {
        let text = std::fs::read_to_string(page(name)).unwrap();
        let has = block::blocks(&text).iter().any(|block| block.kind == "console" || block.kind == "sh");
        assert!(FOLLOWED.contains(&name) || !has, "{name} has commands that no test enters");
    }
}

#[test]
fn a_page_about_a_task_starts_with_three_commands_and_their_output() {
    for name in TASKS {
        let text = std::fs::read_to_string(page(name)).unwrap();
        let first = text.find("\n## ").map_or(&*text, |at| &text[..at]);
        let shown: Vec<block::Shown> = block::blocks(first)
            .iter()
            .filter(|block| block.kind == "console")
            .flat_map(|block| block::transcript(&block.body(first)))
            .collect();
        let printed = shown.iter().filter(|one| !one.output.trim().is_empty()).count();
        assert!(
            shown.len() >= 3 && printed >= 2,
            "docs/{name}.md starts with {} commands, {printed} with output",
            shown.len()
        );
    }
}
