//! What people write by mistake, and what is told of it: at the place where it stands.

use super::support::{expect, expect_one, flow};

/// A workflow whose node `n` reads what stands in the system message, and a node before it.
fn reader(system: &str) -> String {
    format!(
        "version: \"0.1\"\nagents:\n  a: {{model: \"openai:m\", system: s}}\n  b:\n    model: \"openai:m\"\n    system: '{system}'\nnodes:\n  d: {{agent: a, writes: working.text.long}}\n  n: {{agent: b, writes: output.n}}\ninput: {{message: m, topic: t}}\n"
    )
}

#[test]
fn text_that_looks_like_a_placeholder() {
    let told = |system: &str, expected: &str| expect_one(&reader(system), expected);
    told(
        "{ d.output }",
        "warning 6:14 not-a-placeholder: `{ d.output }` is text, and `d.output` is not read: a placeholder has two braces on both sides",
    );
    told(
        "{inputs.topic}} and {{ d.output }}",
        "warning 6:14 not-a-placeholder: `{inputs.topic}}` is text, and `inputs.topic` is not read: a placeholder has two braces on both sides",
    );
    told("${text.long} { { env.X_Y } }", "
        warning 6:14 not-a-placeholder: `${text.long}` is text, and `text.long` is not read: a placeholder has two braces on both sides
        warning 6:27 not-a-placeholder: `{ { env.X_Y } }` is text, and `env.X_Y` is not read: a placeholder has two braces on both sides
    ");
    told(
        "{% if d.output %}x{% endif %}",
        "warning 6:14 not-a-placeholder: `{% if d.output %}` is text, and `d.output` is not read (this format has no blocks; use `| default('text')` or `when` on an edge)",
    );
    told("[[ working.text.long ]] <%= inputs.message %>", "
        warning 6:14 not-a-placeholder: `[[ working.text.long ]]` is text, and `working.text.long` is not read: a placeholder has two braces on both sides
        warning 6:38 not-a-placeholder: `<%= inputs.message %>` is text, and `inputs.message` is not read: a placeholder has two braces on both sides
    ");
    told(
        "${{ d.output }}",
        "warning 6:14 not-a-placeholder: the `$` is no part of the placeholder: it stays in the text",
    );
    // Other braces are nobody's business.
    for fine in [
        r#"Answer as {"d": {"output": 1}} or {d.outputs} {x} {item} {output} { inputs } {} ${HOME}"#,
        "a price: ${{ d.output }} each",
        "[[ d ]] {% raw %} <%= x %>",
    ] {
        told(fine, "");
    }
}

#[test]
fn conditions_that_read_nothing_or_compare_by_identity() {
    let edge = |when: &str, expected: &str| {
        let nodes = "nodes: {n: {agent: a, writes: working.n_text}, m: {agent: a, writes: output.m}}\nedges:\n";
        expect_one(&flow("x", &format!("{nodes}  - {{from: n, to: m, when: {when}}}\n")), expected);
    };
    edge(
        "42",
        "warning 5:28 constant-condition: `42` reads nothing, so the edge is always taken (leave `when` out for an edge that is always taken)",
    );
    edge(
        "'1 == 2'",
        r#"warning 5:28 constant-condition: `1 == 2` reads nothing, so the edge is never taken (compare something that a node wrote: `working.intent == "refund"`)"#,
    );
    edge(
        "'\"x\"'",
        r#"warning 5:28 constant-condition: `"x"` reads nothing, so the edge is always taken (leave `when` out for an edge that is always taken)"#,
    );
    edge(
        "'working.n_text is \"x\"'",
        "warning 5:44 condition-bad-operator: `is` asks whether two values are one and the same, and written text or numbers are not (compare with `==`)",
    );
    edge(
        "'working.n_text is not 3'",
        "warning 5:44 condition-bad-operator: `is` asks whether two values are one and the same, and written text or numbers are not (compare with `!=`)",
    );
    edge("'working.n_text is not None'", "");
    edge("", "warning 5:22 no-effect: `when` has no value, and so no effect");
    edge("'working._budget.total_tokens < 5 and _budget.total_tokens < 5'", "");
    edge(
        "'working._budget.tokens < 5'",
        "error 5:29 unknown-property: `working._budget.tokens` is not defined: `working._budget` has no `tokens` (available: `total_tokens`, `estimated_usd`)",
    );
}

#[test]
fn nodes_that_do_not_say_their_type() {
    let node = |text: &str, expected: &str| {
        expect_one(&flow("x", &format!("nodes:\n  m: {{agent: a, writes: working.m_text}}\n{text}")), expected);
    };
    node(
        "  n:\n    agent: a\n    swarm_size: 3\n    writes: output.n\n",
        "error 6:5 missing-key: node `n` needs `type: factory`: agent nodes have no `swarm_size`",
    );
    node(
        "  n:\n    tpye: factory\n    agent: a\n    for_each: '[]'\n    writes: output.n\n",
        "
        error 6:5 missing-key: node `n` needs `type: factory`: agent nodes have no `for_each` (write `type: factory`)
        warning 6:5 unknown-key: node `n` has no key `tpye` (did you mean `type`?)
    ",
    );
    node(
        "  n:\n    agents: [{id: x, provider: openai, prompt: p}]\n",
        "error 6:5 missing-key: node `n` needs `type: swrm`: agent nodes have no `agents`",
    );
    node(
        "  n: {prompt: ok?, writes: output.n}\n",
        "error 5:7 missing-key: node `n` needs `type: human`: agent nodes have no `prompt` (write `type: human`)",
    );
    node(
        "  n: {tool: http, config: {url: \"https://x\"}}\n",
        "
        error 5:7 missing-key: node `n` needs `type: tool`: agent nodes have no `tool` (write `type: tool`)
        warning 5:13 refused: `tool: http` is not supported yet (a tool of this node's id can be registered instead)
    ",
    );
    // Somebody wrote a prompt where an agent has it.
    node("  n: {agent: a, prompt: p, writes: output.n}\n", "warning 5:17 unknown-key: node `n` has no key `prompt`");
}

#[test]
fn words_of_other_systems_for_keys() {
    expect_one(
        "version: \"0.1\"\nagents:\n  a: {llm: \"openai:m\", instructions: x}\nsteps:\n  n: {agent: a, output: output.n}\n",
        "
        error 1:1 missing-key: the workflow needs `nodes`
        warning 3:3 no-effect: agent `a` is never used
        error 3:7 missing-key: agent `a` needs `model`
        error 3:7 missing-key: agent `a` needs `system`
        warning 3:7 unknown-key: agent `a` has no key `llm` (did you mean `model`?)
        warning 3:24 unknown-key: agent `a` has no key `instructions` (did you mean `system`?)
        warning 4:1 unknown-key: the workflow has no key `steps` (did you mean `nodes`?)
    ",
    );
    let edges = "nodes: {n: {agent: a, writes: output.n}, m: {agent: a, writes: output.m}}\nedges:\n";
    expect_one(
        &flow("x", &format!("{edges}  - {{source: n, target: m, condition: \"true\"}}\n")),
        "
        error 5:6 missing-key: an edge needs `from`
        error 5:6 missing-key: an edge needs `to`
        warning 5:6 unknown-key: an edge has no key `source` (did you mean `from`?)
        warning 5:17 unknown-key: an edge has no key `target` (did you mean `to`?)
        warning 5:28 unknown-key: an edge has no key `condition` (did you mean `when`?)
    ",
    );
    // A single key that nobody knows, where a single one is missing.
    expect_one(
        &flow("x", "nodes: {n: {agent: a, result: output.n}}\n"),
        "
        error 3:13 missing-key: node `n` needs `writes`
        warning 3:23 unknown-key: node `n` has no key `result` (did you mean `writes`?)
    ",
    );
}

#[test]
fn models_with_something_in_their_names() {
    expect_one(
        "version: \"0.1\"\nagents: {a: {model: \"openai: gpt-4o\", system: x}}\nnodes: {n: {agent: a, writes: output.n}}\n",
        "warning 2:21 bad-model: `openai: gpt-4o` has a blank or a quote in it, and no model's name has",
    );
    let swarm = |model: &str| {
        format!(
            "version: \"0.1\"\nnodes: {{n: {{type: swrm, agents: [{{id: x, provider: ollama, model: \"{model}\", prompt: p}}]}}}}\n"
        )
    };
    expect_one(
        &swarm("ollama:llama3.2"),
        "warning 2:67 bad-model: `model` is the name alone, without `ollama`: the provider goes in `provider` (write `llama3.2`)",
    );
    expect_one(
        &swarm("openai:gpt-4o"),
        "warning 2:67 bad-model: `model` is the name alone, without `openai`: the provider goes in `provider` (write `gpt-4o`)",
    );
    expect_one(&swarm("llama3.2:1b"), "");
    expect_one(&swarm("meta/llama"), "");
}

#[test]
fn addresses_that_are_none() {
    let tool = |url: &str, expected: &str| {
        let text = format!(
            "nodes:\n  m: {{agent: a, writes: working.t}}\n  n: {{type: tool, tool: http, config: {{url: \"{url}\"}}}}\n"
        );
        let refused = "warning 5:25 refused: `tool: http` is not supported yet (a tool of this node's id can be registered instead)";
        expect_one(&flow("x", &text), &format!("{refused}\n{expected}"));
    };
    for wrong in
        ["api.example.com/x", "htps://x/y", "file:///etc/x", "https:/x/y", "https://exa mple.com", "https:///x"]
    {
        let expected = format!(
            "error 5:45 invalid-url: `{wrong}` is not an http address (an address begins with `https://` and a host)"
        );
        tool(wrong, &expected);
    }
    for fine in [
        "https://x",
        "HTTP://x?{{ inputs.message }}",
        "{{ env.BASE }}/x",
        "https://{{ env.HOST }}/x",
        "https://a.{{ env.HOST }}",
    ] {
        tool(fine, "");
    }
}

#[test]
fn people_and_defaults_without_what_they_need() {
    expect_one(
        &flow(
            "x",
            "nodes:\n  m: {agent: a, writes: working.t}\n  n: {type: human, prompt: \"\", writes: output.n, on_timeout: skip}\n",
        ),
        "warning 5:50 no-effect: `on_timeout` has no effect: without `timeout` the step waits for ever",
    );
    expect_one(
        &flow("x", "nodes:\n  n: {agent: a, writes: output.n, on_failure: {action: use_default}}\n"),
        r#"warning 4:56 missing-key: `action: use_default` without `default_output` leaves an empty text (write the text to use instead of the answer: `default_output: "..."`)"#,
    );
    expect_one(
        &flow(
            "x",
            "nodes:\n  n: {agent: a, writes: output.n, on_failure: {action: use_default, default_output: \"\"}}\n",
        ),
        "",
    );
}

#[test]
fn paths_that_no_template_can_read() {
    expect_one(
        &flow("x", "nodes:\n  n: {agent: a, writes: output.a b}\n"),
        "warning 4:25 bad-path: `output.a b` has white space in it, so no template can read it",
    );
    expect_one(
        &flow("x", "nodes:\n  n: {agent: a, writes: \"output.a[0]\"}\n"),
        "warning 4:25 bad-path: `output.a[0]` has `[` in it, so no template can read it",
    );
    expect_one(
        &flow("x", "nodes:\n  n: {agent: a, writes: output}\n"),
        "warning 4:25 bad-path: `output` alone writes `output.output`: the name after the dot is missing (give it a name: `output.reply`)",
    );
}

#[test]
fn keys_without_a_value() {
    expect_one(
        &flow("x", "nodes:\n  n:\n    agent: a\n    writes: output.n\n    retry:\n    on_failure: null\n"),
        "warning 7:5 no-effect: `retry` has no value, and so no effect",
    );
    expect_one(
        &flow("x", "nodes:\n  n:\n    type: factory\n    agent: a\n    for_each:\n    writes: output.n\n"),
        "error 7:5 missing-key: a factory needs `for_each` or `swarm_size`",
    );
}

#[test]
fn lists_with_something_around_them() {
    let over = |list: &str, expected: &str| {
        let text = format!(
            "nodes:\n  m: {{agent: a, writes: working.t}}\n  n: {{type: factory, agent: a, for_each: {list}, writes: output.n}}\n"
        );
        expect_one(&flow("x", &text), expected);
    };
    over(
        "'Tasks: {{ m.output }}'",
        "error 5:42 wrong-type: `for_each` must be a JSON list: this comes to text that is no list (for example `{{ plan.output }}`)",
    );
    over(
        "'{{ m.output }} {{ t }}'",
        "error 5:42 wrong-type: `for_each` must be one placeholder, with nothing around it: this comes to text that is no list (for example `{{ plan.output }}`)",
    );
    over("'[\"{{ m.output }}\", 2]'", "");
    over("\" {{ m.output }}\\n\"", "");
}

#[test]
fn credentials_of_the_environment_in_prompts() {
    expect_one(
        &reader("{{ env.OPENAI_API_KEY }} {{ env.MAX_TOKENS }} {{ env.STOP_TOKEN }} {{ env.APP_MODE }} {{ d.output }}"),
        "warning 6:17 secret-in-prompt: `env.OPENAI_API_KEY` is a credential by its name, and would be put into a prompt (credentials belong in the `headers` of a tool)",
    );
}

#[test]
fn an_input_that_the_caller_leaves_out() {
    let parent = "version: \"0.1\"\nnodes:\n  n: {type: workflow, ref: ./child.yaml, inputs: {other: x}}\n";
    let child = |read: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: \"{read}\"}}}}\nnodes: {{c: {{agent: a, writes: output.c}}}}\n"
        )
    };
    expect(&[("parent.yaml", parent), ("child.yaml", &child("{{ inputs.other }} {{ inputs.topic }}"))], "
        error parent.yaml 3:28 missing-key: `./child.yaml` reads `inputs.topic`, which is neither given here nor declared there (give it: `inputs: {topic: ...}`)
        error child.yaml 2:64 unknown-property: `inputs.topic` is not defined: `inputs` has no `topic` (declare it: `input: {topic: ...}`)
    ");
    expect(&[("parent.yaml", parent), ("child.yaml", &child("{{ inputs.othr }}"))], "
        warning parent.yaml 3:51 no-effect: `other` has no effect: `./child.yaml` does not read it (it is read there as `{{ inputs.other }}`)
        error child.yaml 2:45 unknown-property: `inputs.othr` is not defined: `inputs` has no `othr` (did you mean `inputs.other`?)
    ");
    let reads = format!(
        "{parent}  m: {{type: swrm, agents: [{{id: x, provider: openai, prompt: \"{{{{ output.n.d }}}}\"}}]}}\n"
    );
    expect(
        &[("parent.yaml", &reads), ("child.yaml", &child("{{ inputs.other }}"))],
        "error parent.yaml 4:66 unknown-property: `output.n.d` is not defined: `output.n` has no `d` (did you mean `output.n.c`?)",
    );
}

#[test]
fn a_file_whose_only_block_is_misspelt() {
    let text = "version: \"0.1\"\nnode: {n: {type: swrm, agents: [{id: x, provider: openai, prompt: p}]}}\n";
    let root = trefoil_syntax::yaml::parse(
        trefoil_syntax::FileId(0),
        &trefoil_syntax::SourceFile::new("x.yaml", text),
        &trefoil_syntax::yaml::Limits::default(),
    );
    let root = root.root.expect("it is YAML");
    assert!(
        matches!(trefoil_front::detect(&root), trefoil_front::Detection::One(front) if front.name() == "sirenspec")
    );
    expect_one(
        text,
        "
        error 1:1 missing-key: the workflow needs `nodes`
        warning 2:1 unknown-key: the workflow has no key `node` (did you mean `nodes`?)
    ",
    );
}

#[test]
fn names_that_are_right_and_stand_elsewhere() {
    let told = |system: &str, expected: &str| expect_one(&reader(system), expected);
    told("{{ topic }} {{ input }} {{ inputs }}", "
        error 6:17 unresolved-name: `topic` is not defined: no node, written path or state is called `topic` (did you mean `inputs.topic`?)
        error 6:29 unresolved-name: `input` is not defined: no node, written path or state is called `input` (did you mean `inputs.message`?)
        error 6:41 unresolved-name: `inputs` needs a field name after it (for example `{{ inputs.message }}`)
    ");
    told("{{ nodes.d.output }} {{ outputs.d }} {{ outputs.e }} {{ output.text.long }}", "
        error 6:17 unresolved-name: `nodes.d.output` is not defined: no node, written path or state is called `nodes` (did you mean `d.output`?)
        error 6:38 unresolved-name: `outputs.d` is not defined: no node, written path or state is called `outputs` (did you mean `d.output`?)
        error 6:54 unresolved-name: `outputs.e` is not defined: no node, written path or state is called `outputs` (available: `d`, `n`, `text`, `inputs`, `env`, `item`, `index`, `total`)
        error 6:70 unknown-property: `output.text.long` is not defined: `output` has no `text` (did you mean `working.text.long`?)
    ");
    let swarm = |prompt: &str| {
        format!(
            "version: \"0.1\"\nnodes:\n  s:\n    type: swrm\n    agents: [{{id: pro, provider: openai, prompt: p}}]\n    synthesis: {{provider: openai, prompt: \"{prompt}\"}}\n"
        )
    };
    expect_one(&swarm("{{ pro.output }} {{ agents.pro.output }} {{ s.pro.output }} {{ pro }}"), "
        error 6:47 unresolved-name: `pro.output` is not defined: no node, written path or state is called `pro` (did you mean `s.agents.pro.output`?)
        error 6:64 unresolved-name: `agents.pro.output` is not defined: no node, written path or state is called `agents` (did you mean `s.agents.pro.output`?)
        error 6:88 unknown-property: `s.pro.output` is not defined: `s` has no `pro` (did you mean `s.agents.pro.output`?)
        error 6:107 unresolved-name: `pro` is not defined: no node, written path or state is called `pro` (did you mean `s.agents.pro.output`?)
    ");
    expect_one(&swarm("{{ s.agents.pro.output }}"), "");
    expect_one(&swarm("{ s.agents.pro.output } ${_budget.total_tokens}"), "
        warning 6:44 not-a-placeholder: `{ s.agents.pro.output }` is text, and `s.agents.pro.output` is not read: a placeholder has two braces on both sides
        warning 6:68 not-a-placeholder: `${_budget.total_tokens}` is text, and `_budget.total_tokens` is not read: a placeholder has two braces on both sides
    ");
}

#[test]
fn words_of_other_systems_for_types_and_providers() {
    expect_one(
        &flow(
            "x",
            "nodes:\n  m: {agent: a, writes: working.t}\n  n: {type: loop, agent: a, for_each: '[]', writes: output.n}\n",
        ),
        "error 5:13 unknown-value: `type` cannot be `loop` (did you mean `factory`? it can be one of `agent`, `swrm`, `factory`, `workflow`, `human`, `tool`)",
    );
    expect_one(
        "version: \"0.1\"\nnodes: {n: {type: swrm, agents: [{id: x, provider: \"openai:gpt-4o\", model: gpt-4o, prompt: p}]}}\n",
        "warning 2:52 unknown-provider: `provider` is the name of the provider alone, without a model (write `openai`)",
    );
    expect_one(
        "version: \"0.1\"\nagents: {a: {model: \u{201c}openai:m\u{201d}, system: x}}\nnodes: {n: {agent: a, writes: output.n}}\n",
        "warning 2:21 yaml-typographic-quotes: `“` and `”` are part of the text: YAML has other quotes",
    );
}

#[test]
fn models_of_another_maker_and_times_in_milliseconds() {
    let agent = |model: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"{model}\", system: x}}}}\nnodes: {{n: {{agent: a, writes: output.n}}}}\n"
        )
    };
    expect_one(
        &agent("anthropic:gpt-4o"),
        "warning 2:21 bad-model: `gpt-4o` is a model of `openai`, not of `anthropic` (write `openai:gpt-4o`)",
    );
    expect_one(
        &agent("openai:openai:gpt-4o"),
        "warning 2:21 bad-model: `openai:openai:gpt-4o` names the provider twice",
    );
    expect_one(&agent("openai:o3-mini"), "");
    let factory = "nodes:\n  m: {agent: a, writes: working.t}\n  n: {type: factory, agent: a, swarm_size: 2, timeout_per_instance: 30000, writes: output.n}\n";
    expect_one(
        &flow("x", factory),
        "warning 5:69 out-of-range: `timeout_per_instance` is in seconds: 30000 seconds are 8 hours (if milliseconds were meant, write `timeout_per_instance: 30`)",
    );
}

#[test]
fn an_input_that_is_no_list_by_its_default() {
    let over = |default: &str| {
        let nodes = "nodes:\n  n: {type: factory, agent: a, for_each: '{{ inputs.langs }}', writes: output.n}\n";
        flow("{{ item }}", &format!("{nodes}input: {{message: m, langs: {default}}}\n"))
    };
    expect_one(
        &over("german"),
        r#"warning 4:46 wrong-type: `inputs.langs` is no JSON list by its default, so a run without that input fails (write the default as a list, or as the text of one: `'["a", "b"]'`)"#,
    );
    expect_one(&over("[de, fr]"), "");
    expect_one(&over("'[\"de\"]'"), "");
}

#[test]
fn a_misspelt_action_is_told_once() {
    let node = |text: &str| {
        flow(
            "x",
            &format!("nodes:\n  n: {{agent: a, writes: output.n, {text}}}\n  m: {{agent: a, writes: output.n}}\n"),
        )
    };
    expect_one(
        &node("on_failure: {action: fallbak, fallback_node: m}"),
        "error 4:56 unknown-value: `action` cannot be `fallbak` (did you mean `fallback`? it can be one of `abort`, `fallback`, `skip`, `use_default`)",
    );
    expect_one(
        &node("on_failure: {action: use-default, default_output: x}"),
        "error 4:56 unknown-value: `action` cannot be `use-default` (did you mean `use_default`? it can be one of `abort`, `fallback`, `skip`, `use_default`)",
    );
    expect_one(
        &flow(
            "x",
            "nodes:\n  m: {agent: a, writes: working.t}\n  n: {type: human, prompt: p, writes: output.n, timeout: 5, on_timeout: usedefault, default_output: x}\n",
        ),
        "error 5:73 unknown-value: `on_timeout` cannot be `usedefault` (did you mean `use_default`? it can be one of `abort`, `skip`, `use_default`)",
    );
}
