//! The names available in templates and conditions: nodes, written and seeded paths, inputs, loop variables.

use expect_test::expect;

use super::support::{check_one, flow, lines_with};

/// Two agent nodes in a row, the second with this system prompt.
fn second(system: &str) -> String {
    let agents =
        format!("first: {{model: \"openai:m\", system: x}}, second: {{model: \"openai:m\", system: {system:?}}}");
    format!(
        "version: \"0.1\"\nagents: {{{agents}}}\nnodes:\n  plan: {{agent: first, writes: working.plan.note}}\n  reply: {{agent: second, writes: output.reply}}\n"
    )
}

#[test]
fn names_that_are_there() {
    for system in [
        "{{ plan.output }}",
        "{{ plan }}",
        "{{ plan.note }}",
        "{{ inputs.message }}",
        "{{ env.HOME }}",
        "{{ _budget.total_tokens }} {{ _budget.estimated_usd }}",
        "{{ working }} {{ output }}",
        "{{ item | default('none') }} {{ index | default('0') }} {{ total | default('0') }}",
        "a lone }} and { single } braces",
    ] {
        check_one(&second(system), expect![""]);
    }
}

#[test]
fn names_that_nobody_defines() {
    check_one(
        &second("{{ pln.output }}"),
        expect![[r#"
            error 2:89 unresolved-name: `pln.output` is not defined: no node, written path or state is named `pln` (did you mean `plan.output`?) {fix: 2:89 "plan"}
        "#]],
    );
    check_one(
        &second("{{ plan.outptu }}"),
        expect![[r#"
            error 2:89 unresolved-name: `plan.outptu` is not defined: `plan` has no `outptu` (did you mean `plan.output`?) {fix: 2:94 "output"}
        "#]],
    );
    check_one(
        &second("{{ plan.output.text }}"),
        expect![[r#"
            error 2:89 unresolved-name: `plan.output.text` is not defined: `plan.output` has no `text` (it is text: write `{{ plan.output }}` for all of it)
        "#]],
    );
    check_one(
        &second("{{ inputs.mesage }}"),
        expect![[r#"
            error 2:89 unresolved-name: `inputs.mesage` is not defined: `inputs` has no `mesage` (did you mean `inputs.message`?) {fix: 2:96 "message"}
        "#]],
    );
    check_one(
        &second("{{ inputs.topic }}"),
        expect![[r#"
            error 2:89 unresolved-name: `inputs.topic` is not defined: `inputs` has no `topic` (declare it: `input: {topic: ...}`)
        "#]],
    );
    check_one(
        &second("{{ inputs.message.text }}"),
        expect![[r#"
            error 2:104 property-of-text: `inputs.message` is text, so `inputs.message.text` fails the run (remove the rest of the path, or make the value an object)
        "#]],
    );
    check_one(
        &second("{{ inputs }} {{ env }}"),
        expect![[r#"
            error 2:89 unresolved-name: `inputs` needs a field name after it (for example `{{ inputs.message }}`) {maybe: "inputs.message"}
            error 2:102 unresolved-name: `env` needs a field name after it (for example `{{ env.NAME }}`)
        "#]],
    );
    check_one(
        &second("{{ item.name }}"),
        expect![[r#"
            error 2:89 loop-variable: `item` is defined only inside a factory (node `reply` is not a factory; write `{{ item.name | default('...') }}` if the agent is used in both)
        "#]],
    );
    check_one(
        &second("{{ _budget.dollars }}"),
        expect![[r#"
            error 2:97 unknown-property: `_budget` has no `dollars` (its properties are `total_tokens`, `estimated_usd`)
        "#]],
    );
    check_one(
        &second("{{ output.reply }} {{ output.report }}"),
        expect![[r#"
            error 2:89 unordered-read: `output.reply` is the output of the step that reads it, which has no value before it has run (read the output of a step that ends before it)
            error 2:108 unresolved-name: `output.report` is not defined: `output` has no `report`
        "#]],
    );
}

#[test]
fn a_default_makes_it_a_warning() {
    check_one(
        &second("{{ working.context | default('none provided') }}"),
        expect![[r#"
            warning 2:89 unresolved-name: `working.context` is not defined: `working` has no `context`; its value is always `none provided`
        "#]],
    );
    check_one(
        &second("{{ plan.outptu | json_or_default('[]') }}"),
        expect![[r#"
            warning 2:89 unresolved-name: `plan.outptu` is not defined: `plan` has no `outptu`; its value is always `[]` (did you mean `plan.output`?) {maybe: 2:94 "output"}
        "#]],
    );
}

#[test]
fn working_dot_node_id_is_for_conditions_only() {
    check_one(
        &second("{{ working.plan.output }} {{ working.plan }}"),
        expect![[r#"
            error 2:89 working-dot-node-id: working_dot_node_id: `working.plan.output` reads node `plan` through `working` (use `{{ plan.output }}`; in templates `working.*` is for paths that you write or seed yourself) {fix: "plan.output"}
            error 2:115 working-dot-node-id: working_dot_node_id: `working.plan` reads node `plan` through `working` (use `{{ plan.output }}`; in templates `working.*` is for paths that you write or seed yourself) {fix: "plan.output"}
        "#]],
    );
    let condition =
        format!("{}edges: [{{from: plan, to: reply, when: 'working.plan.output == \"x\"'}}]\n", second("x"));
    check_one(&condition, expect![""]);
}

#[test]
fn positions_inside_block_scalars() {
    let text = "version: \"0.1\"\nagents:\n  a:\n    model: openai:m\n    system: |\n      first line\n        {{ nope.x }} and {{\n        env }}\n  b:\n    model: openai:m\n    system: >\n      folded\n      {{ nobody }}\nnodes:\n  n: {agent: a, writes: output.n}\n  m: {agent: b, writes: output.m}\n";
    check_one(
        text,
        expect![[r#"
            error 7:12 unresolved-name: `nope.x` is not defined: no node, written path or state is named `nope` (available: `n`, `m`, `inputs`, `env`, `item`, `index`, `total`)
            error 8:9 unresolved-name: `env` needs a field name after it (for example `{{ env.NAME }}`)
            error 13:10 unresolved-name: `nobody` is not defined: no node, written path or state is named `nobody` (available: `n`, `m`, `inputs`, `env`, `item`, `index`, `total`)
        "#]],
    );
}

/// The source of each reference in the second node's prompt.
fn sources(system: &str, state: &str) -> String {
    let text = format!("{}{state}", second(system));
    let lines = lines_with(&[("flow.yaml", &text)], &["system text"]);
    let (_, sources) = lines[0].split_once("\" [").unwrap();
    sources.trim_end_matches(']').to_owned()
}

#[test]
fn written_paths_come_before_nodes() {
    // The node writes its own text there.
    assert_eq!(sources("{{ plan.note }}", ""), "plan.note <- $plan.output");
    // Only the node's context has it.
    assert_eq!(sources("{{ plan.output }}", ""), "plan.output <- $plan.output");
    // Both can have it: written values take precedence over the node.
    assert_eq!(
        sources("{{ plan }}", ""),
        "plan <- (compose({} + [plan.note: $plan.output]) | compose({\"plan\":{}} + [plan: $plan])).plan"
    );
    // Written values take precedence over a seed.
    assert_eq!(
        sources("{{ plan.note }}", "state: {working: {plan: {note: none}, other: 1}}\n"),
        "plan.note <- compose({\"plan\":{\"note\":\"none\"}} + [plan.note: $plan.output]).plan.note"
    );
    assert_eq!(
        sources("{{ working.other }} {{ other }}", "state: {working: {other: 1}}\n"),
        "working.other <- const {\"other\":1}.other, other <- const {\"other\":1}.other"
    );
    assert_eq!(
        sources("{{ output.fixed }}", "state: {output: {fixed: 1}}\n"),
        "output.fixed <- const {\"fixed\":1}.fixed"
    );
}

#[test]
fn writing_to_the_nodes_own_place_does_not_hide_it() {
    let text = flow(
        "{{ n.output | default('') }}",
        "nodes:\n  n: {agent: b, writes: working.n}\n  m: {agent: a, writes: output.m}\n",
    );
    let text = text.replace("agents: {", "agents: {b: {model: \"openai:m\", system: x}, ");
    assert!(lines_with(&[("flow.yaml", &text)], &["system text"])[0].contains("[n.output <- $n.output]"));
    // Without a prefix, the written path takes precedence.
    let bare = text.replace("n.output | default('')", "n");
    assert!(
        lines_with(&[("flow.yaml", &bare)], &["system text"])[0].contains("[n <- (compose({} + [n: $n.output]) | "),
        "{bare}"
    );
}

#[test]
fn ids_with_dots_are_found() {
    let text = flow(
        "{{ a.b.output }} {{ a.b.outptu }}",
        "nodes:\n  a.b: {type: human, writes: working.x}\n  m: {agent: a, writes: output.m}\n",
    );
    check_one(
        &text,
        expect![[r#"
            error 2:62 unresolved-name: `a.b.outptu` is not defined: `a.b` has no `outptu` (did you mean `a.b.output`?) {fix: 2:66 "output"}
        "#]],
    );
}

#[test]
fn declared_inputs_have_the_type_of_their_default() {
    let text = flow(
        "{{ inputs.n }}",
        "nodes: {x: {agent: a, writes: output.x}}\ninput: {message: hi, n: 3, f: 1.5, b: true, l: [1], o: {k: v}, s: text, open: }\n",
    );
    let fields = lines_with(&[("flow.yaml", &text)], &["field "]);
    assert_eq!(
        fields,
        [
            "field message {\"type\":\"string\"} default \"hi\"",
            "field n {\"type\":\"integer\"} default 3",
            "field f {\"type\":\"number\"} default 1.5",
            "field b {\"type\":\"boolean\"} default true",
            "field l {\"type\":\"array\"} default [1]",
            "field o {\"type\":\"object\"} default {\"k\":\"v\"}",
            "field s {\"type\":\"string\"} default \"text\"",
            "field open {}",
        ]
    );
    check_one(
        &text.replace("inputs.n }}", "inputs.n.x }} {{ inputs.l.0 }} {{ inputs.l.x }} {{ inputs.o.any }}"),
        expect![[r#"
            error 2:54 property-of-text: `inputs.n` is a number, so `inputs.n.x` fails the run (remove the rest of the path, or make the value an object)
            error 2:88 property-of-text: `inputs.l` is a list, so `inputs.l.x` fails the run (remove the rest of the path, or make the value an object)
            warning 2:96 unresolved-name: `inputs.o` has no `any` by its default, so a run without that input fails (available: `k`)
        "#]],
    );
}

#[test]
fn the_message_is_required_unless_nobody_reads_it() {
    let field = |text: &str| lines_with(&[("flow.yaml", text)], &["field message"]).join("\n");
    let node = "nodes: {x: {agent: a, writes: output.x}}\n";
    assert_eq!(field(&flow("x", node)), "field message {\"type\":\"string\"}");
    let swarm = "version: \"0.1\"\nnodes: {s: {type: swrm, agents: [{id: p, provider: openai, prompt: \"{{ inputs.topic }}\"}]}}\ninput: {topic: tea}\n";
    assert_eq!(field(swarm), "field message {\"type\":\"string\"} default \"\"");
    assert_eq!(
        field(&swarm.replace("inputs.topic }}", "inputs.topic }} {{ inputs.message }}")),
        "field message {\"type\":\"string\"}"
    );
}

#[test]
fn factories_see_their_item_and_their_inputs() {
    let worker = |system: &str| {
        flow(
            system,
            "nodes:\n  f: {type: factory, agent: a, for_each: '[1]', inputs: {task: \"{{ item }}\", place: \"{{ index }} of {{ total }}\"}, writes: working.f}\n",
        )
    };
    check_one(
        &worker("{{ inputs.task }} {{ item.name }} {{ index }} {{ total }} {{ inputs.message }}"),
        expect![[r#"
            warning 2:68 property-of-text: `item` is a number, so `item.name` fails the run (remove the rest of the path, or make the value an object)
        "#]],
    );
    check_one(
        &worker("{{ inputs.tsk }} {{ index.x }}"),
        expect![[r#"
            error 2:45 unresolved-name: `inputs.tsk` is not defined: `inputs` has no `tsk` (did you mean `inputs.task`?) {fix: 2:52 "task"}
            error 2:68 property-of-text: `index` is a number, so `index.x` fails the run (remove the rest of the path, or make the value an object)
        "#]],
    );
    // A factory's inputs cannot read each other, and its list cannot read the item.
    check_one(
        &flow(
            "x",
            "nodes:\n  f: {type: factory, agent: a, for_each: \"{{ item }}\", inputs: {x: 1, y: \"{{ inputs.x }}\"}, writes: working.f}\n",
        ),
        expect![[r#"
            error 4:46 loop-variable: `item` is defined only inside a factory (use it in a factory's `inputs` and in its agents' prompts, where it is the list element)
            error 4:78 unresolved-name: `inputs.x` is not defined: `inputs` has no `x` (declare it: `input: {x: ...}`)
        "#]],
    );
    check_one(
        &flow("{{ item }} {{ index }}", "nodes:\n  f: {type: factory, agent: a, swarm_size: 3, writes: working.f}\n"),
        expect![[r#"
            error 2:45 loop-variable: `item` is not defined with `swarm_size`, which has no list (use it in a factory's `inputs` and in its agents' prompts, where it is the list element)
        "#]],
    );
}

#[test]
fn the_environment_decides_nothing() {
    check_one(
        &flow(
            "{{ env.OK }}",
            "nodes:\n  f: {type: factory, agent: a, for_each: \"{{ env.LIST | default('[]') }}\", writes: working.f}\n  g: {type: factory, agent: a, swarm_size: \"{{ env.N }}\", writes: working.g}\n",
        ),
        expect![[r#"
            error 4:46 env-decides: `env.LIST` cannot be used in `for_each`: the steps of a run must not depend on the environment (pass the value as a field of `input`)
            error 5:48 env-decides: `env.N` cannot be used in `swarm_size`: the steps of a run must not depend on the environment (pass the value as a field of `input`)
        "#]],
    );
}

#[test]
fn agents_of_a_swarm_are_for_its_synthesis_and_for_later_nodes() {
    let swarm = |synthesis: &str, later: &str| {
        flow(
            later,
            &format!(
                "nodes:\n  s:\n    type: swrm\n    agents: [{{id: p, provider: openai, prompt: x}}, {{id: q, provider: openai, prompt: x}}]\n    synthesis: {{provider: openai, prompt: \"{synthesis}\"}}\n  n: {{agent: a, writes: output.n}}\n"
            ),
        )
    };
    check_one(&swarm("{{ s.agents.p.output }} {{ s.agents }}", "{{ s.agents.q.output }} {{ s.output }}"), expect![""]);
    check_one(
        &swarm("{{ s.agents.pp.output }} {{ s.output }}", "{{ s.agents.r.output }}"),
        expect![[r#"
            error 2:45 unresolved-name: `s.agents.r.output` is not defined: `s.agents` has no `r` (did you mean `s.agents.p.output`?) {maybe: 2:54 "p"}
            error 7:47 unresolved-name: `s.agents.pp.output` is not defined: `s.agents` has no `pp` (did you mean `s.agents.p.output`?) {maybe: 7:56 "p"}
            error 7:72 unordered-read: `s.output` is the output of the step that reads it, which has no value before it has run (read the output of a step that ends before it)
        "#]],
    );
}

#[test]
fn an_agent_of_two_factories_is_told_which_one_lacks_the_input() {
    let nodes = "nodes:
  f1: {type: factory, agent: a, for_each: '[1]', writes: working.f1}
  f2: {type: factory, agent: a, for_each: '[1]', inputs: {k: \"{{ item }}\"}, writes: working.f2}
";
    check_one(
        &flow("{{ inputs.k | default('-') }}", nodes),
        expect![[r#"
            warning 2:45 unresolved-name: in `f1`, `inputs.k` is not defined: `inputs` has no `k`; its value there is always `-` (declare it: `input: {k: ...}`)
        "#]],
    );
    check_one(
        &flow("{{ inputs.k }}", nodes),
        expect![[r#"
            error 2:45 unresolved-name: in `f1`, `inputs.k` is not defined: `inputs` has no `k` (declare it: `input: {k: ...}`)
        "#]],
    );
}

#[test]
fn a_node_with_the_name_of_something_else_is_told() {
    let nodes = "nodes:\n  item: {type: agent, agent: a, writes: working.x}\n  items: {type: agent, agent: a, writes: working.y}\n";
    check_one(
        &flow("x", nodes),
        expect![[r#"
            warning 4:3 reserved-name: templates cannot read the result of a node named `item`: the name means something else (rename the node)
        "#]],
    );
}
