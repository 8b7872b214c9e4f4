//! Rules about models.

use expect_test::{Expect, expect};
use trefoil_check::RuleGroup;

use super::support::expect;

fn agent(model: &str) -> String {
    format!("id: a\nkind: llm\nmodel: {{ {model} }}\ninstruction: Work.\nprompt: Go.\n")
}

#[track_caller]
fn model(model: &str, expected: Expect) {
    expect(RuleGroup::Models, "agntz", &[("a.yaml", &agent(model))], expected);
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

#[test]
fn a_model_is_almost_the_name_of_one_that_the_provider_has() {
    // A newer number, a dated version, a name of nothing, and an unknown provider.
    for known in ["openai, name: gpt-4o-mini", "openai, name: gpt-9.7", "anthropic, name: claude-sonnet-4-5-20250929"] {
        model(&format!("provider: {known}"), expect![""]);
    }
    for other in ["openai, name: my-own-finetune", "local, name: gpt-4o-mnii", "openai, name: gpt-5.9-mini"] {
        model(&format!("provider: {other}"), expect![""]);
    }
    model(
        "provider: openai, name: gpt-4o-mnii",
        expect![[r#"
        3:34 warning unknown-model: `openai` has no known model `gpt-4o-mnii`
          | model: { provider: openai, name: gpt-4o-mnii }
          |                                  ^^^^^^^^^^^
          help: did you mean `gpt-4o-mini`?
    "#]],
    );
    model(
        "provider: openai, name: gpt-4o-mnii-20240718",
        expect![[r#"
        3:34 warning unknown-model: `openai` has no known model `gpt-4o-mnii-20240718`
          | model: { provider: openai, name: gpt-4o-mnii-20240718 }
          |                                  ^^^^^^^^^^^^^^^^^^^^
          help: did you mean `gpt-4o-mini-20240718`?
    "#]],
    );
}
