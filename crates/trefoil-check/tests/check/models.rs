//! Rules on models.

use trefoil_check::Group;

use super::support::expect;

fn agent(model: &str) -> String {
    format!("id: a\nkind: llm\nmodel: {{ {model} }}\ninstruction: Work.\nprompt: Go.\n")
}

#[track_caller]
fn model(model: &str, expected: &[&str]) {
    expect(Group::Models, "agntz", &[("a.yaml", &agent(model))], expected);
}

#[test]
fn what_one_provider_takes_another_may_not() {
    model("provider: openai, name: gpt-4o-mini, temperature: 1.4, seed: 3", &[]);
    model("provider: anthropic, name: claude-sonnet-5, temperature: 1.0, topK: 5", &[]);
    model(
        "provider: anthropic, name: claude-sonnet-5, temperature: 1.4",
        &["parameter-range warning 3:67 `anthropic` takes a temperature from 0 to 1, not 1.4"],
    );
    // Loading has spoken.
    model("provider: anthropic, name: claude-sonnet-5, temperature: 2.4", &["out-of-range"; 0]);
    model(
        "provider: openai, name: gpt-4o-mini, topK: 5",
        &["parameter-range warning 3:53 `openai` does not know `top_k`, and refuses a request with it"],
    );
}
