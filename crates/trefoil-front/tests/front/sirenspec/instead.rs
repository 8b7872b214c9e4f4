//! What is told of a path that ends elsewhere, and of a name that is nearly right: what to write instead.

use super::support::{expect, expect_one, flow, load};

#[test]
fn results_read_as_keys_of_working() {
    let file = |reads: &str, extra: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: s}}, b: {{model: \"openai:m\", system: \"{reads}\"}}}}\nnodes:\n  plan: {{agent: a, writes: output.p}}\n  fan: {{type: factory, agent: a, for_each: '[1]', writes: working.list}}\n{extra}  n: {{agent: b, writes: output.n}}\n"
        )
    };
    let child = "version: \"0.1\"\nagents: {a: {model: \"openai:m\", system: s}}\nnodes: {c: {agent: a, writes: output.verdict}}\n";
    let sub = "  sub: {type: workflow, ref: ./child.yaml}\n";
    let advice = "in templates `working.*` is for paths you write or seed yourself";
    let told = |path: &str, node: &str, right: &str| {
        let text = file(&format!("{{{{ {path} }}}}"), sub);
        let expected = format!(
            "error flow.yaml 2:80 working-dot-node-id: working_dot_node_id: `{path}` reads node `{node}` through `working` (use `{{{{ {right} }}}}`; {advice})"
        );
        expect(&[("flow.yaml", &text), ("child.yaml", child)], &expected);
        // What is recommended is there.
        expect(&[("flow.yaml", &file(&format!("{{{{ {right} }}}}"), sub)), ("child.yaml", child)], "");
    };
    told("working.sub.verdict", "sub", "sub.output.verdict");
    told("working.sub.output.verdict", "sub", "sub.output.verdict");
    told("working.sub.vrdct", "sub", "sub.output");
    told("working.fan.0", "fan", "fan.outputs.0");
    told("working.plan.text", "plan", "plan.output");
    let sure = |path: &str| {
        let sub = &format!("{sub}  get: {{type: tool, tool: http, config: {{url: 'https://example.com'}}}}\n");
        let folder = load(&[("flow.yaml", &file(&format!("{{{{ {path} }}}}"), sub)), ("child.yaml", child)]);
        folder.diagnostics.iter().any(|d| d.fix.as_ref().is_some_and(|fix| fix.safe))
    };
    assert!(sure("working.sub.verdict"), "there is one place where that is");
    assert!(!sure("working.plan.text"), "the whole text may not be what was meant");
    assert!(!sure("working.get.status"), "nobody knows what a tool results in");
}

#[test]
fn paths_that_go_on_behind_text_and_lists() {
    expect_one(
        "version: \"0.1\"\nagents: {a: {model: \"openai:m\", system: s}, b: {model: \"openai:m\", system: \"{{ plan.output }}\"}}\nnodes:\n  pln: {agent: a, writes: working.plan}\n  n: {agent: b, writes: output.n}\n",
        "error 2:80 property-of-text: `plan.output` is not defined: `plan` has no `output` (`plan` is what node `pln` writes: use `{{ plan }}` or `{{ pln.output }}`)",
    );
    let schema = "guardrails: [{name: schema, config: {schema: {type: object}}}]";
    let text = |guard: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: s{guard}}}}}\nnodes:\n  d: {{agent: a, writes: working.d}}\n  n: {{type: human, prompt: '{{{{ d.output.score }}}}', writes: output.n}}\n"
        )
    };
    expect_one(
        &text(""),
        "error 5:32 property-of-text: `d.output.score` is not defined: `d.output` has no `score` (it is text: `{{ d.output }}` puts in all of it)",
    );
    expect_one(
        &text(&format!(", {schema}")),
        "error 5:32 property-of-text: `d.output.score` is not defined: `d.output` has no `score` (it is text, though a `schema` guardrail checks that it reads as an object: `{{ d.output }}` puts in all of it)",
    );
    expect_one(
        &flow("{{ working.l.7 }}", "state: {working: {l: [a, b]}}\nnodes: {n: {agent: a, writes: output.n}}\n"),
        "error 2:45 unknown-property: `working.l.7` is not defined: `working.l` has no `7` (it is a list: the first index is 0, the last one 1)",
    );
}

#[test]
fn an_agent_that_nobody_uses() {
    let spare = |reads: &str, inputs: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: s}}, b: {{model: \"openai:m\", system: \"{reads}\"}}}}\nnodes:\n  n: {{type: factory, agent: a, for_each: '[1]', {inputs}writes: output.n}}\n"
        )
    };
    let unused = "warning 2:45 no-effect: agent `b` is never used";
    expect_one(&spare("{{ inputs.anything }}", ""), unused);
    expect_one(&spare("{{ inputs.mesage }}", "inputs: {mesage: x}, "), unused);
    expect_one(
        &spare("{{ inputs.mesage }}", ""),
        &format!(
            "{unused}\n error 2:80 unknown-property: `inputs.mesage` is not defined: `inputs` has no `mesage` (did you mean `inputs.message`?)"
        ),
    );
}

#[test]
fn an_input_of_a_sub_workflow_that_is_misspelt() {
    let parent = |inputs: &str| {
        format!("version: \"0.1\"\nnodes:\n  n: {{type: workflow, ref: ./child.yaml, inputs: {{{inputs}}}}}\n")
    };
    let child = "version: \"0.1\"\nagents: {a: {model: \"openai:m\", system: \"{{ inputs.summary }} {{ inputs.level }}\"}}\nnodes: {c: {agent: a, writes: output.c}}\ninput: {summary: , level: 3}\n";
    let told =
        |inputs: &str, expected: &str| expect(&[("flow.yaml", &parent(inputs)), ("child.yaml", child)], expected);
    told(
        "sumary: x",
        "error flow.yaml 3:51 unknown-input: `./child.yaml` has no input `sumary`, and needs `summary` (did you mean `summary`?)",
    );
    told(
        "summary: x, levl: 4",
        "warning flow.yaml 3:63 unknown-input: `./child.yaml` has no input `levl` (did you mean `level`?)",
    );
}

#[test]
fn words_that_are_cut_short_and_providers_without_a_model() {
    expect_one(
        "version: \"0.1\"\nagents: {a: {model: \"openai:m\", system: s, guardrails: [{name: length, config: {mode: trunc}}]}}\nnodes: {n: {agent: a, writes: output.n}}\n",
        "error 2:87 unknown-value: `mode` cannot be `trunc` (did you mean `truncate`? it can be one of `truncate`, `raise`)",
    );
    let provider = |name: &str| {
        format!("version: \"0.1\"\nnodes: {{n: {{type: swrm, agents: [{{id: x, provider: {name}, prompt: p}}]}}}}\n")
    };
    expect_one(
        &provider("anthropik"),
        "error 2:52 unknown-provider: `anthropik` is not a provider that is known here (did you mean `anthropic`?)",
    );
    expect_one(
        &provider("groq"),
        "error 2:52 missing-key: there is no default model for the provider `groq` (name one with `model`)",
    );
}
