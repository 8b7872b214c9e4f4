//! Limits against each other and against paths: time in time, visits and iterations against numbers, and what is left of a
//! result when its state has failed.

use expect_test::{Expect, expect};

use super::support::{check, hold, is_of, shown};

/// The findings of one rule about the first file.
#[track_caller]
fn expect(rule: &str, files: &[(&str, &str)], lines: Expect) {
    let (project, all) = check(Some("aegis"), files);
    hold(&lines, &shown(&project, all.iter().filter(|d| is_of(d, rule))));
}

/// A workflow with these states, from `A` on, and more lines under `spec`.
fn workflow(more: &str, states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w }}\nspec:\n  initial_state: A\n{more}  states:\n{states}    END: {{ kind: System, command: echo end }}\n"
    )
}

/// An agent with these lines under `spec`.
fn agent(name: &str, more: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: {name}, version: '1' }}\nspec:\n  runtime: {{ model: smart }}\n{more}"
    )
}

#[test]
fn a_part_has_no_more_time_than_the_whole() {
    let slow = agent("slow", "  task: { instruction: Work. }\n  execution: { iteration_timeout: 90s }\n");
    let state = |body: &str| workflow("", &format!("    A: {{ {body}, transitions: [{{ target: END }}] }}\n"));
    let of_state = |body: &str, lines: Expect| {
        expect("outer-timeout", &[("w.yaml", &state(body)), ("slow.yaml", &slow)], lines);
    };
    of_state(
        "kind: Agent, agent: slow, input: x, timeout: 30s",
        expect![[r#"
            7:55 warning outer-timeout: `A` ends after 30 s, but an answer of `slow` may take 90 s
              | ... Agent, agent: slow, input: x, timeout: 30s, transitions: [{ ta
              |                                            ^^^
              at slow.yaml:7:35: 90 s for an answer of `slow`
              help: raise this timeout to at least 90 s, or lower that of an answer of `slow`
        "#]],
    );
    of_state("kind: Agent, agent: slow, input: x, timeout: 90s", expect![""]);
    of_state(
        "kind: ParallelAgents, timeout: 1m, agents: [{ agent: slow, input: x, timeout_seconds: 50 }, { agent: slow, input: y, timeout_seconds: 70 }], consensus: { strategy: majority }",
        expect![[r#"
            7:41 warning outer-timeout: `A` ends after 1 min, but `agents.1` may take 70 s
              | A: { kind: ParallelAgents, timeout: 1m, agents: [{ agent:
              |                                     ^^
              at 7:144: 70 s for `agents.1`
              help: raise this timeout to at least 70 s, or lower that of `agents.1`
            7:96 warning outer-timeout: `agents.0` ends after 50 s, but an answer of `slow` may take 90 s
              | ...agent: slow, input: x, timeout_seconds: 50 }, { agent: slow, i
              |                                            ^^
              at slow.yaml:7:35: 90 s for an answer of `slow`
              help: raise this timeout to at least 90 s, or lower that of an answer of `slow`
            7:144 warning outer-timeout: `agents.1` ends after 70 s, but an answer of `slow` may take 90 s
              | ...agent: slow, input: y, timeout_seconds: 70 }], consensus: { st
              |                                            ^^
              at slow.yaml:7:35: 90 s for an answer of `slow`
              help: raise this timeout to at least 90 s, or lower that of an answer of `slow`
        "#]],
    );
    of_state(
        "kind: System, command: sleep 30 && ./run, timeout: 20s",
        expect![[r#"
            7:61 warning outer-timeout: `A` ends after 20 s, but `sleep 30` takes 30 s
              | ...m, command: sleep 30 && ./run, timeout: 20s, transitions: [{ ta
              |                                            ^^^
              at 7:5: 30 s for `sleep 30`
              help: raise this timeout to at least 30 s, or shorten `sleep 30`
        "#]],
    );
    of_state(
        "kind: System, command: timeout 2h ./run",
        expect![[r#"
            7:5 warning outer-timeout: `A` ends after 10 min, the default, but `timeout 2h` may take 2 h
              | A: { kind: System, co
              | ^
              help: set a timeout of at least 2 h there, or lower that of `timeout 2h`
        "#]],
    );
    of_state("kind: System, command: 'curl -m 5 http://localhost', timeout: 20s", expect![""]);
    of_state(
        "kind: ParallelContainerRun, timeout: 5m, completion: all_succeed, steps: [{ name: one, image: i, command: [c], resources: { timeout: 10m } }, { name: two, image: i, command: [c] }]",
        expect![[r#"
            7:47 warning outer-timeout: `A` ends after 5 min, but `one` may take 10 min
              | ... { kind: ParallelContainerRun, timeout: 5m, completion: all_su
              |                                            ^^
              at 7:143: 10 min for `one`
              help: raise this timeout to at least 10 min, or lower that of `one`
        "#]],
    );
}

#[test]
fn people_and_judges_have_their_time_within_that_of_who_waits() {
    let asks = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: asks }\nspec:\n  initial_state: H\n  states:\n    H: { kind: Human, prompt: 'Yes?', transitions: [{ target: END }] }\n    END: { kind: System, command: echo end }\n";
    let calls = |more: &str| {
        workflow(
            "",
            &format!(
                "    A: {{ kind: Subworkflow, workflow_id: asks, mode: blocking, result_key: r{more}, transitions: [{{ target: END }}] }}\n"
            ),
        )
    };
    expect(
        "outer-timeout",
        &[("w.yaml", &calls(", timeout: 30m")), ("asks.yaml", asks)],
        expect![[r#"
            7:88 warning outer-timeout: `A` ends after 30 min, but the answer to `H` may take 1 h
              | ...mode: blocking, result_key: r, timeout: 30m, transitions: [{ ta
              |                                            ^^^
              at asks.yaml:7:5: 1 h for the answer to `H`
              help: raise this timeout to at least 1 h, or lower that of the answer to `H`
        "#]],
    );
    expect("outer-timeout", &[("w.yaml", &calls(", timeout: 90m")), ("asks.yaml", asks)], expect![""]);
    expect("outer-timeout", &[("w.yaml", &calls("")), ("asks.yaml", asks)], expect![""]);
    let judged = |limit: &str| {
        agent(
            "a",
            &format!(
                "  task: {{ instruction: Work. }}\n  execution: {{ mode: iterative, validation: [{{ type: semantic, judge_agent: j, criteria: Good., timeout_seconds: {limit} }}] }}\n  security: {{ resources: {{ timeout: 30m }} }}\n"
            ),
        )
    };
    let judge = agent("j", "  task: { instruction: Judge. }\n");
    let alone = |execution: &str, lines: Expect| {
        let more = format!(
            "  task: {{ instruction: Work. }}\n  execution: {{ {execution} }}\n  security: {{ resources: {{ timeout: 5m }} }}\n"
        );
        expect("outer-timeout", &[("a.yaml", &agent("a", &more))], lines);
    };
    alone(
        "iteration_timeout: 60m",
        expect![[r#"
            8:37 warning outer-timeout: `a` ends after 5 min, but an answer of `a` may take 1 h
              | security: { resources: { timeout: 5m } }
              |                                   ^^
              at 7:35: 1 h for an answer of `a`
              help: raise this timeout to at least 1 h, or lower that of an answer of `a`
        "#]],
    );
    alone(
        "iteration_timeout: 60s, llm_timeout_seconds: 90",
        expect![[r#"
            7:35 warning outer-timeout: an answer of `a` ends after 1 min, but a model call of `a` may take 90 s
              | execution: { iteration_timeout: 60s, llm_timeout_second
              |                                 ^^^
              at 7:61: 90 s for a model call of `a`
              help: raise this timeout to at least 90 s, or lower that of a model call of `a`
        "#]],
    );
    alone("iteration_timeout: 60s, llm_timeout_seconds: 45", expect![""]);
    expect(
        "outer-timeout",
        &[("a.yaml", &judged("3600")), ("j.yaml", &judge)],
        expect![[r#"
            8:37 warning outer-timeout: `a` ends after 30 min, but the judge `j` may take 1 h
              | security: { resources: { timeout: 30m } }
              |                                   ^^^
              at 7:114: 1 h for the judge `j`
              help: raise this timeout to at least 1 h, or lower that of the judge `j`
        "#]],
    );
    expect("outer-timeout", &[("a.yaml", &judged("60")), ("j.yaml", &judge)], expect![""]);
}

#[test]
fn a_number_of_the_context_is_compared_with_what_visits_can_reach() {
    let looped = |rounds: u32, visits: u32, condition: &str| {
        workflow(
            &format!("  context: {{ rounds: {rounds}, low: 1 }}\n"),
            &format!(
                "    A: {{ kind: System, command: ./a, max_state_visits: {visits}, transitions: [{{ condition: custom, expression: \"{{{{{condition}}}}}\", target: END }}, {{ target: B }}] }}\n    B: {{ kind: System, command: ./b, transitions: [{{ target: A }}] }}\n"
            ),
        )
    };
    let written = |rounds, visits, condition: &str, lines: Expect| {
        expect("never-true", &[("w.yaml", &looped(rounds, visits, condition))], lines);
    };
    written(
        9,
        4,
        "iteration_number >= workflow.context.rounds",
        expect![[r#"
        8:109 warning never-true: with 9 as `workflow.context.rounds`, this comparison can never be true: `iteration_number` is from 1 to 4
          | ...s: [{ condition: custom, expression: "{{iteration_number >= workflow.context
          |                                            ^^^^^^^^^^^^^^^^
          at 8:56: the limit
          help: compare with a number that is reached, or raise `max_state_visits`
    "#]],
    );
    written(
        9,
        4,
        "workflow.context.rounds <= iteration_number",
        expect![[r#"
        8:136 warning never-true: with 9 as `workflow.context.rounds`, this comparison can never be true: `iteration_number` is from 1 to 4
          | ...pression: "{{workflow.context.rounds <= iteration_number}}", target: END },
          |                                            ^^^^^^^^^^^^^^^^
          at 8:56: the limit
          help: compare with a number that is reached, or raise `max_state_visits`
    "#]],
    );
    written(4, 4, "iteration_number >= workflow.context.rounds", expect![""]);
    // A switch of the manifest is meant to be changed.
    written(4, 4, "workflow.context.rounds == 3", expect![""]);
    written(4, 4, "workflow.context.rounds < workflow.context.low", expect![""]);
    // An input that declares the key has its own number.
    let own = looped(9, 4, "iteration_number >= workflow.context.rounds").replace(
        "metadata: { name: w }",
        "metadata: { name: w, input_schema: { type: object, properties: { rounds: { type: integer } } } }",
    );
    expect("never-true", &[("w.yaml", &own)], expect![""]);
}

#[test]
fn the_iterations_of_an_agent_are_counted() {
    let prompt = |number: u32, execution: &str| {
        agent(
            "a",
            &format!(
                "  task:\n    instruction: Work.\n    prompt_template: '{{{{input}}}}{{{{#if (gt iteration_number {number})}}}} Hurry.{{{{/if}}}}'\n  execution: {{ {execution} }}\n"
            ),
        )
    };
    expect(
        "never-true",
        &[("a.yaml", &prompt(4, "mode: iterative, max_iterations: 4"))],
        expect![[r#"
        8:42 warning never-true: this comparison can never be true: `iteration_number` is from 1 to 4
          | prompt_template: '{{input}}{{#if (gt iteration_number 4)}} Hurry.{{/if}}'
          |                                      ^^^^^^^^^^^^^^^^
    "#]],
    );
    expect("never-true", &[("a.yaml", &prompt(3, "mode: iterative, max_iterations: 4"))], expect![""]);
    expect(
        "never-true",
        &[("a.yaml", &prompt(1, "mode: one-shot"))],
        expect![[r#"
        8:42 warning never-true: this comparison can never be true: `iteration_number` is always 1
          | prompt_template: '{{input}}{{#if (gt iteration_number 1)}} Hurry.{{/if}}'
          |                                      ^^^^^^^^^^^^^^^^
    "#]],
    );
}

#[test]
fn a_failed_state_leaves_only_its_error() {
    let agent = agent("a", "  task: { instruction: Work. }\n");
    let failing = |first: &str, prompt: &str| {
        workflow(
            "",
            &format!(
                "    A: {{ kind: Agent, agent: a, input: x, transitions: [{first}{{ condition: on_success, target: END }}, {{ condition: on_failure, target: H }}] }}\n    H: {{ kind: Human, prompt: '{prompt}', transitions: [{{ target: END }}] }}\n"
            ),
        )
    };
    let read = |first: &str, prompt: &str, lines: Expect| {
        expect("maybe-undefined", &[("w.yaml", &failing(first, prompt)), ("a.yaml", &agent)], lines);
    };
    read(
        "",
        "See {{A.output.title}}",
        expect![[r#"
        8:38 info maybe-undefined: `A.output.title` has no value if `A` has failed
          | H: { kind: Human, prompt: 'See {{A.output.title}}', transitions: [{
          |                                  ^^^^^^^^^^^^^^
          help: guard it with `{{#if A.output.title}}`, or write `{{default A.output.title "..."}}`
    "#]],
    );
    read("", "See {{A.output}} {{A.error}} {{A.status}}", expect![""]);
    read("", "See {{#if A.output.title}}{{A.output.title}}{{/if}}", expect![""]);
    // Where the failure has a way of its own, the other ones know that the state has succeeded.
    let apart = workflow(
        "",
        "    A: { kind: Agent, agent: a, input: x, transitions: [{ condition: custom, expression: \"{{A.output.kind == 'bug'}}\", target: H }, { condition: on_failure, target: END }, { condition: custom, expression: \"{{A.output.kind != 'bug'}}\", target: H }] }\n    H: { kind: Human, prompt: 'See {{A.output.title}}', transitions: [{ target: END }] }\n",
    );
    expect("maybe-undefined", &[("w.yaml", &apart), ("a.yaml", &agent)], expect![""]);
}
