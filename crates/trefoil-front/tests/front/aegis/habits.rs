//! Habits from other formats and languages: what is said of them, and that no fix makes a file worse.

use super::support::{expect, expect_one, load};

const END: &str = "    END: { kind: System, command: echo }\n";

/// An agent with these lines under `spec`, beside a task.
fn agent(name: &str, more: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: {name}, version: '1' }}\nspec:\n  runtime: {{ model: smart }}\n  task: {{ instruction: Work. }}\n{more}"
    )
}

/// A workflow with these states, from `A` on.
fn workflow(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1' }}\nspec:\n  initial_state: A\n  states:\n{states}"
    )
}

/// The fixes of all findings, as they are offered.
fn fixes(manifest: &str) -> Vec<String> {
    let folder = load(&[("manifest.yaml", manifest)]);
    folder.diagnostics.iter().filter_map(|d| d.fix.as_ref()).map(|f| f.message.to_string()).collect()
}

#[test]
fn a_word_for_the_end_is_no_state_misspelt() {
    for word in ["END", "end", "__end__", "STOP", "Done"] {
        let manifest = workflow(&format!(
            "    A: {{ kind: Human, prompt: Well?, transitions: [{{ target: {word} }}, {{ condition: input_equals_no, target: SEND }}] }}\n    SEND: {{ kind: System, command: echo }}\n"
        ));
        let found = super::support::findings(&[("manifest.yaml", &manifest)]);
        let first = format!(
            "unknown-reference: no state is called `{word}` (there is no built-in end state; point to a state with `transitions: []`)"
        );
        assert!(found.contains(&first), "{found}");
        assert_eq!(fixes(&manifest), [""; 0]);
    }
    let near = workflow(&format!("    A: {{ kind: Human, prompt: Well?, transitions: [{{ target: end }}] }}\n{END}"));
    assert_eq!(fixes(&near), ["write `END`"]);
}

#[test]
fn the_time_limit_under_security_has_an_effect() {
    expect_one(&agent("a", "  security: { resources: { timeout: 5m } }\n"), "");
    expect_one(
        &agent("a", "  security: { network: { mode: none }, resources: { cpu: 500, timeout: 5m } }\n"),
        "warning 7:3 no-effect: `security` but for its `timeout` has no effect: the agent runs as a model call, no container",
    );
}

#[test]
fn a_state_without_input_gives_what_the_run_was_started_with_or_nothing() {
    let taker =
        agent("a", "  input_schema: { type: object, required: [draft], properties: { draft: { type: string } } }\n");
    let child = workflow(END).replace("initial_state: A", "initial_state: END").replace(
        "name: w, version: '1'",
        "name: child, input_schema: { type: object, required: [title], properties: { title: { type: string } } }",
    );
    let started = |with: &str| {
        workflow("    A: { kind: Agent, agent: a, transitions: [{ target: B }] }\n    B: { kind: Subworkflow, workflow_id: child, mode: blocking, result_key: r }\n")
            .replace("version: '1'", &format!("input_schema: {{ type: object, properties: {{ {with}: {{ type: string }} }} }}"))
    };
    let child_lacks =
        "warning w.yaml 8:42 missing-input: `child` needs `title`, and is not given it (the state has no `input`)";
    let files = |text: &str, expected: &str| {
        expect(&[("w.yaml", text), ("a.yaml", &taker), ("child.yaml", &child)], expected);
    };
    files(&started("draft"), child_lacks);
    files(
        &started("text"),
        &format!(
            "warning w.yaml 7:30 missing-input: `a` needs `draft`, and is not given it (without `input` an agent is given the start input, and `input_schema` does not declare it)\n{child_lacks}"
        ),
    );
}

#[test]
fn a_loop_that_only_a_failure_ends() {
    let asked = |a: &str, b: &str| {
        workflow(&format!(
            "    A: {{ kind: Human, prompt: Well?, transitions: [{{ condition: on_success, target: {a} }}, {{ condition: on_failure, target: END }}] }}
    B: {{ kind: Human, prompt: Well?, transitions: [{{ target: {b} }}, {{ condition: on_failure, target: END }}] }}\n{END}"
        ))
    };
    let help = "(only a failure leads out, so a limit of visits ends the run; lead on from here when all went well)";
    expect_one(
        &asked("A", "END"),
        &format!(
            "warning 7:85 endless-loop: unless something fails, the run loops through `A` until a limit ends it {help}
             warning 8:5 unreachable-state: no transition leads to `B`: it never runs"
        ),
    );
    expect_one(
        &asked("B", "A"),
        &format!(
            "warning 8:62 endless-loop: unless something fails, the run loops through `A` until a limit ends it {help}"
        ),
    );
    expect_one(&asked("B", "END"), "");
    // The exit code of a command is a result as good as any.
    expect_one(
        &workflow(&format!(
            "    A: {{ kind: System, command: make, transitions: [{{ condition: on_success, target: A }}, {{ condition: on_failure, target: END }}] }}\n{END}"
        )),
        "",
    );
}

