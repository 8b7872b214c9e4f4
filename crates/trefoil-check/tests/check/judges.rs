//! Models that judge something they do not see.

use expect_test::{Expect, expect};

use super::support::of_rule;

const REVIEWER: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: reviewer, version: '1' }\nspec:\n  runtime: { model: smart }\n  task: { instruction: Judge., prompt_template: '{{instruction}} {{input}}' }\n";

/// A loop in which `REVIEW` has these keys, and leads back to `WRITE` unless its score is high.
fn loops(review: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1' }}\nspec:\n  initial_state: WRITE\n  states:\n    \
         WRITE: {{ kind: Agent, agent: writer, input: 'Write. {{{{state.feedback}}}}', transitions: [{{ target: REVIEW }}] }}\n    \
         REVIEW: {{ kind: Agent, {review}, transitions: [{{ condition: score_above, threshold: 0.8, target: END }}, {{ target: WRITE, feedback: more }}] }}\n    \
         END: {{ kind: System, command: \"echo '{{{{WRITE.output}}}}'\" }}\n"
    )
}

#[track_caller]
fn check(review: &str, expected: Expect) {
    of_rule("blind-judge", "aegis", &[("w.yaml", &loops(review)), ("r.yaml", REVIEWER)], expected);
}

#[test]
fn a_judge_sees_what_its_loop_makes() {
    check(
        "agent: reviewer, input: 'Review the article.'",
        expect![[r#"
        8:5 warning blind-judge: `REVIEW` decides whether to repeat, but does not see what `WRITE` made
          | REVIEW: { kind: Agent, age
          | ^^^^^^
          help: read the result of `WRITE` in its input
    "#]],
    );
    // Without an input, it gets the workflow's input.
    check(
        "agent: reviewer",
        expect![[r#"
        8:5 warning blind-judge: `REVIEW` decides whether to repeat, but does not see what `WRITE` made
          | REVIEW: { kind: Agent, age
          | ^^^^^^
          help: read the result of `WRITE` in its input
    "#]],
    );
    check(
        "agent: reviewer, input: 'About {{workflow.task}}: good?'",
        expect![[r#"
        8:5 warning blind-judge: `REVIEW` decides whether to repeat, but does not see what `WRITE` made
          | REVIEW: { kind: Agent, age
          | ^^^^^^
          help: read the result of `WRITE` in its input
    "#]],
    );
    check("agent: reviewer, input: 'Review {{WRITE.output}}'", expect![""]);
    check("agent: reviewer, input: 'Review {{blackboard.draft}}'", expect![""]);
}

#[test]
fn one_that_decides_nothing_or_has_tools_is_no_judge() {
    let straight = loops("agent: reviewer").replace("condition: score_above, threshold: 0.8, ", "");
    of_rule("blind-judge", "aegis", &[("w.yaml", &straight), ("r.yaml", REVIEWER)], expect![""]);
    let tools = REVIEWER.replace("  task:", "  tools: [fs.read]\n  task:");
    of_rule("blind-judge", "aegis", &[("w.yaml", &loops("agent: reviewer")), ("r.yaml", &tools)], expect![""]);
}
