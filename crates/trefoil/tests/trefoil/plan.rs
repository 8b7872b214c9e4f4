//! Worst cases of plans, through everything that repeats.

use trefoil::Plan;

use crate::Folder;

fn calls(files: &[(&str, &str)], target: &str) -> String {
    let folder = Folder::with(files);
    let loaded = folder.load(target);
    Plan::of(&loaded.program, &loaded.files).calls.model.to_string()
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
