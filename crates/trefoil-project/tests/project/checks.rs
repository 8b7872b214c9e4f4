//! Checks as an embedder uses them: levels, limits, project files, fixes.

use expect_test::expect;
use std::collections::HashMap;
use std::sync::Arc;

use trefoil_check::{Levels, RuleLevel};
use trefoil_project::load::{CheckOptions, LoadOptions};
use trefoil_project::target::LoadTarget;
use trefoil_syntax::FindingSeverity;

use crate::Folder;

const AGENT: &str = "id: helper\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: You help.\n";

fn checks(levels: Levels) -> LoadOptions {
    LoadOptions { checks: Some(CheckOptions { levels, ..CheckOptions::default() }), ..LoadOptions::default() }
}

fn with(rule: &str, level: RuleLevel) -> LoadOptions {
    let mut levels = Levels::default();
    assert!(levels.set_level(rule, level), "there is no rule `{rule}`");
    checks(levels)
}

#[test]
fn a_denied_finding_keeps_a_target_from_loading() {
    let folder = Folder::with(&[("a.yaml", &format!("{AGENT}colour: blue\n"))]);
    let target = LoadTarget::parse(&folder.0.join("a.yaml").display().to_string());
    let severities = |options: &LoadOptions| match trefoil_project::load::load_target(&target, options) {
        Ok(loaded) => (true, loaded.diagnostics.iter().map(|d| d.severity).collect::<Vec<_>>()),
        Err(report) => (false, report.diagnostics.iter().map(|d| d.severity).collect()),
    };
    assert_eq!(severities(&LoadOptions::default()), (true, vec![FindingSeverity::Warning]));
    assert_eq!(severities(&with("unknown-key", RuleLevel::Deny)), (false, vec![FindingSeverity::Error]));
    assert_eq!(severities(&with("unknown-key", RuleLevel::Allow)), (true, vec![]));
    std::fs::write(folder.0.join("trefoil.toml"), "[rules]\nunknown-key = 'deny'\n").unwrap();
    assert_eq!(severities(&LoadOptions::default().with_checks()), (false, vec![FindingSeverity::Error]));
    assert_eq!(severities(&with("unknown-key", RuleLevel::Warn)), (true, vec![FindingSeverity::Warning]));
    assert_eq!(severities(&LoadOptions::default()), (true, vec![FindingSeverity::Warning]), "nobody asked for a check");
    let mut alone = LoadOptions::default().with_checks();
    alone.checks.as_mut().unwrap().without_project = true;
    assert_eq!(severities(&alone), (true, vec![FindingSeverity::Warning]));
}

#[test]
fn the_limit_of_calls_comes_from_the_project_unless_it_is_given() {
    let steps = "id: main\nkind: sequential\nsteps:\n  - ref: helper\n  - ref: helper\n    stateKey: again\n";
    let folder =
        Folder::with(&[("main.yaml", steps), ("helper.yaml", AGENT), ("trefoil.toml", "[check]\nmax-calls = 1\n")]);
    let path = folder.0.join("main.yaml").display().to_string();
    let found = |max_calls: Option<u64>| {
        let mut options = LoadOptions::default().with_checks();
        options.checks.as_mut().unwrap().limits.max_calls = max_calls;
        let report = trefoil_project::load::check_paths(std::slice::from_ref(&path), &options);
        report.diagnostics.iter().any(|d| d.rule == "too-many-calls")
    };
    assert_eq!((found(None), found(Some(2)), found(Some(1))), (true, false, true));
}

#[test]
fn a_file_that_is_no_longer_what_was_checked_is_left_alone() {
    let on_disk = AGENT.replace("You help.", "You do.");
    let folder = Folder::with(&[("a.yaml", &on_disk)]);
    let path = folder.0.join("a.yaml");
    let buffer: Arc<str> = AGENT.replace("instruction", "instrction").into();
    let overlay = HashMap::from([(path.canonicalize().unwrap(), buffer)]);
    let options = LoadOptions { overlay: Arc::new(overlay), ..LoadOptions::default().with_checks() };
    let fixed = trefoil_project::fix::apply_fixes(&[path.display().to_string()], &options);
    assert!(fixed.done.is_empty());
    expect!["it was changed during the check"].assert_eq(&fixed.refused.into_values().collect::<Vec<_>>().join("\n"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), on_disk);
    assert!(fixed.report.has_errors(), "what was found is still told");
}

