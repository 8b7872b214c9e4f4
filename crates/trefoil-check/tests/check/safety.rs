//! Rules on safety: who decides what, field by field.

use trefoil_check::Group;

use super::support::{check, expect, line};

fn fetch(url: &str, headers: &str) -> String {
    format!(
        "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:gpt-4o-mini\" }} }}\ninput: {{ host: h, path: p }}\nnodes:\n  pick: {{ agent: a, writes: working.pick }}\n  get:\n    type: tool\n    tool: http\n    config: {{ url: \"{url}\", headers: {{ {headers} }} }}\n"
    )
}

#[track_caller]
fn request(url: &str, headers: &str, expected: &[&str]) {
    expect(Group::Safety, "sirenspec", &[("flow.yaml", &fetch(url, headers))], expected);
}

#[test]
fn behind_the_host_values_are_encoded() {
    request("https://api.example.com/{{ inputs.path }}", "", &[]);
    request("https://api.example.com?q={{ pick.output }}", "", &[]);
    request("https://{{ env.HOST }}/{{ inputs.path }}", "", &[]);
    // The scheme comes with the value.
    request("{{ env.BASE }}/x/{{ inputs.path }}?x=1", "", &[]);
    request("{{ env.BASE | default('https://x.example.com') }}/{{ inputs.path }}", "", &[]);
    request("{{ env.BASE }}:8080?q={{ inputs.path }}", "", &[]);
}

#[test]
fn a_base_of_the_manifest_is_read_as_it_stands() {
    let flow = |base: &str, url: &str| {
        fetch(url, "").replace("nodes:", &format!("state: {{ working: {{ base: \"{base}\" }} }}\nnodes:"))
    };
    let told = |base: &str, url: &str, expected: &[&str]| {
        expect(Group::Safety, "sirenspec", &[("flow.yaml", &flow(base, url))], expected);
    };
    told("https://x.example.com", "{{ working.base }}/{{ inputs.path }}", &[]);
    told("https://x.example.com/", "{{ base }}{{ inputs.path }}", &[]);
    told(
        "https://x.example.com",
        "{{ base }}{{ inputs.path }}",
        &["untrusted-url error 10:34 `inputs.path` decides which host the request goes to, and it is the run's input"],
    );
}

#[test]
fn right_behind_the_host_a_value_goes_on_with_it() {
    request(
        "https://{{ env.HOST }}{{ inputs.path }}",
        "",
        &[
            "untrusted-url warning 9:46 without `/` before it, `inputs.path` can change the host `env.HOST`, and it is the run's input",
        ],
    );
}

#[test]
fn whoever_writes_the_host_decides_where_it_goes() {
    for (url, column) in
        [("https://{{ inputs.host }}/x", 32), ("https://api.{{ inputs.host }}", 36), ("{{ inputs.host }}/x", 24)]
    {
        let message = format!(
            "untrusted-url error 9:{column} `inputs.host` decides which host the request goes to, and it is the run's input"
        );
        request(url, "", &[&message]);
    }
}

#[test]
fn a_model_does_not_write_headers() {
    request("https://h/x", "Authorization: \"Bearer {{ env.KEY }}\", X-Id: \"{{ inputs.path }}\"", &[]);
    request(
        "https://h/x",
        "X-Id: \"{{ pick.output }}\"",
        &["untrusted-url warning 9:56 `pick.output` gets into the header `X-Id`, and it is a model's answer"],
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
        expect(Group::Safety, "aegis", &[("flow.yaml", &text)], &[]);
    }
}

#[test]
fn a_variable_that_a_shell_reads_again_is_code() {
    expect(
        Group::Safety,
        "aegis",
        &[("flow.yaml", &command("bash -c \"$Q\"", "{{input.q}}"))],
        &["untrusted-command error 11:17 the shell runs `$Q` as code, and it is the run's input"],
    );
    expect(
        Group::Safety,
        "aegis",
        &[("flow.yaml", &command("grep -- $Q notes", "{{input.q}}"))],
        &[
            "untrusted-command warning 11:17 `$Q` is not quoted, and it is the run's input: the shell makes several words of it",
        ],
    );
}

/// Findings on a command behind a model's answer, `{{W.output}}`; the command is written in single quotes.
fn after_a_model(command: &str, env: &str, expected: &[&str]) {
    let flow = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow }}\nspec:\n  context: {{ fixed: main }}\n  initial_state: W\n  states:\n    W:\n      kind: Agent\n      agent: writer\n      input: x\n      transitions: [{{ condition: always, target: S }}]\n    S:\n      kind: System\n      env: {{{env}}}\n      command: '{command}'\n"
    );
    let agent = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: writer, version: \"1.0.0\" }\nspec:\n  runtime: { model: smart }\n  task: { instruction: Write., prompt_template: \"{{instruction}} {{input}}\" }\n";
    expect(Group::Safety, "aegis", &[("flow.yaml", &flow), ("agents/writer.yaml", agent)], expected);
}

