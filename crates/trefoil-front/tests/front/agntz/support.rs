//! Manifests in, findings and IR out.

use expect_test::Expect;
use trefoil_front::agntz::AgntzFrontEnd;

use crate::support::{self, bless};
pub use crate::support::{Changes, Folder, show};

/// Loads a folder and lowers its first file.
pub fn load(manifests: &[(&str, &str)]) -> Folder {
    load_as(manifests, 0)
}

/// Loads a folder and lowers one of its files.
pub fn load_as(manifests: &[(&str, &str)], entry: usize) -> Folder {
    Folder::load(&AgntzFrontEnd, manifests, entry, |_| {})
}

/// All findings about the first of several manifests, one on each line.
pub fn findings(manifests: &[(&str, &str)]) -> String {
    support::findings(&AgntzFrontEnd, manifests)
}

/// Compares all findings about the first of several manifests.
#[track_caller]
pub fn check(manifests: &[(&str, &str)], expected: Expect) {
    bless(&findings(manifests), &expected);
}

/// The same for one manifest.
#[track_caller]
pub fn check_one(manifest: &str, expected: Expect) {
    check(&[("agent.yaml", manifest)], expected);
}

/// Asserts that a manifest has no findings of this rule.
#[track_caller]
pub fn silent(manifest: &str, rule: &str) {
    support::silent(&AgntzFrontEnd, &[("agent.yaml", manifest)], rule);
}

/// The suggested changes.
pub fn changes(manifests: &[(&str, &str)]) -> Changes {
    support::changes(&AgntzFrontEnd, manifests)
}

/// The source, the findings and the program, for snapshots.
pub fn story(manifests: &[(&str, &str)]) -> String {
    load(manifests).story(manifests, show)
}

/// The model of an agent.
pub const MODEL: &str = "model: { provider: openai, name: gpt-5.4 }";

/// A sequence of one step that has the input `q`, with these other keys.
pub fn step(keys: &str) -> String {
    format!(
        "id: p\nkind: sequential\ninputSchema: {{ q: string, n: {{ type: integer, default: 5 }}, plan: {{ type: string, enum: [free, team] }}, ok: boolean }}\nsteps:\n  - agent: {{ id: b, kind: llm, {MODEL}, instruction: Hi., prompt: \"{{{{q}}}}\", inputSchema: {{ q: string }} }}\n{keys}"
    )
}

/// A step with this condition.
pub fn when(condition: &str) -> String {
    step(&format!("    input: {{ q: \"{{{{q}}}}\" }}\n    when: \"{condition}\"\n"))
}

/// A model agent with three inputs, with these other keys.
pub fn taker(rest: &str) -> String {
    format!(
        "id: a\nkind: llm\ninputSchema: {{ topic: string, kind: string, price: number }}\nmodel: {{ provider: openai, name: gpt-5.4 }}\n{rest}"
    )
}

/// Compares the findings about such an agent.
#[track_caller]
pub fn says(rest: &str, expected: Expect) {
    check(&[("agent.yaml", &taker(rest))], expected);
}