#[test]
fn a_file_that_is_not_utf8_is_left_alone() {
    let folder = Folder::with(&[]);
    let path = folder.0.join("a.yaml");
    let bytes = [AGENT.replace("instruction", "instrction").as_bytes(), b"# \xff\n"].concat();
    std::fs::write(&path, &bytes).unwrap();
    let fixed = trefoil_project::fix::apply_fixes(&[path.display().to_string()], &LoadOptions::default().with_checks());
    assert!(fixed.done.is_empty() && fixed.report.has_errors());
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn in_a_folder_only_a_manifest_must_be_utf8() {
    let folder = Folder::with(&[("a.yaml", AGENT)]);
    let other = |content: &str| std::fs::write(folder.0.join("other.yaml"), [content.as_bytes(), b"# \xe9\n"].concat());
    let rules = |path: &std::path::Path| {
        let report =
            trefoil_project::load::check_paths(&[path.display().to_string()], &LoadOptions::default().with_checks());
        report.diagnostics.iter().filter(|d| d.severity == FindingSeverity::Error).map(|d| d.rule).collect::<Vec<_>>()
    };
    other("apiVersion: v1\nitems: []\n").unwrap();
    assert_eq!(rules(&folder.0), [""; 0]);
    assert_eq!(rules(&folder.0.join("other.yaml")), ["yaml-encoding"], "it was named");
    other(&AGENT.replace("id: ", "id: other-")).unwrap();
    assert_eq!(rules(&folder.0), ["yaml-encoding"]);
}

#[test]
fn fixes_go_on_until_there_is_none() {
    let folder =
        Folder::with(&[("a.yaml", &AGENT.replace("instruction", "instrction").replace("kind: llm", "knd: lllm"))]);
    let path = folder.0.join("a.yaml");
    let fixed = trefoil_project::fix::apply_fixes(
        &[path.display().to_string()],
        &LoadOptions { dialect: trefoil_front::front_end("agntz"), ..LoadOptions::default().with_checks() },
    );
    let done: Vec<_> = fixed.done.iter().map(|m| (m.line, m.message.as_str())).collect();
    assert_eq!(done, [(2, "write `kind`"), (2, "write `llm`"), (4, "write `instruction`")], "{}", fixed.report.text());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), AGENT);
    assert!(fixed.report.diagnostics.is_empty());
}

#[test]
fn what_an_open_quote_swallows_is_not_missing() {
    let folder = Folder::with(&[("a.yaml", "id: a\nname: \"open\nkind: llm\ninstruction: You help.\n")]);
    let path = folder.0.join("a.yaml").display().to_string();
    let mut options = LoadOptions::default().with_checks();
    options.dialect = trefoil_front::front_end("agntz");
    let report = trefoil_project::load::check_paths(&[path], &options);
    let rules: Vec<_> = report.diagnostics.iter().map(|d| d.rule).collect();
    assert!(rules.contains(&"yaml-syntax") && !rules.contains(&"missing-key"), "{rules:?}");
}

/// The rule about this system message is off by default, so it must not run.
const RISKY: &str = "id: helper\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninputSchema: { said: string }\n\
                     instruction: \"You answer: {{said}}\"\n";
const OFF: &str = "prompt-injection";

fn rules_of(folder: &Folder, name: &str, options: &LoadOptions) -> Vec<(&'static str, FindingSeverity)> {
    let report = trefoil_project::load::check_paths(&[folder.0.join(name).display().to_string()], options);
    report.diagnostics.iter().map(|d| (d.rule, d.severity)).collect()
}

#[test]
fn a_rule_that_is_off_looks_when_somebody_asks_for_it() {
    let folder = Folder::with(&[("a.yaml", RISKY)]);
    assert_eq!(rules_of(&folder, "a.yaml", &LoadOptions::default().with_checks()), []);
    assert_eq!(rules_of(&folder, "a.yaml", &with(OFF, RuleLevel::Warn)), [(OFF, FindingSeverity::Warning)]);
    assert_eq!(rules_of(&folder, "a.yaml", &with(OFF, RuleLevel::Deny)), [(OFF, FindingSeverity::Error)]);
    assert_eq!(rules_of(&folder, "a.yaml", &with(OFF, RuleLevel::Allow)), []);
    std::fs::write(folder.0.join("trefoil.toml"), format!("[rules]\n{OFF} = 'warn'\n")).unwrap();
    assert_eq!(rules_of(&folder, "a.yaml", &LoadOptions::default().with_checks()), [(OFF, FindingSeverity::Warning)]);
    assert_eq!(rules_of(&folder, "a.yaml", &with(OFF, RuleLevel::Allow)), [], "the command line has the last word");
}

