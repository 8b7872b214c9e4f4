//! Fixes of load findings: an applied fix removes the finding and keeps every other byte.

use trefoil_project::load::{LoadOptions, LoadReport};
use trefoil_syntax::{Diagnostic, SourceEdit};

use crate::Folder;

/// The rule, whether the fix is safe, and a manifest in which `<<wrong=>right>>` is `wrong` before the fix and `right`
/// after it. A second manifest is `other.yaml`.
const CASES: &[(&str, bool, &str)] = &[
    (
        "unknown-key",
        true,
        "id: a # the id\nkind: llm\nmodel: { provider: openai,   name: m }\n<<instrction=>instruction>>:   Write. # so\n",
    ),
    (
        "unknown-key",
        true,
        "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: x } }\nnodes: { m: { <<agent:a=>agent: a>>, writes: output.m } }\ninput: { message: hi }\n",
    ),
    (
        "unknown-value",
        true,
        "id: a\nkind:  <<lllm=>llm>>   # a kind\nmodel: { provider: openai, name: m }\ninstruction: Write.\n",
    ),
    (
        "unknown-value",
        true,
        "id: a\nkind: \"<<llmm=>llm>>\"\nmodel: { provider: openai, name: m }\ninstruction: Write.\n",
    ),
    (
        "wrong-type",
        true,
        "id: <<12=>\"12\">> # twelve\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\n",
    ),
    (
        "wrong-type",
        true,
        "id: a\nkind: llm\nmodel: { provider: openai, name: m, maxTokens: <<'100'=>100>> }\ninstruction: Write.\n",
    ),
    (
        "unknown-provider",
        true,
        "id: a\nkind: llm\nmodel: { provider: '<<opneai=>openai>>', name: m }\ninstruction: Write.\n",
    ),
    (
        "invalid-schema",
        true,
        "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema:\n  topic: <<str=>string>>   # text\ninstruction: Write.\nprompt: '{{topic}}'\n",
    ),
    (
        "unresolved-name",
        true,
        "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema: { topic: string }\ninstruction: |\n  Write\n    about {{  <<topc=>topic>>  }}. # no comment\nprompt: '{{topic}}'\n",
    ),
    (
        "unresolved-name",
        true,
        "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema: { topic: string }\ninstruction: \"\\tAbout \\u00e9 {{<<tpic=>topic>>}}\"\nprompt: '{{topic}}'\n",
    ),
    (
        "unresolved-name",
        false,
        "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: About {{<<userQuerry=>userQuery>>}}\n",
    ),
    (
        "unknown-property",
        true,
        "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema:\n  user: { type: object, properties: { name: string } }\ninstruction: Greet {{user.<<nmae=>name>>}} and {{user.name}}.\n",
    ),
    (
        "never-true",
        false,
        "id: a\nkind: sequential\ninputSchema:\n  tone: { type: string, enum: [plain, playful] }\nsteps:\n  - ref: b\n    when: \"{{tone}} == '<<plian=>plain>>'\" # tone\n=>other\nid: b\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\nprompt: Go.\n",
    ),
    (
        "never-true",
        true,
        "id: a\nkind: sequential\ninputSchema: { done: boolean }\nsteps:\n  - ref: b\n    when: '{{done}}  ==  <<\"true\"=>true>>'\n=>other\nid: b\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\nprompt: Go.\n",
    ),
    (
        "never-true",
        true,
        "id: a\nkind: sequential\ninputSchema: { done: boolean }\nsteps:\n  - ref: b\n    when: '{{done}} == <<True=>true>>'\n=>other\nid: b\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\nprompt: Go.\n",
    ),
    (
        "never-true",
        true,
        "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema: { done: boolean }\ninstruction: 'Write.{{#if done == <<yes=>true>>}} Well.{{/if}}'\n",
    ),
    (
        "constant-condition",
        true,
        "id: a\nkind: sequential\ninputSchema: { done: boolean }\nsteps:\n  - ref: b\n    when: <<done == true=>\"{{done}} == true\">> # at the end\n=>other\nid: b\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\nprompt: Go.\n",
    ),
    (
        "unknown-reference",
        true,
        "id: a\nkind: sequential\nsteps:\n  - ref: \"<<writr=>writer>>@latest\" # whom\n=>other\nid: writer\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\nprompt: Go.\n",
    ),
    (
        "unknown-input",
        true,
        "id: a\nkind: sequential\ninputSchema: { topic: string }\nsteps:\n  - ref: writer\n    input: { <<topci=>topic>>: \"{{topic}}\" }\n=>other\nid: writer\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema: { topic: { type: string, default: x } }\ninstruction: Write.\nprompt: '{{topic}}'\n",
    ),
    (
        "deprecated",
        true,
        "apiVersion: 100monkeys.ai/v1\nkind: <<AgentManifest=>Agent>> # old\nmetadata: { name: a, version: \"1.0.0\" }\nspec:\n  runtime: { model: smart }\n  task: { instruction: Write. }\n",
    ),
    (
        "unresolved-name",
        true,
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: \"1.0.0\" }\nspec:\n  runtime: { model: smart }\n  task:\n    instruction: Write.\n    prompt_template: >\n      Now:\n      {{<<instrution=>instruction>>}}\n",
    ),
    (
        "unknown-reference",
        true,
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w, version: \"1.0.0\" }\nspec:\n  initial_state: HELLO\n  states:\n    HELLO:\n      kind: System\n      command: echo hello\n      transitions:\n        - { target: '<<GODBYE=>GOODBYE>>' } # leave\n    GOODBYE:\n      kind: System\n      command: echo bye\n",
    ),
    (
        "unresolved-name",
        true,
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w, version: \"1.0.0\" }\nspec:\n  initial_state: HELLO\n  states:\n    HELLO:\n      kind: System\n      command: echo hello\n      transitions: [{ target: GOODBYE }]\n    GOODBYE:\n      kind: System\n      command: \"echo '{{ <<HELO=>HELLO>>.output }}'\"\n",
    ),
    (
        "unknown-property",
        true,
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w, version: \"1.0.0\" }\nspec:\n  initial_state: HELLO\n  states:\n    HELLO:\n      kind: System\n      command: echo hello\n      transitions: [{ target: GOODBYE }]\n    GOODBYE:\n      kind: System\n      command: \"echo '{{HELLO.<<outptu=>output>>}}'\"\n",
    ),
    (
        "both-spellings",
        false,
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w, version: \"1.0.0\" }\nspec:\n  initial_state: HELLO\n  states:\n    HELLO:\n      kind: Agent\n      agent: writer<<\n      agent_id: writer=>>> # who\n      input: x\n",
    ),
    (
        "unresolved-name",
        true,
        "version: \"0.1\"\nagents:\n  w: { model: \"openai:m\", system: \"Go on: {{ <<draf=>draft>>.output }}\" } # on\n  v: { model: \"openai:m\", system: Write. }\nnodes:\n  draft: { agent: v, writes: working.text }\n  edit: { agent: w, writes: output.text }\ninput: { message: x }\n",
    ),
    (
        "unresolved-name",
        false,
        "version: \"0.1\"\nagents:\n  w:\n    model: openai:m\n    system: |\n      Go on: {{ inputs.<<mesage=>message>> | default('') }} {{ inputs.mood }}\nnodes:\n  draft: { agent: w, writes: output.text }\ninput: { message: x, mood: y }\n",
    ),
    (
        "working-dot-node-id",
        true,
        "version: \"0.1\"\nagents:\n  w: { model: \"openai:m\", system: \"Go on: {{ <<working.draft.output=>draft.output>> }}\" }\n  v: { model: \"openai:m\", system: Write. }\nnodes:\n  draft: { agent: v, writes: output.first }\n  edit: { agent: w, writes: output.text }\ninput: { message: x }\n",
    ),
    (
        "unknown-reference",
        true,
        "version: \"0.1\"\nagents:\n  writer: { model: \"openai:m\", system: Write. }\nnodes:\n  draft: { agent: <<wrter=>writer>>, writes: output.text } # one\ninput: { message: x }\n",
    ),
    (
        "unknown-value",
        true,
        "version: \"0.1\"\nagents:\n  writer: { model: \"openai:m\", system: Write. }\nnodes:\n  draft: { agent: writer, writes: <<outpt=>output>>.text }\ninput: { message: x }\n",
    ),
    (
        "condition-bad-operator",
        true,
        "id: a\nkind: sequential\ninputSchema: { tone: string }\nsteps:\n  - ref: b\n    when: \"{{tone}}<< = => == >>'plain'\" # tone\n=>other\nid: b\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\nprompt: Go.\n",
    ),
    (
        "template-unknown-helper",
        true,
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: \"1.0.0\" }\nspec:\n  runtime: { model: smart }\n  task:\n    instruction: Write.\n    prompt_template: '{{<<uper=>upper>> input}}' # loud\n",
    ),
    (
        "template-bad-filter",
        true,
        "version: \"0.1\"\nagents:\n  w: { model: \"openai:m\", system: 'Go on: {{ inputs.message <<|| \"x\"=>| default(\"x\")>> }}' }\nnodes:\n  draft: { agent: w, writes: output.text }\ninput: { message: x }\n",
    ),
    (
        "template-syntax",
        true,
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: \"1.0.0\" }\nspec:\n  runtime: { model: smart }\n  task:\n    instruction: Write.\n    prompt_template: \"{{<<input ?? 'none'=>default input 'none'>>}} {{instruction}}\"\n",
    ),
    (
        "unknown-reference",
        true,
        "id: a\nkind: sequential\nsteps:\n  - ref: \"<<./writer.yaml=>writer>>\" # whom\n=>other\nid: writer\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\nprompt: Go.\n",
    ),
    (
        "unknown-key",
        true,
        "id: a\nkind: llm\nmodel: { provider: openai, name: m, temperature: <<0,7=>0.7>> }\ninstruction: Write.\n",
    ),
    (
        "condition-unknown-name",
        true,
        "version: \"0.1\"\nagents:\n  w: { model: \"openai:m\", system: Write. }\nnodes:\n  draft: { agent: w, writes: working.text }\n  edit: { agent: w, writes: output.text }\nedges:\n  - { from: draft, to: edit, when: \"<<workin=>working>>.text == 'x'\" }\ninput: { message: x }\n",
    ),
];

