//! Manifests in, findings and IR out.

use expect_test::Expect;
use trefoil_front::sirenspec::SirenSpecFrontEnd;

use crate::support::{self, bless};
pub use crate::support::{Folder, show};

/// Loads a folder and lowers its first file.
pub fn load(manifests: &[(&str, &str)]) -> Folder {
    Folder::load(&SirenSpecFrontEnd, manifests, 0, |_| {}).consistent()
}

/// All findings about the first of several manifests, one on each line.
pub fn findings(manifests: &[(&str, &str)]) -> String {
    support::findings(&SirenSpecFrontEnd, manifests)
}

/// Compares all findings about the first of several manifests.
#[track_caller]
pub fn check(manifests: &[(&str, &str)], expected: Expect) {
    bless(&findings(manifests), &expected);
}

/// The same for one manifest.
#[track_caller]
pub fn check_one(manifest: &str, expected: Expect) {
    check(&[("flow.yaml", manifest)], expected);
}

/// The source, the findings and the program, for snapshots.
pub fn story(manifests: &[(&str, &str)]) -> String {
    load(manifests).story(manifests, show)
}

/// A workflow with one agent `a` (with this system prompt) and these nodes and edges, one on each line.
pub fn flow(system: &str, body: &str) -> String {
    format!("version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: \"{system}\"}}}}\n{body}")
}

/// The lines of a program's text that contain one of these words, without the text around them.
pub fn lines_with(manifests: &[(&str, &str)], words: &[&str]) -> Vec<String> {
    let folder = load(manifests);
    let Some(lowered) = &folder.lowered else {
        panic!("{}", show(&folder.project.files, folder.diagnostics, true));
    };
    let text = trefoil_ir::printer::print_program(&lowered.program, &folder.project.files);
    text.lines().filter(|line| words.iter().any(|word| line.contains(word))).map(|l| l.trim().to_owned()).collect()
}

/// A workflow whose node `n` has this system message, with a node before it.
pub fn reader(system: &str) -> String {
    format!(
        "version: \"0.1\"\nagents:\n  a: {{model: \"openai:m\", system: s}}\n  b:\n    model: \"openai:m\"\n    system: '{system}'\nnodes:\n  d: {{agent: a, writes: working.text.long}}\n  n: {{agent: b, writes: output.n}}\ninput: {{message: m, topic: t}}\n"
    )
}

/// Every suggested change of a manifest: the changed text, and whether the change is safe.
pub fn offered(text: &str) -> Vec<(String, bool)> {
    let folder = load(&[("flow.yaml", text)]);
    let fixes = folder.diagnostics.iter().filter_map(|d| d.fix.as_ref());
    let applied = fixes.map(|fix| {
        let mut out = text.to_owned();
        for edit in fix.edits.iter().rev() {
            let span = edit.location.span;
            out.replace_range(span.start as usize..span.end as usize, &edit.text);
        }
        (out, fix.safe)
    });
    applied.collect()
}

/// Compares the findings about a workflow with one node that has these additional keys.
#[track_caller]
pub fn node_with(more: &str, expected: Expect) {
    check_one(&flow("s", &format!("nodes:\n  n: {{agent: a, writes: output.n, {more}}}\n")), expected);
}
