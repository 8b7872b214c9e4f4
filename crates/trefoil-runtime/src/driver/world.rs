//! What a run's activities are performed in: the program, the ports, the values to hide, and the clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_coordinator::Received;
use trefoil_coordinator::memo::{IsIdempotent, Memo};
use trefoil_syntax::Location;
use trefoil_template::{Hole, Value};

use super::Options;
use super::drafts::Drafts;
use super::masking::MaskingLayer;
use super::watch::Watch;
use crate::limits::Delay;
use crate::ports::{CallSite, Decided, Library, Meter, Ports, SeenTools};
use trefoil_machine::error::RunError;
use trefoil_machine::event::EventKind;
use trefoil_machine::key::Key;
use trefoil_machine::machine::Prepared;
use trefoil_machine::request::{Activity, Request};

/// The context in which a run's activities are performed.
pub struct World {
    /// The program.
    pub prepared: Arc<Prepared>,
    /// The ports.
    pub ports: Ports,
    /// The clock and the events.
    pub watch: Watch,
    /// How often the run has been resumed.
    pub execution: u32,
    /// Hides values in what comes in and in what is shown.
    pub masking: Arc<MaskingLayer>,
    /// When to write drafts. `None`: the journal stores no drafts.
    pub drafts: Option<Drafts>,
    /// The descriptions of tools that the run has seen.
    pub seen: Arc<SeenTools>,
    /// The answers of earlier runs.
    pub library: Option<Arc<dyn Library>>,
}

impl World {
    /// Creates the context of one run.
    pub fn new(prepared: Arc<Prepared>, ports: Ports, run: Arc<str>, execution: u32) -> Self {
        let masking = Arc::new(MaskingLayer::new(ports.secrets.clone(), &prepared.holes));
        let watch = Watch::new(run, ports.events.clone(), ports.clock.clone(), masking.clone());
        let drafts = ports.journal.keeps_drafts().then(Drafts::default);
        Self { prepared, ports, watch, execution, masking, drafts, seen: Arc::default(), library: None }
    }

    /// Adds the values that the options declare to be hidden.
    pub fn with(mut self, options: &Options) -> Self {
        if let Some(seen) = &options.seen {
            self.masking = Arc::new(self.masking.sharing(seen.clone()));
            self.watch.hides(self.masking.clone());
        }
        self.masking.protect(options.credentials.iter().cloned());
        self.masking.also(&self.prepared.holes);
        self.masking.also(&options.holes);
        self.masking.keep(&options.keys);
        let results = options.memo.iter().flat_map(Memo::values);
        results.for_each(|value| self.masking.learn(value));
        self.library.clone_from(&options.library);
        self
    }

    /// Which tool calls may be made twice.
    pub fn is_idempotent(&self) -> IsIdempotent {
        let tools = self.ports.tools.clone();
        Arc::new(move |request| tools.is_idempotent(request))
    }

    /// The value as it may be shown.
    pub fn shown(&self, value: &Value) -> Value {
        self.masking.shown(value)
    }

    /// Returns when drafts are due. Dropping the future loses nothing.
    pub async fn drafts_due(&self) {
        let Some(drafts) = &self.drafts else { return std::future::pending().await };
        let left = drafts.due(|| self.watch.now_ms()).await;
        if left > 0 {
            self.ports.clock.sleep(left).await;
        }
    }

    /// The drafts of the run, by the keys of the calls.
    pub async fn read_drafts(&self) -> BTreeMap<Key, String> {
        let drafts = self.ports.journal.drafts(&self.watch.run).await;
        drafts.into_iter().map(|draft| (draft.key, draft.text)).collect()
    }

    /// The decision about an activity whose outcome is unknown, if there is one.
    pub async fn decided(&self, activity: &Activity) -> Option<Received<Decided>> {
        self.ports.humans.decided(self.site(activity, &Meter::default())).await
    }

    /// Tells the ports of a call that ended in another process.
    pub fn recall(&self, activity: &Activity, error: Option<&RunError>) {
        let meter = Meter::default();
        let at = self.site(activity, &meter);
        match &activity.request {
            Request::Model(request) => self.ports.models.recall(at, request, error),
            Request::Tool(request) => self.ports.tools.recall(at, request, error),
            _ => {}
        }
    }

    /// The model's label, for a model call.
    pub fn model(&self, activity: &Activity) -> Option<String> {
        let Request::Model(request) = &activity.request else { return None };
        Some(self.ports.models.label(request))
    }

    /// Tells watchers that a model call waits for a rate limit, or for its provider.
    pub fn delayed(&self, activity: &Activity, delay: Delay) {
        let Request::Model(request) = &activity.request else { return };
        let (agent, Delay { provider, limit, wait, why }) = (request.speaker.to_string(), delay);
        let delay_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let location = Some(self.prepared.program.steps[activity.step].origin);
        let kind = EventKind::ModelWaiting { agent, provider, limit, delay_ms, why };
        self.watch.delta(Some(activity.key.clone()), location, kind);
    }

    /// The call site that is passed to the ports.
    pub fn site<'a>(&'a self, activity: &'a Activity, meter: &'a Meter) -> CallSite<'a> {
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
pub struct At<'a> {
    /// The run's context.
    pub world: &'a World,
    /// The activity.
    pub activity: &'a Activity,
    /// The location of its step.
    pub location: Option<Location>,
    /// Its usage so far.
    pub meter: &'a Meter,
}

impl At<'_> {
    /// The call site that is passed to the ports.
    pub fn site(&self) -> CallSite<'_> {
        self.world.site(self.activity, self.meter)
    }

    /// Reports received text of the activity.
    pub fn delta(&self, kind: EventKind) {
        if let Some(drafts) = &self.world.drafts {
            drafts.came();
        }
        self.world.watch.delta(Some(self.activity.key.clone()), self.location, kind);
    }

    /// Fills the holes of a value.
    pub fn fill(&self, value: &Value) -> Result<Value, RunError> {
        value.fill(&mut |hole: &Hole| self.hole(hole))
    }

    /// The value of a hole.
    pub fn hole(&self, hole: &Hole) -> Result<Option<String>, RunError> {
        self.world.masking.fill(hole)
    }
}
