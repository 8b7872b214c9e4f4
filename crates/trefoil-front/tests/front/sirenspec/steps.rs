//! The lowering of nodes: user messages, contexts, policies, guardrails.

use super::support::{flow, lines_with};

/// The lines of a workflow's program that contain one of these words.
fn lines(nodes: &str, words: &[&str]) -> Vec<String> {
    lines_with(&[("flow.yaml", &flow("x", nodes))], words)
}

const DIAMOND: &str = "nodes:\n  s: {agent: a, writes: working.s}\n  l: {agent: a, writes: working.l}\n  r: {agent: a, writes: working.r}\n  j: {agent: a, writes: output.j}\n";

#[test]
fn the_user_message_is_what_led_to_the_node() {
    let edges = "edges: [{from: s, to: r}, {from: s, to: l}, {from: r, to: j}, {from: l, to: j}]\n";
    assert_eq!(
        lines(&format!("{DIAMOND}{edges}"), &["user "]),
        [
            "user $inputs.message",
            "user join($s.output; \"\\n\\n\") else \"\"",
            "user join($s.output; \"\\n\\n\") else \"\"",
            // In declaration order, whatever the order of the edges.
            "user join($l.output, $r.output; \"\\n\\n\") else \"\"",
        ]
    );
    // Without edges, it is the preceding node in the file.
    assert_eq!(lines(DIAMOND, &["user "])[2], "user join($l.output; \"\\n\\n\") else \"\"");
}

#[test]
fn only_predecessors_whose_edge_was_taken_count() {
    let edges = "edges:\n  - {from: s, to: l}\n  - {from: s, to: r}\n  - {from: l, to: j, when: \"working.l == 'x'\"}\n  - {from: r, to: j}\n";
    let found = lines(&format!("{DIAMOND}{edges}"), &["user ", "carry"]);
    assert!(found[3].ends_with("carry $l -> j <- $l.output"), "{found:#?}");
    assert_eq!(found[4], "user join($l -> j, $r.output; \"\\n\\n\") else \"\"");
}

#[test]
fn a_node_that_left_nothing_is_passed_over() {
    let nodes = DIAMOND
        .replace("l: {agent: a, writes: working.l}", "l: {agent: a, writes: working.l, on_failure: {action: skip}}");
    assert_eq!(
        lines(&nodes, &["user "])[2],
        "user join($l.output; \"\\n\\n\") else join($s.output; \"\\n\\n\") else \"\""
    );
}

#[test]
fn contexts() {
    let nodes = "nodes:\n  f: {type: factory, agent: a, for_each: '[1]', writes: working.f}\n  s: {type: swrm, agents: [{id: p, provider: openai, prompt: x}]}\n  t: {type: tool, tool: python, output_key: a.b, config: {module: m, function: g}}\n  h: {type: human, writes: working.h}\n";
    assert_eq!(
        lines(nodes, &["shape "]),
        [
            "shape {output: lines(result), outputs: result}",
            "shape {output: result}",
            "shape {output: result, agents: compose({} + [p: $s.p])}",
            "shape {a: {b: result}}",
            "shape {output: result}",
        ]
    );
    // Without a synthesis, a swarm returns the list of answers, with an empty text for a failed agent.
    assert_eq!(lines(nodes, &["compute "]), ["compute [if $s.p.output then $s.p.output else \"\"]"]);
}

#[test]
fn factory_instances() {
    let node = |keys: &str| {
        lines(
            &format!("nodes:\n  f: {{type: factory, agent: a, {keys}, writes: working.f}}\n"),
            &["user ", "init ", "for_each"],
        )
    };
    assert_eq!(
        node("for_each: '[1, 2]'"),
        ["`f` for_each in [1,2] 1 at a time -> $f @ flow.yaml:4:3", "user join($item; \"\") else \"null\""]
    );
    assert_eq!(
        node("for_each: \"{{ inputs.message }}\", inputs: {k: \"{{ item }}\", n: 3}, concurrency: 5")[1..],
        ["init $inputs = {k: typed \"\\\"{{ item }}\\\"\" [item <- $item], n: 3}", "user lines($inputs)",]
    );
    assert_eq!(
        node("swarm_size: 3"),
        ["`f` for_each times 3 max 100 1 at a time -> $f @ flow.yaml:4:3", "user $inputs (outer).message"]
    );
}

