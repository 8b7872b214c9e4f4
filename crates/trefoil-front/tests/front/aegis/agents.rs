//! `kind: Agent`: the findings and the flow.

use expect_test::expect;
use trefoil_ir::{FlowId, StepKind, ValidatorKind};

use crate::support::bless;

use super::support::{END, agent as named, check, check_one, ir, load, load_with, workflow};

/// An agent with these additional lines below `spec`.
fn agent(name: &str, more: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: {name}, version: \"1.0.0\" }}\nspec:\n  \
         runtime: {{ model: smart }}\n{more}"
    )
}

const TASK: &str = "  task: { instruction: Work. }\n";

#[test]
fn a_minimal_agent_has_no_finding() {
    check_one(&agent("writer", TASK), expect![""]);
}

#[test]
fn headers_and_required_keys() {
    check_one(
        "apiVersion: v1\nkind: Agent\nmetadata: {}\nspec: {}\n",
        expect![[r#"
            error 1:13 unknown-value: `apiVersion` cannot be `v1` (write `100monkeys.ai/v1`) {maybe: "100monkeys.ai/v1"}
            error 3:1 missing-key: metadata needs `name`
            warning 3:1 missing-key: `metadata` has no `version` (other tools for this format require it; for example `version: "1.0.0"`)
            error 4:1 missing-key: spec needs `task`
            warning 4:1 missing-key: `spec` has no `runtime` (other tools for this format require it; only `runtime.model` is used here)
        "#]],
    );
    check_one(
        "apiVersion: 100monkeys.ai/v1\nkind: AgentManifest\nmetadata: { name: a, version: '1' }\nspec:\n  runtime: {}\n  task: { instruction: '  ' }\n",
        expect![[r#"
            warning 2:7 deprecated: `AgentManifest` is an old spelling (write `kind: Agent`) {fix: "Agent"}
            error 6:24 missing-key: `instruction` is blank
        "#]],
    );
    check_one(
        "apiVersion: 100monkeys.ai/v1\nkind: Workfow\n",
        expect![[r#"
            error 1:1 missing-key: an AEGIS manifest needs `metadata`
            error 1:1 missing-key: an AEGIS manifest needs `spec`
            error 2:7 unknown-value: `kind` cannot be `Workfow` (did you mean `Workflow`? available: `Agent`, `Workflow`) {fix: "Workflow"}
        "#]],
    );
}

#[test]
fn names_follow_the_rule() {
    for (name, expected) in [
        ("a", expect![""]),
        ("a-1", expect![""]),
        (
            "-a",
            expect![[r#"
                error 3:19 invalid-name: `-a` is not a valid name (use 1 to 63 lower-case letters, digits and hyphens; start and end with a letter or digit)
            "#]],
        ),
        (
            "a-",
            expect![[r#"
                error 3:19 invalid-name: `a-` is not a valid name (use 1 to 63 lower-case letters, digits and hyphens; start and end with a letter or digit)
            "#]],
        ),
        (
            "A",
            expect![[r#"
                error 3:19 invalid-name: `A` is not a valid name (use 1 to 63 lower-case letters, digits and hyphens; start and end with a letter or digit)
            "#]],
        ),
        (
            "a_b",
            expect![[r#"
                error 3:19 invalid-name: `a_b` is not a valid name (use 1 to 63 lower-case letters, digits and hyphens; start and end with a letter or digit)
            "#]],
        ),
    ] {
        check_one(&agent(name, TASK), expected);
    }
}

#[test]
fn what_only_a_container_needs_is_one_warning() {
    let manifest = "\
apiVersion: 100monkeys.ai/v1
kind: Agent
metadata: { name: a, version: '1' }
spec:
  runtime: { language: python, version: '3.11', isolation: docker }
  task: { instruction: Work. }
  security: { network: { mode: none }, resources: { cpu: 1, timeout: 60s } }
  volumes: []
  env: { A: b }
  security_context: x
";
    check_one(
        manifest,
        expect![[r#"
            info 5:14 no-effect: `runtime.language`, `runtime.version`, `runtime.isolation`, `security` (except `timeout`), `volumes`, `env`, `security_context` have no effect: the agent runs as a model call, not in a container
        "#]],
    );
}

#[test]
fn a_name_may_mean_a_server_or_one_of_its_tools() {
    let manifest = agent(
        "a",
        "  task: { instruction: Work. }\n  tools: ['mcp:files', 'mcp:files/read', 'mcp:more/read', 'mcp:https://x.example/mcp', files, 'mcp:']\n",
    );
    let program = ir(&load(&[("manifest.yaml", &manifest)]));
    let offers: String = program
        .lines()
        .filter(|l| l.contains("offers") || l.contains("tool"))
        .map(|l| format!("{}\n", l.trim()))
        .collect();
    bless(
        &offers,
        &expect![[r#"
            offers tools `mcp__files__`
            `mcp:files` tool `` mcp `files` @ manifest.yaml:7:11
            offers tool `mcp__more__read`
            `mcp:more/read` tool `read` mcp `more` @ manifest.yaml:7:42
            offers tools `mcp__https://x.example/mcp__`
            `mcp:https://x.example/mcp` tool `` mcp `https://x.example/mcp` @ manifest.yaml:7:59
            offers tool `files`
            `files` tool `files` local @ manifest.yaml:7:88
            offers tool `mcp:`
            `mcp:` tool `mcp:` local @ manifest.yaml:7:95
        "#]],
    );
}

#[test]
fn tools_and_required_handlers_are_refused_and_the_rest_says_that_it_does_nothing() {
    let manifest = agent(
        "a",
        "  task: { instruction: Work., input_data: { a: 1 } }
  tools: [fs.read]
  output_handler: { type: webhook, url: 'https://example.org', required: true }
  schedule: { type: manual }
  delivery: { destinations: [] }
  execution: { memory: true, tool_validation: [] }
  contexts: []
",
    );
    check_one(
        &manifest,
        expect![[r#"
            warning 6:31 no-effect: `input_data` has no effect: write the data into the instruction, or pass it as input
            warning 8:3 refused: a required `output_handler` is not supported yet: results are not sent anywhere (you can check and draw this file, but not run it)
            warning 9:3 no-effect: `schedule` has no effect: runs start only on request
            warning 10:3 no-effect: `delivery` has no effect: the result is returned to the caller
            warning 11:16 no-effect: `memory` has no effect: nothing is kept between runs
            info 12:3 no-effect: `contexts` has no effect: the agent is not connected to any service
        "#]],
    );
    let program = load(&[("agent.yaml", &manifest)]).lowered.unwrap().program;
    let refused = program.steps.iter().filter(|s| matches!(s.kind, StepKind::Refused(_))).count();
    assert_eq!(refused, 1, "the run does not start");
    assert!(program.steps.iter().any(|s| matches!(s.kind, StepKind::Model(_))), "the call stays visible");
    // An empty list of tools has no effect.
    check_one(&agent("a", &format!("{TASK}  tools: []\n")), expect![""]);
}

#[test]
fn iterations_and_time_limits_have_the_documented_defaults() {
    // execution -> iterations, milliseconds of an iteration; a single iteration without validators needs no loop.
    let cases = [
        ("", None, 600_000),
        ("  execution: { mode: one-shot }\n", None, 600_000),
        ("  execution: { mode: iterative }\n", Some(10), 600_000),
        ("  execution: { mode: one-shot, max_iterations: 3 }\n", Some(3), 600_000),
        ("  execution: { max_retries: 4, iteration_timeout: 1h 30m }\n", Some(4), 5_400_000),
        ("  execution: { validation: [{ type: exit_code }] }\n", Some(1), 600_000),
    ];
    for (execution, iterations, timeout) in cases {
        let folder = load(&[("agent.yaml", &agent("a", &format!("{TASK}{execution}")))]);
        let program = folder.lowered.unwrap().program;
        let attempts = program.steps.iter().find_map(|s| match &s.kind {
            StepKind::Attempts(a) => Some(a.max),
            _ => None,
        });
        assert_eq!(attempts, iterations, "{execution}");
        let model = program.steps.iter().find(|s| matches!(s.kind, StepKind::Model(_))).unwrap();
        assert_eq!(model.policy.timeout_ms, Some(timeout), "{execution}");
        assert_eq!(model.label.as_deref(), Some("a"));
    }
}

#[test]
fn execution_mistakes_stand_where_they_are() {
    let manifest = agent(
        "a",
        "  task: { instruction: Work. }
  execution:
    mode: iterativ
    max_iterations: 0
    max_retries: 2
    iteration_timeout: 90
    validation:
      - type: regex
        pattern: 'a(b'
      - type: json_schema
        schema: { type: object, properties: { a: { type: txt } } }
      - type: script
      - type: semantic
        criteria: good
",
    );
    check_one(
        &manifest,
        expect![[r#"
            error 8:11 unknown-value: `mode` cannot be `iterativ` (did you mean `iterative`? available: `one-shot`, `iterative`) {fix: "iterative"}
            error 9:21 out-of-range: `max_iterations` must be from 1 to 255, not 0
            error 10:5 both-spellings: `max_iterations` and `max_retries` are the same key (remove one of them) [9:5 already set here]
            error 11:24 wrong-type: `iteration_timeout` must be a duration, not a number without a unit (write `90s` for seconds)
            error 14:18 invalid-regex: `pattern` is not a valid regular expression: unclosed group
            error 16:58 invalid-schema: unknown type `txt` (available: `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`)
            error 17:15 unknown-value: `type` cannot be `script` (available: `exit_code`, `json_schema`, `regex`, `semantic`, `multi_judge`)
            error 18:9 missing-key: a validator needs `judge_agent`
        "#]],
    );
}

#[test]
fn template_mistakes_and_unknown_names_are_at_their_place() {
    let manifest = "\
apiVersion: 100monkeys.ai/v1
kind: Agent
metadata: { name: a, version: '1' }
spec:
  runtime: {}
  input_schema: { type: object, properties: { topic: { type: string } } }
  task:
    instruction: The instruction {{is}} data.
    prompt_template: |
      {{instruction}} {{#if instrucion}}x{{/if}}
      {{topic}} {{input.topc}} {{workflow.task}} {{nowhere}}
      {{#if a}}
";
    // Names next to it are checked too.
    check_one(
        manifest,
        expect![[r#"
            warning 10:29 unresolved-name: a prompt has no `instrucion`, so it is always empty (did you mean `instruction`?) {fix: "instruction"}
            warning 11:9 unresolved-name: a prompt has no `topic`, so it is always empty (write `input.topic`) {fix: "input.topic"}
            warning 11:25 unknown-property: the schema of `input` declares no `topc` (did you mean `topic`?) [6:47 `topic` is declared here] {fix: "topic"}
            warning 11:34 unresolved-name: a prompt has no `workflow`, so it is always empty (an agent does not see the workflow that calls it: pass the value in the state's `input`)
            warning 11:52 unresolved-name: a prompt has no `nowhere`, so it is always empty (write `input.nowhere` for a field of the input)
            error 12:7 template-unclosed-block: `{{#if}}` is never closed (end it with `{{/if}}`)
            warning 12:13 unresolved-name: a prompt has no `a`, so it is always empty (write `input.a` for a field of the input)
        "#]],
    );
    let mended = manifest.replace("      {{#if a}}\n", "");
    check_one(
        &mended,
        expect![[r#"
            warning 10:29 unresolved-name: a prompt has no `instrucion`, so it is always empty (did you mean `instruction`?) {fix: "instruction"}
            warning 11:9 unresolved-name: a prompt has no `topic`, so it is always empty (write `input.topic`) {fix: "input.topic"}
            warning 11:25 unknown-property: the schema of `input` declares no `topc` (did you mean `topic`?) [6:47 `topic` is declared here] {fix: "topic"}
            warning 11:34 unresolved-name: a prompt has no `workflow`, so it is always empty (an agent does not see the workflow that calls it: pass the value in the state's `input`)
            warning 11:52 unresolved-name: a prompt has no `nowhere`, so it is always empty (write `input.nowhere` for a field of the input)
        "#]],
    );
}

#[test]
fn every_name_of_a_prompt_has_its_source() {
    let prompt = "{{instruction}}{{input}}{{input.a.b}}{{iteration_number}}{{previous_error}}{{agentskills}}{{context}}{{intent}}{{json this}}";
    let manifest = agent("a", &format!("  task: {{ instruction: Work., prompt_template: '{prompt}' }}\n"));
    let folder = load_with(&[("agent.yaml", &manifest)], |project| project.skills = Some("SKILLS".into()));
    let text = ir(&folder);
    let bound = text.lines().find(|l| l.contains("instruction <-")).expect("the user message");
    for source in [
        "instruction <- const \"Work.\"",
        "input <- $input",
        "input.a.b <- $input.a.b",
        "iteration_number <- $iteration_number",
        "previous_error <- $previous_error",
        "agentskills <- const \"SKILLS\"",
        "context <- const \"\"",
        "intent <- $input.intent",
    ] {
        assert!(bound.contains(source), "{source} in {bound}");
    }
}

#[test]
fn the_default_prompt_is_the_seed_s() {
    let text = ir(&load(&[("agent.yaml", &agent("a", TASK))]));
    assert!(text.contains("[instruction <- const \"Work.\", input <- $input]"), "{text}");
}

#[test]
fn context_comes_from_the_manifest_its_files_or_the_operator() {
    let manifest = agent(
        "a",
        "  task: { instruction: Work., prompt_template: '{{instruction}}{{context}}{{input}}' }
  context:
    - { type: text, content: one }
    - { type: file, path: ../notes/two.md }
",
    );
    let files = [("agents/a.yaml", manifest.as_str()), ("notes/two.md", "two\n")];
    assert!(ir(&load(&files)).contains(r#"context <- const "one\n\ntwo\n""#));
    let given = load_with(&files, |project| project.context = Some("given".into()));
    assert!(ir(&given).contains(r#"context <- const "given""#));
    check(
        &files[..1],
        expect![[r#"
            error 9:27 unknown-reference: the file `../notes/two.md` cannot be read (paths are relative to the manifest)
        "#]],
    );
    check_one(
        &agent(
            "a",
            "  task: { instruction: Work. }\n  context:\n    - { type: url, url: 'http://x' }\n    - { type: txt }\n",
        ),
        expect![[r#"
            warning 8:15 no-effect: directories and URLs in `context` are not read (list the files one by one, or pass one text with `--context FILE`)
            error 9:15 unknown-value: `type` cannot be `txt` (did you mean `text`? available: `text`, `file`, `directory`, `url`) {fix: "text"}
        "#]],
    );
}

/// The inputs of the judges in the first document's validators.
fn judge_inputs(files: &[(&str, &str)]) -> Vec<String> {
    let text = ir(&load(files));
    text.lines().filter(|l| l.trim_start().starts_with("judge `")).map(|l| l.trim().to_owned()).collect()
}

#[test]
fn judges_get_what_they_declare() {
    let judged = |kind: &str| {
        agent("worker", &format!("{TASK}  execution:\n    validation:\n      - {{ {kind}, criteria: Be good. }}\n"))
    };
    let semantic = judged("type: semantic, judge_agent: judge");
    let multi = judged("type: multi_judge, judges: [judge]");
    let plain = agent("judge", TASK);
    let declaring = agent(
        "judge",
        &format!(
            "{TASK}  input_schema: {{ type: object, required: [output, other], properties: {{ output: {{}}, task: {{}}, other: {{}}, more: {{}}, validation_context: {{}} }} }}\n"
        ),
    );
    let of = |worker: &str, judge: &str| {
        let inputs = judge_inputs(&[("worker.yaml", worker), ("judge.yaml", judge)]);
        let [one] = inputs.as_slice() else { panic!("one judge: {inputs:?}") };
        let (_, input) = one.split_once("input ").unwrap();
        input.split(" timeout").next().unwrap().to_owned()
    };
    assert_eq!(
        of(&semantic, &plain),
        r#"{task: as_text($input), output: as_text(result), criteria: "Be good.", validation_context: "semantic_judge"}"#
    );
    assert_eq!(
        of(&semantic, &declaring),
        r#"{output: as_text(result), task: as_text($input), other: null, validation_context: "semantic_judge"}"#
    );
    assert_eq!(of(&multi, &plain), r#"{input: as_text(result), intent: "Be good."}"#);
    assert_eq!(
        of(&multi, &declaring),
        r#"{output: as_text(result), task: "Be good.", other: null, validation_context: "judge"}"#
    );
}

#[test]
fn unknown_judges_are_a_warning_and_the_program_lists_them() {
    let worker = agent(
        "worker",
        &format!(
            "{TASK}  execution:\n    validation:\n      - {{ type: semantic, judge_agent: juge, criteria: x }}\n      - {{ type: multi_judge, judges: [juge, 0a1b2c3d-0000-1111-2222-333344445555], criteria: x }}\n"
        ),
    );
    let files = [("worker.yaml", worker.as_str()), ("judge.yaml", &agent("judge", TASK))];
    check(
        &files,
        expect![[r#"
            warning worker.yaml 9:40 unknown-reference: no agent in this folder is named `juge` (did you mean `judge`?) [judge.yaml 3:19 `judge` is declared here] {fix: "judge"}
            warning worker.yaml 10:45 unknown-reference: no agent in this folder is named `0a1b2c3d-0000-1111-2222-333344445555` (write the agent's `metadata.name`; ids on a server are not known here)
        "#]],
    );
    let program = load(&files).lowered.unwrap().program;
    let names: Vec<_> = program.missing_agents.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["juge", "0a1b2c3d-0000-1111-2222-333344445555"]);
}

#[test]
fn judges_that_judge_each_other_are_an_error() {
    let with_judge = |name: &str, judge: &str| {
        agent(
            name,
            &format!(
                "{TASK}  execution: {{ validation: [{{ type: semantic, judge_agent: {judge}, criteria: x }}] }}\n"
            ),
        )
    };
    let files = [("a.yaml", with_judge("a", "b")), ("b.yaml", with_judge("b", "c")), ("c.yaml", with_judge("c", "b"))];
    let files: Vec<_> = files.iter().map(|(n, t)| (*n, t.as_str())).collect();
    check(
        &files,
        expect![[r#"
            error b.yaml 7:60 reference-cycle: `c` calls itself, directly or through others (remove one of these calls: a judge cannot judge itself, and a workflow cannot wait for itself) [c.yaml 7:60 calls `b`]
        "#]],
    );
}

#[test]
fn the_older_form_of_validation_counts_where_it_can() {
    let manifest = agent(
        "a",
        "  task: { instruction: Work. }
  execution:
    validation:
      system: { must_succeed: true }
      output: { format: json, schema: { type: object } }
      semantic: { threshold: 0.8 }
",
    );
    check_one(
        &manifest,
        expect![[r#"
            warning 9:7 deprecated: `validation` as a mapping is an old spelling (write a list of validators, each with a `type`)
            warning 11:7 no-effect: `semantic` has no effect here (write a list entry with `type: semantic`, `judge_agent` and `criteria`)
        "#]],
    );
    let program = load(&[("agent.yaml", &manifest)]).lowered.unwrap().program;
    let validators = program.steps.iter().find_map(|s| match &s.kind {
        StepKind::Attempts(a) => Some(&a.validators),
        _ => None,
    });
    let kinds: Vec<_> = validators.unwrap().iter().map(|v| &v.kind).collect();
    assert!(
        matches!(kinds.as_slice(), [ValidatorKind::ExitCode { expected: 0 }, ValidatorKind::JsonSchema(_)]),
        "{kinds:?}"
    );
}

#[test]
fn input_is_checked_by_the_schema_and_its_fields_are_declared() {
    let manifest = agent(
        "a",
        "  task: { instruction: Work. }
  input_schema:
    type: object
    required: [topic]
    properties: { topic: { type: string }, words: { type: integer, default: 200 }, note: { type: string } }
",
    );
    let program = load(&[("agent.yaml", &manifest)]).lowered.unwrap().program;
    let intake = &program.flows[FlowId(0)].intake;
    let fields: Vec<_> = intake.fields.iter().map(|f| (&*f.name, f.default.is_some(), f.optional)).collect();
    assert_eq!(fields, [("topic", false, false), ("words", true, true), ("note", false, true)]);
    assert!(intake.schema.is_some());
}

#[test]
fn schemas_are_checked_at_their_keywords() {
    let manifest = "\
apiVersion: 100monkeys.ai/v1
kind: Agent
metadata: { name: a, version: '1' }
spec:
  runtime: { language: python, version: '3.11', model: default }
  input_schema:
    type: object
    reqiured: [topic]
    required: [tpoic, other]
    properties:
      topic: { type: string, minLength: -1 }
      kind: { type: string, enum: [1] }
    anyOf:
      - required: [more]
        properties: { less: { type: string } }
  execution:
    validation:
      - type: json_schema
        schema:
          type: object
          required: [scroe, more]
          properties: { score: { type: number } }
      - type: json_schema
        schema:
          type: object
          required: [more]
          properties: { score: { type: number } }
          additionalProperties: { type: number }
";
    check_one(
        manifest,
        expect![[r#"
            error 4:1 missing-key: spec needs `task`
            info 5:14 no-effect: `runtime.language`, `runtime.version` have no effect: the agent runs as a model call, not in a container
            warning 8:5 unknown-key: JSON Schema has no keyword `reqiured` (did you mean `required`?) {fix: "required"}
            error 11:41 wrong-type: `minLength` must be a whole number from 0, not a number
            warning 12:36 invalid-schema: this choice does not match the type [12:21 the type]
            warning 21:22 invalid-schema: `scroe` is required but not in `properties` (did you mean `score`?) {fix: "score"}
            warning 21:29 invalid-schema: `more` is required but not in `properties`
        "#]],
    );
}

#[test]
fn a_missing_judge_is_not_the_agent_itself() {
    let judged = named(
        "write",
        "  execution: { mode: iterative, validation: [{ type: semantic, judge_agent: writer, criteria: Good. }] }\n",
    );
    let other = named("writers", "");
    check(
        &[("write.yaml", &judged)],
        expect![[r#"
            warning 7:77 unknown-reference: no agent in this folder is named `writer` (only the embedded model can stand in for it; for any other model, add its manifest to the folder)
        "#]],
    );
    check(
        &[("write.yaml", &judged), ("writers.yaml", &other)],
        expect![[r#"
            warning write.yaml 7:77 unknown-reference: no agent in this folder is named `writer` (did you mean `writers`?) [writers.yaml 3:19 `writers` is declared here] {fix: "writers"}
        "#]],
    );
}

#[test]
fn an_agent_that_is_a_workflow_is_named_as_one() {
    let flow =
        workflow(&format!("    A: {{ kind: Agent, agent: w, input: x, transitions: [{{ target: END }}] }}\n{END}"));
    check(
        &[("w.yaml", &flow), ("v.yaml", &named("v", ""))],
        expect![[r#"
        warning w.yaml 7:30 unknown-reference: `w` is a workflow, not an agent (call it in a state of `kind: Subworkflow`, or name an agent) [w.yaml 3:19 declared here]
    "#]],
    );
}

#[test]
fn each_key_without_effect_has_its_own_reason() {
    check_one(
        &named(
            "a",
            "  execution: { mode: iterative, validation: { system: { must_succeed: true, allow_stderr: true, timeout_seconds: 9 } } }\n",
        ),
        expect![[r#"
            warning 7:47 deprecated: `validation` as a mapping is an old spelling (write a list of validators, each with a `type`)
            warning 7:77 no-effect: `allow_stderr` has no effect: a model call has no stderr
            warning 7:97 no-effect: `timeout_seconds` has no effect: `execution.iteration_timeout` limits an iteration
        "#]],
    );
}