#[test]
fn a_comment_about_a_rule_that_is_off_is_not_without_use() {
    let allowed = RISKY.replace("instruction", &format!("# trefoil: allow {OFF}\ninstruction"));
    let other = format!("{RISKY}colour: red # trefoil: allow unknown-key\n");
    let folder = Folder::with(&[("a.yaml", &allowed), ("b.yaml", &other)]);
    let asked = with(OFF, RuleLevel::Warn);
    for options in [&LoadOptions::default().with_checks(), &asked] {
        assert_eq!(rules_of(&folder, "a.yaml", options), []);
    }
    // If the file has suppressions, every rule runs, but findings of rules that are off are not shown.
    assert_eq!(rules_of(&folder, "b.yaml", &LoadOptions::default().with_checks()), []);
    assert_eq!(rules_of(&folder, "b.yaml", &asked), [(OFF, FindingSeverity::Warning)]);
}

#[test]
fn a_folder_within_may_ask_for_a_rule_that_is_off() {
    // A project file makes the folder a separate project: paths may lead into it, but ids are not found.
    let main = "version: \"0.1\"\nnodes:\n  do: { type: workflow, ref: ./parts/helper.yaml, inputs: { said: \"{{ \
                inputs.said }}\" }, writes: output.text }\ninput: { said: hello }\n";
    let helper = "version: \"0.1\"\nagents:\n  writer: { model: \"openai:m\", system: \"About {{ inputs.said }}.\" }\n\
                  nodes:\n  do: { agent: writer, writes: output.text }\n";
    let folder = Folder::with(&[("main.yaml", main)]);
    let inner = folder.0.join("parts");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("helper.yaml"), helper).unwrap();
    let checked = LoadOptions::default().with_checks();
    assert_eq!(rules_of(&folder, "main.yaml", &checked), []);
    std::fs::write(inner.join("trefoil.toml"), format!("[rules]\n{OFF} = 'deny'\n")).unwrap();
    assert_eq!(rules_of(&folder, "main.yaml", &checked), [(OFF, FindingSeverity::Error)]);
    // The other way round.
    std::fs::write(folder.0.join("trefoil.toml"), format!("[rules]\n{OFF} = 'deny'\n")).unwrap();
    std::fs::write(inner.join("trefoil.toml"), format!("[rules]\n{OFF} = 'allow'\n")).unwrap();
    assert_eq!(rules_of(&folder, "main.yaml", &checked), []);
}

#[test]
fn a_text_that_two_steps_share_is_told_of_once() {
    let shared = "id: main\nkind: sequential\ninputSchema: { topic: string }\nsteps:\n  - ref: helper\n    \
                  input: &in { said: \"{{tpoic}}\" }\n  - ref: helper\n    stateKey: again\n    input: *in\n\
                  output: { a: \"{{helper}}\", b: \"{{again}}\" }\n";
    let folder = Folder::with(&[("main.yaml", shared), ("helper.yaml", RISKY)]);
    let found = rules_of(&folder, "main.yaml", &LoadOptions::default().with_checks());
    assert_eq!(found, [("unresolved-name", FindingSeverity::Error)]);
}

/// A name that is read twice and passed once is probably right where it is read, so the finding moves to where it is
/// passed.
const TURNED: &str = "id: main
kind: sequential
inputSchema: { x: string }
steps:
  - agent:
      id: one
      kind: llm
      model: { provider: openai, name: gpt-x }
      instruction: \"{{topc}} or {{topc}}\"
      prompt: go
    input:
      topic: \"{{x}}\"