#[test]
fn everything_at_once_and_what_comes_first() {
    let prompt = |text: &str| {
        workflow(&format!("    A: {{ kind: Human, prompt: '{text}', transitions: [{{ target: END }}] }}\n{END}"))
    };
    let help = "(write the path of what is meant; `{{json this}}` says that it is everything)";
    expect_one(
        &prompt("{{this}} {{.}} {{json this}} {{#each input.l}}{{this}}{{.}}{{/each}}"),
        &format!(
            "warning 7:34 loop-variable: `this` is not in a block: it prints everything that there is, as JSON {help}
             warning 7:43 loop-variable: `.` is not in a block: it prints everything that there is, as JSON {help}"
        ),
    );
    expect_one(
        &prompt("{{default 10 input.n}} {{default input.n 10}} {{default null input.n}}"),
        "warning 7:31 no-effect: `default` has no effect: `10` comes first, and is always there (write the value first, and its fallback after it)",
    );
}

#[test]
fn commands_that_somebody_else_invented_or_no_shell_can_read() {
    let run = |command: &str| workflow(&format!("    A:\n      kind: System\n      command: {command}\n"));
    for word in ["set_blackboard", "blackboard_set", "blackboard.update", "update_context"] {
        let found = super::support::findings(&[("manifest.yaml", &run(word))]);
        let first = format!("warning 9:16 unknown-reference: `{word}` is no built-in command");
        assert!(found.starts_with(&first), "{found}");
    }
    expect_one(&run("blackboard-tool --set"), "");
    let help = "(the shell refuses the command; close it, or write `\\` before one that is meant as it is)";
    expect_one(&run("echo 'Dropped"), &format!("warning 9:16 command-syntax: a `'` is never closed {help}"));
    expect_one(&run("'grep \"x file'"), &format!("warning 9:16 command-syntax: a `\"` is never closed {help}"));
    for fine in ["echo it\\'s # don't", "'grep \"x\" file'", "|\n        cat <<END\n        it's\n        END"] {
        expect_one(&run(fine), "");
    }
}

#[test]
fn feedback_that_is_a_path_without_braces() {
    expect_one(
        &workflow(&format!(
            "    A: {{ kind: Human, prompt: Well?, transitions: [{{ condition: input_equals_yes, target: END }}, {{ target: A, feedback: A.response }}] }}\n{END}"
        ))
        .replace("prompt: Well?", "prompt: 'Well? {{state.feedback}}'"),
        "warning 7:142 not-a-placeholder: `A.response` is text here, and its value is not read",
    );
}

/// What is said of a text that a person is shown.
#[track_caller]
fn of_text(text: &str, expected: &str) -> String {
    let manifest = workflow(&format!(
        "    A:\n      kind: Human\n      prompt: |\n        {text}\n      transitions: [{{ target: END }}]\n{END}"
    ));
    expect_one(&manifest, expected);
    manifest
}

