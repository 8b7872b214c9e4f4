//! Whole examples with their programs: one snapshot with every type of node. Review the snapshots when they change.

use super::support::story;

macro_rules! example {
    ($name:literal $(, $more:literal)*) => {
        let files = [$name $(, $more)*].map(|file| {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sirenspec").join(file);
            (file, std::fs::read_to_string(path).unwrap())
        });
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        insta::assert_snapshot!(story(&files));
    };
}

#[test]
fn a_factory_over_a_planners_list() {
    example!("plan-execute-aggregate.yaml");
}

#[test]
fn a_swarm_inside_a_factory() {
    example!("grade-essays.yaml");
}

#[test]
fn conditional_edges() {
    example!("triage.yaml");
}

#[test]
fn a_workflow_inside_a_workflow() {
    example!("review-with-policy.yaml", "parts/policy-check.yaml");
}

#[test]
fn retries_fallbacks_guardrails_and_a_budget() {
    example!("resilient.yaml");
}
