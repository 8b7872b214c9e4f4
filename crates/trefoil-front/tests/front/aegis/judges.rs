//! Judges that do not see what they judge.

use expect_test::expect;

use super::support::{agent, check};

#[test]
fn a_judge_sees_what_it_judges() {
    let judged =
        "  execution: { mode: iterative, validation: [{ type: semantic, judge_agent: j, criteria: Good. }] }\n";
    let worker = agent("worker", judged);
    let judge = |prompt: &str| {
        let task = format!("instruction: Judge., prompt_template: '{{{{instruction}}}} {prompt}' }}");
        agent("j", "").replace("instruction: Work. }", &task)
    };
    check(
        &[("worker.yaml", &worker), ("j.yaml", &judge("Judge now."))],
        expect![[r#"
            info j.yaml 6:49 unused: `prompt_template` does not read `input`, so the model never sees the agent's input (write `{{input}}` where the model should read it)
        "#]],
    );
    check(&[("worker.yaml", &worker), ("j.yaml", &judge("{{input.output}}"))], expect![""]);
}