#[test]
fn a_placeholder_that_a_program_reads_as_code() {
    for (command, at, program) in [
        ("echo \"{{W.output}}\" | bash", "16:25", "the shell"),
        ("awk \"{{W.output}}\" f", "16:24", "`awk`"),
        ("psql -c \"select {{W.output}}\"", "16:35", "`psql`"),
        ("source {{W.output}}", "16:26", "`source`"),
    ] {
        let message =
            format!("untrusted-command error {at} {program} runs `W.output` as code, and it is a model's answer");
        after_a_model(command, "", &[&message]);
    }
    after_a_model("awk \"{{workflow.name}}\" f", "", &[]);
    after_a_model("echo {{W.output}} | grep foo", "", &[]);
}

#[test]
fn names_of_variables_and_files_from_outside() {
    for (text, level, message) in [
        (
            "export {{input.q}}=1",
            "error",
            "the shell takes `input.q` for the name of a variable, which can run commands, and it is the run's input",
        ),
        ("ls > {{input.q}}", "warning", "which file is written is decided by `input.q`, and it is the run's input"),
        (
            "printf a%s {{input.q}} > ~/.bashrc",
            "warning",
            "`input.q` is written to `.bashrc`, which is run later, and it is the run's input",
        ),
        (
            "$TOOL -c {{input.q}}",
            "error",
            "the program, which may be a shell, runs `input.q` as code, and it is the run's input",
        ),
    ] {
        let column = 19 + text.find("{{").unwrap_or_default() as u32;
        let line = format!("untrusted-command {level} 10:{column} {message}");
        expect(Group::Safety, "aegis", &[("flow.yaml", &command(text, "x"))], &[&line]);
    }
}

#[test]
fn what_could_be_an_option_or_the_program_is_worse_from_a_model() {
    for (text, message) in [
        ("rm -rf {{input.q}}", "`rm` takes `input.q` for an option if it begins with `-`, and it is the run's input"),
        ("timeout 5 {{input.q}}", "which program runs is decided by `input.q`, and it is the run's input"),
    ] {
        let column = 19 + text.find("{{").unwrap_or_default() as u32;
        let line = format!("untrusted-command warning 10:{column} {message}");
        expect(Group::Safety, "aegis", &[("flow.yaml", &command(text, "x"))], &[&line]);
    }
    for (text, message) in [
        (
            "rm -rf {{W.output}}",
            "`rm` takes `W.output` for an option if it begins with `-`, and it is a model's answer",
        ),
        ("nohup {{W.output}}", "which program runs is decided by `W.output`, and it is a model's answer"),
    ] {
        let column = 19 + text.find("{{").unwrap_or_default() as u32;
        after_a_model(text, "", &[&format!("untrusted-command error 16:{column} {message}")]);
    }
    after_a_model("rm -rf -- {{W.output}}", "", &[]);
    after_a_model("rm -rf ./{{W.output}}", "", &[]);
    after_a_model("python3 tools/score.py {{W.output}}", "", &[]);
    after_a_model("[ {{W.output}} -eq 3 ]", "", &[]);
}

#[test]
fn what_a_shell_computes_with_is_code() {
    for text in ["((Q > 1)) && ls", "[[ \"$Q\" -eq 3 ]] && ls", "let n=$Q", "declare -i n=Q"] {
        expect(
            Group::Safety,
            "aegis",
            &[("flow.yaml", &command(text, "{{input.q}}"))],
            &[
                "untrusted-command error 11:17 the shell computes with `$Q`, which can run commands, and it is the run's input",
            ],
        );
    }
    expect(Group::Safety, "aegis", &[("flow.yaml", &command("((Q > 1)) && ls", "3"))], &[]);
}

#[test]
fn a_variable_that_decides_which_code_runs() {
    after_a_model(
        "ls",
        " PATH: \"{{W.output}}\" ",
        &["untrusted-command error 15:20 `PATH` decides which code programs run, and it is a model's answer"],
    );
    after_a_model("ls", " PATH: \"{{workflow.name}}\", NOTE: \"{{W.output}}\" ", &[]);
}

#[test]
fn a_command_that_sends_a_request() {
    after_a_model(
        "curl https://{{W.output}}/x",
        "",
        &["untrusted-url error 16:32 `W.output` decides which host the request goes to, and it is a model's answer"],
    );
    after_a_model(
        "curl -H \"Auth: {{W.output}}\" https://a.b",
        "",
        &["untrusted-url warning 16:34 `W.output` gets into a header, and it is a model's answer"],
    );
    after_a_model("curl \"https://a.b/x?q={{W.output}}\"", "", &[]);
    after_a_model("curl https://{{workflow.name}}/x", "", &[]);
}