#[test]
fn guardrails_are_inherited_replaced_or_the_default() {
    let guards = |top: &str, own: &str| {
        let text = format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: x{own}}}}}\nnodes:\n  n: {{agent: a, writes: output.n}}\n  s: {{type: swrm, agents: [{{id: p, provider: openai, prompt: x{own}}}]}}\n{top}"
        );
        lines_with(&[("flow.yaml", &text)], &["guard "])
    };
    // Swarms have the default too.
    assert_eq!(guards("", ""), ["guard injection", "guard injection"]);
    assert_eq!(guards("guardrails: []\n", ""), [""; 0]);
    assert_eq!(guards("guardrails: [length]\n", ""), ["guard length 4000 cut", "guard length 4000 cut"]);
    assert_eq!(guards("guardrails: [length]\n", ", guardrails: [injection]"), ["guard injection", "guard injection"]);
    assert_eq!(guards("guardrails: [length]\n", ", guardrails: []"), [""; 0]);
    assert_eq!(
        guards("guardrails: [{name: cost_cap, config: {max_tokens: 9, action: warn}}]\n", "")[0],
        "guard tokens 9 warn"
    );
}

#[test]
fn retries_and_what_follows_them() {
    let node = |keys: &str| {
        lines(&format!("nodes:\n  n: {{agent: a, writes: output.n, {keys}}}\n"), &["retry ", "on failure"])
    };
    assert_eq!(node("retry: {max_attempts: 1}"), ["retry 1 tries constant 1000 to 30000 ms on 429, network, timeout"]);
    assert_eq!(node("retry: {max_attempts: 3}"), ["retry 3 tries constant 1000 to 30000 ms on 429, network, timeout"]);
    assert_eq!(
        node(
            "retry: {max_attempts: 2, backoff: linear, base_delay: 0.5, max_delay: 2, jitter: true, on: [\"503\", guardrail_violation], retry_on_guardrail: true}"
        ),
        ["retry 2 tries linear 500 to 2000 ms jitter on 503, guardrail"]
    );
    assert_eq!(node("on_failure: {action: skip}"), ["on failure skip"]);
    assert_eq!(node("on_failure: {action: use_default, default_output: d}"), ["on failure use \"d\""]);
    let defaults = "defaults: {retry: {max_attempts: 4}, on_failure: {action: skip}}\nnodes:\n  n: {agent: a, writes: output.n}\n  m: {agent: a, writes: output.m, retry: {max_attempts: 2, on: [500]}, on_failure: {action: abort}}\n";
    assert_eq!(
        lines(defaults, &["retry ", "on failure"]),
        [
            "retry 4 tries constant 1000 to 30000 ms on 429, network, timeout",
            "on failure skip",
            "retry 2 tries constant 1000 to 30000 ms on 500",
        ]
    );
}

#[test]
fn limits_on_money_are_micro_dollars() {
    let node = "nodes: {n: {agent: a, writes: output.n}}\n";
    let told = |budget: &str| lines(&format!("{node}budget: {{{budget}}}\n"), &["budget "]);
    assert_eq!(told("max_cost_usd: 1"), ["budget 1000000 micro-dollars, then fail"]);
    assert_eq!(
        told("max_cost_usd: 0.0000001, max_tokens: 5, on_exceeded: warn"),
        ["budget 5 tokens 1 micro-dollars, then warn"]
    );
    assert_eq!(
        told("max_cost_usd: 1e300, on_exceeded: skip_remaining"),
        [format!("budget {} micro-dollars, then skip the rest", u64::MAX)]
    );
    let capped =
        format!("{node}guardrails: [{{name: cost_cap, config: {{max_usd: 0.1, max_tokens: 7, action: warn}}}}]\n");
    assert_eq!(lines(&capped, &["guard "]), ["guard micro-dollars 100000 warn", "guard tokens 7 warn"]);
}

#[test]
fn people_and_tools() {
    let nodes = "nodes:\n  ask: {type: human, prompt: \"{{ inputs.message }}?\", writes: output.a, timeout: 2.5, on_timeout: skip}\n  bare: {type: human, writes: output.b}\n  get: {type: tool, tool: http, config: {url: \"http://x/{{ ask.output }}\", method: POST, body: b, headers: {A: \"{{ env.T }}\"}, timeout: 3}, retry: 1, on_failure: skip}\n";
    assert_eq!(
        lines(nodes, &["prompt ", "timeout ", "default ", "arguments ", "retry ", "on failure"]),
        [
            "prompt text \"\\\"{{ inputs.message }}?\\\"\" [inputs.message <- $inputs.message]",
            "timeout 2500 ms",
            "default \"\"",
            "prompt \"bare\"",
            "arguments {url: text \"\\\"http://x/{{ ask.output }}\\\"\" [ask.output <- $ask.output], method: \"POST\", headers: {A: text \"\\\"{{ env.T }}\\\"\" [env.T <- env.T]}, body: \"b\"}",
            "retry 2 tries constant 0 to 0 ms on TOOL_ERROR, TOOL_TIMEOUT, network, timeout",
            "timeout 3000 ms",
            "on failure use null",
        ]
    );
}
