//! Which node ends before which, and what may not have run.

use expect_test::expect;

use super::support::{check_one, lines_with};

/// Agents `x` (no placeholders) and `r` (this system prompt), and these nodes and edges.
fn workflow(system: &str, body: &str) -> String {
    format!(
        "version: \"0.1\"\nagents: {{x: {{model: \"openai:m\", system: x}}, r: {{model: \"openai:m\", system: {system:?}}}}}\n{body}"
    )
}

const LINE: &str = "nodes:\n  first: {agent: x, writes: working.one}\n  reader: {agent: r, writes: output.two}\n  last: {agent: x, writes: working.three}\n";

#[test]
fn without_edges_the_file_is_the_order() {
    check_one(&workflow("{{ first.output }} {{ one }}", LINE), expect![""]);
    check_one(
        &workflow("{{ last.output }} {{ three | default('x') }}", LINE),
        expect![[r#"
            error 2:80 unordered-read: `reader` reads `last.output`, but `last` does not end before it (declare `last` first: without edges nodes run in the order of the file)
            error 2:98 unordered-read: `reader` reads `three`, but `last`, which writes it, does not end before it (declare `last` first: without edges nodes run in the order of the file)
        "#]],
    );
    // A value that existed before is not a forward reference.
    check_one(&workflow("{{ three }}", &format!("{LINE}state: {{working: {{three: none}}}}\n")), expect![""]);
    let order = lines_with(&[("flow.yaml", &workflow("x", LINE))], &["node ", "after "]);
    assert_eq!(order, ["node first", "node reader", "after first", "node last", "after reader"]);
}

#[test]
fn with_edges_templates_order_nodes_too() {
    let body = format!("{LINE}edges: [{{from: first, to: reader}}]\n");
    let text = workflow("{{ last.output }} {{ three }}", &body);
    check_one(&text, expect![""]);
    let order = lines_with(&[("flow.yaml", &text)], &["node ", "after ", "from "]);
    assert_eq!(order, ["node first", "node reader", "from first", "after last", "node last"]);
    let back = format!("{LINE}edges: [{{from: reader, to: last}}]\n");
    check_one(
        &workflow("{{ last.output }} {{ three | default('') }}", &back),
        expect![[r#"
        error 2:80 unordered-read: `reader` reads `last.output`, but `last` does not end before it (the edges lead from `reader` to `last`, not back)
        error 2:98 unordered-read: `reader` reads `three`, but `last`, which writes it, does not end before it (the edges lead from `reader` to `last`, not back)
    "#]],
    );
}

#[test]
fn conditions_read_what_has_ended_with_their_source() {
    let with = |when: &str| {
        workflow(
            "x",
            &format!("{LINE}edges: [{{from: first, to: reader, when: {when:?}}}, {{from: reader, to: last}}]\n"),
        )
    };
    check_one(&with("working.one == 'a' and working.first.output != 'b' and _budget.total_tokens < 5"), expect![""]);
    check_one(
        &with("working.last.output == 'a'"),
        expect![[r#"
            error 7:42 unordered-read: the condition on an edge from `first` reads `working.last.output`, but `last` does not end before it (add an edge: `last` must end before `first`)
        "#]],
    );
    check_one(
        &with("working.two"),
        expect![[r#"
            error 7:42 unresolved-name: `working.two` is not defined: `working` has no `two` (did you mean `output.two`?) {maybe: "output.two"}
        "#]],
    );
    check_one(
        &with("output.two"),
        expect![[r#"
            error 7:42 unordered-read: the condition on an edge from `first` reads `output.two`, but `reader`, which writes it, does not end before it (add an edge: `reader` must end before `first`)
        "#]],
    );
}

#[test]
fn cycles_of_edges() {
    let edges = |text: &str| workflow("x", &format!("{LINE}edges:\n{text}"));
    check_one(
        &edges("  - {from: first, to: first}\n"),
        expect![[r#"
            error 8:5 edge-cycle: the edges form a cycle: `first` -> `first` (remove one of these edges: a workflow has no loops)
        "#]],
    );
    check_one(
        &edges("  - {from: first, to: reader}\n  - {from: reader, to: last}\n  - {from: last, to: first}\n"),
        expect![[r#"
            error 10:5 edge-cycle: the edges form a cycle: `first` -> `reader` -> `last` -> `first` (remove one of these edges: a workflow has no loops) [8:5 `first` -> `reader`] [9:5 `reader` -> `last`]
        "#]],
    );
}

#[test]
fn cycles_of_templates() {
    let text = "version: \"0.1\"\nagents:\n  a: {model: \"openai:m\", system: \"{{ two.output }}\"}\n  b: {model: \"openai:m\", system: \"{{ one.output | default('') }}\"}\nnodes:\n  one: {agent: a, writes: output.one}\n  two: {agent: b, writes: output.two}\n";
    check_one(
        text,
        expect![[r#"
            error 3:38 circular-ref: InterpolationError [circular_ref]: circular template reference among the nodes `one`, `two` (remove one of these references: a node can read only nodes that ended before it) [4:38 `two` reads `one.output` of `one`] [3:38 `one` reads `two.output` of `two`]
        "#]],
    );
    // Reported where a node reads the result of a later one. The same through written paths.
    let text = text
        .replace("two.output", "second")
        .replace("one.output", "first")
        .replace("output.one", "working.first")
        .replace("output.two", "working.second");
    check_one(
        &format!("{text}  three: {{agent: b, writes: output.x}}\nedges: [{{from: two, to: three}}]\n"),
        expect![[r#"
            error 4:38 circular-ref: InterpolationError [circular_ref]: circular template reference among the nodes `one`, `two` (remove one of these references: a node can read only nodes that ended before it) [4:38 `two` reads `first` of `one`] [3:38 `one` reads `second` of `two`]
        "#]],
    );
}

#[test]
fn a_fallback_of_a_fallback_has_its_place_wherever_it_is_declared() {
    let one = "  one: {agent: x, writes: working.x, on_failure: {action: fallback, fallback_node: two}}\n";
    let two = "  two: {agent: x, writes: working.x, on_failure: {action: fallback, fallback_node: three}}\n";
    let three = "  three: {agent: x, writes: working.x}\n";
    for nodes in [
        [one, two, three],
        [one, three, two],
        [two, one, three],
        [two, three, one],
        [three, one, two],
        [three, two, one],
    ] {
        let nodes = format!("nodes:\n{}  z: {{agent: r, writes: output.z}}\n", nodes.concat());
        check_one(&workflow("{{ working.x }}", &nodes), expect![""]);
    }
}

#[test]
fn fallbacks_run_in_place_of_their_node() {
    let nodes = "nodes:\n  spare: {agent: x, writes: output.x}\n  main: {agent: x, writes: output.x, on_failure: {action: fallback, fallback_node: spare}}\n  last: {agent: r, writes: output.y}\n";
    // Although it is declared before its node, it runs after it.
    let lines = lines_with(&[("flow.yaml", &workflow("x", nodes))], &["node ", "after ", "only when", "user "]);
    assert_eq!(
        lines,
        [
            "node spare",
            "after main",
            "only when main failed",
            "user $inputs.message",
            "node main, on failure spare",
            "user $inputs.message",
            "node last",
            "after spare",
            "user join($spare.output; \"\\n\\n\") else join($main.output; \"\\n\\n\") else $inputs.message",
        ]
    );
    let edges = format!("{nodes}edges:\n  - {{from: main, to: last}}\n  - {{from: main, to: spare}}\n");
    check_one(
        &workflow("x", &edges),
        expect![[r#"
            warning 9:5 redundant: the edge to `spare` has no effect: that node runs only if `main` fails (remove it, or keep it only for the order of the two nodes)
        "#]],
    );
    let circle = nodes.replace(
        "spare: {agent: x, writes: output.x}",
        "spare: {agent: x, writes: output.x, on_failure: {action: fallback, fallback_node: main}}",
    );
    check_one(
        &workflow("x", &circle),
        expect![[r#"
            error 5:84 edge-cycle: the edges and a `fallback_node` form a cycle: `spare` -> `main` -> `spare` (a fallback cannot run before the node that it replaces) [4:85 `spare` falls back to `main`]
        "#]],
    );
    // A default fallback is not its own fallback.
    let defaults = "defaults: {on_failure: {action: fallback, fallback_node: spare}}\nnodes:\n  main: {agent: x, writes: output.x}\n  spare: {agent: r, writes: output.x}\n";
    let lines = lines_with(&[("flow.yaml", &workflow("x", defaults))], &["node ", "only when"]);
    assert_eq!(lines, ["node main, on failure spare", "node spare", "only when main failed"]);
}

#[test]
fn the_output_tree_takes_the_later_nodes_value() {
    let text = workflow(
        "x",
        "state: {output: {fixed: 1}}\nnodes:\n  late: {agent: x, writes: output.reply}\n  early: {agent: r, writes: output.reply}\nedges: [{from: early, to: late}]\n",
    );
    let lines = lines_with(&[("flow.yaml", &text)], &["output compose"]);
    assert_eq!(lines, ["output compose({\"fixed\":1} + [reply: $early.output, reply: $late.output])"]);
}

#[test]
fn a_long_chain_is_no_trouble() {
    let mut body = String::from("nodes:\n");
    for n in 0..1500 {
        body += &format!("  n{n}: {{agent: r, writes: working.n{n}, on_failure: {{action: skip}}}}\n");
    }
    body += "edges:\n";
    for n in 1..1500 {
        body += &format!("  - {{from: n{}, to: n{n}}}\n", n - 1);
    }
    check_one(
        &workflow("x", &body).replace("agents: {x: {model: \"openai:m\", system: x}, ", "agents: {"),
        expect![""],
    );
}

#[test]
fn an_edge_that_is_there_already_has_no_effect() {
    let edges = |last: &str| {
        workflow(
            "x",
            &format!("{LINE}edges:\n  - {{from: first, to: reader}}\n  - {{from: first, to: last}}\n  - {last}\n"),
        )
    };
    check_one(
        &edges("{from: first, to: last}"),
        expect![[r#"
            warning 10:5 redundant: the edge from `first` to `last` is listed twice (remove one of them) [9:5 the first one]
        "#]],
    );
    check_one(&edges("{from: reader, to: last}"), expect![""]);
    let twice = "{from: first, to: reader, when: \"working.one == 'a'\"}";
    check_one(
        &workflow(
            "x",
            &format!(
                "{LINE}edges:\n  - {{from: reader, to: last}}\n  - {twice}\n  - {}\n",
                twice.replace("'a'", "'b'")
            ),
        ),
        expect![""],
    );
}