#[test]
fn a_credential_is_never_shown_whole() {
    let key = ["sk-", "ab12CD34ef56", "GH78ij90kl"].concat();
    let agent = format!(
        "id: a\nkind: llm\nmodel: {{ provider: openai, name: gpt-4o-mini }}\ninstruction: \"Use {key} for it.\"\nprompt: Go.\n"
    );
    expect(
        Group::Safety,
        "agntz",
        &[("a.yaml", &agent)],
        &["hard-coded-secret warning 4:19 a model provider's key is written out in the file: `sk-a...`"],
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
        expect(Group::Safety, "agntz", &[("a.yaml", &agent(url))], &[]);
    }
    for (url, who, name) in [
        ("https://{x}.example.com/a", "the model", "x"),
        ("https://{{userQuery}}/a", "whoever starts the run", "userQuery"),
        ("{{userQuery}}/a", "whoever starts the run", "userQuery"),
    ] {
        let column = if url.starts_with('{') { 34 } else { 42 };
        let message = format!(
            "untrusted-tool-url warning 7:{column} `{name}` decides which host the tool calls, and {who} gives it"
        );
        expect(Group::Safety, "agntz", &[("a.yaml", &agent(url))], &[&message]);
    }
}

/// What is said of credentials in prompts.
#[track_caller]
fn credentials(front: &str, files: &[(&str, &str)], expected: &[&str]) {
    let (project, all) = check(Some(front), files);
    let found: Vec<String> = all.iter().filter(|d| d.rule == "secret-in-prompt").map(|d| line(&project, d)).collect();
    assert_eq!(found, expected, "{all:#?}");
}

#[test]
fn a_credential_straight_in_a_prompt_is_told_once() {
    let direct = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: \"Use {{env.OPENAI_API_KEY}} in {{env.APP_MODE}}\"\nprompt: x\n";
    let told = "`env.OPENAI_API_KEY` is a credential by its name, and would be put into a prompt";
    credentials("agntz", &[("a.yaml", direct)], &[&format!("warning 4:21 {told}")]);
    let direct = "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: \"{{ env.OPENAI_API_KEY }}\" } }\nnodes: { n: { agent: a, writes: output.n } }\n";
    credentials("sirenspec", &[("a.yaml", direct)], &[&format!("warning 2:47 {told}")]);
}

#[test]
fn a_credential_goes_into_a_prompt_by_way_of_inputs() {
    let agent = "id: kid\nkind: llm\ninputSchema: { k: string, t: string }\nmodel: { provider: openai, name: m }\ninstruction: x\nprompt: \"{{t}}{{k}}\"\n";
    let by_reference = |k: &str, t: &str| {
        format!(
            "id: top\nkind: sequential\ninputSchema: {{ t: string }}\nsteps:\n  - ref: kid\n    input: {{ k: \"{k}\", t: \"{t}\" }}\n"
        )
    };
    let told = "this is a credential by its name, and would be put into a prompt, where it is";
    let top = by_reference("Bearer {{env.DB_PASSWORD}}", "{{t}}");
    credentials("agntz", &[("a.yaml", &top), ("kid.yaml", agent)], &[&format!("warning 6:27 {told} `k`")]);
    let top = by_reference("{{env.DB_HOST}}", "{{t}}");
    credentials("agntz", &[("a.yaml", &top), ("kid.yaml", agent)], &[]);
    // It goes in, and the prompt does not read it.
    let other = agent.replace("{{k}}", "");
    let top = by_reference("{{env.DB_PASSWORD}}", "{{t}}");
    credentials("agntz", &[("a.yaml", &top), ("kid.yaml", &other)], &[]);
}

#[test]
fn a_credential_goes_into_the_prompts_of_a_factory_and_of_another_file() {
    let told = "this is a credential by its name, and would be put into a prompt, where it is `inputs.k`";
    let factory = |reads: &str| {
        format!(
            "version: \"0.1\"\nagents: {{ a: {{ model: \"openai:m\", system: \"{reads}\" }} }}\nnodes:\n  s: {{ type: factory, agent: a, for_each: '[1]', inputs: {{ k: \"{{{{ env.DB_PASSWORD }}}}\", m: x }}, writes: output.s }}\n"
        )
    };
    credentials("sirenspec", &[("a.yaml", &factory("{{ inputs.k }}"))], &[&format!("warning 4:67 {told}")]);
    let nested =
        "version: \"0.1\"\nnodes:\n  s: { type: workflow, ref: kid, inputs: { k: \"{{ env.DB_PASSWORD }}\" } }\n";
    let kid = "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: \"{{ inputs.k }}\" } }\nnodes: { n: { agent: a, writes: output.n } }\ninput: { k: none }\n";
    credentials("sirenspec", &[("a.yaml", nested), ("kid.yaml", kid)], &[&format!("warning 3:51 {told}")]);
}

#[test]
fn what_the_manifest_gives_itself_is_the_authors() {
    let fetch = |context: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w }}\nspec:\n  context: {{ {context} }}\n  initial_state: GET\n  states:\n    GET:\n      kind: System\n      command: \"curl -fsS {{{{workflow.context.base}}}}/items\"\n      transitions: []\n"
        )
    };
    expect(Group::Safety, "aegis", &[("w.yaml", &fetch("base: \"https://api.example.org\""))], &[]);
    let from_outside = "untrusted-url error 10:29 `workflow.context.base` decides which host the request goes to, and it is the run's input";
    let option = "untrusted-command warning 10:29 `curl` takes `workflow.context.base` for an option if it begins with `-`, and it is the run's input";
    expect(Group::Safety, "aegis", &[("w.yaml", &fetch("other: x"))], &[option, from_outside]);
}
