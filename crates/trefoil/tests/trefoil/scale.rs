//! Twice the manifest takes about twice the time to check, in whatever way it is long.
//!
//! Only CPU time of the thread is compared, and only the time for twice the size with the time for the size, so that the
//! test is the same on any machine.
#![cfg(target_os = "linux")]

use serde_json::{Map, Value as Json, json};
use trefoil::{Error, Flow};

type Family = (&'static str, fn(usize) -> Json);

fn workflow(states: Json) -> Json {
    let initial = states.as_object().unwrap().keys().next().unwrap().clone();
    json!({
        "apiVersion": "100monkeys.ai/v1", "kind": "Workflow", "metadata": {"name": "a", "version": "1.0.0"},
        "spec": {"initial_state": initial, "states": states},
    })
}

fn list(n: usize, one: impl Fn(usize) -> Json) -> Json {
    (0..n).map(one).collect()
}

fn map(n: usize, one: impl Fn(usize) -> (String, Json)) -> Map<String, Json> {
    (0..n).map(one).collect()
}

fn text(n: usize, between: &str, one: impl Fn(usize) -> String) -> String {
    (0..n).map(one).collect::<Vec<_>>().join(between)
}

fn system(more: Json) -> Json {
    let mut state = json!({"kind": "System", "command": "echo x"});
    state.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    state
}

/// A state with `n` transitions to ten others.
fn transitions(n: usize, one: impl Fn(usize) -> Json) -> Json {
    let all = list(n, |i| {
        let mut transition = one(i);
        transition["target"] = json!(format!("B{}", i % 10));
        transition
    });
    let mut states = map(10, |i| (format!("B{i}"), system(json!({}))));
    states.insert("A".to_owned(), system(json!({"transitions": all})));
    workflow(Json::Object(states))
}

fn chain(n: usize, one: impl Fn(usize) -> Json) -> Json {
    let states = map(n, |i| {
        let mut state = system(one(i));
        if i + 1 < n {
            let next = json!({"condition": "always", "target": format!("S{:05}", i + 1)});
            match state.get_mut("transitions").and_then(Json::as_array_mut) {
                Some(all) => all.push(next),
                None => state["transitions"] = json!([next]),
            }
        }
        (format!("S{i:05}"), state)
    });
    workflow(Json::Object(states))
}

fn llm(id: &str, more: Json) -> Json {
    let mut agent = json!({"id": id, "kind": "llm", "model": {"provider": "openai", "name": "m"}, "instruction": "x"});
    agent.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    agent
}

fn when(condition: String) -> Json {
    let step = json!({"agent": llm("w", json!({})), "when": condition});
    json!({"id": "a", "kind": "sequential", "inputSchema": {"z": "string"}, "steps": [step]})
}

fn graph(nodes: Map<String, Json>, edges: Json) -> Json {
    json!({
        "version": "0.1", "agents": {"a": {"model": "openai:m", "system": "x"}}, "nodes": nodes, "edges": edges,
        "input": {"message": "x"},
    })
}

fn node(i: usize) -> (String, Json) {
    (format!("n{i}"), json!({"agent": "a", "writes": format!("working.n{i}")}))
}

const FAMILIES: &[Family] = &[
    ("transitions on different values", |n| {
        transitions(n, |i| json!({"condition": "custom", "expression": format!("blackboard.x{i} == {i}")}))
    }),
    ("transitions on one number", |n| {
        transitions(n, |i| json!({"condition": "custom", "expression": format!("blackboard.x == {i}")}))
    }),
    ("transitions on ranges", |n| {
        transitions(n, |i| json!({"condition": "custom", "expression": format!("blackboard.x > {i}")}))
    }),
    ("transitions on one text", |n| {
        transitions(n, |i| json!({"condition": "custom", "expression": format!("blackboard.x == 't{i}'")}))
    }),
    ("transitions on success", |n| transitions(n, |_| json!({"condition": "on_success"}))),
    ("transitions with feedback", |n| {
        transitions(n, |i| json!({"condition": "on_failure", "feedback": format!("{{{{blackboard.y{i}}}}}")}))
    }),
    ("parts of an expression", |n| {
        let all = text(n, " && ", |i| format!("blackboard.x{i} == {i}"));
        transitions(1, |_| json!({"condition": "custom", "expression": all}))
    }),
    ("alternatives of one value", |n| {
        let all = text(n, " || ", |i| format!("blackboard.x == {i}"));
        transitions(1, |_| json!({"condition": "custom", "expression": all}))
    }),
    ("states in a row", |n| chain(n, |_| json!({}))),
    ("states that write and read", |n| {
        chain(
            n,
            |i| json!({"command": "update_blackboard", "env": {format!("k{i}"): format!("{{{{blackboard.k{}}}}}", i.max(1) - 1)}}),
        )
    }),
    ("states that lead back", |n| {
        chain(n, |_| json!({"transitions": [{"condition": "on_failure", "target": "S00000"}]}))
    }),
    ("states that nothing leads to", |n| workflow(Json::Object(map(n, |i| (format!("S{i:05}"), system(json!({}))))))),
    ("keys of a state that are unknown", |n| {
        workflow(json!({"A": system(Json::Object(map(n, |i| (format!("zzz{i}"), json!(1)))))}))
    }),
    ("variables of a script", |n| {
        let script = text(n, "\n", |i| format!("X{}=\"$X{i} $E{i}\"", i + 1));
        let env = map(n, |i| (format!("E{i}"), json!(format!("{{{{input.e{i}}}}}"))));
        workflow(json!({"A": system(json!({"command": script, "env": env}))}))
    }),
    ("commands of a script", |n| {
        let script = text(n, "\n", |i| format!("X{i}=$(cat f{i}); echo \"$X{i}\" > o{i}"));
        workflow(json!({"A": system(json!({"command": script}))}))
    }),
    ("placeholders without a meaning, AEGIS", |n| {
        workflow(json!({"A": {"kind": "Human", "prompt": text(n, " ", |i| format!("{{{{Q{i}.output}}}}"))}}))
    }),
    ("operands without a meaning", |n| when(vec!["{{x}} == 'a'"; n].join(" && "))),
    ("different operands without a meaning", |n| when(text(n, " && ", |i| format!("{{{{x{i}}}}} == 'a'")))),
    ("alternatives of an input", |n| when(text(n, " || ", |i| format!("{{{{z}}}} == 'a{i}'")))),
    ("steps", |n| {
        let steps = list(n, |i| json!({"agent": llm(&format!("w{i}"), json!({})), "stateKey": format!("k{i}")}));
        json!({"id": "a", "kind": "sequential", "steps": steps})
    }),
    ("placeholders with a meaning", |n| {
        let inputs = map(n, |i| (format!("q{i}"), json!("string")));
        llm("a", json!({"inputSchema": inputs, "instruction": text(n, " ", |i| format!("{{{{q{i}}}}}"))}))
    }),
    ("placeholders without a meaning, agntz", |n| {
        llm("a", json!({"inputSchema": {"q": "string"}, "instruction": text(n, " ", |i| format!("{{{{p{i}}}}}"))}))
    }),
    ("nodes in a row", |n| {
        let edges = list(n - 1, |i| json!({"from": format!("n{i}"), "to": format!("n{}", i + 1)}));
        graph(map(n, node), edges)
    }),
    ("edges from one node", |n| {
        let edges =
            list(n - 1, |i| json!({"from": "n0", "to": format!("n{}", i + 1), "when": format!("n0.output == 'v{i}'")}));
        graph(map(n, node), edges)
    }),
    ("edges between the same nodes", |n| {
        let edges = list(n, |i| json!({"from": "n0", "to": "n1", "when": format!("n0.output == 'v{i}'")}));
        graph(map(2, node), edges)
    }),
    ("edges to unknown nodes", |n| graph(map(2, node), list(n, |i| json!({"from": "n0", "to": format!("other{i}")})))),
    ("nodes that write the same", |n| {
        graph(map(n, |i| (format!("n{i}"), json!({"agent": "a", "writes": "working.x"}))), json!([]))
    }),
];

fn cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e6
}

/// The CPU time of a check, the least of two.
fn time(manifest: &str) -> f64 {
    let once = || {
        let before = cpu_ms();
        match Flow::from_text("a.yaml", manifest) {
            Ok(_) | Err(Error::Load(_)) => cpu_ms() - before,
            Err(other) => panic!("{other}"),
        }
    };
    once().min(once())
}

#[test]
fn twice_the_manifest_takes_about_twice_the_time() {
    const SIZE: usize = 700;
    let mut slow = Vec::new();
    for (name, make) in FAMILIES {
        let [once, twice] = [SIZE, 2 * SIZE].map(|n| time(&make(n).to_string()));
        // What takes little time is not measured well.
        if twice > 3.4 * once + 100.0 {
            slow.push(format!("{name}: {once:.0} ms, twice the size {twice:.0} ms"));
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}
