//! Time in which no process has a run counts towards no time limit: every limit of a step and of a run, in each format. Each run is cut
//! off after every entry, the clock moves on by a minute to some days, and the run is resumed: its result is that of a run that nothing
//! interrupted, and so is its duration, except for the work that was lost. Then the resumed run is cut off as well.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_front::FrontEnd;
use trefoil_front::aegis::AegisFrontEnd;
use trefoil_front::agntz::AgntzFrontEnd;
use trefoil_front::sirenspec::SirenSpecFrontEnd;
use trefoil_ir::{Program, ToolKind};
use trefoil_runtime::ports::{CallSite, MapSecrets, MemoryJournal, NoEvents, NoHumans, SeededRandom, VirtualClock};
use trefoil_runtime::{
    Clock as _, CommandHost, CommandOutput, CommandRequest, DriverOptions, Entry, EntryKind, Journal as _, ModelAnswer,
    ModelError, ModelProvider, ModelRequest, OnUnknown, Ports, RecoveryPolicy, RunOutcome, ToolError, ToolHost,
    ToolRequest, Usage, driver,
};
use trefoil_template::Value;

use crate::support::{Folder, show};

/// Everything takes 20 seconds. A judge, an agent whose name starts with `j`, answers with a score, and agent `slow` needs 90 seconds.
struct Slow(Arc<VirtualClock>);

const USUAL_MS: u64 = 20_000;
const LONGEST_MS: u64 = 90_000;

#[async_trait]
impl ModelProvider for Slow {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let speaker = &*request.speaker;
        self.0.sleep_ms(if speaker == "slow" { LONGEST_MS } else { USUAL_MS }).await;
        let text = if speaker.starts_with('j') { "{\"score\": 0.9}".to_owned() } else { format!("by {speaker}") };
        Ok(ModelAnswer::new(text, Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() }))
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "slow".to_owned()
    }
}

#[async_trait]
impl ToolHost for Slow {
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        true
    }
    async fn call_tool(&self, _at: CallSite<'_>, _request: &ToolRequest) -> Result<Value, ToolError> {
        self.0.sleep_ms(USUAL_MS).await;
        Ok("told".into())
    }
}

#[async_trait]
impl CommandHost for Slow {
    async fn run_command(&self, _at: CallSite<'_>, _request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        self.0.sleep_ms(USUAL_MS).await;
        Ok(CommandOutput { exit_code: 0, stdout: "done".to_owned(), stderr: String::new() })
    }
}

struct Case {
    name: &'static str,
    front: &'static dyn FrontEnd,
    files: Vec<(&'static str, String)>,
    /// The result, or the code of the failure.
    expected: &'static str,
}

fn flow(body: &str) -> String {
    let agents =
        ["a", "b", "c", "slow"].map(|name| format!("  {name}: {{ model: \"openai:m\", system: \"do {name}\" }}\n"));
    format!("version: \"0.1\"\nagents:\n{}{body}input: {{ message: go }}\n", agents.concat())
}

fn agent(name: &str, more: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: {name}, version: '1' }}\nspec:\n  runtime: {{}}\n  task: {{ instruction: Work. }}\n{more}"
    )
}

fn workflow(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow }}\nspec:\n  initial_state: A\n  states:\n{states}"
    )
}

fn llm(id: &str) -> String {
    format!("{{ id: {id}, kind: llm, model: {{ provider: openai, name: m }}, instruction: I., prompt: p }}")
}

