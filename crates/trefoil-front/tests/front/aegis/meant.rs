//! What was meant by something else: fixes that mend it, and none that make it worse.

use super::support::expect_one;

const END: &str = "    END: { kind: System, command: echo }\n";

/// A workflow whose input is a `goal` and nothing else, with these states from `A` on.
fn workflow(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: w\n  input_schema: {{ type: object, required: [goal], properties: {{ goal: {{ type: string }} }} }}\nspec:\n  initial_state: A\n  states:\n{states}"
    )
}

#[track_caller]
fn of(states: &str, expected: &str) {
    expect_one(&workflow(&format!("{states}{END}")), expected);
}

#[test]
fn a_bare_word_for_a_helper_is_a_text_without_quotes() {
    of(
        r#"    A: { kind: Human, prompt: '{{default input.goal none}} {{#if (eq input.goal done)}}x{{/if}}', transitions: [{ target: B }] }
    B: { kind: Human, prompt: "{{default input.goal none}} {{default input.goal workflow.context.goal}}", transitions: [{ target: END }] }
"#,
        "warning 9:53 unresolved-name: nothing is called `none`: without quotes it is the name of a value
         warning 9:81 unresolved-name: nothing is called `done`: without quotes it is the name of a value
         warning 10:53 unresolved-name: nothing is called `none`: without quotes it is the name of a value",
    );
}

#[test]
fn names_of_two_words_and_of_one_letter() {
    of(
        "    A: { kind: Human, prompt: '{{execution_id}} {{g}}', transitions: [{ target: END }] }\n",
        "warning 9:34 unresolved-name: nothing in this manifest defines `execution_id` (did you mean `execution.id`?)
         warning 9:51 unresolved-name: neither the context, nor the input, nor any state defines `g`",
    );
}

#[test]
fn a_key_is_renamed_only_to_one_that_takes_its_value() {
    of(
        "    A:
      kind: Agent
      agents: [r]
      next: B
    B: { kind: System, command: update_blackboard, values: { k: v }, transitions: [{ target: END }] }
",
        "error 10:7 missing-key: an Agent state needs `agent`
         warning 11:7 unknown-key: state `A` has no key `agents` (did you mean `agent`? it takes one value, not a list)
         warning 12:7 unknown-key: state `A` has no key `next` (did you mean `transitions`? it takes a list)
         warning 13:33 no-effect: `update_blackboard` has no effect: there is nothing under `env` to write (put the keys and their values under `env`)
         warning 13:52 unknown-key: state `B` has no key `values` (did you mean `env`?)",
    );
}

#[test]
fn a_state_of_a_list_with_its_name_as_a_key() {
    expect_one(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w }\nspec:\n  states:\n    - ASK:\n      kind: Human\n      prompt: Well?\n    - name: END\n      kind: System\n      command: echo {{ASK.response}}\n",
        "error 6:7 missing-key: a state in a list needs `name`",
    );
}

#[test]
fn values_that_are_names_without_braces_or_in_quotes() {
    of(
        r#"    A: { kind: Human, prompt: 'Well?', transitions: [{ target: B }] }
    B: { kind: System, command: update_blackboard, env: { a: A.response, b: <A.response>, c: input.goal, d: other.goal, e: goal }, transitions: [{ target: C }] }
    C: { kind: Human, prompt: '{{default "none" input.goal}} {{#if "input.goal"}}x{{/if}} {{default input.goal "none"}}', transitions: [{ condition: custom, expression: '"A.response" == "yes.no"', target: END }, { target: END }] }
"#,
        "warning 10:62 not-a-placeholder: `A.response` is text here, and its value is not read
         warning 10:77 not-a-placeholder: `A.response` is text here, and its value is not read
         warning 10:94 not-a-placeholder: `input.goal` is text here, and its value is not read
         warning 11:31 no-effect: `default` has no effect: `none` comes first, and is always there (write the value first, and its fallback after it)
         warning 11:68 not-a-placeholder: `input.goal` in quotes is text, and its value is not read
         warning 11:171 not-a-placeholder: `A.response` in quotes is text, and its value is not read",
    );
}