output: { a: \"{{one}}\" }
";

#[test]
fn a_comment_covers_a_finding_that_moved_here_or_there() {
    let allow = |before: &str| {
        let blanks = before.len() - before.trim_start().len();
        TURNED.replacen(before, &format!("{}# trefoil: allow unresolved-name\n{before}", " ".repeat(blanks)), 1)
    };
    let (read, given) = (allow("      instruction"), allow("      topic"));
    let folder = Folder::with(&[("none.yaml", TURNED), ("read.yaml", &read), ("given.yaml", &given)]);
    let checked = LoadOptions::default().with_checks();
    let report = trefoil_project::load::check_paths(&[folder.0.join("none.yaml").display().to_string()], &checked);
    let found: Vec<_> = report.diagnostics.iter().map(|d| d.message.as_str()).collect();
    expect!["the step passes `topic`, but `topc` is read"].assert_eq(&found.join("\n"));
    for name in ["read.yaml", "given.yaml"] {
        assert_eq!(rules_of(&folder, name, &checked), [], "{name}");
    }
}

#[test]
fn a_finding_that_moved_to_another_file_is_told_once_and_covered_there() {
    let child = "id: c\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninputSchema:\n  topci: { type: string, default: x }\n\
                 instruction: hi\nprompt: \"{{topci}}\"\n";
    let step = |key: &str| format!("  - ref: c\n    stateKey: {key}\n    input: {{ topic: \"{{{{z}}}}\" }}\n");
    let main = format!(
        "id: p\nkind: sequential\ninputSchema: {{ z: string }}\nsteps:\n{}{}output: {{ a: \"{{{{d}}}}\", b: \"{{{{e}}}}\" }}\n",
        step("d"),
        step("e")
    );
    // Here it is read again in its own file, so the caller's name is wrong.
    let folder = Folder::with(&[("p.yaml", &main), ("c.yaml", child)]);
    let checked = LoadOptions::default().with_checks();
    let rules: Vec<_> = rules_of(&folder, "p.yaml", &checked).iter().map(|(rule, _)| *rule).collect();
    assert_eq!(rules, ["unknown-input", "unknown-input"]);
    // Here it is not.
    std::fs::write(folder.0.join("c.yaml"), child.replace("{{topci}}", "go")).unwrap();
    let report = trefoil_project::load::check_paths(&[folder.0.join("p.yaml").display().to_string()], &checked);
    assert_eq!(report.diagnostics.iter().map(|d| d.labels.len()).collect::<Vec<_>>(), [2]);
    expect!["`topci` is declared, but `topic` is given"].assert_eq(&report.diagnostics[0].message);
    let name = report.diagnostics[0].file.and_then(|f| report.files.get(f)).unwrap().name().to_owned();
    assert!(name.ends_with("c.yaml"), "{name}");
}

#[test]
fn a_mistake_does_not_hide_what_is_dangerous() {
    let pipeline = "id: main\nkind: sequential\ninputSchema:\n  text: string\nsteps:\n  \
        - agent: { id: w, kind: llm, model: { provider: openai, name: gpt-x }, instruction: \"{{text}}\" }\n    input: { text: \"{{NAME}}\" }\n  \
        - agent: { id: call, kind: tool, tool: { kind: http, name: fetch, url: \"https://{{w}}.example.org/\" } }\n    input: { w: \"{{w}}\" }\n";
    let folder = Folder::with(&[
        ("right.yaml", &pipeline.replace("NAME", "text")),
        ("wrong.yaml", &pipeline.replace("NAME", "txet")),
    ]);
    let rules = |name: &str| {
        let found = rules_of(&folder, name, &LoadOptions::default().with_checks());
        found.into_iter().filter(|(_, s)| *s == FindingSeverity::Error).map(|(rule, _)| rule).collect::<Vec<_>>()
    };
    assert_eq!(rules("right.yaml"), ["untrusted-url"]);
    assert_eq!(rules("wrong.yaml"), ["unresolved-name", "untrusted-url"]);
}

/// All findings in the first of these files, one on each line.
fn found(files: &[(&str, &str)]) -> String {
    let folder = Folder::with(files);
    let path = folder.0.join(files[0].0).display().to_string();
    let report = trefoil_project::load::check_paths(&[path], &checks(Levels::default()));
    let lines = report.diagnostics.iter().map(|d| {
        let at = d.file.zip(d.span).map(|(file, span)| report.files.get(file).unwrap().line_number(span.start));
        format!("{} {} {}\n", at.unwrap_or(0), d.rule, d.message)
    });
    lines.collect()
}

const STEPS: &str = "\
id: main
kind: sequential
inputSchema: { topic: string }
steps:
  - ref: helper
    when: \"{{topic}} == birds\"
  - ref: other
    input: { note: \"{{helper}}\" }
  - ref: last
    input: { note: \"{{WRONG}}\" }
";

const STATES: &str = "\
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: flow, version: 1.0.0 }
spec:
  initial_state: A
  states:
    A:
      kind: Agent
      agent: writer
      transitions:
        - { condition: score_above, threshold: 0.5, target: B }
        - { condition: always, target: C }
    B:
      kind: Agent
      agent: writer
      transitions:
        - { condition: WRONG, target: C }
        - { condition: always, target: C }
    C:
      kind: System
      command: echo '{{B.output}}'
    D:
      kind: System
      command: echo never
";

const NODES: &str = "\
version: \"0.1\"
agents:
  a: { model: \"openai:gpt-x\", system: Answer. }
  b: { model: \"openai:gpt-x\", system: \"Use {{ right.output }}.\" }
nodes:
  first: { agent: a }
  right: { agent: a }
  last: { agent: b }
  more: { agent: WRONG }
edges:
  - { from: first, to: right, when: \"working.first.output == 'x'\" }
  - { from: first, to: last }
  - { from: right, to: last }
  - { from: last, to: more }
";

#[test]
fn a_mistake_does_not_hide_what_is_wrong_elsewhere() {
    let agent =
        |id: &str| AGENT.replace("helper", id).replace("You help.", "Use {{note}}.\ninputSchema: { note: string }");
    let (other, last) = (agent("other"), agent("last"));
    let steps = [("main.yaml", STEPS), ("helper.yaml", AGENT), ("other.yaml", &*other), ("last.yaml", &*last)];
    expect![[r#"
        5 empty-message `helper` gets an empty user message: the step has no `input`, and the agent no `prompt`
        8 maybe-undefined `helper` has no value if its step is skipped (it runs only when `{{topic}} == birds`)
        10 unresolved-name `WRONG` is not defined here
    "#]]
    .assert_eq(&found(&steps));
    expect![[r#"
        9 unknown-reference no agent in this folder is named `writer`
        17 unknown-value `condition` cannot be `WRONG`
        21 maybe-undefined `B.output` may have no value, because `B` may not have run before `C`
        22 unreachable-state no transition leads to `D`, so it never runs
    "#]]
    .assert_eq(&found(&[("flow.yaml", STATES)]));
    expect![[r#"
        4 maybe-undefined `right.output` has no value if `right` has not completed
        6 missing-key node `first` needs `writes`
        7 missing-key node `right` needs `writes`
        8 missing-key node `last` needs `writes`
        9 missing-key node `more` needs `writes`
        9 unknown-reference unknown agent `WRONG`
    "#]]
    .assert_eq(&found(&[("flow.yaml", NODES)]));
}

/// The findings in one file, with the places of labels and the changes of fixes.
fn told(text: &str) -> String {
    let folder = Folder::with(&[("a.yaml", text)]);
    let path = folder.0.join("a.yaml").display().to_string();
    let report = trefoil_project::load::check_paths(&[path], &LoadOptions::default().with_checks());
    let place = |d: &trefoil_syntax::Location| {
        report.files.get(d.file).map(|file| file.line_column(d.span.start).line).unwrap_or_default()
    };
    let mut out = String::new();
    for d in &report.diagnostics {
        let labels: Vec<_> = d.labels.iter().map(|l| format!("{} {}", place(&l.location), l.message)).collect();
        let edits = d.fix.iter().flat_map(|fix| &fix.edits);
        let edits: Vec<_> = edits.map(|edit| format!("{} {:?}", place(&edit.location), edit.text)).collect();
        let at = d
            .file
            .zip(d.span)
            .map(|(file, span)| place(&trefoil_syntax::Location::new(file, span)))
            .unwrap_or_default();
        out += &format!("{at} {}: {} [{}] [{}]\n", d.rule, d.message, labels.join(", "), edits.join(", "));
    }
    out
}

const WRITER: &str = "  - agent:\n      id: writer\n      kind: llm\n      model: { provider: openai, name: gpt-x }\n      instruction: Write.\n      outputSchema:\n        KEY: string\n";

#[test]
fn a_key_that_is_renamed_where_it_is_declared_is_one_finding_there() {
    let steps = "output:\n  a: \"{{writer.summary}}\"\n  b: \"{{writer.summary}}\"\n";
    let text = format!("id: p\nkind: sequential\nsteps:\n{WRITER}{steps}");
    expect![[r#"
        4 empty-message: `writer` gets an empty user message: the step has no `input`, and the agent no `prompt` [] []
        10 unknown-property: `summaryx` is declared here, but `summary` is read [12 read here, 13 read here] [10 "summary"]
    "#]].assert_eq(&told(&text.replace("KEY", "summaryx")));
}

#[test]
fn what_is_wrong_in_the_same_way_in_several_places_is_one_finding() {
    let reads = |n: usize| (0..n).map(|i| format!("  o{i}: \"{{{{writer.summary}}}}\"\n")).collect::<String>();
    let text =
        |n: usize| format!("id: p\nkind: sequential\nsteps:\n{WRITER}output:\n{}", reads(n)).replace("KEY", "other");
    expect![[r#"
        4 empty-message: `writer` gets an empty user message: the step has no `input`, and the agent no `prompt` [] []
        12 unknown-property: `writer` has no `summary` [13 and here, 14 and here] []
    "#]]
    .assert_eq(&told(&text(3)));
    expect![[r#"
        4 empty-message: `writer` gets an empty user message: the step has no `input`, and the agent no `prompt` [] []
        12 unknown-property: `writer` has no `summary` (and in 8 more places) [13 and here, 14 and here, 15 and here, 16 and here, 17 and here] []
    "#]].assert_eq(&told(&text(9)));
    // A suppression in one place applies to that place.
    let allowed = text(3)
        .replace("  o0: \"{{writer.summary}}\"", "  o0: \"{{writer.summary}}\" # trefoil: allow unknown-property");
    expect![[r#"
        4 empty-message: `writer` gets an empty user message: the step has no `input`, and the agent no `prompt` [] []
        13 unknown-property: `writer` has no `summary` [14 and here] []
    "#]]
    .assert_eq(&told(&allowed));
    let aegis = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: flow }\nspec:\n  states:\n    - name: A\n      kind: System\n      command: |\n        echo {{B.output}}\n        echo {{B.output}}\n";
    expect![[r#"
        9 unresolved-name: unknown state `B` [10 and here] [9 "A", 10 "A"]
    "#]]
    .assert_eq(&told(aegis));
    let spec = "version: '0.1'\nagents:\n  a: { model: 'openai:m', system: 'S {{ plan.output }}' }\n  b: { model: 'openai:m', system: 'T {{ plan.output }}' }\nnodes:\n  one: { agent: a, writes: output.x }\n  two: { agent: b, writes: output.y }\n";
    expect![[r#"
        3 unresolved-name: `plan.output` is not defined: no node, written path or state is named `plan` [4 and here] []
    "#]]
    .assert_eq(&told(spec));
}

#[test]
fn a_misspelt_model_is_one_mistake() {
    let text = |name: &str| {
        format!("id: a\nkind: llm\nmodel: {{ provider: anthropic, name: {name} }}\ninstruction: Work.\nprompt: Go.\n")
    };
    for name in ["claude-sonet-4-5", "claude-sonnet-4-5-2025092", "claude-haikoo-4-5"] {
        let found = told(&text(name));
        assert_eq!(found.matches("model").count().min(found.lines().count()), found.lines().count(), "{found}");
        assert!(found.lines().count() <= 1, "{name}: {found}");
    }
}

/// A draft is checked, too: a mistake that keeps one file from running hides nothing of the others, and nothing behind it.
#[test]
fn what_is_broken_hides_nothing_of_what_is_not() {
    let header = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: NAME, version: 1.0.0 }\nspec:\n";
    let round = "  initial_state: A
  states:
    A: { kind: System, command: echo a, transitions: [{ condition: always, target: B }] }
    B: { kind: System, command: echo b, transitions: [{ condition: always, target: A }] }
";
    let (empty, sound) = (header.replace("NAME", "empty"), header.replace("NAME", "round") + round);
    let circle = "version: \"0.1\"
agents:
  w: { model: \"openai:m\", system: Go. }
  v: { model: \"openai:m\", system: \"Go {{ d.output }}\" }
nodes:
  a: { agent: w, writes: working.a }
  b: { agent: w, writes: working.b }
  d: { agent: v, writes: working.d }
edges:
  - { from: a, to: b }
  - { from: b, to: a }
  - { from: b, to: d }
input: { message: x }
";
    let found = |files: &[(&str, &str)]| {
        let folder = Folder::with(files);
        let path = folder.0.display().to_string();
        let report = trefoil_project::load::check_paths(&[path], &LoadOptions::default().with_checks());
        let mut found: Vec<_> = report.diagnostics.iter().map(|d| d.rule).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    assert_eq!(found(&[("a.yaml", &empty), ("b.yaml", &sound)]), ["endless-loop", "missing-key"]);
    assert_eq!(found(&[("c.yaml", circle)]), ["edge-cycle", "unordered-read"]);
}