/// The text before and after.
fn both(text: &str) -> (String, String) {
    let (mut before, mut after) = (String::new(), String::new());
    let mut rest = text;
    while let Some((same, marked)) = rest.split_once("<<") {
        let (wrong, marked) = marked.split_once("=>").expect("a marker has an arrow");
        let (right, more) = marked.split_once(">>").expect("a marker ends");
        before.extend([same, wrong]);
        after.extend([same, right]);
        rest = more;
    }
    before.push_str(rest);
    after.push_str(rest);
    (before, after)
}

fn check(main: &str, other: Option<&str>) -> LoadReport {
    let folder = Folder::with(&[("main.yaml", main), ("other.yaml", other.unwrap_or(""))]);
    if other.is_none() {
        std::fs::remove_file(folder.0.join("other.yaml")).unwrap();
    }
    trefoil_project::load::check_paths(
        &[folder.0.join("main.yaml").display().to_string()],
        &LoadOptions::default().with_checks(),
    )
}

fn applied(text: &str, edits: &[SourceEdit]) -> String {
    let mut out = text.to_owned();
    let mut edits: Vec<&SourceEdit> = edits.iter().collect();
    edits.sort_by_key(|e| std::cmp::Reverse(e.location.span.start));
    for edit in edits {
        out.replace_range(edit.location.span.start as usize..edit.location.span.end as usize, &edit.text);
    }
    out
}