#[test]
fn tags_that_are_nearly_right() {
    of_text(
        "{{json input.list[0].name}}",
        "error 10:26 template-syntax: an item of a list comes after a dot (write `input.list.0.name`)",
    );
    let text = of_text(
        "{{#each tag in input.tags}}{{tag}}{{/each}}",
        "error 10:12 template-bad-arguments: a list is named first, and its item after it (write `{{#each input.tags as |tag|}}`)",
    );
    assert_eq!(fixes(&text), ["write `each input.tags as |tag|`"]);
    let text = of_text(
        "{{if input.vip}}x{{/if}}",
        "error 10:11 template-unknown-helper: `if` opens a block, but has no `#` here (write `{{#if input.vip}}`)",
    );
    assert_eq!(fixes(&text), ["write `#if input.vip`"]);
    for tag in ["{{#else}}", "{{/else}}"] {
        let text = of_text(
            &format!("{{{{#if input.vip}}}}x{tag}y{{{{/if}}}}"),
            "error 10:27 template-unknown-block: `else` is no block of its own (write `{{else}}`)",
        );
        assert_eq!(fixes(&text), ["write `{{else}}`"]);
    }
    for (name, meant) in [("uppercase", "upper"), ("toUpperCase", "upper"), ("size", "length"), ("toJSON", "json")] {
        let text = format!("{{{{{name} input.x}}}}");
        of_text(
            &text,
            &format!("error 10:11 template-unknown-helper: unknown helper `{name}` (did you mean `{meant}`?)"),
        );
    }
    of_text(
        "{{#if eq input.vip true}}x{{/if}}",
        "error 10:18 template-bad-arguments: `if` takes one value (put the helper into parentheses: `{{#if (eq input.vip true)}}`)",
    );
    of_text(
        "{{#each keys as |k|}}{{k}}{{/each}}{{#if len includeZero=true}}x{{/if}}",
        "warning 10:17 unresolved-name: `keys` is a helper, and nothing comes after it: here it is the name of a key (write its argument after it)\nwarning 10:50 unresolved-name: `len` is a helper, and nothing comes after it: here it is the name of a key (write its argument after it)",
    );
}

#[test]
fn a_condition_as_a_key() {
    let manifest = workflow(&format!(
        "    A: {{ kind: Human, prompt: Well?, transitions: [{{ on_success: TELL }}] }}\n    TELL: {{ kind: Human, prompt: Well, transitions: [{{ target: END }}] }}\n{END}"
    ));
    expect_one(
        &manifest,
        "error 7:54 missing-key: `on_success` is a condition, but is used here as a key (write `condition: on_success` and `target: TELL`)",
    );
    assert_eq!(fixes(&manifest), [""; 0]);
}

#[test]
fn names_that_stand_for_others() {
    let asked = |text: &str| {
        workflow(&format!(
            "    A: {{ kind: Agent, agent: a, transitions: [{{ target: DONE }}] }}\n    DONE: {{ kind: Human, prompt: '{text}', transitions: [{{ target: END }}] }}\n{END}"
        ))
        .replace("spec:\n", "spec:\n  context: { colour: red }\n")
    };
    let telling = agent("a", "");
    let of = |text: &str, expected: &str| expect(&[("w.yaml", &asked(text)), ("a.yaml", &telling)], expected);
    for field in ["text", "stdout", "result"] {
        of(
            &format!("{{{{A.{field}}}}}"),
            &format!(
                "warning w.yaml 9:37 unknown-property: the result of `A` has no `{field}`: it is always empty (the answer is `A.output`)"
            ),
        );
    }
    of(
        "{{A.title}}",
        "warning w.yaml 9:37 unknown-property: the result of `A` has no `title`: it is always empty (a field of the answer is `A.output.title`)",
    );
    of("{{workflow.context.tone}}", "");
    let prompt = telling.replace(
        "instruction: Work.",
        "instruction: Work., prompt_template: '{{instruction}} {{input}} {{last_error}}'",
    );
    expect_one(
        &prompt,
        "warning 6:77 unresolved-name: a prompt has no `last_error`: it is always empty (did you mean `previous_error`?)",
    );
}

#[test]
fn patterns_that_nothing_is_found_by() {
    let validated = |more: &str| {
        agent("a", &format!("  execution: {{ mode: iterative, validation: [{{ type: regex, {more} }}] }}\n"))
    };
    for (more, expected) in [
        (
            "pattern: done, target: stderr",
            "warning 7:70 invalid-regex: `pattern` is never found: a model call has no stderr (write `target: stdout` for what the agent answers)",
        ),
        (
            "pattern: '/^[a-z]+$/i'",
            "warning 7:70 invalid-regex: `pattern` is never found: its slashes are characters, and there is none before the beginning (remove the slashes; letters after them are written in front, as in `(?i)`)",
        ),
        (
            "pattern: '$^[a-z]'",
            "warning 7:70 invalid-regex: `pattern` is never found: nothing comes after the end (`^` is the beginning, `$` the end)",
        ),
        ("pattern: '^$', target: stderr", ""),
        ("pattern: '/usr/bin'", ""),
        ("pattern: '^[a-z]$'", ""),
    ] {
        expect_one(&validated(more), expected);
    }
}

