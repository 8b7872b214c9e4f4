//! What a run's activities are performed in: the program, the ports, the values to hide, and the clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_coordinator::ReceivedMessage;
use trefoil_coordinator::memo::{IsIdempotent, Memo};
use trefoil_syntax::Location;
use trefoil_template::{Hole, Value};

use super::DriverOptions;
use super::drafts::DraftSchedule;
use super::event_clock::RunEventClock;
use super::masking::MaskingLayer;
use crate::limits::CallDelay;
use crate::ports::{AnswerLibrary, CallSite, Meter, Ports, RawDecision, ToolDigests};
use trefoil_machine::error::RunError;
use trefoil_machine::event::EventKind;
use trefoil_machine::key::Key;
use trefoil_machine::machine::PreparedProgram;
use trefoil_machine::request::{Activity, Request};

/// The context in which a run's activities are performed.
pub struct RunContext {
    /// The program.
    pub prepared: Arc<PreparedProgram>,
    /// The ports.
    pub ports: Ports,
    /// The clock and the events.
    pub watch: RunEventClock,
    /// How often the run has been resumed.
    pub execution: u32,
    /// Hides values in what comes in and in what is shown.
    pub masking: Arc<MaskingLayer>,
    /// When to write drafts. `None`: the journal stores no drafts.
    pub drafts: Option<DraftSchedule>,
    /// The descriptions of tools that the run has seen.
    pub tool_digests: Arc<ToolDigests>,
    /// The answers of earlier runs.
    pub library: Option<Arc<dyn AnswerLibrary>>,
}

impl RunContext {
    /// Creates the context of one run.
    pub fn new(prepared: Arc<PreparedProgram>, ports: Ports, run: Arc<str>, execution: u32) -> Self {
        let masking = Arc::new(MaskingLayer::new(ports.secrets.clone(), &prepared.holes));
        let watch = RunEventClock::new(run, ports.events.clone(), ports.clock.clone(), masking.clone());
        let drafts = ports.journal.keeps_drafts().then(DraftSchedule::default);
        Self { prepared, ports, watch, execution, masking, drafts, tool_digests: Arc::default(), library: None }
    }

    /// Adds the values that the options declare to be hidden.
    pub fn with_options(mut self, options: &DriverOptions) -> Self {
        if let Some(hidden_values) = &options.hidden_values {
            self.masking = Arc::new(self.masking.with_shared_values(hidden_values.clone()));
            self.watch.set_masking(self.masking.clone());
        }
        self.masking.protect_variables(options.credentials.iter().cloned());
        self.masking.hide_holes(&self.prepared.holes);
        self.masking.hide_holes(&options.holes);
        self.masking.hide_secrets(&options.keys);
        let results = options.memo.iter().flat_map(Memo::result_values);
        results.for_each(|value| self.masking.hide_parts_of(value));
        self.library.clone_from(&options.library);
        self
    }

    /// Which tool calls may be made twice.
    pub fn is_idempotent(&self) -> IsIdempotent {
        let tools = self.ports.tools.clone();
        Arc::new(move |request| tools.is_idempotent(request))
    }

    /// The value as it may be shown.
    pub fn displayed_value(&self, value: &Value) -> Value {
        self.masking.displayed_value(value)
    }

    /// Returns when drafts are due. Dropping the future loses nothing.
    pub async fn drafts_due(&self) {
        let Some(drafts) = &self.drafts else { return std::future::pending().await };
        let left = drafts.wait_due(|| self.watch.now_ms()).await;
        if left > 0 {
            self.ports.clock.sleep_ms(left).await;
        }
    }

    /// The drafts of the run, by the keys of the calls.
    pub async fn read_drafts(&self) -> BTreeMap<Key, String> {
        let drafts = self.ports.journal.read_drafts(&self.watch.run).await;
        drafts.into_iter().map(|draft| (draft.key, draft.text)).collect()
    }

    /// The decision about an activity whose outcome is unknown, if there is one.
    pub async fn find_decision(&self, activity: &Activity) -> Option<ReceivedMessage<RawDecision>> {
        self.ports.humans.find_decision(self.call_site(activity, &Meter::default())).await
    }

    /// Tells the ports of a call that ended in another process.
    pub fn recall_ended_call(&self, activity: &Activity, error: Option<&RunError>) {
        let meter = Meter::default();
        let at = self.call_site(activity, &meter);
        match &activity.request {
            Request::Model(request) => self.ports.models.recall_model_call(at, request, error),
            Request::Tool(request) => self.ports.tools.recall_tool_call(at, request, error),
            _ => {}
        }
    }

    /// The model's label, for a model call.
    pub fn model_label(&self, activity: &Activity) -> Option<String> {
        let Request::Model(request) = &activity.request else { return None };
        Some(self.ports.models.label(request))
    }

    /// Tells watchers that a model call waits for a rate limit, or for its provider.
    pub fn report_delay(&self, activity: &Activity, delay: CallDelay) {
        let Request::Model(request) = &activity.request else { return };
        let (agent, CallDelay { provider, limit, wait, why }) = (request.speaker.to_string(), delay);
        let delay_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let location = Some(self.prepared.program.steps[activity.step].origin);
        let kind = EventKind::ModelWaiting { agent, provider, limit, delay_ms, why };
        self.watch.send_delta(Some(activity.key.clone()), location, kind);
    }

    /// The call site that is passed to the ports.
    pub fn call_site<'a>(&'a self, activity: &'a Activity, meter: &'a Meter) -> CallSite<'a> {
        let Activity { key, step, labels, .. } = activity;
        let discloses = matches!(&activity.request, Request::Tool(request) if request.arguments.is_masked());
        let limit_ms = self.prepared.program.steps[*step].policy.timeout_ms;
        CallSite {
            run: &self.watch.run,
            execution: self.execution,
            key,
            step: *step,
            labels,
            meter,
            discloses,
            limit_ms,
        }
    }
}

/// An activity in progress.
pub struct ActivityContext<'a> {
    /// The run's context.
    pub context: &'a RunContext,
    /// The activity.
    pub activity: &'a Activity,
    /// The location of its step.
    pub location: Option<Location>,
    /// Its usage so far.
    pub meter: &'a Meter,
}

impl ActivityContext<'_> {
    /// The call site that is passed to the ports.
    pub fn call_site(&self) -> CallSite<'_> {
        self.context.call_site(self.activity, self.meter)
    }

    /// Reports received text of the activity.
    pub fn report_delta(&self, kind: EventKind) {
        if let Some(drafts) = &self.context.drafts {
            drafts.note_text();
        }
        self.context.watch.send_delta(Some(self.activity.key.clone()), self.location, kind);
    }

    /// Fills the holes of a value.
    pub fn fill_holes(&self, value: &Value) -> Result<Value, RunError> {
        value.fill_holes(&mut |hole: &Hole| self.fill_hole(hole))
    }

    /// The value of a hole.
    pub fn fill_hole(&self, hole: &Hole) -> Result<Option<String>, RunError> {
        self.context.masking.fill_hole(hole)
    }
}
