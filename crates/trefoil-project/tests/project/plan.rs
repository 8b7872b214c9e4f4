//! Worst cases of plans, through all kinds of repetition.

use expect_test::expect;
use trefoil_ir::prices::{ModelPrice, TokenRates};
use trefoil_machine::Flags;
use trefoil_view::plan::Plan;

use crate::Folder;

fn calls(files: &[(&str, &str)], target: &str) -> String {
    let folder = Folder::with(files);
    let loaded = folder.load(target);
    Plan::for_program(&loaded.program, &loaded.files).calls.model.to_string()
}

const AGENT: &str = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: x\n";

#[test]
fn loops_multiply_and_pipelines_add() {
    let main = "id: main\nkind: sequential\nuntil: \"{{a}} == yes\"\nmaxIterations: 4\nsteps:\n  - ref: a\n    \
                input: { userQuery: x }\n  - ref: p\n";
    let parallel = "id: p\nkind: parallel\nbranches:\n  - ref: a\n    stateKey: one\n    input: { userQuery: x }\n  - ref: a\n    \
                    stateKey: two\n    input: { userQuery: x }\n    when: \"{{one}}\"\n";
    let parallel = parallel.replace("    when: \"{{one}}\"\n", "");
    assert_eq!(calls(&[("main.yaml", main), ("a.yaml", AGENT), ("p.yaml", &parallel)], "#main"), "12");
}

fn siren(nodes: &str) -> String {
    let text = format!(
        "version: \"0.1\"\nagents:\n  a: {{ model: \"openai:m\", system: x }}\nnodes:\n{nodes}\ninput: {{ message: hi }}\n"
    );
    calls(&[("main.yaml", &text)], "/main.yaml")
}

#[test]
fn retries_multiply_and_fallbacks_add() {
    let retry = "retry: { max_attempts: 3, on: [429] }";
    let nodes = format!(
        "  one: {{ agent: a, writes: output.one, {retry}, fallback_node: two }}\n  two: {{ agent: a, writes: output.two }}"
    );
    assert_eq!(siren(&nodes), "4");
}

#[test]
fn fan_outs_over_unknown_lists_have_no_bound() {
    let unknown = "  plan: { agent: a, writes: working.plan.list }\n  each: { type: factory, agent: a, for_each: \"{{ plan.output }}\", \
                   writes: output.all }";
    assert_eq!(siren(unknown), "1 + 1 per item of {{ plan.output }}");
    let known = "  each: { type: factory, agent: a, swarm_size: 5, writes: output.all }";
    assert_eq!(siren(known), "5");
}

fn aegis(states: &str) -> String {
    let workflow = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w }}\nspec:\n  initial_state: A\n  states:\n{states}"
    );
    let agent = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: worker, version: \"1.0.0\" }\nspec:\n  \
                 runtime: { language: python, version: \"3.11\" }\n  task: { instruction: x }\n  execution: { mode: one-shot }\n";
    calls(&[("w.yaml", &workflow), ("worker.yaml", agent)], "#w")
}

#[test]
fn of_two_ways_the_dearer_one_counts() {
    let states = "    A:\n      kind: Agent\n      agent: worker\n      transitions:\n        - { condition: on_success, target: B }\n        \
                  - { condition: on_failure, target: C }\n    B:\n      kind: Agent\n      agent: worker\n      transitions: [{ condition: always, target: D }]\n    \
                  C:\n      kind: System\n      command: echo x\n      transitions: []\n    D:\n      kind: Agent\n      agent: worker\n      transitions: []\n";
    assert_eq!(aegis(states), "3");
}

#[test]
fn states_on_a_circle_count_as_often_as_they_may_be_entered() {
    let states = "    A:\n      kind: Agent\n      agent: worker\n      max_state_visits: 4\n      transitions: [{ condition: on_success, target: B }]\n    \
                  B:\n      kind: Agent\n      agent: worker\n      max_state_visits: 3\n      transitions:\n        \
                  - { condition: score_below, threshold: 0.5, target: A }\n        - { condition: always, target: C }\n    \
                  C:\n      kind: System\n      command: echo x\n      transitions: []\n";
    assert_eq!(aegis(states), "7");
}

