//! Predicts what a run that reuses results would do first: it continues with these results, and performs nothing itself.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_machine::clock::WorkMs;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::RunStart;
use trefoil_machine::key::{ContentKey, Key};
use trefoil_machine::request::{Activity, Request, ToolSpec, ToolsRequest};
use trefoil_machine::{PreparedProgram, ReplayNotice, ReplayObserver};
use trefoil_template::Value;

use super::memo::MemoDecision;
use super::replay_events::JournalObserver;
use super::run_context::RunContext;
use super::{DriverOptions, RunOutcome, begin_run};
use crate::locks::lock;
use crate::ports::{
    CallSite, Clock, CommandHost, CommandOutput, EventSink, HumanInbox, ModelAnswer, ModelError, ModelProvider,
    NoJournal, Ports, QuestionState, Secrets, SeededRandom, ToolError, ToolHost,
};
use crate::{CommandRequest, HumanRequest, ModelRequest, ToolRequest};

/// Runs a program with the results of [`DriverOptions::memo`] until it would have to make a call. No call is made. The memo's decisions
/// say what happened to each request so far.
///
/// Returns the outcome if the run ends without any call: a result, because nothing has changed, or an error. `None`: it would make
/// a call.
///
/// `tools` decides which calls are idempotent, `secrets` which values are set, `described` contains the descriptions of tools, and `events`
/// gets what the run would tell.
pub fn preview_run(
    prepared: Arc<PreparedProgram>,
    input: Option<Value>,
    (tools, secrets): (Arc<dyn ToolHost>, Arc<dyn Secrets>),
    described: ToolDescriptions,
    events: Arc<dyn EventSink>,
    options: DriverOptions,
) -> Option<RunOutcome> {
    let decisions = match &options.memo {
        Some(memo) => memo.reuse_decisions(),
        None => Arc::default(),
    };
    let still = Arc::new(InertPorts { tools, described, decisions });
    let ports = Ports {
        models: still.clone(),
        tools: still.clone(),
        commands: Some(still.clone()),
        humans: still.clone(),
        journal: Arc::new(NoJournal),
        clock: still,
        random: Arc::new(SeededRandom::new(0)),
        secrets,
        events,
    };
    begin_run(prepared, input, ports, DriverOptions { permits: None, ..options }).predict_outcome()
}

/// Descriptions of tools from earlier runs. Every run requests them again, because that is free, so they are not reused as results.
/// A preview asks no tools, so it uses their latest descriptions.
#[derive(Debug, Clone, Default)]
pub struct ToolDescriptions {
    /// By all that was asked at once.
    whole: BTreeMap<ContentKey, Value>,
    /// By where the tools are: the newest first.
    parts: Vec<ToolSetDescription>,
}

/// What was said of the tools at one place.
#[derive(Debug, Clone, PartialEq)]
struct ToolSetDescription {
    kind: ToolKind,
    /// Whether that is all tools there.
    is_all: bool,
    tools: Vec<ToolSpec>,
}

impl ToolDescriptions {
    /// Adds the descriptions in a run's journal. Descriptions that are already known are newer, and stay.
    ///
    /// # Errors
    ///
    /// `JOURNAL_ERROR` if the journal cannot be read, `NONDETERMINISM` if it belongs to another program.
    pub async fn and_of(mut self, prepared: Arc<PreparedProgram>, run: &str, ports: Ports) -> Result<Self, RunError> {
        let context = RunContext::new(prepared, ports, run.into(), 0);
        let mut older = Self::default();
        super::read_journal(&context, &DriverOptions::default(), &mut older).await?;
        for (content, said) in older.whole {
            self.whole.entry(content).or_insert(said);
        }
        self.parts.extend(older.parts);
        Ok(self)
    }

    /// Whether all descriptions are empty, because the provider calls no tools.
    fn are_empty(&self) -> bool {
        let is_empty = |said: &Value| list(said).iter().all(|tools| list(tools).is_empty());
        !self.whole.is_empty() && self.whole.values().all(is_empty)
    }

