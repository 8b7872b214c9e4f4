//! Manifests in, findings and IR out.

use trefoil_front::agntz::Agntz;
use trefoil_syntax::{Diagnostics, Files};

pub use crate::support::Folder;
use crate::support::{line, place};

/// Loads a folder and lowers its first file.
pub fn load(manifests: &[(&str, &str)]) -> Folder {
    load_as(manifests, 0)
}

/// Loads a folder and lowers one of its files.
pub fn load_as(manifests: &[(&str, &str)], entry: usize) -> Folder {
    Folder::load(&Agntz, manifests, entry, |_| {})
}

/// The findings, one a line: `error 3:5 rule: message (help) [label]`.
pub fn findings(manifests: &[(&str, &str)]) -> String {
    let folder = load(manifests).consistent();
    show(&folder.project.files, folder.diagnostics, manifests.len() > 1)
}

/// The same as everywhere, with labels, and without the advice on templates, which is the template crate's own.
pub fn show(files: &Files, diagnostics: Diagnostics, names: bool) -> String {
    let mut lines = Vec::new();
    for mut d in diagnostics.into_sorted() {
        if d.rule.starts_with("template-") || d.rule.starts_with("condition-") {
            d.help = None;
        }
        let labels = d.labels.iter().map(|l| format!(" [{} {}]", place(files, l.location, names), l.message));
        lines.push(line(files, &d, names) + &labels.collect::<String>());
    }
    lines.join("\n")
}

/// Asserts the findings of one manifest (or the first of several) against lines; white space around them is free.
#[track_caller]
pub fn expect(manifests: &[(&str, &str)], expected: &str) {
    crate::support::same(&findings(manifests), expected);
}

/// The source, the findings and the program: what snapshots show.
pub fn story(manifests: &[(&str, &str)]) -> String {
    load(manifests).story(manifests, show)
}
