//! Commands that a page mentions, also those that no test enters: the command exists, and so does each of its options.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::links::pages;
use crate::world::{Folder, root};

static MENTIONED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:`|^\$ |^)trefoil ([a-z][^`\n|;>#]*)").unwrap());
static OPTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"--[a-z][a-z-]*").unwrap());

#[test]
fn commands_and_options_that_a_page_mentions_exist() {
    let folder = Folder::new();
    let mut helps: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages().into_iter().chain(["README.md".to_owned()]).filter(|page| page.ends_with(".md")) {
        let text = std::fs::read_to_string(root().join(&page)).unwrap();
        for line in text.lines() {
            for mentioned in MENTIONED.captures_iter(line) {
                let all = mentioned.get(1).unwrap().as_str();
                let mut words = all.split_whitespace();
                let mut command = words.next().unwrap().to_owned();
                if let ("runs" | "store" | "secrets" | "keys", Some(inner)) = (&*command, words.next())
                    && inner.chars().all(|char| char.is_ascii_lowercase())
                {
                    command = format!("{command} {inner}");
                }
                let help = helps.entry(command.clone()).or_insert_with(|| {
                    let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
                    let ran = folder.trefoil(&args);
                    (ran.code == 0).then_some(ran.out)
                });
                count += 1;
                match help {
                    None => wrong.push(format!("{page}: `{all}`: no such command")),
                    Some(help) => wrong.extend(
                        OPTION
                            .find_iter(all)
                            .filter(|option| !OPTION.find_iter(help).any(|known| known.as_str() == option.as_str()))
                            .map(|option| format!("{page}: `{all}`: no option `{}`", option.as_str())),
                    ),
                }
            }
        }
    }
    assert!(wrong.is_empty() && count > 100, "{count} {wrong:#?}");
}