#[test]
fn a_fix_changes_what_is_wrong_and_nothing_else() {
    let mut bad = Vec::new();
    for (rule, safe, text) in CASES {
        let (main, other) = match text.split_once("=>other\n") {
            Some((main, other)) => (main, Some(other)),
            None => (*text, None),
        };
        let (before, after) = both(main);
        let report = check(&before, other);
        let of_rule = |d: &&Diagnostic| d.rule == *rule && d.fix.is_some();
        let Some(fix) = report.diagnostics.iter().find(of_rule).and_then(|d| d.fix.as_deref()) else {
            bad.push(format!("{rule}: no fix for\n{before}\n{}", report.text()));
            continue;
        };
        let found = applied(&before, &fix.edits);
        if found != after || fix.safe != *safe {
            bad.push(format!("{rule}: `{}` (safe: {}) makes\n{found}", fix.message, fix.safe));
        }
        let report = check(&found, other);
        if report.diagnostics.iter().any(|d| d.rule == *rule && d.fix.is_some()) {
            bad.push(format!("{rule}: it is still there:\n{}", report.text()));
        }
    }
    assert!(bad.is_empty(), "{} cases:\n\n{}", bad.len(), bad.join("\n\n"));
}

/// If it is uncertain, a fix needs review, or there is none.
#[test]
fn two_near_names_are_no_safe_fix() {
    let report = check(
        "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema: { title: string, titre: string }\ninstruction: About {{tite}}.\n",
        None,
    );
    let fix = report.diagnostics.iter().find(|d| d.rule == "unresolved-name").and_then(|d| d.fix.as_deref());
    assert!(fix.is_none_or(|f| !f.safe), "{fix:?}");
    // A key that already exists is not written again.
    let report = check(
        "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\ninstrction: Write.\n",
        None,
    );
    assert!(report.diagnostics.iter().all(|d| d.fix.is_none()), "{}", report.text());
}