fn cases() -> Vec<Case> {
    let case =
        |name, front, files: &[(&'static str, String)], expected| Case { name, front, files: files.to_vec(), expected };
    let siren = |name, body: &str, expected| case(name, &SirenSpecFrontEnd, &[("flow.yaml", flow(body))], expected);
    let chain = "nodes:\n  one: { agent: a, writes: output.one }\n  two: { agent: b, writes: output.two }\n  three: { agent: c, writes: output.three }\nedges: [{ from: one, to: two }, { from: two, to: three }]\n";
    let factory = |more: &str| {
        format!(
            "nodes:\n  all: {{ type: factory, agent: a, for_each: '[1, 2, 3, 4]', concurrency: 2, writes: output.all{more} }}\n"
        )
    };
    let agents: Vec<(&'static str, String)> = ["a", "b", "j", "slow"]
        .into_iter()
        .zip(["a.yaml", "b.yaml", "j.yaml", "slow.yaml"])
        .map(|(n, f)| (f, agent(n, "")))
        .collect();
    let aegis = |name, states: &str, expected| {
        let files: Vec<_> = std::iter::once(("flow.yaml", workflow(states))).chain(agents.clone()).collect();
        case(name, &AegisFrontEnd, &files, expected)
    };
    let alone = |name, more: &str, expected| {
        case(
            name,
            &AegisFrontEnd,
            &[("w.yaml", agent("w", more)), ("j.yaml", agent("j", "")), ("jj.yaml", agent("jj", ""))],
            expected,
        )
    };
    let pipeline = |name, limit: &str, steps: &[&str], expected| {
        let steps: String = steps.iter().map(|id| format!("  - agent: {}\n", llm(id))).collect();
        case(
            name,
            &AgntzFrontEnd,
            &[("flow.yaml", format!("id: flow\nkind: sequential\n{limit}steps:\n{steps}"))],
            expected,
        )
    };
    let end = "    END: { kind: System, command: \"echo '{{A.output}}'\" }\n    LATE: { kind: System, command: \"echo late\" }\n";
    let next = "transitions: [{ condition: on_success, target: END }, { condition: on_failure, target: LATE }]";
    vec![
        siren("instances of a factory", &factory(""), r#"{"all":["by a","by a","by a","by a"]}"#),
        siren("instances of a factory that goes on", &factory(", on_failure: continue"), r#"{"all":["by a","by a","by a","by a"]}"#),
        siren("an instance of a factory that is too slow", &factory("").replace("agent: a,", "agent: slow,"), "TIMEOUT"),
        siren("duration, remaining nodes skipped", &format!("{chain}budget: {{ max_duration_s: 70, on_exceeded: skip_remaining }}\n"), r#"{"one":"by a","two":"by b","three":"by c"}"#),
        siren("duration, remaining nodes skipped in any case", &format!("{chain}budget: {{ max_duration_s: 30, on_exceeded: skip_remaining }}\n"), r#"{"one":"by a","two":"by b"}"#),
        siren("duration, stopped", &format!("{chain}budget: {{ max_duration_s: 70, on_exceeded: abort }}\n"), r#"{"one":"by a","two":"by b","three":"by c"}"#),
        siren("duration, stopped in any case", &format!("{chain}budget: {{ max_duration_s: 50, on_exceeded: abort }}\n"), "BUDGET_EXCEEDED"),
        siren("an HTTP request", "nodes:\n  t: { type: tool, tool: http, config: { url: 'https://example.com/', method: POST, timeout: 30 }, output_key: got }\n", "{}"),
        aegis("a state", &format!("    A: {{ kind: Agent, agent: a, input: x, timeout: 30s, {next} }}\n{end}"), "by a\n"),
        aegis("a state that is too slow", &format!("    A: {{ kind: Agent, agent: slow, input: x, timeout: 30s, {next} }}\n{end}"), "late\n"),
        aegis("a command", &format!("    A: {{ kind: System, command: \"make\", timeout: 30s, {next} }}\n{end}"), "done\n"),
        aegis("agents in parallel", &format!("    A: {{ kind: ParallelAgents, agents: [{{ agent: j, input: x, timeout_seconds: 30 }}, {{ agent: j, input: y, timeout_seconds: 30 }}], consensus: {{ strategy: majority, min_judges_required: 2 }}, timeout: 30s, {next} }}\n{end}"), "[{\"score\":0.9},{\"score\":0.9}]\n"),
        alone("an iteration", "  execution: { iteration_timeout: 30s }\n", "by w"),
        alone("all iterations", "  security: { resources: { timeout: 30s } }\n", "by w"),
        alone("a model call", "  execution: { iteration_timeout: 100s, llm_timeout_seconds: 30 }\n", "by w"),
        alone("judges", "  execution: { mode: iterative, validation: [{ type: multi_judge, judges: [j, jj], criteria: Good., min_judges_required: 2, timeout_seconds: 30 }] }\n", "by w"),
        alone("a judge", "  execution: { mode: iterative, iteration_timeout: 50s, validation: [{ type: semantic, judge_agent: j, criteria: Good., timeout_seconds: 30 }] }\n", "by w"),
        pipeline("a pipeline", "timeoutMs: 70000\n", &["a", "b", "c"], "by c"),
        pipeline("a pipeline that is too slow", "timeoutMs: 50000\n", &["a", "b", "c"], "TIMEOUT"),
        case("an agent", &AgntzFrontEnd, &[("a.yaml", "id: a\nkind: llm\ntimeoutMs: 30000\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: p\n".to_owned())], "by a"),
        case("a tool", &AgntzFrontEnd, &[("a.yaml", "id: a\nkind: tool\nname: fetch\ntimeoutMs: 30000\ntool: { kind: local, name: fetch }\n".to_owned())], "told"),
        case("branches", &AgntzFrontEnd, &[("a.yaml", format!("id: p\nkind: parallel\ntimeoutMs: 30000\nbranches:\n  - agent: {}\n  - agent: {}\n", llm("a"), llm("b")))], r#"{"a":"by a","b":"by b"}"#),
    ]
}

/// One process. It has the journal so far, and its clock is this much later than the last entry.
fn process(program: &Arc<Program>, before: &[Entry], later_ms: u64) -> (RunOutcome, Vec<Entry>) {
    let (journal, clock) = (Arc::new(MemoryJournal::new()), Arc::new(VirtualClock::new()));
    let slow = || Arc::new(Slow(clock.clone()));
    let ports = Ports {
        models: slow(),
        tools: slow(),
        commands: Some(slow()),
        humans: Arc::new(NoHumans),
        journal: journal.clone(),
        clock: clock.clone(),
        random: Arc::new(SeededRandom::new(1)),
        secrets: Arc::new(MapSecrets::new()),
        events: Arc::new(NoEvents),
    };
    let recovery = RecoveryPolicy { tools: OnUnknown::Retry, commands: OnUnknown::Retry };
    let options = DriverOptions {
        seed: Some(7),
        run: Some("r1".to_owned()),
        recovery,
        max_fruitless: Some(u32::MAX),
        ..DriverOptions::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let outcome = runtime.block_on(async {
        let Some(last) = before.last() else {
            return driver::run(program.clone(), Some("go".into()), ports, options).await;
        };
        journal.append_entries("r1", before, &[]).await.unwrap();
        clock.sleep_ms(last.at_ms + later_ms).await;
        driver::resume_run(program.clone(), "r1", ports, options).await
    });
    (outcome, journal.entries("r1"))
}

fn shape(outcome: &RunOutcome) -> String {
    match &outcome.result {
        Ok(value) => value.as_str().map_or_else(|| value.to_json().to_string(), str::to_owned),
        Err(error) => error.code.to_string(),
    }
}

/// The numbers of entries after which a process can be killed.
fn cuts(entries: &[Entry], from: usize) -> impl Iterator<Item = usize> {
    let ended = entries.iter().rposition(|entry| matches!(entry.kind, EntryKind::Finished { .. }));
    from..=ended.unwrap_or(entries.len())
}

#[test]
fn time_without_a_process_counts_towards_no_limit_and_no_duration() {
    let (mut runs, mut wrong) = (0, Vec::new());
    for Case { name, front, files, expected } in cases() {
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let folder = Folder::load(front, &files, 0, |_| {});
        let Some(lowered) = folder.lowered else {
            wrong.push(format!("{name}: {}", show(&folder.project.files, folder.diagnostics, true)));
            continue;
        };
        let program = Arc::new(lowered.program);
        let (whole, entries) = process(&program, &[], 0);
        if shape(&whole) != expected {
            wrong.push(format!("{name}: {:?}", whole.result));
            continue;
        }
        let too_long = |outcome: &RunOutcome, cuts: u64| outcome.duration_ms > whole.duration_ms + cuts * LONGEST_MS;
        for cut in cuts(&entries, 1) {
            for later_ms in [61_000, 3_600_000, 5 * 86_400_000] {
                let (outcome, after) = process(&program, &entries[..cut], later_ms);
                runs += 1;
                if shape(&outcome) != expected {
                    wrong.push(format!("{name}, after entry {cut}, {later_ms} ms later: {:?}", outcome.result));
                }
                if too_long(&outcome, 1) {
                    wrong.push(format!("{name}, after entry {cut}: {} ms of work", outcome.duration_ms));
                }
                if later_ms != 3_600_000 {
                    continue;
                }
                for second in cuts(&after, cut + 1) {
                    let (outcome, _) = process(&program, &after[..second], 90_000);
                    runs += 1;
                    if too_long(&outcome, 2) {
                        wrong.push(format!("{name}, after entries {cut} and {second}: {} ms", outcome.duration_ms));
                    }
                    if shape(&outcome) != expected {
                        wrong.push(format!("{name}, after entries {cut} and {second}: {:?}", outcome.result));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {runs}:\n{}", wrong.len(), wrong.join("\n"));
    eprintln!("{} limits, {runs} resumed runs", cases().len());
    assert!(runs > 500, "{runs}");
}