fn plan(files: &[(&str, &str)], target: &str) -> Plan {
    let folder = Folder::with(files);
    let loaded = folder.load(target);
    Plan::for_program(&loaded.program, &loaded.files)
}

fn workflow(head: &str, states: &str) -> Plan {
    let workflow = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w }}\nspec:\n  initial_state: W\n{head}  states:\n{states}"
    );
    let agent = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: worker, version: \"1.0.0\" }\nspec:\n  \
                 runtime: { model: smart }\n  task: { instruction: x }\n  execution: { mode: one-shot }\n";
    plan(&[("w.yaml", &workflow), ("worker.yaml", agent)], "#w")
}

/// An Agent state.
fn state(name: &str, more: &str, transitions: &str) -> String {
    format!("    {name}: {{ kind: Agent, agent: worker, {more} transitions: [{transitions}] }}\n")
}

const ROUND: [&str; 2] = [
    "{ condition: always, target: V }",
    "{ condition: score_above, threshold: 0.9, target: OK }, { condition: always, target: W }",
];
const END: &str = "    OK: { kind: System, command: echo ok }\n";

#[test]
fn all_entries_together_limit_the_states_of_a_circle() {
    let states = format!("{}{}{END}", state("W", "", ROUND[0]), state("V", "", ROUND[1]));
    let calls = |max: u32| {
        let plan = workflow(&format!("  max_total_transitions: {max}\n"), &states);
        (
            plan.calls.model.fixed_number(),
            plan.steps.iter().map(|s| s.at_most.fixed_number().unwrap()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(calls(4), (Some(4), vec![2, 2, 1]));
    assert_eq!(calls(5), (Some(5), vec![3, 2, 1]));
    assert_eq!(calls(1), (Some(1), vec![1, 0, 0]));
    assert_eq!(calls(50), (Some(10), vec![5, 5, 1]), "visits are limited too");
}

#[test]
fn a_state_is_entered_only_from_those_that_lead_to_it() {
    let states = format!("{}{}{END}", state("W", "max_state_visits: 3,", ROUND[0]), state("V", "", ROUND[1]));
    let plan = workflow("", &states);
    assert_eq!(plan.calls.model.fixed_number(), Some(6));
    assert_eq!(plan.steps[1].at_most.fixed_number(), Some(3));
}

#[test]
fn the_calls_of_a_model_are_counted_like_all_calls() {
    let states = format!(
        "{}{}{}",
        state("W", "", "{ condition: on_success, target: X }, { condition: on_failure, target: Y }"),
        state("X", "", ""),
        state("Y", "", "")
    );
    let plan = workflow("", &states);
    assert_eq!(plan.calls.model.fixed_number(), Some(2));
    assert_eq!(plan.models, [("smart".to_owned(), plan.calls.model)]);
}

fn branches(edges: &str) -> String {
    let nodes = "  t: { agent: a, writes: working.k }\n  x: { agent: a, writes: output.x }\n  y: { agent: a, writes: output.y }";
    siren(&format!("{nodes}\nedges:\n{edges}"))
}

#[test]
fn branches_that_exclude_each_other_are_not_added_up() {
    let two = |one: &str, other: &str| {
        branches(&format!("  - {{ from: t, to: x, when: '{one}' }}\n  - {{ from: t, to: y, when: '{other}' }}"))
    };
    assert_eq!(two("working.k == \"x\"", "working.k != \"x\""), "2");
    assert_eq!(two("working.k == \"x\"", "working.k == \"y\""), "2");
    assert_eq!(two("working.k in [\"x\", \"z\"]", "working.k == \"y\""), "2");
    assert_eq!(two("working.k > 3", "working.k <= 3"), "2");
    assert_eq!(two("working.k > 3", "working.k < 1"), "2");
    assert_eq!(two("working.k", "not working.k"), "2");
    // Both can hold.
    assert_eq!(two("working.k == \"x\"", "working.k != \"y\""), "3");
    assert_eq!(two("working.k > 1", "working.k < 3"), "3");
    assert_eq!(two("working.k >= 3", "working.k <= 3"), "3");
    assert_eq!(two("working.k == \"x\"", "working.t.output != \"x\" and len(working.k) > 2"), "3");
    // Text has no order, and `true` equals 1.
    assert_eq!(two("not working.k >= 3", "not working.k < 3"), "3");
    assert_eq!(two("working.k == 1", "working.k == true"), "3");
}

#[test]
fn what_comes_after_branches_is_counted_with_its_branch() {
    let nodes = "  t: { agent: a, writes: working.k }\n  x: { agent: a, writes: working.x }\n  y: { agent: a, writes: working.y }\n  \
                 x2: { agent: a, writes: working.x2, retry: { max_attempts: 3, on: [429] } }\n  y2: { agent: a, writes: working.y2 }\n  end: { agent: a, writes: output.end }";
    let edges = "  - { from: t, to: x, when: 'working.k == \"x\"' }\n  - { from: t, to: y, when: 'working.k != \"x\"' }\n  \
                 - { from: x, to: x2 }\n  - { from: y, to: y2 }\n  - { from: x2, to: end }\n  - { from: y2, to: end }";
    assert_eq!(siren(&format!("{nodes}\nedges:\n{edges}")), "6");
}

#[test]
fn steps_whose_conditions_exclude_each_other_are_not_added_up() {
    let step = |id: &str, when: &str| {
        format!("  - ref: a\n    stateKey: {id}\n    input: {{ userQuery: x }}\n    when: \"{when}\"\n")
    };
    let all = |sort: &str, steps: &str| {
        let main =
            format!("id: main\nkind: {sort}\ninputSchema: {{ m: {{ type: string, enum: [a, b, c] }} }}\n{steps}");
        calls(&[("main.yaml", &main), ("a.yaml", AGENT)], "#main")
    };
    let two = format!("{}{}", step("x", "{{m}} == a"), step("y", "{{m}} == b"));
    assert_eq!(all("sequential", &format!("steps:\n{two}")), "1");
    assert_eq!(all("parallel", &format!("branches:\n{two}")), "1");
    let may = format!("{}{}", step("x", "{{m}} == a"), step("y", "{{m}} != b"));
    assert_eq!(all("sequential", &format!("steps:\n{may}")), "2");
    // The second one reads the same value only if nothing writes it in between.
    let first = "  - ref: a\n    stateKey: k\n    input: { userQuery: x }\n";
    let kept = format!("{first}{}{}", step("x", "{{k}} == a"), step("y", "{{k}} == b"));
    assert_eq!(all("sequential", &format!("steps:\n{kept}")), "2");
    let changed = format!(
        "until: \"{{{{y}}}} == a\"\nmaxIterations: 2\nsteps:\n{}{}",
        step("x", "{{x}} == a"),
        step("y", "{{x}} == b")
    );
    assert_eq!(all("sequential", &changed), "4");
}

#[test]
fn a_budget_that_ends_the_run_bounds_a_fan_out() {
    let each = "  each: { type: factory, agent: a, for_each: \"{{ inputs.message }}\", writes: output.all }\nbudget: { max_calls: 20";
    assert_eq!(siren(&format!("{each} }}")), "20");
    assert_eq!(siren(&format!("{each}, on_exceeded: warn }}")), "1 per item of {{ inputs.message }}");
    // The plan shows the number without the budget, and the budget below it.
    let known =
        "  one: { agent: a, writes: output.one, retry: { max_attempts: 3, on: [429] } }\nbudget: { max_calls: 2 }";
    assert_eq!(siren(known), "3");
}

/// Fifty model calls and fifty tool calls for each iteration, however many tools a turn may call.
#[test]
fn the_tool_calls_of_an_aegis_iteration_are_limited_together() {
    let agent = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: t, version: \"1.0.0\" }\nspec:\n  runtime: { model: \"openai:m\" }\n  \
                 task: { instruction: Do., prompt_template: \"{{instruction}} {{input}}\" }\n  execution: { mode: iterative, max_iterations: 5 }\n  \
                 tools: [ fs.read ]\n";
    let plan = plan(&[("t.yaml", agent)], "/t.yaml");
    assert_eq!((plan.calls.model.fixed_number(), plan.calls.tool.fixed_number()), (Some(250), Some(250)));
    assert!(plan.render_text().contains("up to 50 turns and 50 tool calls"), "{}", plan.render_text());
}

/// With these prices, and the listed context windows.
fn flags(prices: Vec<(String, ModelPrice)>) -> Flags {
    let window = |(name, _): &(String, ModelPrice)| {
        let (provider, model) = name.split_once(':')?;
        Some((name.clone(), trefoil_ir::prices::context_window(provider, model)?))
    };
    Flags { windows: prices.iter().filter_map(window).collect(), prices, ..Flags::default() }
}

/// A dollar per million input tokens, ten per million output tokens, so micro-dollars equal tokens.
fn money(files: &[(&str, &str)], target: &str, priced: &[&str]) -> String {
    let folder = Folder::with(files);
    let loaded = folder.load(target);
    let rates = TokenRates { input: 1_000_000, output: 10_000_000, ..TokenRates::default() };
    let prices: Vec<_> =
        priced.iter().map(|name| ((*name).to_owned(), ModelPrice { rates, ..ModelPrice::default() })).collect();
    let text = Plan::with_money(&loaded.program, &loaded.files, &flags(prices), &[]).render_text();
    text.split("\ncost\n").nth(1).unwrap().to_owned()
}

#[test]
fn money_is_what_a_straight_run_costs_and_what_any_run_costs_at_most() {
    let agent = "id: a\nkind: llm\nmodel: { provider: openai, name: gpt-4o-mini, maxTokens: 100 }\ninstruction: \"{{userQuery}}\"\n";
    let main = "id: main\nkind: sequential\nuntil: \"{{a}} == yes\"\nmaxIterations: 4\nsteps:\n  - ref: a\n    \
                input: { userQuery: x }\n";
    // Input: 500 for the placeholder in each of the two messages; output: 100 at ten. Maximum: a context window of
    // 128,000, four times.
    expect![[r#"
        at most: $0.516 (prompts as long as the context window)
        assumed: $0.00202 (an assumption: each loop once, 1,000 tokens per answer, 500 per placeholder)
    "#]]
    .assert_eq(&trimmed(&money(&[("main.yaml", main), ("a.yaml", agent)], "#main", &["openai:gpt-4o-mini"])));
}

#[test]
fn money_of_a_list_is_per_item_and_a_call_without_a_limit_has_no_maximum() {
    let text = "version: \"0.1\"\nagents:\n  a: { model: \"openai:gpt-4o-mini\", system: \"{{ item }}\" }\nnodes:\n  all: { type: factory, \
                agent: a, for_each: \"{{ inputs.message }}\", writes: output.all }\ninput: { message: \"[1]\" }\n";
    let told = money(&[("main.yaml", text)], "/main.yaml", &["openai:gpt-4o-mini"]);
    assert!(told.contains("per item of") && told.contains("no maximum: 1 call without `max_tokens`"), "{told}");
}

#[test]
fn money_of_a_model_without_a_price_or_without_a_window_is_said_to_be_unknown() {
    let files = [("a.yaml", AGENT)];
    expect![[r#"
        no maximum: unknown price: openai:m
    "#]]
    .assert_eq(&trimmed(&money(&files, "#a", &[])));
    let told = money(&files, "#a", &["openai:m"]);
    assert!(told.contains("no maximum: 1 call without `max_tokens`: `a`; unknown context window: openai:m"), "{told}");
}

#[test]
fn a_model_that_costs_nothing_makes_a_run_that_costs_nothing() {
    let folder = Folder::with(&[("a.yaml", AGENT)]);
    let loaded = folder.load("#a");
    let free = flags(vec![("openai:m".to_owned(), ModelPrice::without_cost())]);
    let plan = Plan::with_money(&loaded.program, &loaded.files, &free, &[]);
    assert!(plan.render_text().ends_with("\ncost\n  $0\n"), "{}", plan.render_text());
    assert_eq!(plan.to_json()["cost"]["at_most"], serde_json::json!({"micro": 0, "text": "$0"}));
}

fn trimmed(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_start())).collect()
}