/// The fixes of a rule in one manifest: the new texts, and whether each is safe.
fn fixes(rule: &str, text: &str, other: Option<&str>) -> Vec<(String, bool)> {
    let report = check(text, other);
    let of_rule = report.diagnostics.iter().filter(|d| d.rule == rule);
    of_rule.filter_map(|d| d.fix.as_deref()).map(|f| (f.message.clone(), f.safe)).collect()
}

/// Of two spellings, the one that occurs once is the misspelling, wherever the finding is.
#[test]
fn a_name_that_is_used_often_is_not_changed_to_a_misspelt_declaration() {
    let workflow = |key: &str, read: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: \"1.0.0\" }}\nspec:\n  initial_state: ARTICLE\n  states:\n    ARTICLE:\n      kind: Subworkflow\n      workflow_id: x\n      result_key: {key}\n      transitions:\n        - {{ condition: custom, expression: \"{{{{blackboard.{read}.score >= 1}}}}\", target: END }}\n        - {{ condition: always, target: END }}\n    END:\n      kind: System\n      command: \"echo 'an article'\"\n"
        )
    };
    let found = fixes("unresolved-name", &workflow("artcle", "article"), None);
    // The fix changes the declaration, after review.
    assert_eq!(found, [("write `article` there".to_owned(), false)]);

    let node = "version: \"0.1\"\nagents:\n  w: { model: \"openai:m\", system: \"On: {{ draft.output }} {{ draft.output }}\" }\n  v: { model: \"openai:m\", system: Write. }\nnodes:\n  drft: { agent: v, writes: output.first }\n  edit: { agent: w, writes: output.text }\nedges: [{ from: drft, to: edit }]\ninput: { message: x }\n";
    let found = fixes("unresolved-name", node, None);
    // Both uses have the same mistake, and `drft` occurs twice; one fix changes both.
    assert_eq!(found, [("write `drft`".to_owned(), true)]);
    let found = fixes("unresolved-name", &node.replace("edges: [{ from: drft, to: edit }]\n", ""), None);
    assert_eq!(found, [("write `draft` there".to_owned(), false)]);
}

/// Names that follow from a wrong reference are not changed to match it.
#[test]
fn a_name_that_comes_from_a_wrong_reference_is_left_alone() {
    let main = "id: main\nkind: sequential\nsteps:\n  - ref: writter\noutput: { text: \"{{writer.draft}}\" }\n";
    let writer = "id: writer\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\nprompt: Go.\n\
                  outputSchema: { draft: string }\n";
    let safe: Vec<_> =
        check(main, Some(writer)).diagnostics.into_iter().filter_map(|d| d.fix).filter(|f| f.safe).collect();
    assert_eq!(safe.iter().map(|f| &*f.message).collect::<Vec<_>>(), ["write `writer`"]);
}

/// The name of a tool cannot contain the hyphens of an id, so that spelling is no evidence about the id.
#[test]
fn the_name_of_a_tool_is_no_witness_against_an_id() {
    let main = "id: main\nkind: sequential\nsteps:\n  - ref: kb_search\noutput: { text: \"{{kbSearch}}\" }\n";
    let tool = "id: kb-search\nkind: tool\ntool: { kind: local, name: kb_search }\n";
    let safe: Vec<_> =
        check(main, Some(tool)).diagnostics.into_iter().filter_map(|d| d.fix).filter(|f| f.safe).collect();
    assert_eq!(safe.iter().map(|f| &*f.message).collect::<Vec<_>>(), ["write `kb-search`"]);
}

/// Quotes around `true` would only silence the finding.
#[test]
fn the_type_of_a_comparison_is_not_changed_without_asking() {
    let main =
        "id: a\nkind: sequential\ninputSchema: { tone: string }\nsteps:\n  - ref: b\n    when: \"{{tone}} == true\"\n";
    let b = "id: b\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\nprompt: Go.\n";
    assert_eq!(fixes("never-true", main, Some(b)), [("write `'true'`".to_owned(), false)]);
}

