//! Rules on safety: who decides what, field by field.

use trefoil_check::Group;

use super::support::expect;

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
        command("grep {{input.q}} notes", "x"),
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
        &[("flow.yaml", &command("grep $Q notes", "{{input.q}}"))],
        &[
            "untrusted-command warning 11:17 `$Q` stands without quotes, and it is the run's input: the shell makes several words of it",
        ],
    );
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
