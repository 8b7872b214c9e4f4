//! "No retry" is not "nothing said about retries": a manifest that allows one try gets one, in every format and place. Without a word
//! about it, a failed call is tried twice more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use trefoil_front::FrontEnd;
use trefoil_front::agntz::AgntzFrontEnd;
use trefoil_front::sirenspec::SirenSpecFrontEnd;
use trefoil_ir::ToolKind;
use trefoil_runtime::ports::{
    CallSite, FnModel, MapSecrets, MemoryJournal, NoEvents, NoHumans, SeededRandom, VirtualClock,
};
use trefoil_runtime::{
    Clock as _, DriverOptions, Key, ModelError, ModelErrorKind, ModelRequest, Ports, ToolError, ToolHost, ToolRequest,
    driver,
};
use trefoil_template::Value;

use crate::support::{Folder, show};

/// Fails every call, and counts them. Each call may be repeated.
struct Failing(Arc<AtomicUsize>);

#[async_trait]
impl ToolHost for Failing {
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        true
    }
    async fn call_tool(&self, _at: CallSite<'_>, _request: &ToolRequest) -> Result<Value, ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Err(ToolError::Status { status: 503, message: "busy".to_owned(), retry_after_ms: None })
    }
    fn is_idempotent(&self, _request: &ToolRequest) -> bool {
        true
    }
}

/// The number of calls that fail, how the run ends, and the milliseconds until then. Only agents named `spare` answer.
fn ended(front: &'static dyn FrontEnd, text: &str) -> (usize, String, u64) {
    let folder = Folder::load(front, &[("flow.yaml", text)], 0, |_| {});
    let Some(lowered) = folder.lowered else {
        panic!("{text}\n{}", show(&folder.project.files, folder.diagnostics, false))
    };
    let (calls, clock) = (Arc::new(AtomicUsize::new(0)), Arc::new(VirtualClock::new()));
    let counted = calls.clone();
    let model = FnModel(move |_: &Key, request: &ModelRequest| {
        if &*request.speaker == "spare" {
            return Ok("spare".to_owned());
        }
        counted.fetch_add(1, Ordering::SeqCst);
        Err(ModelError::new(ModelErrorKind::Status(503), "busy"))
    });
    let ports = Ports {
        models: Arc::new(model),
        tools: Arc::new(Failing(calls.clone())),
        commands: None,
        humans: Arc::new(NoHumans),
        journal: Arc::new(MemoryJournal::new()),
        clock: clock.clone(),
        random: Arc::new(SeededRandom::new(1)),
        secrets: Arc::new(MapSecrets::new()),
        events: Arc::new(NoEvents),
    };
    let options = DriverOptions { seed: Some(7), run: Some("r1".to_owned()), ..DriverOptions::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let started = clock.now_ms();
    let outcome = runtime.block_on(driver::run(Arc::new(lowered.program), None, ports, options));
    let end = match outcome.result {
        Ok(value) => value.to_json().to_string(),
        Err(error) => error.code.to_string(),
    };
    (calls.load(Ordering::SeqCst), end, clock.now_ms() - started)
}

fn siren(body: &str) -> String {
    let agents = "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: s }, spare: { model: \"openai:m\", system: s } }\n";
    format!("{agents}input: {{ message: hi }}\n{body}\n")
}

fn llm(more: &str) -> String {
    format!("id: g\nkind: llm\nmodel: {{ provider: openai, name: m{more} }}\ninstruction: I.\nprompt: x\n")
}

const NONE: &str = "defaults: { retry: { max_attempts: 1 } }\n";

#[test]
fn an_explicit_none_is_one_try_in_every_format_and_place() {
    let agent = |retry: &str| siren(&format!("nodes: {{ n: {{ agent: a, writes: output.r{retry} }} }}"));
    let http = |retry: &str| {
        siren(&format!(
            "nodes: {{ t: {{ type: tool, tool: http, config: {{ url: 'https://example.com/', method: GET }}, output_key: d{retry} }} }}"
        ))
    };
    let swarm = "nodes: { w: { type: swrm, agents: [{ id: one, provider: openai, model: m, prompt: hi }] } }";
    let factory = "nodes: { f: { type: factory, agent: a, for_each: '[1]', writes: output.all } }";
    let with_default = |body: &str| siren(&format!("{NONE}{body}"));
    let cases: Vec<(&str, &'static dyn FrontEnd, String, usize)> = vec![
        ("agent, nothing said", &SirenSpecFrontEnd, agent(""), 3),
        ("agent, one attempt", &SirenSpecFrontEnd, agent(", retry: { max_attempts: 1 }"), 1),
        ("agent, the default of the key", &SirenSpecFrontEnd, agent(", retry: { on: [503] }"), 1),
        ("agent, two attempts", &SirenSpecFrontEnd, agent(", retry: { max_attempts: 2, on: [503] }"), 2),
        ("agent, none by default", &SirenSpecFrontEnd, with_default("nodes: { n: { agent: a, writes: output.r } }"), 1),
        (
            "agent, two although none by default",
            &SirenSpecFrontEnd,
            with_default("nodes: { n: { agent: a, writes: output.r, retry: { max_attempts: 2, on: [503] } } }"),
            2,
        ),
        ("swarm, nothing said", &SirenSpecFrontEnd, siren(swarm), 3),
        ("swarm, none by default", &SirenSpecFrontEnd, with_default(swarm), 1),
        ("factory, nothing said", &SirenSpecFrontEnd, siren(factory), 3),
        ("factory, none by default", &SirenSpecFrontEnd, with_default(factory), 1),
        ("tool, nothing said", &SirenSpecFrontEnd, http(""), 3),
        ("tool, no retry", &SirenSpecFrontEnd, http(", retry: 0"), 1),
        ("tool, one retry", &SirenSpecFrontEnd, http(", retry: 1"), 2),
        ("llm, nothing said", &AgntzFrontEnd, llm(""), 3),
        ("llm, no retry", &AgntzFrontEnd, llm(", maxRetries: 0"), 1),
        ("llm, one retry", &AgntzFrontEnd, llm(", maxRetries: 1"), 2),
        (
            "llm in a pipeline",
            &AgntzFrontEnd,
            "id: p\nkind: sequential\nsteps:\n  - agent: { id: g, kind: llm, model: { provider: openai, name: m, maxRetries: 0 }, instruction: I., prompt: x }\n"
                .to_owned(),
            1,
        ),
        ("llm with tools", &AgntzFrontEnd, format!("{}tools: [{{ kind: local, tools: [t] }}]\n", llm(", maxRetries: 0")), 1),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(name, front, text, tries)| {
            let (calls, end, _) = ended(*front, text);
            (calls != *tries).then(|| format!("{name}: {calls} calls instead of {tries} ({end})"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn without_retries_a_fallback_follows_at_once() {
    let text = siren(
        "nodes:\n  n: { agent: a, writes: output.r, retry: { max_attempts: 1 }, on_failure: { action: fallback, fallback_node: b } }\n  b: { agent: spare, writes: output.r }",
    );
    assert_eq!(ended(&SirenSpecFrontEnd, &text), (1, r#"{"r":"spare"}"#.to_owned(), 0));
}
