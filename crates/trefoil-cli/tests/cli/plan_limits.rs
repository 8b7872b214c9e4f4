//! The worst case in `plan` equals the limits of `run`: a run with exactly these limits is never stopped.
#![cfg(unix)]

use serde_json::Value as Json;

use crate::durable::priced;
use crate::provider::Provider;
use crate::world::{Folder, Ran, finish};

/// A dollar for a million input tokens, ten for a million output tokens. The context window of the model is 128,000
/// tokens.
const PRICES: &str = "[prices]\n\"openai:gpt-4o-mini\" = { input = 1, output = 10 }\n";
const WINDOW: u64 = 128_000;
/// The input and output tokens that the provider reports for each call.
const USED: (usize, usize) = (40, 10);

struct World {
    folder: Folder,
    provider: Provider,
}

/// An agent whose messages are known before the run: 24 bytes in two messages, which are at most 40 tokens, and 10
/// output tokens.
fn agent(more: &str) -> String {
    format!(
        "id: main\nkind: llm\nmodel: {{ provider: openai, name: gpt-4o-mini, maxTokens: 10 }}\ninstruction: I.\nprompt: {}\n{more}",
        "x".repeat(22)
    )
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Folder::new();
        for (name, text) in files {
            folder.write(name, text);
        }
        folder.write("config/config.toml", PRICES);
        let world = Self { folder, provider: Provider::with_usage(|_| USED) };
        if files.iter().any(|(name, _)| *name == "trefoil.toml") {
            world.trefoil(&["trust", "."]).exits(0);
        }
        world
    }

    fn trefoil(&self, args: &[&str]) -> Ran {
        finish(priced(&self.folder, &self.provider, args))
    }

    /// The maximum number of calls, and the maximum cost in micro-dollars.
    fn plan(&self) -> (Json, u64) {
        let plan = self.trefoil(&["plan", "main.yaml", "--format", "json"]).exits(0).json();
        let micro = &plan["cost"]["at_most"]["micro"];
        (plan["calls"]["model"]["at_most"].clone(), micro.as_u64().unwrap_or_else(|| panic!("{plan:#}")))
    }

    fn run(&self, micro: u64) -> Ran {
        self.run_with(micro, &["--input", "x"])
    }

    fn run_with(&self, micro: u64, input: &[&str]) -> Ran {
        let cost = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
        let args = ["run", "main.yaml", "--no-check", "--reserve", "bound", "--max-cost", &cost];
        self.trefoil(&[&args[..], input].concat())
    }
}

#[test]
fn calls_that_are_known_before_cost_what_the_plan_says() {
    let world = World::new(&[
        (
            "main.yaml",
            "id: main\nkind: sequential\nsteps:\n  - { ref: a, stateKey: x }\n  - { ref: a, stateKey: y }\n  - { ref: a, stateKey: z }\n",
        ),
        ("a.yaml", &agent("").replace("id: main", "id: a")),
    ]);
    let (calls, most) = world.plan();
    assert_eq!((calls, most), (3.into(), 3 * (40 + 100)));
    world.run(most).exits(0);
    assert_eq!(world.provider.asked().len(), 3);
    world.run(most - 1).exits(1).says(&["BUDGET_EXCEEDED", "cost limit reached"]);
    assert_eq!(world.provider.asked().len(), 5, "the third call might have passed the limit");
}

#[test]
fn no_prompt_is_longer_than_the_window() {
    let world = World::new(&[(
        "main.yaml",
        &agent("inputSchema: { text: string }\n").replace("prompt: ", "prompt: '{{text}}' #"),
    )]);
    let (_, most) = world.plan();
    assert_eq!(most, WINDOW + 100);
    // More bytes than the context window has tokens.
    world.folder.write("input.json", format!("{{\"text\": \"{}\"}}", "x".repeat(500_000)));
    world.run_with(most, &["--input-json", "@input.json"]).exits(0);
}

#[test]
fn provider_options_may_fill_the_window() {
    let options = agent("").replace("maxTokens: 10 }", "maxTokens: 10, providerOptions: { openai: { user: me } } }");
    let world = World::new(&[("main.yaml", &options)]);
    let (_, most) = world.plan();
    assert_eq!(most, WINDOW * 11);
    world.run(most).exits(0);
}

/// Each turn repeats the conversation before it.
#[test]
fn turns_of_a_conversation_may_fill_the_window() {
    let tools = "[tools.note]\ncommand = ['echo', 'a note']\n";
    let world = World::new(&[
        ("main.yaml", &agent("maxSteps: 3\ntools: [{ kind: local, tools: [note] }]\n")),
        ("trefoil.toml", tools),
    ]);
    let (calls, most) = world.plan();
    assert_eq!((calls, most), (3.into(), 3 * (WINDOW + 100)));
    world.run(most).exits(0);
    assert_eq!(world.provider.asked().len(), 3);
}

