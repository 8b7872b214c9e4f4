//! Keys that are lines of a text above them.

use expect_test::{Expect, expect};

use super::support::{END, agent, findings, workflow};

/// Compares the findings about such keys.
#[track_caller]
fn swallowed(manifest: &str, expected: Expect) {
    let all = findings(&[("manifest.yaml", manifest)]);
    let ours: String =
        all.lines().filter(|line| line.contains("swallowed-key")).map(|line| format!("{line}\n")).collect();
    crate::support::bless(&ours, &expected);
}

#[test]
fn a_key_that_the_manifest_lacks_is_found_whatever_its_value() {
    let lacking = |version: &str, task: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata:\n  name: a\n  description: |\n    Writes.\n{version}spec:\n  runtime: {{ model: smart }}\n  task:\n    prompt_template: |\n      {{{{input}}}}\n{task}"
        )
    };
    let instructed = "    instruction: Write it.\n";
    swallowed(
        &lacking("    version: '1'\n", instructed),
        expect![[r#"
        warning 7:5 swallowed-key: this line is part of the text of `description`, not a key (align `version:` with `description:` to make it a key) [5:3 the block starts here]
    "#]],
    );
    swallowed(
        &lacking("  version: '1'\n", "      instruction: Write it well.\n"),
        expect![[r#"
        warning 13:7 swallowed-key: this line is part of the text of `prompt_template`, not a key (align `instruction:` with `prompt_template:` to make it a key) [11:5 the block starts here]
    "#]],
    );
    swallowed(&lacking("    version: '1'\n  version: '1'\n", instructed), expect![""]);
}

#[test]
fn a_line_of_a_script_in_a_list_may_be_a_key_of_the_state() {
    let state = |line: &str| {
        workflow(&format!(
            "    A:\n      kind: ContainerRun\n      name: build\n      image: i\n      command:\n        - sh\n        - -c\n        - |\n          make\n          echo \"result: ok\"\n          {line}\n      transitions: [{{ target: END }}]\n{END}"
        ))
    };
    swallowed(
        &state("workdir: /src"),
        expect![[r#"
        warning 17:11 swallowed-key: this line is part of the text of `command`, not a key (align `workdir:` with `command:` to make it a key) [11:7 the block starts here]
    "#]],
    );
    swallowed(
        &state("env: { COLOUR: never }"),
        expect![[r#"
        warning 17:11 swallowed-key: this line is part of the text of `command`, not a key (align `env:` with `command:` to make it a key) [11:7 the block starts here]
    "#]],
    );
    swallowed(&state("echo workdir: /src"), expect![""]);
}

#[test]
fn a_few_words_after_a_key_at_the_end_of_a_text_are_its_value() {
    let state = |line: &str| {
        workflow(&format!(
            "    A:\n      kind: Agent\n      agent: a\n      input: |\n        Write about it.\n        {line}\n      transitions: [{{ target: END }}]\n{END}"
        ))
    };
    swallowed(
        &state("intent: write about the tides"),
        expect![[r#"
        warning 12:9 swallowed-key: this line is part of the text of `input`, not a key (align `intent:` with `input:` to make it a key) [10:7 the block starts here]
    "#]],
    );
    swallowed(&state("intent: write about the tides, and nothing else."), expect![""]);
    swallowed(&state("topic: x\n        intent: write it"), expect![""]);
}

#[test]
fn keywords_of_schemas_and_keys_of_the_output_are_found_in_texts() {
    let schema = |line: &str| {
        agent(
            "a",
            &format!(
                "  input_schema:\n    type: object\n    properties:\n      text:\n        type: string\n        description: |\n          One line each.\n          {line}\n"
            ),
        )
    };
    swallowed(
        &schema("minLength: 10"),
        expect![[r#"
        warning 14:11 swallowed-key: this line is part of the text of `description`, not a key (align `minLength:` with `description:` to make it a key) [12:9 the block starts here]
    "#]],
    );
    swallowed(&schema("length: 10"), expect![""]);
    let output = |line: &str| {
        workflow(END).replace("initial_state: A", "initial_state: END").replace(
            "metadata: { name: w, version: '1' }",
            &format!(
                "metadata:\n  name: w\n  output_schema: {{ type: object, properties: {{ text: {{ type: string }}, place: {{ type: string }} }} }}\n  output_template:\n    text: |\n      The end: {{{{END.output}}}}\n      {line}"
            ),
        )
    };
    swallowed(
        &output("place: \"{{END.status}}\""),
        expect![[r#"
        warning 9:7 swallowed-key: this line is part of the text of `text`, not a key (align `place:` with `text:` to make it a key) [7:5 the block starts here]
    "#]],
    );
    swallowed(&output("other: \"{{END.status}}\""), expect![""]);
}