#[test]
fn limits_that_are_never_reached_or_always() {
    expect_one(
        &agent("a", "  execution: { iteration_timeout: 60ms }\n"),
        "warning 7:35 out-of-range: `iteration_timeout` leaves a model 60 ms: hardly any answer comes within that (`s` are seconds, `m` minutes and `ms` thousandths of a second)",
    );
    expect_one(
        &agent("a", "  execution: { iteration_timeout: 60m }\n  security: { resources: { timeout: 5m } }\n"),
        "warning 7:35 no-effect: `iteration_timeout` is never reached: `security.resources.timeout` ends all iterations after 300 s",
    );
    expect_one(
        &agent("a", "  execution: { iteration_timeout: 60s, llm_timeout_seconds: 45000 }\n"),
        "warning 7:61 no-effect: `llm_timeout_seconds` is never reached: an iteration ends after 60 s",
    );
    expect_one(&agent("a", "  execution: { iteration_timeout: 60s, llm_timeout_seconds: 45 }\n"), "");
}

#[test]
fn what_no_prompt_shows() {
    let context = "  context: [{ type: text, content: Be brief. }]\n";
    expect_one(
        &agent("a", context),
        "warning 7:36 no-effect: `context` has no effect: the default prompt does not read it (write `{{context}}` into `prompt_template` where the model is to read it)",
    );
    let shown = "instruction: Work., prompt_template: '{{instruction}} {{input}} {{context}} {{intent}}'";
    expect_one(&agent("a", context).replace("instruction: Work.", shown), "");
    let flow = workflow(&format!(
        "    A: {{ kind: Agent, agent: a, intent: Help., transitions: [{{ target: END }}] }}\n{END}"
    ));
    expect(
        &[("w.yaml", &flow), ("a.yaml", &agent("a", ""))],
        "warning w.yaml 7:41 no-effect: `intent` has no effect: the prompt of `a` does not read it (write `{{intent}}` into its `prompt_template`, or put the text into `input`)",
    );
    expect(&[("w.yaml", &flow), ("a.yaml", &agent("a", "").replace("instruction: Work.", shown))], "");
}

#[test]
fn what_the_output_lacks() {
    let out = |more: &str| {
        workflow(END).replace("initial_state: A", "initial_state: END").replace(
            "version: '1'",
            &format!("output_schema: {{ type: object, required: [a, b], properties: {{ a: {{}}, b: {{}} }} }}{more}"),
        )
    };
    expect_one(
        &out(""),
        "warning 3:37 no-effect: `output_schema` has no effect: without `output_template` the output is what the last state answered",
    );
    expect_one(
        &out(", output_template: { a: x }"),
        "warning 3:120 missing-key: `output_template` gives no `b`, and `output_schema` requires it",
    );
    expect_one(&out(", output_template: { a: x, b: y }"), "");
}

#[test]
fn keys_that_are_called_otherwise() {
    expect_one(
        &workflow(&format!(
            "    A: {{ kind: System, command: update_blackboard, env: {{ blackboard.k: v }}, transitions: [{{ target: END }}] }}\n{END}"
        )),
        "warning 7:59 invalid-name: this writes a key called `blackboard.k`, and no `k` (write `k`: keys of `env` are those of the Blackboard)",
    );
}

#[test]
fn a_result_under_the_name_of_a_state() {
    let flow = workflow(&format!(
        "    A: {{ kind: Subworkflow, workflow_id: child, mode: blocking, result_key: A, input: x, transitions: [{{ target: END }}] }}\n{END}"
    ));
    let child = workflow(END).replace("initial_state: A", "initial_state: END").replace("name: w", "name: child");
    expect(
        &[("w.yaml", &flow), ("child.yaml", &child)],
        "warning w.yaml 7:77 invalid-name: templates read the state `A` by `A`, and never this key (choose another key)",
    );
}

#[test]
fn weights_that_nobody_counts() {
    let voted = |strategy: &str, weight: &str| {
        workflow(&format!(
            "    A: {{ kind: ParallelAgents, agents: [{{ agent: a, input: x, weight: {weight} }}, {{ agent: a, input: y }}], consensus: {{ strategy: {strategy} }}, transitions: [{{ target: END }}] }}\n{END}"
        ))
    };
    let judge = agent("a", "");
    let of = |flow: &str, expected: &str| expect(&[("w.yaml", flow), ("a.yaml", &judge)], expected);
    of(
        &voted("majority", "2"),
        "warning w.yaml 7:63 no-effect: `weight` has no effect: the strategy `majority` counts every verdict alike (write `strategy: weighted_average` where some count more than others)",
    );
    of(&voted("majority", "1.0"), "");
    of(&voted("weighted_average", "2"), "");
}
