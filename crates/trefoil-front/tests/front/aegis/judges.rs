//! Judges that cannot judge.

use expect_test::expect;

use super::support::{END, agent, check, workflow};

/// A judge whose answer has these properties, with this prompt if one is given.
fn judge(properties: &str, prompt: &str) -> String {
    let more = format!(
        "  execution:\n    validation:\n      - {{ type: json_schema, schema: {{ type: object, properties: {{ {properties} }} }} }}\n"
    );
    agent("j", &more).replace("instruction: Work. }", &format!("instruction: Judge.{prompt} }}"))
}

const JUDGED: &str =
    "  execution: { mode: iterative, validation: [{ type: semantic, judge_agent: j, criteria: Good. }] }\n";

#[test]
fn a_judge_answers_with_a_score() {
    let worker = agent("worker", JUDGED);
    check(
        &[("worker.yaml", &worker), ("j.yaml", &judge("verdict: { type: string }", ""))],
        expect![[r#"
            warning worker.yaml 7:77 missing-score: `j` answers without a `score`, so its answer is not a verdict (declare a `score` from 0 to 1 in the schema of its answer) [j.yaml 9:38 its answer is declared here]
        "#]],
    );
    check(&[("worker.yaml", &worker), ("j.yaml", &judge("score: { type: number }", ""))], expect![""]);
    // A judge that does not declare its answer may answer with a score.
    check(&[("worker.yaml", &worker), ("j.yaml", &agent("j", ""))], expect![""]);
}

#[test]
fn agents_in_parallel_are_judges_unless_others_judge_them() {
    let panel = |more: &str| {
        workflow(&format!(
            "    A:\n      kind: ParallelAgents\n      agents: [{{ agent: j, input: 'Is it good?' }}]\n      consensus: {{ strategy: majority, threshold: 0.7 }}\n{more}      transitions: [{{ target: END }}]\n{END}"
        ))
    };
    let files = ("j.yaml", &*judge("verdict: { type: string }", ""));
    check(
        &[("w.yaml", &panel("")), files],
        expect![[r#"
            warning w.yaml 9:25 missing-score: `j` answers without a `score`, so its answer is not a verdict (declare a `score` from 0 to 1 in the schema of its answer) [j.yaml 9:38 its answer is declared here]
        "#]],
    );
    let other = agent("other", "");
    let judged = panel("      judges_for_parallel: [{ agent: other }]\n");
    check(&[("w.yaml", &judged), files, ("o.yaml", &other)], expect![""]);
}

#[test]
fn a_judge_sees_what_it_judges() {
    let worker = agent("worker", JUDGED);
    let score = "score: { type: number }";
    let with = |prompt: &str| judge(score, &format!(", prompt_template: '{{{{instruction}}}} {prompt}'"));
    check(
        &[("worker.yaml", &worker), ("j.yaml", &with("Judge now."))],
        expect![[r#"
            warning worker.yaml 7:77 unused: `j` never sees what it judges: its prompt does not read `input` (write `{{input}}` where the model should read it) [j.yaml 6:49 its prompt]
            info j.yaml 6:49 unused: `prompt_template` does not read `input`, so the model never sees the agent's input (write `{{input}}` where the model should read it)
        "#]],
    );
    check(&[("worker.yaml", &worker), ("j.yaml", &with("{{input.output}}"))], expect![""]);
}
