//! Rules about safety: who controls which field.

use expect_test::{Expect, expect};
use trefoil_check::RuleGroup;

use super::support::{check, expect, hold, of_group, shown};

fn fetch(url: &str, headers: &str) -> String {
    format!(
        "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:gpt-4o-mini\" }} }}\ninput: {{ host: h, path: p }}\nnodes:\n  pick: {{ agent: a, writes: working.pick }}\n  get:\n    type: tool\n    tool: http\n    config: {{ url: \"{url}\", headers: {{ {headers} }} }}\n"
    )
}

#[track_caller]
fn request(url: &str, headers: &str, expected: Expect) {
    expect(RuleGroup::Safety, "sirenspec", &[("flow.yaml", &fetch(url, headers))], expected);
}

#[test]
fn behind_the_host_values_are_encoded() {
    request("https://api.example.com/{{ inputs.path }}", "", expect![""]);
    request("https://api.example.com?q={{ pick.output }}", "", expect![""]);
    request("https://{{ env.HOST }}/{{ inputs.path }}", "", expect![""]);
    // The value contains the scheme.
    request("{{ env.BASE }}/x/{{ inputs.path }}?x=1", "", expect![""]);
    request("{{ env.BASE | default('https://x.example.com') }}/{{ inputs.path }}", "", expect![""]);
    request("{{ env.BASE }}:8080?q={{ inputs.path }}", "", expect![""]);
}