const SHIP: &str = "[tools.ship]\nflow = 'other/ship.yaml'\n";

/// Two calls in sequence.
fn ship() -> String {
    "version: '0.1'\nagents: { a: { model: 'openai:gpt-4o-mini', system: S } }\nnodes:\n  \
     one: { agent: a, writes: output.one, max_tokens_per_call: 10 }\n  \
     two: { agent: a, writes: output.two, max_tokens_per_call: 10 }\n\
     edges: [{ from: one, to: two }]\ninput: { message: it }\n"
        .to_owned()
}

#[test]
fn a_flow_that_is_a_tool_of_an_agent_counts_as_often_as_it_can_be_called() {
    let caller = agent("maxSteps: 3\ntools: [{ kind: local, tools: [ship] }]\n");
    let world = World::new(&[("main.yaml", &caller), ("trefoil.toml", SHIP), ("other/ship.yaml", &ship())]);
    // Three turns, each with at most 32 tool calls of two model calls.
    let (calls, most) = world.plan();
    assert_eq!(calls, 3 * (1 + 32 * 2));
    assert_eq!(most, 3 * (WINDOW + 100) + 3 * 32 * 2 * (WINDOW + 100));
    let plan = world.trefoil(&["plan", "main.yaml"]);
    assert!(plan.out.contains("`ship` runs a flow: at most 2 model calls, each time"), "{}", plan.out);
    let check = |calls: &str| world.trefoil(&["check", "main.yaml", "--max-calls", calls]).out;
    assert!(check("194").contains("a run of `main` may need 195 model calls, but the limit is 194"));
    assert!(!check("195").contains("too-many-calls"));
    let at_most = |calls: &str| world.trefoil(&["run", "main.yaml", "--max-calls", calls, "--input", "x"]);
    at_most("194").exits(2).says(&["it may need 195 model calls"]);
    assert!(world.provider.asked().is_empty());
    at_most("195").exits(0);
    world.run(most).exits(0);
}

#[test]
fn a_flow_that_calls_itself_as_a_tool_has_no_limit() {
    let own = "id: main\nkind: sequential\nsteps:\n  - ref: a\n  - ref: again\n";
    let again = "id: again\nkind: tool\ntool: { kind: local, name: self, params: { input: x } }\n";
    let a = agent("").replace("id: main", "id: a");
    let files = [
        ("main.yaml", own),
        ("again.yaml", again),
        ("a.yaml", &a),
        ("trefoil.toml", "[tools.self]\nflow = 'main.yaml'\n"),
    ];
    let world = World::new(&files);
    let plan = world.trefoil(&["plan", "main.yaml"]);
    assert!(plan.exits(0).out.contains("model: no limit") && plan.out.contains("unbounded"), "{}", plan.out);
    let checked = world.trefoil(&["check", "main.yaml"]);
    assert!(checked.out.contains("a run of `main` may need any number of model calls"), "{}", checked.out);
    let refused = world.trefoil(&["run", "main.yaml", "--max-calls", "50", "--input", "x"]);
    refused.exits(2).says(&["may need any number of model calls"]);
}

/// Agents that call agents of the same format are one program, and their calls are counted in it.
#[test]
fn agents_that_are_tools_of_agents_count() {
    let caller = agent("maxSteps: 2\ntools: [{ kind: agent, agent: b }]\n");
    let world = World::new(&[("main.yaml", &caller), ("b.yaml", &agent("").replace("id: main", "id: b"))]);
    assert_eq!(world.plan().0, 2 * (1 + 32));
    let caller = agent("maxSteps: 2\nspawnable: [{ kind: ref, agentId: b }]\n");
    let world = World::new(&[("main.yaml", &caller), ("b.yaml", &agent("").replace("id: main", "id: b"))]);
    assert_eq!(world.plan().0, 2 * (1 + 32));
}