    /// The tools of this kind, as described in reply to the same request.
    fn tools_of_kind(&self, asked: &Activity, kind: &ToolKind) -> Option<Vec<ToolSpec>> {
        let Request::Describe(wanted) = &asked.request else { return None };
        let mut tools: Vec<ToolSpec> = Vec::new();
        let said = self.whole.get(&asked.content).map(list);
        for (at, request) in wanted.iter().enumerate() {
            if request.kind != *kind {
                continue;
            }
            let all = match said {
                Some(said) => list(said.get(at)?).iter().filter_map(ToolSpec::from_value).collect(),
                None => self.each_of(request)?,
            };
            tools.extend(all);
        }
        let mut known = BTreeSet::new();
        tools.retain(|tool| known.insert(tool.name.clone()));
        Some(tools)
    }

    /// What is known of tools that were never asked for together.
    fn each_of(&self, wanted: &ToolsRequest) -> Option<Vec<ToolSpec>> {
        let mut there = self.parts.iter().filter(|part| part.kind == wanted.kind);
        match &wanted.names {
            None => Some(there.find(|part| part.is_all)?.tools.clone()),
            Some(names) => {
                let known = |name: &Arc<str>| {
                    there.clone().flat_map(|part| &part.tools).find(|tool| tool.name == *name).cloned()
                };
                names.iter().map(known).collect()
            }
        }
    }
}

fn list(value: &Value) -> &[Value] {
    match value {
        Value::List(all) => all,
        _ => &[],
    }
}

impl ReplayObserver for ToolDescriptions {
    fn observe_notice(&mut self, _at: WorkMs, past: ReplayNotice<'_>) {
        let ReplayNotice::Ended(activity, Ok(said), _) = past else { return };
        let Request::Describe(wanted) = &activity.request else { return };
        for (request, said) in wanted.iter().zip(list(said.exact_value())) {
            let tools = list(said).iter().filter_map(ToolSpec::from_value).collect();
            let part = ToolSetDescription { kind: request.kind.clone(), is_all: request.names.is_none(), tools };
            // A loop asks the same again and again.
            self.parts.retain(|known| *known != part);
            self.parts.insert(0, part);
        }
        self.whole.insert(activity.content, said.exact_value().clone());
    }
}

impl JournalObserver for ToolDescriptions {
    fn observe_start(&mut self, _started: &RunStart, _options: &DriverOptions) {}
}

/// Ports that never respond, except with known descriptions of tools.
struct InertPorts {
    tools: Arc<dyn ToolHost>,
    described: ToolDescriptions,
    /// The requests so far.
    decisions: Arc<Mutex<Vec<MemoDecision>>>,
}

impl InertPorts {
    /// The activity requested under this key.
    fn asked(&self, key: &Key) -> Option<Arc<Activity>> {
        let decisions = lock(&self.decisions);
        let latest = decisions.iter().rev().find(|decision| decision.asked.key == *key)?;
        Some(latest.asked.clone())
    }
}

#[async_trait]
impl ModelProvider for InertPorts {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        pending().await
    }
    fn label(&self, request: &ModelRequest) -> String {
        request.model.to_string()
    }
    fn calls_tools(&self) -> bool {
        !self.described.are_empty()
    }
}

#[async_trait]
impl ToolHost for InertPorts {
    /// A tool that is missing is reported when the run is to start.
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        true
    }
    async fn call_tool(&self, _at: CallSite<'_>, _request: &ToolRequest) -> Result<Value, ToolError> {
        pending().await
    }
    async fn list_tools(&self, at: CallSite<'_>, kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        if let Some(asked) = self.asked(at.key)
            && let Some(tools) = self.described.tools_of_kind(&asked, kind)
        {
            return Ok(tools);
        }
        pending().await
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        self.tools.is_idempotent(request)
    }
}

#[async_trait]
impl CommandHost for InertPorts {
    async fn run_command(&self, _at: CallSite<'_>, _request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        pending().await
    }
}

#[async_trait]
impl HumanInbox for InertPorts {
    async fn ask_question(&self, _at: CallSite<'_>, _request: &HumanRequest) -> QuestionState {
        pending().await
    }
}

#[async_trait]
impl Clock for InertPorts {
    fn now_ms(&self) -> u64 {
        0
    }
    async fn sleep_ms(&self, _ms: u64) {
        pending().await
    }
    fn wall_ms(&self) -> u64 {
        0
    }
}
