//! What `check` says about tools that change something: called more than once, or unreviewed; and about costs.

use crate::world::Folder;

const MODEL: &str = "model: { provider: openai, name: gpt-5.4 }";
const PROJECT: &str = "[tools.post]\ncommand = [\"post\"]\n\n[tools.read]\ncommand = [\"read\"]\neffects = \"read_only\"\n\n[tools.payflow]\nflow = \"lib/pay.yaml\"\n\n[tools.sum]\nflow = \"lib/sum.yaml\"\n\n[mcp.files]\ncommand = [\"files\"]\ntools = [\"read_text_file\", \"write_file\", \"move_file\"]\nidempotent = [\"move_file\"]\n";

/// The findings of these rules about a file, in a project that declares tools.
fn found(file: &str, rules: &[&str]) -> Vec<String> {
    let folder = Folder::new();
    folder.write("trefoil.toml", PROJECT);
    folder.write(
        "lib/pay.yaml",
        "id: pay\nkind: tool\ninputSchema: { sum: string }\ntool: { kind: http, name: pay, method: POST, url: \"https://shop.example.com/pay\", body: \"{{sum}}\" }\n",
    );
    folder.write(
        "lib/sum.yaml",
        format!("id: sum\nkind: llm\n{MODEL}\ninputSchema: {{ of: string }}\ninstruction: \"{{{{of}}}}\"\noutputSchema: {{ headline: string, score: integer }}\n"),
    );
    folder.write("flow.yaml", file);
    let report = folder.trefoil(&["check", "flow.yaml", "--format", "json"]).json();
    let all = report["diagnostics"].as_array().unwrap().iter();
    let of = all.filter(|d| rules.iter().any(|rule| d["rule"] == *rule));
    of.map(|d| format!("{}: {}", d["line"], d["message"].as_str().unwrap())).collect()
}

fn repeated(file: &str) -> Vec<String> {
    found(file, &["repeated-write"])
}

/// An agntz loop around one step with this tool.
fn looped(tool: &str) -> String {
    let step = format!("agent: {{ id: it, kind: tool, inputSchema: {{ q: string }}, tool: {tool} }}");
    format!(
        "id: flow\nkind: sequential\ninputSchema: {{ q: string }}\nuntil: \"{{{{it}}}} == done\"\nmaxIterations: 5\nsteps:\n  - {step}\n    input: {{ q: \"{{{{q}}}}\" }}\n"
    )
}

#[test]
fn a_call_in_a_loop_that_changes_something_is_said() {
    let http = |more: &str| format!("{{ kind: http, name: it, url: \"https://example.com/x\"{more} }}");
    let passes = "may be made in every pass of the loop, up to 5 times";
    for (tool, said) in [
        (http(", method: POST"), Some("7: this POST request")),
        (http(", method: POST, headers: { Idempotency-Key: \"{{q}}\" }"), None),
        (http(", method: PUT"), None),
        ("{ kind: local, name: post, params: { q: \"{{q}}\" } }".into(), Some("7: this call of `post`")),
        ("{ kind: local, name: read, params: { q: \"{{q}}\" } }".into(), None),
        ("{ kind: local, name: payflow, params: { sum: \"{{q}}\" } }".into(), Some("7: this call of `payflow`")),
        (
            "{ kind: mcp, server: files, name: write_file, params: { path: a } }".into(),
            Some("7: this call of `write_file`"),
        ),
        ("{ kind: mcp, server: files, name: read_text_file, params: { path: a } }".into(), None),
        ("{ kind: mcp, server: files, name: move_file, params: { path: a } }".into(), None),
    ] {
        let all = repeated(&looped(&tool));
        assert_eq!(all, said.map(|said| format!("{said} {passes}")).into_iter().collect::<Vec<_>>(), "{tool}");
    }
}

#[test]
fn a_call_in_retries_iterations_and_states_is_said() {
    let python = "version: \"0.1\"\nnodes:\n  pay:\n    type: tool\n    tool: python\n    config: { module: shop, function: send_order, args: {} }\n    retry: 3\n";
    assert_eq!(repeated(python).len(), 1, "{:?}", repeated(python));
    assert!(repeated(&python.replace("send_order", "list_orders")).is_empty());
    assert!(repeated(&python.replace("    retry: 3\n", "")).is_empty());

    let agent = |most: u32| {
        let head = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: \"1.0.0\" }";
        let task = "task: { instruction: Post it. }\n  tools: [post]";
        let check = "validation: [{ type: regex, pattern: done }]";
        format!(
            "{head}\nspec:\n  runtime: {{ model: \"openai:gpt-5.4\" }}\n  {task}\n  execution: {{ mode: iterative, max_iterations: {most}, {check} }}\n"
        )
    };
    assert_eq!(repeated(&agent(5)).len(), 1, "{:?}", repeated(&agent(5)));
    assert!(repeated(&agent(1)).is_empty(), "{:?}", repeated(&agent(1)));
}

