//! Manifests in, findings and IR out.

use trefoil_front::sirenspec::SirenSpec;

pub use crate::support::{Folder, show};

/// Loads a folder and lowers its first file.
pub fn load(manifests: &[(&str, &str)]) -> Folder {
    Folder::load(&SirenSpec, manifests, 0, |_| {}).consistent()
}

/// The findings, one a line: `error 3:5 rule: message (help)`.
pub fn findings(manifests: &[(&str, &str)]) -> String {
    let folder = load(manifests);
    show(&folder.project.files, folder.diagnostics, manifests.len() > 1)
}

/// Asserts the findings of the first of some manifests against lines; white space around them is free.
#[track_caller]
pub fn expect(manifests: &[(&str, &str)], expected: &str) {
    crate::support::same(&findings(manifests), expected);
}

/// The same for one manifest.
#[track_caller]
pub fn expect_one(manifest: &str, expected: &str) {
    expect(&[("flow.yaml", manifest)], expected);
}

/// The source, the findings and the program: what snapshots show.
pub fn story(manifests: &[(&str, &str)]) -> String {
    load(manifests).story(manifests, show)
}

/// A workflow with one agent `a` (this system prompt) and these nodes and edges, one a line.
pub fn flow(system: &str, body: &str) -> String {
    format!("version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: \"{system}\"}}}}\n{body}")
}

/// The lines of a program's text that hold one of these words, without what surrounds them.
pub fn lines_with(manifests: &[(&str, &str)], words: &[&str]) -> Vec<String> {
    let folder = load(manifests);
    let Some(lowered) = &folder.lowered else {
        panic!("{}", show(&folder.project.files, folder.diagnostics, true));
    };
    let text = trefoil_ir::print::print(&lowered.program, &folder.project.files);
    text.lines().filter(|line| words.iter().any(|word| line.contains(word))).map(|l| l.trim().to_owned()).collect()
}
