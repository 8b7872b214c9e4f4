//! Paths that are read or written but do not exist: the findings, and the suggestions.

use expect_test::{Expect, expect};

use super::support::{check, check_one, flow, load, offered, reader};

#[test]
fn names_that_are_right_and_stand_elsewhere() {
    let told = |system: &str, expected: Expect| check_one(&reader(system), expected);
    told(
        "{{ topic }} {{ input }} {{ inputs }}",
        expect![[r#"
            error 6:17 unresolved-name: `topic` is not defined: no node, written path or state is named `topic` (did you mean `inputs.topic`?) {maybe: "inputs.topic"}
            error 6:29 unresolved-name: `input` is not defined: no node, written path or state is named `input` (did you mean `inputs.message`?) {maybe: "inputs.message"}
            error 6:41 unresolved-name: `inputs` needs a field name after it (for example `{{ inputs.message }}`) {maybe: "inputs.message"}
        "#]],
    );
    told(
        "{{ nodes.d.output }} {{ outputs.d }} {{ outputs.e }} {{ output.text.long }}",
        expect![[r#"
            error 6:17 unresolved-name: `nodes.d.output` is not defined: no node, written path or state is named `nodes` (did you mean `d.output`?) {maybe: "d.output"}
            error 6:38 unresolved-name: `outputs.d` is not defined: no node, written path or state is named `outputs` (did you mean `d.output`?) {maybe: "d.output"}
            error 6:54 unresolved-name: `outputs.e` is not defined: no node, written path or state is named `outputs` (available: `d`, `n`, `text`, `inputs`, `env`, `item`, `index`, `total`)
            error 6:70 unresolved-name: `output.text.long` is not defined: `output` has no `text` (did you mean `working.text.long`?) {maybe: "working.text.long"}
        "#]],
    );
    let swarm = |prompt: &str| {
        format!(
            "version: \"0.1\"\nnodes:\n  s:\n    type: swrm\n    agents: [{{id: pro, provider: openai, prompt: p}}]\n    synthesis: {{provider: openai, prompt: \"{prompt}\"}}\n"
        )
    };
    check_one(
        &swarm("{{ pro.output }} {{ agents.pro.output }} {{ s.pro.output }} {{ pro }}"),
        expect![[r#"
            error 6:47 unresolved-name: `pro.output` is not defined: no node, written path or state is named `pro` (did you mean `s.agents.pro.output`?) {maybe: "s.agents.pro.output"}
            error 6:64 unresolved-name: `agents.pro.output` is not defined: no node, written path or state is named `agents` (did you mean `s.agents.pro.output`?) {maybe: "s.agents.pro.output"}
            error 6:88 unresolved-name: `s.pro.output` is not defined: `s` has no `pro` (did you mean `s.agents.pro.output`?) {maybe: "s.agents.pro.output"}
            error 6:107 unresolved-name: `pro` is not defined: no node, written path or state is named `pro` (did you mean `s.agents.pro.output`?) {maybe: "s.agents.pro.output"}
        "#]],
    );
    check_one(&swarm("{{ s.agents.pro.output }}"), expect![""]);
    check_one(
        &swarm("{ s.agents.pro.output } ${_budget.total_tokens}"),
        expect![[r#"
            warning 6:44 not-a-placeholder: `{ s.agents.pro.output }` is text, so `s.agents.pro.output` is not read: a placeholder has two braces on both sides {maybe: "{{ s.agents.pro.output }}"}
            warning 6:68 not-a-placeholder: `${_budget.total_tokens}` is text, so `_budget.total_tokens` is not read: a placeholder has two braces on both sides {maybe: "{{ _budget.total_tokens }}"}
        "#]],
    );
}

#[test]
fn results_read_as_keys_of_working() {
    let file = |reads: &str, extra: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: s}}, b: {{model: \"openai:m\", system: \"{reads}\"}}}}\nnodes:\n  plan: {{agent: a, writes: output.p}}\n  fan: {{type: factory, agent: a, for_each: '[1]', writes: working.list}}\n{extra}  n: {{agent: b, writes: output.n}}\n"
        )
    };
    let child = "version: \"0.1\"\nagents: {a: {model: \"openai:m\", system: s}}\nnodes: {c: {agent: a, writes: output.verdict}}\n";
    let sub = "  sub: {type: workflow, ref: ./child.yaml}\n";
    let told = |path: &str, right: &str, expected: Expect| {
        let text = file(&format!("{{{{ {path} }}}}"), sub);
        check(&[("flow.yaml", &text), ("child.yaml", child)], expected);
        // The suggested path exists.
        check(&[("flow.yaml", &file(&format!("{{{{ {right} }}}}"), sub)), ("child.yaml", child)], expect![""]);
    };
    told(
        "working.sub.verdict",
        "sub.output.verdict",
        expect![[r#"
            error flow.yaml 2:80 working-dot-node-id: working_dot_node_id: `working.sub.verdict` reads node `sub` through `working` (use `{{ sub.output.verdict }}`; in templates `working.*` is for paths that you write or seed yourself) {fix: "sub.output.verdict"}
        "#]],
    );
    told(
        "working.sub.output.verdict",
        "sub.output.verdict",
        expect![[r#"
            error flow.yaml 2:80 working-dot-node-id: working_dot_node_id: `working.sub.output.verdict` reads node `sub` through `working` (use `{{ sub.output.verdict }}`; in templates `working.*` is for paths that you write or seed yourself) {fix: "sub.output.verdict"}
        "#]],
    );
    told(
        "working.sub.vrdct",
        "sub.output",
        expect![[r#"
            error flow.yaml 2:80 working-dot-node-id: working_dot_node_id: `working.sub.vrdct` reads node `sub` through `working` (use `{{ sub.output }}`; in templates `working.*` is for paths that you write or seed yourself) {maybe: "sub.output"}
        "#]],
    );
    told(
        "working.fan.0",
        "fan.outputs.0",
        expect![[r#"
            error flow.yaml 2:80 working-dot-node-id: working_dot_node_id: `working.fan.0` reads node `fan` through `working` (use `{{ fan.outputs.0 }}`; in templates `working.*` is for paths that you write or seed yourself) {fix: "fan.outputs.0"}
        "#]],
    );
    told(
        "working.plan.text",
        "plan.output",
        expect![[r#"
            error flow.yaml 2:80 working-dot-node-id: working_dot_node_id: `working.plan.text` reads node `plan` through `working` (use `{{ plan.output }}`; in templates `working.*` is for paths that you write or seed yourself) {maybe: "plan.output"}
        "#]],
    );
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
    check_one(
        "version: \"0.1\"\nagents: {a: {model: \"openai:m\", system: s}, b: {model: \"openai:m\", system: \"{{ plan.output }}\"}}\nnodes:\n  pln: {agent: a, writes: working.plan}\n  n: {agent: b, writes: output.n}\n",
        expect![[r#"
            error 2:80 unresolved-name: `plan.output` is not defined: `plan` has no `output` (node `pln` writes `plan`: use `{{ plan }}` or `{{ pln.output }}`) {maybe: "pln.output"}
        "#]],
    );
    let schema = "guardrails: [{name: schema, config: {schema: {type: object}}}]";
    let text = |guard: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: s{guard}}}}}\nnodes:\n  d: {{agent: a, writes: working.d}}\n  n: {{type: human, prompt: '{{{{ d.output.score }}}}', writes: output.n}}\n"
        )
    };
    check_one(
        &text(""),
        expect![[r#"
            error 5:32 unresolved-name: `d.output.score` is not defined: `d.output` has no `score` (it is text: write `{{ d.output }}` for all of it)
        "#]],
    );
    check_one(
        &text(&format!(", {schema}")),
        expect![[r#"
            error 5:32 unresolved-name: `d.output.score` is not defined: `d.output` has no `score` (it is text, although a `schema` guardrail checks it as an object: write `{{ d.output }}` for all of it)
        "#]],
    );
    check_one(
        &flow("{{ working.l.7 }}", "state: {working: {l: [a, b]}}\nnodes: {n: {agent: a, writes: output.n}}\n"),
        expect![[r#"
            error 2:45 unresolved-name: `working.l.7` is not defined: `working.l` has no `7` (it is a list: use an index from 0 to 1)
        "#]],
    );
}

#[test]
fn a_variable_of_the_environment_is_text() {
    check_one(
        &flow("{{ env.HOME.extra }}", "nodes: {n: {agent: a, writes: output.n}}\n"),
        expect![[r#"
            error 2:54 property-of-text: `env.HOME` is text, so `env.HOME.extra` fails the run (remove the rest of the path, or make the value an object)
        "#]],
    );
}

#[test]
fn a_node_alone_is_not_offered_for_a_text() {
    let text = flow(
        "s",
        "nodes:\n  approve: {type: human, prompt: p, writes: working.answer}\n  m: {agent: a, writes: output.m}\nedges:\n  - {from: approve, to: m, when: 'working.approval == \"yes\"'}\n",
    );
    let all = offered(&text);
    assert!(all.iter().all(|(mended, safe)| !safe && mended.contains("working.approve.output ==")), "{all:?}");
    check_one(
        &text,
        expect![[r#"
            error 7:35 unresolved-name: `working.approval` is not defined: `working` has no `approval` (did you mean `working.approve.output`?) {maybe: "working.approve.output"}
        "#]],
    );
}

#[test]
fn the_list_of_a_factory_is_offered_where_a_list_is_needed() {
    let over = |list: &str| {
        let nodes = "nodes:\n  ideas: {type: factory, agent: a, for_each: '[1]', writes: working.ideas}\n";
        flow(
            "{{ item }}",
            &format!("{nodes}  n: {{type: factory, agent: a, for_each: '{{{{ {list} }}}}', writes: output.n}}\n"),
        )
    };
    let offered = offered(&over("working.ideas"));
    assert!(offered.iter().all(|(text, _)| text.contains("'{{ ideas.outputs }}'")), "{offered:?}");
    check_one(
        &over("ideas.output"),
        expect![[r#"
            warning 5:46 bad-fan-out: `ideas.output` joins the results of all instances of `ideas` as text; it is not a list (write `{{ ideas.outputs }}` for the list) {maybe: 5:52 "outputs"}
        "#]],
    );
    check_one(&over("ideas.outputs"), expect![""]);
}

#[test]
fn a_node_that_writes_where_another_leaves_its_result() {
    let nodes = |write: &str, more: &str| {
        flow(
            "s",
            &format!(
                "nodes:\n  draft: {{agent: a, writes: working.draft.output{more}}}\n  review: {{agent: a, writes: {write}}}\n"
            ),
        )
    };
    check_one(
        &nodes("working.draft.output", ""),
        expect![[r#"
            warning 5:44 write-conflict: `review` overwrites the result of `draft`: afterwards `draft.output` is the value from `review` (write `working.review.output`, or another unused path) [4:3 this node]
        "#]],
    );
    check_one(&nodes("working.draft.notes", ""), expect![""]);
    // A node that is a fallback for it.
    check_one(&nodes("working.draft.output", ", on_failure: {action: fallback, fallback_node: review}"), expect![""]);
}

#[test]
fn paths_that_are_written_where_something_else_stands() {
    let node = |write: &str, state: &str| {
        flow("s", &format!("nodes:\n  n: {{agent: a, writes: {write}}}\nstate: {{output: {{channel: {state}}}}}\n"))
    };
    check_one(
        &node("working._budget", "mail"),
        expect![[r#"
            warning 4:25 reserved-name: `working._budget` cannot be read: the name means the run's usage so far (write to another path)
        "#]],
    );
    check_one(
        &node("output.channel.name", "mail"),
        expect![[r#"
            warning 4:25 write-conflict: writing here replaces `output.channel`, which has a value from the start (write to a path that is not below a text) [5:18 the value]
        "#]],
    );
    check_one(&node("output.channel.name", "{name: x}"), expect![""]);
    check_one(&node("output.channel.name", ""), expect![""]);
    check_one(&node("output.channel", "mail"), expect![""]);
}

#[test]
fn paths_that_no_template_can_read() {
    check_one(
        &flow("x", "nodes:\n  n: {agent: a, writes: output.a b}\n"),
        expect![[r#"
            warning 4:25 bad-path: `output.a b` contains a space, so no template can read it
        "#]],
    );
    check_one(
        &flow("x", "nodes:\n  n: {agent: a, writes: \"output.a[0]\"}\n"),
        expect![[r#"
            warning 4:25 bad-path: `output.a[0]` contains `[`, so no template can read it
        "#]],
    );
    check_one(
        &flow("x", "nodes:\n  n: {agent: a, writes: output}\n"),
        expect![[r#"
            warning 4:25 bad-path: `output` alone writes `output.output`: the name after the dot is missing (add a name: `output.reply`)
        "#]],
    );
}

#[test]
fn no_part_of_a_path_is_lost_by_a_change() {
    let mended = |path: &str| {
        let all = offered(&flow("s", &format!("nodes: {{n: {{agent: a, writes: {path}}}}}\n")));
        all.into_iter()
            .map(|(text, safe)| (text.split("writes: ").nth(1).unwrap().trim_end_matches("}}\n").to_owned(), safe))
            .collect::<Vec<_>>()
    };
    for (path, meant) in [
        ("output:z", "output.z"),
        ("working;z", "working.z"),
        ("working->z.y", "working.z.y"),
        ("output/z", "output.z"),
    ] {
        assert_eq!(mended(path), [(meant.to_owned(), true)]);
    }
    assert_eq!(mended("outptu.z"), [("output.z".to_owned(), true)]);
    // The extra characters may be the name.
    assert_eq!(mended("outputz"), [("output".to_owned(), false)]);
    // A single change for both quotes.
    assert_eq!(mended("“working.y”"), [("\"working.y\"".to_owned(), false)]);
}