/// The mistake may be in the declared words; and if two helpers are equally similar, neither is chosen.
#[test]
fn what_a_program_does_is_not_changed_without_asking() {
    let agent = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema: { depth: { type: string, enum: [quick, ful] } }\ninstruction: \"Go.{{#if depth == full}} Far.{{/if}}\"\n";
    assert_eq!(fixes("never-true", agent, None), [("write `ful`".to_owned(), false)]);
    let workflow = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w, version: \"1.0.0\" }\nspec:\n  initial_state: A\n  states:\n    A: { kind: System, command: \"echo '{{#if (gto input.n 1)}}x{{/if}}'\" }\n";
    let report = check(workflow, None);
    let d = report.diagnostics.iter().find(|d| d.message.contains("gto")).unwrap();
    assert_eq!((&d.fix, d.help.as_deref().is_some_and(|h| h.starts_with("the helpers are"))), (&None, true));
}

/// Names that are wrong because of their types, and words in tests of templates, are fixed too.
#[test]
fn members_and_compared_words_are_corrected() {
    let agent = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema:\n  format: { type: string, enum: [json, text] }\ninstruction: |\n  Write. {{#if format == jsn}}JSON only.{{/if}}\n";
    let report = check(agent, None);
    let d = report.diagnostics.iter().find(|d| d.rule == "never-true").unwrap();
    assert_eq!(applied(agent, &d.fix.as_ref().unwrap().edits), agent.replace("jsn", "json"));
    assert_eq!(report.diagnostics.iter().filter(|d| d.rule == "never-true").count(), 1, "{}", report.text());

    let workflow = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w, version: \"1.0.0\" }\nspec:\n  initial_state: LOOK\n  states:\n    LOOK:\n      kind: Agent\n      agent: a\n      transitions: [{ target: SAY }]\n    SAY:\n      kind: System\n      command: \"echo '{{LOOK.output.summary.verdit}} {{#each LOOK.output.issues}}{{this.severty}}{{/each}}'\"\n";
    let analyst = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: \"1.0.0\" }\nspec:\n  runtime: { model: smart }\n  task: { instruction: Look. }\n  execution:\n    mode: iterative\n    max_iterations: 3\n    validation:\n      - type: json_schema\n        schema:\n          type: object\n          required: [summary, issues]\n          properties:\n            summary: { type: object, properties: { verdict: { enum: [clean, bad] } } }\n            issues: { type: array, items: { type: object, properties: { severity: { enum: [low, high] } } } }\n";
    let report = check(workflow, Some(analyst));
    let edits: Vec<SourceEdit> = report
        .diagnostics
        .iter()
        .filter(|d| d.rule == "unknown-property")
        .filter_map(|d| d.fix.as_deref())
        .flat_map(|f| f.edits.clone())
        .collect();
    assert_eq!(
        applied(workflow, &edits),
        workflow.replace("verdit", "verdict").replace("severty", "severity"),
        "{}",
        report.text()
    );
}

#[test]
fn a_helper_by_its_name_elsewhere_is_known() {
    let agent = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: \"1.0.0\" }\nspec:\n  runtime: { model: smart }\n  task: { instruction: Write., prompt_template: \"{{ge input.a 1}}\" }\n";
    assert_eq!(fixes("template-unknown-helper", agent, None), [("write `gte`".to_owned(), false)]);
}

/// A key that a step passes and that is never read is the misspelling if the name that is read also occurs elsewhere.
#[test]
fn a_misspelt_input_of_an_agent_in_a_step_is_found_at_its_key() {
    let text = "id: a\nkind: sequential\ninputSchema: { sources: string }\nsteps:\n  - agent:\n      id: b\n      kind: llm\n      model: { provider: openai, name: m }\n      instruction: Use {{sources}}.\n    input: { surces: \"{{sources}}\" }\n";
    let report = check(text, None);
    let d = report.diagnostics.iter().find(|d| d.rule == "unresolved-name").unwrap();
    let span = d.span.unwrap();
    assert_eq!(text.get(span.start as usize..span.end as usize), Some("surces"), "{}", report.text());
    assert_eq!(d.message, "the step passes `surces`, but `sources` is read");
    assert_eq!(applied(text, &d.fix.as_ref().unwrap().edits), text.replace("surces", "sources"));
    // In the other case the text is wrong.
    let text = text.replace("surces", "sources").replace("Use {{sources}}", "Use {{surces}}");
    let report = check(&text, None);
    let d = report.diagnostics.iter().find(|d| d.rule == "unresolved-name").unwrap();
    assert_eq!(applied(&text, &d.fix.as_ref().unwrap().edits), text.replace("surces", "sources"), "{}", report.text());
}
