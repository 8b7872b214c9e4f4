//! Rules about models.

use expect_test::{Expect, expect};
use trefoil_check::Group;

use super::support::expect;

fn agent(model: &str) -> String {
    format!("id: a\nkind: llm\nmodel: {{ {model} }}\ninstruction: Work.\nprompt: Go.\n")
}

#[track_caller]
fn model(model: &str, expected: Expect) {
    expect(Group::Models, "agntz", &[("a.yaml", &agent(model))], expected);
}

#[test]
fn what_one_provider_takes_another_may_not() {
    model("provider: openai, name: gpt-4o-mini, temperature: 1.4, seed: 3", expect![""]);
    model("provider: anthropic, name: claude-sonnet-5, temperature: 1.0, topK: 5", expect![""]);
    model(
        "provider: anthropic, name: claude-sonnet-5, temperature: 1.4",
        expect![[r#"
            3:67 warning parameter-range: `anthropic` accepts a temperature from 0 to 1, not 1.4
              | ...ic, name: claude-sonnet-5, temperature: 1.4 }
              |                                            ^^^
              help: use another value, or remove it to use the provider's default
        "#]],
    );
    model(
        "provider: openai, name: gpt-4o-mini, topK: 5",
        expect![[r#"
            3:53 warning parameter-range: `openai` does not support `top_k` and rejects requests with it
              | ...vider: openai, name: gpt-4o-mini, topK: 5 }
              |                                            ^
              help: use another value, or remove it to use the provider's default
        "#]],
    );
}