#[test]
fn a_base_of_the_manifest_is_read_as_it_stands() {
    let flow = |base: &str, url: &str| {
        fetch(url, "").replace("nodes:", &format!("state: {{ working: {{ base: \"{base}\" }} }}\nnodes:"))
    };
    let told = |base: &str, url: &str, expected: Expect| {
        expect(RuleGroup::Safety, "sirenspec", &[("flow.yaml", &flow(base, url))], expected);
    };
    told("https://x.example.com", "{{ working.base }}/{{ inputs.path }}", expect![""]);
    told("https://x.example.com/", "{{ base }}{{ inputs.path }}", expect![""]);
    told(
        "https://x.example.com",
        "{{ base }}{{ inputs.path }}",
        expect![[r#"
            10:34 warning untrusted-url: `inputs.path` decides which host the request goes to, and it comes from the run's input
              | config: { url: "{{ base }}{{ inputs.path }}", headers: {  }
              |                              ^^^^^^^^^^^
              at 3:19: comes from here
              help: use a fixed host or one from the environment, and put the value after it
        "#]],
    );
}

#[test]
fn right_behind_the_host_a_value_goes_on_with_it() {
    request(
        "https://{{ env.HOST }}{{ inputs.path }}",
        "",
        expect![[r#"
            9:46 warning untrusted-url: without `/` before it, `inputs.path` can change the host `env.HOST`, and it comes from the run's input
              | ...onfig: { url: "https://{{ env.HOST }}{{ inputs.path }}", headers: {  }
              |                                            ^^^^^^^^^^^
              at 3:19: comes from here
              help: put a `/` between them
        "#]],
    );
}

#[test]
fn whoever_writes_the_host_decides_where_it_goes() {
    request(
        "https://{{ inputs.host }}/x",
        "",
        expect![[r#"
            9:32 warning untrusted-url: `inputs.host` decides which host the request goes to, and it comes from the run's input
              | config: { url: "https://{{ inputs.host }}/x", headers: {
              |                            ^^^^^^^^^^^
              at 3:10: comes from here
              help: use a fixed host or one from the environment, and put the value after it
        "#]],
    );
    request(
        "https://api.{{ inputs.host }}",
        "",
        expect![[r#"
            9:36 warning untrusted-url: `inputs.host` decides which host the request goes to, and it comes from the run's input
              | config: { url: "https://api.{{ inputs.host }}", headers: {  }
              |                                ^^^^^^^^^^^
              at 3:10: comes from here
              help: use a fixed host or one from the environment, and put the value after it
        "#]],
    );
    request(
        "{{ inputs.host }}/x",
        "",
        expect![[r#"
            9:24 warning untrusted-url: `inputs.host` decides which host the request goes to, and it comes from the run's input
              | config: { url: "{{ inputs.host }}/x", headers: {
              |                    ^^^^^^^^^^^
              at 3:10: comes from here
              help: use a fixed host or one from the environment, and put the value after it
        "#]],
    );
}

#[test]
fn a_model_does_not_write_headers() {
    request("https://h/x", "Authorization: \"Bearer {{ env.KEY }}\", X-Id: \"{{ inputs.path }}\"", expect![""]);
    request(
        "https://h/x",
        "X-Id: \"{{ pick.output }}\"",
        expect![[r#"
            9:56 warning untrusted-url: `pick.output` is sent in the header `X-Id`, and it comes from a model's answer
              | ...rl: "https://h/x", headers: { X-Id: "{{ pick.output }}" } }
              |                                            ^^^^^^^^^^^
              at 5:3: comes from here
              help: send it in the body or the query
        "#]],
    );
}

fn command(command: &str, value: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow }}\nspec:\n  context: {{ fixed: main }}\n  initial_state: A\n  states:\n    A:\n      kind: System\n      command: '{command}'\n      env: {{ Q: \"{value}\" }}\n"
    )
}

#[test]
fn a_quoted_variable_is_data() {
    for text in [
        command("grep -e \"$Q\" notes", "{{input.q}}"),
        command("eval \"$Q\"", "ls -l"),
        command("grep -e {{input.q}} notes", "x"),
    ] {
        expect(RuleGroup::Safety, "aegis", &[("flow.yaml", &text)], expect![""]);
    }
}

#[test]
fn a_variable_that_a_shell_reads_again_is_code() {
    expect(
        RuleGroup::Safety,
        "aegis",
        &[("flow.yaml", &command("bash -c \"$Q\"", "{{input.q}}"))],
        expect![[r#"
            11:17 error untrusted-command: the shell runs `$Q` as code, and it comes from the run's input
              | env: { Q: "{{input.q}}" }
              |           ^^^^^^^^^^^^^
              at 3:19: comes from here
              help: do not pass data to a program that runs it as code; name the program here, and pass the value as an argument
        "#]],
    );
    expect(
        RuleGroup::Safety,
        "aegis",
        &[("flow.yaml", &command("grep -- $Q notes", "{{input.q}}"))],
        expect![[r#"
            11:17 warning untrusted-command: `$Q` is not quoted, so the shell splits it into words, and it comes from the run's input
              | env: { Q: "{{input.q}}" }
              |           ^^^^^^^^^^^^^
              at 3:19: comes from here
              help: write `"$NAME"`, with the quotes
        "#]],
    );
}

/// Findings about a command after a model's answer, `{{W.output}}`; the command is in single quotes.
fn after_a_model(command: &str, env: &str, expected: Expect) {
    let flow = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow }}\nspec:\n  context: {{ fixed: main }}\n  initial_state: W\n  states:\n    W:\n      kind: Agent\n      agent: writer\n      input: x\n      transitions: [{{ condition: always, target: S }}]\n    S:\n      kind: System\n      env: {{{env}}}\n      command: '{command}'\n"
    );
    let agent = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: writer, version: \"1.0.0\" }\nspec:\n  runtime: { model: smart }\n  task: { instruction: Write., prompt_template: \"{{instruction}} {{input}}\" }\n";
    expect(RuleGroup::Safety, "aegis", &[("flow.yaml", &flow), ("agents/writer.yaml", agent)], expected);
}

#[test]
fn a_placeholder_that_a_program_reads_as_code() {
    after_a_model(
        "echo \"{{W.output}}\" | bash",
        "",
        expect![[r#"
            16:25 error untrusted-command: the shell runs `W.output` as code, and it comes from a model's answer
              | command: 'echo "{{W.output}}" | bash'
              |                   ^^^^^^^^
              at agents/writer.yaml:3:19: comes from here
              help: do not pass data to a program that runs it as code; name the program here, and pass the value as an argument
        "#]],
    );
    after_a_model(
        "awk \"{{W.output}}\" f",
        "",
        expect![[r#"
            16:24 error untrusted-command: `awk` runs `W.output` as code, and it comes from a model's answer
              | command: 'awk "{{W.output}}" f'
              |                  ^^^^^^^^
              at agents/writer.yaml:3:19: comes from here
              help: do not pass data to a program that runs it as code; name the program here, and pass the value as an argument
        "#]],
    );
    after_a_model(
        "psql -c \"select {{W.output}}\"",
        "",
        expect![[r#"
            16:35 error untrusted-command: `psql` runs `W.output` as code, and it comes from a model's answer
              | command: 'psql -c "select {{W.output}}"'
              |                             ^^^^^^^^
              at agents/writer.yaml:3:19: comes from here
              help: do not pass data to a program that runs it as code; name the program here, and pass the value as an argument
        "#]],
    );
    after_a_model(
        "source {{W.output}}",
        "",
        expect![[r#"
            16:26 error untrusted-command: `source` runs `W.output` as code, and it comes from a model's answer
              | command: 'source {{W.output}}'
              |                    ^^^^^^^^
              at agents/writer.yaml:3:19: comes from here
              help: do not pass data to a program that runs it as code; name the program here, and pass the value as an argument
        "#]],
    );
    after_a_model("awk \"{{workflow.name}}\" f", "", expect![""]);
    after_a_model("echo {{W.output}} | grep foo", "", expect![""]);
}

#[test]
fn names_of_files_from_outside() {
    let told = |text: &str, expected: Expect| {
        expect(RuleGroup::Safety, "aegis", &[("flow.yaml", &command(text, "x"))], expected);
    };
    told(
        "ls > {{input.q}}",
        expect![[r#"
            10:24 warning untrusted-command: `input.q` decides which file is written, and it comes from the run's input
              | command: 'ls > {{input.q}}'
              |                  ^^^^^^^
              at 3:19: comes from here
              help: use a fixed file name, or at least a fixed folder: `> "out/$NAME"`
        "#]],
    );
}

#[test]
fn what_could_be_the_program_is_worse_from_a_model() {
    let of_input = |text: &str, expected: Expect| {
        expect(RuleGroup::Safety, "aegis", &[("flow.yaml", &command(text, "x"))], expected);
    };
    of_input(
        "timeout 5 {{input.q}}",
        expect![[r#"
            10:29 warning untrusted-command: `input.q` decides which program runs, and it comes from the run's input
              | command: 'timeout 5 {{input.q}}'
              |                       ^^^^^^^
              at 3:19: comes from here
              help: write the name in the manifest
        "#]],
    );
    after_a_model(
        "nohup {{W.output}}",
        "",
        expect![[r#"
            16:25 error untrusted-command: `W.output` decides which program runs, and it comes from a model's answer
              | command: 'nohup {{W.output}}'
              |                   ^^^^^^^^
              at agents/writer.yaml:3:19: comes from here
              help: write the name in the manifest
        "#]],
    );
    after_a_model("rm -rf -- {{W.output}}", "", expect![""]);
    after_a_model("rm -rf ./{{W.output}}", "", expect![""]);
    after_a_model("python3 tools/score.py {{W.output}}", "", expect![""]);
    after_a_model("[ {{W.output}} -eq 3 ]", "", expect![""]);
}

#[test]
fn what_a_shell_computes_with_is_code() {
    let computes = |text: &str, expected: Expect| {
        expect(RuleGroup::Safety, "aegis", &[("flow.yaml", &command(text, "{{input.q}}"))], expected);
    };
    computes(
        "((Q > 1)) && ls",
        expect![[r#"
            11:17 error untrusted-command: the shell evaluates `$Q` as arithmetic, which can run commands, and it comes from the run's input
              | env: { Q: "{{input.q}}" }
              |           ^^^^^^^^^^^^^
              at 3:19: comes from here
              help: compare it as text, or with `[ "$NAME" -eq 1 ]`, which accepts only numbers
        "#]],
    );
    expect(RuleGroup::Safety, "aegis", &[("flow.yaml", &command("((Q > 1)) && ls", "3"))], expect![""]);
}

#[test]
fn a_variable_that_decides_which_code_runs() {
    after_a_model(
        "ls",
        " PATH: \"{{W.output}}\" ",
        expect![[r#"
            15:20 error untrusted-command: `PATH` decides which code programs run, and its value comes from a model's answer
              | env: { PATH: "{{W.output}}" }
              |              ^^^^^^^^^^^^^^
              at agents/writer.yaml:3:19: comes from here
              help: use a fixed value, or pass the data under another name
        "#]],
    );
    after_a_model("ls", " PATH: \"{{workflow.name}}\", NOTE: \"{{W.output}}\" ", expect![""]);
}

#[test]
fn a_command_that_sends_a_request() {
    after_a_model(
        "curl https://{{W.output}}/x",
        "",
        expect![[r#"
            16:32 error untrusted-url: `W.output` decides which host the request goes to, and it comes from a model's answer
              | command: 'curl https://{{W.output}}/x'
              |                          ^^^^^^^^
              at agents/writer.yaml:3:19: comes from here
              help: use a fixed host or one from the environment, and put the value after it
        "#]],
    );
    after_a_model("curl \"https://a.b/x?q={{W.output}}\"", "", expect![""]);
    after_a_model("curl https://{{workflow.name}}/x", "", expect![""]);
}

#[test]
fn a_credential_is_never_shown_whole() {
    let key = ["sk-", "ab12CD34ef56", "GH78ij90kl"].concat();
    let agent = format!(
        "id: a\nkind: llm\nmodel: {{ provider: openai, name: gpt-4o-mini }}\ninstruction: \"Use {key} for it.\"\nprompt: Go.\n"
    );
    let found = of_group(RuleGroup::Safety, "agntz", &[("a.yaml", &agent)]);
    assert_eq!(found.matches(&key).count(), 1, "only the line that is quoted has it: {found}");
    hold(
        &expect![[r#"
            4:19 warning hard-coded-secret: a model provider's key is written in the file: `sk-a...`
              | instruction: "Use SK-KEY for it."
              |                   ^^^^^^^^^^^^^^^^^^^^^^^^^
              help: move it to the environment or the secret store and refer to it by name; then rotate it, because it must be considered leaked
        "#]],
        &found.replace(&key, "SK-KEY"),
    );
}

#[test]
fn a_model_fills_in_what_comes_behind_the_host() {
    let agent = |url: &str| {
        format!(
            "id: a\nkind: llm\nmodel: {{ provider: openai, name: gpt-4o-mini }}\ninstruction: Work.\nprompt: Go.\ntools:\n  - {{ kind: http, name: t, url: \"{url}\" }}\n"
        )
    };
    for url in ["https://h.example.com/{x}", "https://{{env.HOST}}/{x}", "https://h.example.com?q={{userQuery}}"] {
        expect(RuleGroup::Safety, "agntz", &[("a.yaml", &agent(url))], expect![""]);
    }
    let told = |url: &str, expected: Expect| expect(RuleGroup::Safety, "agntz", &[("a.yaml", &agent(url))], expected);
    told(
        "https://{{userQuery}}/a",
        expect![[r#"
            7:44 warning untrusted-url: `userQuery` decides which host the request goes to, and it comes from the run's input
              | ... { kind: http, name: t, url: "https://{{userQuery}}/a" }
              |                                            ^^^^^^^^^
              at 1:5: comes from here
              help: use a fixed host or one from the environment, and put the value after it
        "#]],
    );
    told(
        "{{userQuery}}/a",
        expect![[r#"
            7:36 warning untrusted-url: `userQuery` decides which host the request goes to, and it comes from the run's input
              | - { kind: http, name: t, url: "{{userQuery}}/a" }
              |                                  ^^^^^^^^^
              at 1:5: comes from here
              help: use a fixed host or one from the environment, and put the value after it
        "#]],
    );
}

/// The findings about credentials in prompts.
#[track_caller]
fn credentials(front: &str, files: &[(&str, &str)], expected: Expect) {
    let (project, all) = check(Some(front), files);
    hold(&expected, &shown(&project, all.iter().filter(|d| d.rule == "secret-in-prompt")));
}

#[test]
fn a_credential_straight_in_a_prompt_is_told_once() {
    let direct = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: \"Use {{env.OPENAI_API_KEY}} in {{env.APP_MODE}}\"\nprompt: x\n";
    credentials(
        "agntz",
        &[("a.yaml", direct)],
        expect![[r#"
            4:21 warning secret-in-prompt: the name of `env.OPENAI_API_KEY` looks like a credential, and its value would be sent in a prompt
              | instruction: "Use {{env.OPENAI_API_KEY}} in {{env.APP_MODE
              |                     ^^^^^^^^^^^^^^^^^^
              help: credentials belong in the `headers` of a tool
        "#]],
    );
    let direct = "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: \"{{ env.OPENAI_API_KEY }} {{ env.MAX_TOKENS }} {{ env.STOP_TOKEN }}\" } }\nnodes: { n: { agent: a, writes: output.n } }\n";
    credentials(
        "sirenspec",
        &[("a.yaml", direct)],
        expect![[r#"
            2:47 warning secret-in-prompt: the name of `env.OPENAI_API_KEY` looks like a credential, and its value would be sent in a prompt
              | ...: { a: { model: "openai:m", system: "{{ env.OPENAI_API_KEY }} {{ env.MAX_TOKEN
              |                                            ^^^^^^^^^^^^^^^^^^
              help: credentials belong in the `headers` of a tool
        "#]],
    );
}

#[test]
fn a_credential_goes_into_a_prompt_by_way_of_inputs() {
    let agent = "id: kid\nkind: llm\ninputSchema: { k: string, t: string }\nmodel: { provider: openai, name: m }\ninstruction: x\nprompt: \"{{t}}{{k}}\"\n";
    let by_reference = |k: &str, t: &str| {
        format!(
            "id: top\nkind: sequential\ninputSchema: {{ t: string }}\nsteps:\n  - ref: kid\n    input: {{ k: \"{k}\", t: \"{t}\" }}\n"
        )
    };
    let top = by_reference("Bearer {{env.DB_PASSWORD}}", "{{t}}");
    credentials(
        "agntz",
        &[("a.yaml", &top), ("kid.yaml", agent)],
        expect![[r#"
            6:27 warning secret-in-prompt: the name of this variable looks like a credential, and its value would be sent in a prompt, as `k`
              | input: { k: "Bearer {{env.DB_PASSWORD}}", t: "{{t}}" }
              |                       ^^^^^^^^^^^^^^^
              at kid.yaml:6:17: inserted into the prompt here
              help: credentials belong in the `headers` of a tool
        "#]],
    );
    let top = by_reference("{{env.DB_HOST}}", "{{t}}");
    credentials("agntz", &[("a.yaml", &top), ("kid.yaml", agent)], expect![""]);
    // It is passed, but the prompt does not read it.
    let other = agent.replace("{{k}}", "");
    let top = by_reference("{{env.DB_PASSWORD}}", "{{t}}");
    credentials("agntz", &[("a.yaml", &top), ("kid.yaml", &other)], expect![""]);
}

#[test]
fn a_credential_goes_into_the_prompts_of_a_factory_and_of_another_file() {
    let factory = |reads: &str| {
        format!(
            "version: \"0.1\"\nagents: {{ a: {{ model: \"openai:m\", system: \"{reads}\" }} }}\nnodes:\n  s: {{ type: factory, agent: a, for_each: '[1]', inputs: {{ k: \"{{{{ env.DB_PASSWORD }}}}\", m: x }}, writes: output.s }}\n"
        )
    };
    credentials(
        "sirenspec",
        &[("a.yaml", &factory("{{ inputs.k }}"))],
        expect![[r#"
            4:67 warning secret-in-prompt: the name of this variable looks like a credential, and its value would be sent in a prompt, as `inputs.k`
              | ...t: a, for_each: '[1]', inputs: { k: "{{ env.DB_PASSWORD }}", m: x }, writes
              |                                            ^^^^^^^^^^^^^^^
              at 2:47: inserted into the prompt here
              help: credentials belong in the `headers` of a tool
        "#]],
    );
    let nested =
        "version: \"0.1\"\nnodes:\n  s: { type: workflow, ref: kid, inputs: { k: \"{{ env.DB_PASSWORD }}\" } }\n";
    let kid = "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: \"{{ inputs.k }}\" } }\nnodes: { n: { agent: a, writes: output.n } }\ninput: { k: none }\n";
    credentials(
        "sirenspec",
        &[("a.yaml", nested), ("kid.yaml", kid)],
        expect![[r#"
            3:51 warning secret-in-prompt: the name of this variable looks like a credential, and its value would be sent in a prompt, as `inputs.k`
              | ...e: workflow, ref: kid, inputs: { k: "{{ env.DB_PASSWORD }}" } }
              |                                            ^^^^^^^^^^^^^^^
              at kid.yaml:2:47: inserted into the prompt here
              help: credentials belong in the `headers` of a tool
        "#]],
    );
}

#[test]
fn what_the_manifest_gives_itself_is_the_authors() {
    let fetch = |context: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w }}\nspec:\n  context: {{ {context} }}\n  initial_state: GET\n  states:\n    GET:\n      kind: System\n      command: \"curl -fsS {{{{workflow.context.base}}}}/items\"\n      transitions: []\n"
        )
    };
    expect(RuleGroup::Safety, "aegis", &[("w.yaml", &fetch("base: \"https://api.example.org\""))], expect![""]);
    expect(
        RuleGroup::Safety,
        "aegis",
        &[("w.yaml", &fetch("other: x"))],
        expect![[r#"
            10:29 warning untrusted-url: `workflow.context.base` decides which host the request goes to, and it comes from the run's input
              | command: "curl -fsS {{workflow.context.base}}/items"
              |                       ^^^^^^^^^^^^^^^^^^^^^
              at 3:19: comes from here
              help: use a fixed host or one from the environment, and put the value after it
        "#]],
    );
}

#[test]
fn a_host_that_hands_out_credentials() {
    request(
        "http://169.254.169.254/latest/meta-data/{{ inputs.path }}",
        "",
        expect![[r#"
            6:3 warning untrusted-url: `169.254.169.254` is a link-local or metadata address, where cloud machines serve their credentials
              | get:
              | ^^^
              help: use the host of the service that you want to call
        "#]],
    );
    request(
        "http://user@[fe80::1]:80/x",
        "",
        expect![[r#"
            6:3 warning untrusted-url: `fe80::1` is a link-local or metadata address, where cloud machines serve their credentials
              | get:
              | ^^^
              help: use the host of the service that you want to call
        "#]],
    );
    request(
        "http://metadata.google.internal",
        "",
        expect![[r#"
            6:3 warning untrusted-url: `metadata.google.internal` is a link-local or metadata address, where cloud machines serve their credentials
              | get:
              | ^^^
              help: use the host of the service that you want to call
        "#]],
    );
    request("http://169.25.169.254/latest", "", expect![""]);
    request("https://api.example.com/169.254.169.254", "", expect![""]);
}