#[test]
fn placeholders_in_what_is_data() {
    expect_one(
        &workflow(&format!("    A: {{ kind: Human, prompt: '{{{{workflow.context.hello}}}}', transitions: [{{ target: END }}] }}\n{END}"))
            .replace("spec:\n", "spec:\n  context: { hello: 'Hello {{input.goal}}', example: ['{{your.name}}'] }\n"),
        "warning 7:28 no-effect: `{{input.goal}}` stays as it is: `context` is no template (write it where the value is used, or write the key in an `update_blackboard` state)",
    );
}

#[test]
fn feedback_into_a_loop_that_nothing_reads() {
    let looped = |input: &str| {
        format!(
            "    A: {{ kind: Agent, agent: '{{{{input.goal}}}}', input: '{input}', transitions: [{{ condition: on_failure, target: A, feedback: Again. }}, {{ target: END, feedback: Well done. }}] }}\n"
        )
    };
    of(
        &looped("x"),
        "info 9:120 no-effect: nothing reads `state.feedback`, so `A` repeats without seeing this feedback (write `{{state.feedback}}` into the `input` of `A`)",
    );
    of(&looped("x {{state.feedback}}"), "");
}

#[test]
fn limits_that_no_run_keeps() {
    let limited = |total: u32, visits: u32| {
        workflow(&format!(
            "    A: {{ kind: Human, prompt: Well?, max_state_visits: {visits}, transitions: [{{ condition: input_equals_yes, target: B }}, {{ target: A }}] }}
    B: {{ kind: System, command: echo b, transitions: [{{ target: END }}] }}
{END}"
        ))
        .replace("spec:\n", &format!("spec:\n  max_total_transitions: {total}\n"))
    };
    expect_one(&limited(2, 1), "warning 7:26 endless-loop: no run gets to an end: the shortest way there has 3 states (allow at least that many)
         warning 10:56 endless-loop: transitions lead back to `A`, and its second visit fails the run (allow at least 2 visits)");
    expect_one(&limited(3, 2), "");
}

#[test]
fn what_never_runs_is_told_once() {
    of(
        "    A: { kind: System, command: echo a, transitions: [] }
    B: { kind: System, command: echo b, transitions: [{ target: C }] }
    C: { kind: System, command: echo c, transitions: [{ target: END }] }
    D: { kind: System, command: echo d, transitions: [{ target: E }] }
    E: { kind: System, command: echo e, transitions: [{ target: D }] }
",
        "warning 10:5 unreachable-state: no transition leads to `B`: it never runs
         warning 12:5 unreachable-state: no transition leads to `D`: it never runs",
    );
}

#[test]
fn tags_of_other_template_languages() {
    of(
        "    A:
      kind: Human
      prompt: |
        {{#if input.goal}}a{{elif input}}b{{/if}}
        {{#if input.goal}}a{{else (eq input 'x')}}b{{/if}}
        {{input.{{input.goal}}}}
        {{#input.goal}}x{{/input.goal}}
        {{input.goal ? a : b}} {{input.goal ?? b}} {{default(input.goal, input)}}
      transitions: [{ target: END }]
",
        "error 12:30 template-unknown-helper: there is no `elif` (write `{{else if input}}`)
         error 13:28 template-bad-arguments: `else` alone takes no condition (write `{{else if (eq input 'x')}}`)
         error 14:9 template-syntax: a tag inside a tag (tags do not nest; for a member whose name is a value write `{{lookup input name}}`)
         error 15:9 template-unknown-block: `input.goal` is a path, no block (write `{{#with input.goal}}`, for a list `{{#each input.goal}}`)
         error 16:22 template-syntax: `?` is not expected here (write `{{#if a}}...{{else}}...{{/if}}`)
         error 16:45 template-syntax: `?` is not expected here (write `{{default a \"text\"}}`)
         error 16:54 template-syntax: `default` is a helper: its argument comes after it, without parentheses (write `{{default input.goal input}}`)",
    );
}

#[test]
fn a_text_of_several_lines_without_its_bar() {
    of(
        "    A:
      kind: Human
      prompt:
        {{#if input.goal}}Goal: {{input.goal}}{{/if}}
        Well {{input.goal}}?
      transitions: [{ target: END }]
",
        "error 12:9 yaml-unquoted-braces: a text of several lines that begins with `{{` needs `|` after its key",
    );
}