#[test]
fn what_a_budget_of_the_manifest_does_is_what_the_plan_says() {
    let flow = |micro: u64, then: &str| {
        let node = |id: &str| format!("  {id}: {{ agent: a, writes: output.{id}, max_tokens_per_call: 10 }}\n");
        format!(
            "version: '0.1'\nagents: {{ a: {{ model: 'openai:gpt-4o-mini', system: S }} }}\nnodes:\n{}{}edges: [{{ from: one, to: two }}]\n\
             input: {{ message: it }}\nbudget: {{ max_cost_usd: {}.{:06}, on_exceeded: {then} }}\n",
            node("one"),
            node("two"),
            micro / 1_000_000,
            micro % 1_000_000
        )
    };
    for (then, says, code, calls) in [
        ("abort", "exceeding it fails the run", 1, 0),
        ("warn", "exceeding it is a warning", 0, 2),
        ("skip_remaining", "exceeding it skips nodes that have not started", 0, 1),
    ] {
        let world = World::new(&[("main.yaml", &flow(999_999, then))]);
        let bound = |limit: u64| {
            world.folder.write("main.yaml", flow(limit, then));
            world.trefoil(&["run", "main.yaml", "--no-check", "--reserve", "bound", "--input", "x"])
        };
        let (_, most) = world.plan();
        bound(1).exits(code);
        let plan = world.trefoil(&["plan", "main.yaml"]);
        assert!(plan.out.contains(says), "{}", plan.out);
        // A budget that only warns is no maximum.
        assert_eq!(world.plan().1, if then == "warn" { most } else { 1 });
        assert_eq!(plan.out.contains("at most: $0.000001 (the budget;"), then != "warn", "{}", plan.out);
        assert_eq!(world.provider.asked().len(), calls, "{then}");
        let enough = bound(most);
        assert!(!enough.exits(0).err.contains("limit"), "{}", enough.err);
        assert_eq!(world.provider.asked().len(), calls + 2, "{then}");
    }
}

#[test]
fn a_fallback_may_have_a_larger_window() {
    let asks = agent("inputSchema: { text: string }\n").replace("prompt: ", "prompt: '{{text}}' #");
    let world = World::new(&[("main.yaml", &asks)]);
    let models = "[models]\nmain = ['openai:gpt-4o-mini', 'openai:gpt-4.1-nano']\n";
    let other = "\"openai:gpt-4.1-nano\" = { input = 1, output = 10 }\n";
    world.folder.write("config/config.toml", format!("{PRICES}{other}{models}"));
    let (_, most) = world.plan();
    assert_eq!(most, 1_000_000 + 100);
    world.folder.write("input.json", format!("{{\"text\": \"{}\"}}", "x".repeat(500_000)));
    world.run_with(most, &["--input-json", "@input.json"]).exits(0);
}

#[test]
fn a_maximum_needs_a_bound_of_every_call_and_the_plan_says_which_have_none() {
    let open = agent("").replace(", maxTokens: 10", "");
    let main = "id: main\nkind: sequential\nsteps:\n  - { ref: a, stateKey: x }\n  - { ref: b, stateKey: y }\n";
    let a = agent("").replace("id: main", "id: a");
    let world = World::new(&[("main.yaml", main), ("a.yaml", &a), ("b.yaml", &open.replace("id: main", "id: b"))]);
    let plan = world.trefoil(&["plan", "main.yaml"]);
    assert!(plan.exits(0).out.contains("no maximum: 1 call without `max_tokens`: `b`\n"), "{}", plan.out);
    assert!(plan.out.contains("not seen: the maximum cost: 1 call without `max_tokens`: `b`"), "{}", plan.out);
    let json = |more: &[&str]| {
        let args = [&["plan", "main.yaml", "--format", "json"], more].concat();
        world.trefoil(&args).exits(0).json()["cost"].clone()
    };
    let cost = json(&[]);
    assert_eq!((&cost["at_most"], &cost["expected"]), (&Json::Null, &Json::Null));
    assert_eq!(cost["no_maximum"], serde_json::json!(["1 call without `max_tokens`: `b`"]));
    assert!(cost["assumed"]["micro"].as_u64().unwrap() > 0, "{cost}");
    let limited = json(&["--max-cost", "0.25"]);
    assert_eq!((&limited["at_most"]["micro"], &limited["no_maximum"]), (&250_000.into(), &serde_json::json!([])));
}

#[test]
fn earlier_runs_of_the_flow_say_what_a_run_is_expected_to_cost() {
    let world = World::new(&[("main.yaml", &agent("")), ("other/main.yaml", &agent(""))]);
    let expected = |more: &[&str]| {
        let args = [&["plan", "main.yaml", "--format", "json"], more].concat();
        world.trefoil(&args).exits(0).json()["cost"]["expected"].clone()
    };
    assert_eq!(expected(&[]), Json::Null);
    // Runs of another file with the same name, and runs that nothing was paid for, do not count.
    world.trefoil(&["run", "other/main.yaml", "--input", "x"]).exits(0);
    world.trefoil(&["run", "main.yaml", "--model", "embedded", "--input", "x"]).exits(0);
    assert_eq!(expected(&[]), Json::Null);
    for _ in 0..2 {
        world.trefoil(&["run", "main.yaml", "--input", "x"]).exits(0);
    }
    assert_eq!(expected(&[]), serde_json::json!({"micro": 140, "text": "$0.00014", "runs": 2}));
    let text = world.trefoil(&["plan", "main.yaml"]).out;
    assert!(text.contains("expected: $0.00014 (the mean of the last 2 runs)"), "{text}");
    assert_eq!(expected(&["--store", "nowhere.db"]), Json::Null);
}