#[test]
fn only_a_person_who_is_asked_before_reviews_a_call() {
    let rule = &["unreviewed-write"];
    let node = "url: \"https://mail.example.com/send\", method: POST, body: \"{{ draft.output }}\"";
    let flow = |edges: &str| {
        format!(
            "version: \"0.1\"\nagents: {{ clerk: {{ system: Write., model: \"openai:gpt-4o-mini\" }} }}\nnodes:\n  draft: {{ agent: clerk, writes: working.draft }}\n  send:\n    type: tool\n    tool: http\n    config: {{ {node} }}\n  rate: {{ type: human, prompt: \"Good? {{{{ draft.output }}}}\", writes: working.rating }}\nedges: [{edges}]\n"
        )
    };
    let after = found(&flow("{ from: draft, to: send }, { from: send, to: rate }"), rule);
    assert_eq!(after.len(), 1, "{after:?}");
    let before =
        found(&flow("{ from: draft, to: rate }, { from: rate, to: send, when: \"working.rating == 'yes'\" }"), rule);
    assert!(before.is_empty(), "{before:?}");
}

#[test]
fn text_of_a_model_in_a_tool_that_writes_by_its_name_or_as_a_flow_is_said() {
    let flow = |tool: &str| {
        let draft = format!("agent: {{ id: draft, kind: llm, {MODEL}, instruction: Write. }}");
        let step = format!("agent: {{ id: it, kind: tool, inputSchema: {{ text: string }}, tool: {tool} }}");
        format!(
            "id: flow\nkind: sequential\nsteps:\n  - {draft}\n    input: \"{{{{userQuery}}}}\"\n  - {step}\n    input: {{ text: \"{{{{draft}}}}\" }}\n"
        )
    };
    for (tool, said) in [
        ("{ kind: mcp, server: files, name: write_file, params: { text: \"{{text}}\" } }", true),
        ("{ kind: mcp, server: files, name: read_text_file, params: { text: \"{{text}}\" } }", false),
        ("{ kind: local, name: payflow, params: { sum: \"{{text}}\" } }", true),
        ("{ kind: local, name: sum, params: { of: \"{{text}}\" } }", false),
    ] {
        let all = found(&flow(tool), &["unreviewed-write"]);
        assert_eq!(all.len(), usize::from(said), "{tool}: {all:?}");
    }
}

#[test]
fn what_a_flow_returns_that_is_a_tool_is_known() {
    let flow = |reads: &str| {
        let tool = "tool: { kind: local, name: sum, params: { of: \"{{q}}\" } }";
        let step = format!("agent: {{ id: f, kind: tool, inputSchema: {{ q: string }}, {tool} }}");
        let last = format!(
            "agent: {{ id: last, kind: llm, {MODEL}, inputSchema: {{ x: string }}, instruction: \"{{{{x}}}}\" }}"
        );
        format!(
            "id: flow\nkind: sequential\ninputSchema: {{ q: string }}\nsteps:\n  - {step}\n    input: {{ q: \"{{{{q}}}}\" }}\n  - {last}\n    input: {{ x: \"Of {{{{f.{reads}}}}}\" }}\n"
        )
    };
    let rule = &["unknown-property", "unresolved-name"];
    assert!(found(&flow("headline"), rule).is_empty(), "{:?}", found(&flow("headline"), rule));
    assert_eq!(found(&flow("headlin"), rule).len(), 1);
}

#[test]
fn a_tool_that_its_server_may_not_be_asked_for_is_said_before_a_run() {
    let file = "id: flow\nkind: tool\ntool: { kind: mcp, server: files, name: write_fil, params: {} }\n";
    let all = found(file, &["missing-tool"]);
    assert_eq!(all, ["3: `write_fil` is not in the `tools` of the MCP server `files`"]);
}

#[test]
fn a_budget_that_the_expected_cost_exceeds_is_said() {
    let file = |budget: &str| {
        format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: Help., model: \"openai:gpt-5.4\" }} }}\nbudget: {{ max_cost_usd: {budget} }}\nnodes:\n  first: {{ agent: a, writes: output.x }}\ninput: {{ message: hi }}\n"
        )
    };
    let low = found(&file("0.0001"), &["too-expensive"]);
    assert!(low.len() == 1 && low[0].contains("but its budget allows $0.0001: the run would fail"), "{low:?}");
    assert!(found(&file("1"), &["too-expensive"]).is_empty());
    let folder = Folder::new();
    folder.write("flow.yaml", file("500"));
    let most = folder.trefoil(&["check", "flow.yaml", "--max-cost", "0.50", "--strict"]);
    assert!(most.out.contains("error[too-expensive]") && most.out.contains("but the limit is $0.50"), "{}", most.out);
    folder.trefoil(&["check", "flow.yaml", "--max-cost", "500"]).exits(0);
    folder.write("trefoil.toml", "[check]\nmax-cost = 0.5\n");
    let most = folder.trefoil(&["check", "flow.yaml"]);
    assert!(most.out.contains("warning[too-expensive]"), "{}", most.out);
}

#[test]
fn without_a_key_declared_tools_are_not_missing() {
    let folder = Folder::new();
    folder.write("trefoil.toml", PROJECT).write("lib/pay.yaml", "").write("lib/sum.yaml", "");
    let tools =
        "tools:\n  - { kind: local, tools: [post] }\n  - { kind: mcp, server: files, tools: [read_text_file] }\n";
    folder.write("flow.yaml", format!("id: flow\nkind: llm\n{MODEL}\ninstruction: I.\n{tools}"));
    let with = |args: &[&str]| {
        let mut command = folder.command(args);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env("CI", "1");
        crate::world::finish(command)
    };
    with(&["trust", "."]).exits(0);
    let ran = with(&["run", "flow.yaml", "--input", "x"]);
    ran.exits(2).says(&["OPENAI_API_KEY"]);
    assert!(!ran.err.contains("missing-tool"), "{}", ran.err);
}
