//! In-memory ports, and shortcuts to run programs with them.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_ir::Program;
use trefoil_runtime::ports::{
    CollectEvents, FnModel, InboxMessageId, Journal, JournalError, MapSecrets, MemoryJournal, NoHumans, NoTools,
    SeededRandom, VirtualClock, echo_model,
};
use trefoil_runtime::{
    DriverOptions, Entry, Event, EventKind, Key, ModelError, ModelErrorKind, ModelProvider, ModelRequest, Ports,
    RunOutcome, driver,
};
use trefoil_template::Value;

/// In-memory ports, with fields that let tests inspect them.
pub struct World {
    pub ports: Ports,
    pub journal: Arc<MemoryJournal>,
    pub events: Arc<CollectEvents>,
    pub clock: Arc<VirtualClock>,
    pub options: DriverOptions,
}

impl World {
    pub fn new(models: impl ModelProvider + 'static) -> Self {
        let journal = Arc::new(MemoryJournal::new());
        let events = Arc::new(CollectEvents::new());
        let clock = Arc::new(VirtualClock::new());
        let ports = Ports {
            models: Arc::new(models),
            tools: Arc::new(NoTools),
            commands: None,
            humans: Arc::new(NoHumans),
            journal: journal.clone(),
            clock: clock.clone(),
            random: Arc::new(SeededRandom::new(1)),
            secrets: Arc::new(MapSecrets::new()),
            events: events.clone(),
        };
        let options = DriverOptions { seed: Some(7), run: Some("r1".to_owned()), ..DriverOptions::default() };
        Self { ports, journal, events, clock, options }
    }

    pub fn echo() -> Self {
        Self::new(echo_model())
    }

    /// A model whose answer depends on the call's key and user message.
    pub fn model(answer: impl Fn(&str, &str) -> Result<String, ModelError> + Send + Sync + 'static) -> Self {
        Self::new(FnModel(move |key: &Key, request: &ModelRequest| {
            let user = request.messages.last().map(|m| m.content.to_text().to_string());
            answer(&key.0, &user.unwrap_or_default())
        }))
    }

    pub fn run(&self, program: &Arc<Program>, input: impl Into<Value>) -> RunOutcome {
        let input = Some(input.into());
        block_on(driver::run(program.clone(), input, self.ports.clone(), self.options.clone()))
    }

    pub fn kinds(&self) -> Vec<EventKind> {
        self.events.collected_events().into_iter().map(|e: Event| e.kind).collect()
    }
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(future)
}

pub fn status(status: u16) -> ModelError {
    ModelError::new(ModelErrorKind::Status(status), format!("status {status}"))
}

/// Converts a value to JSON for readable comparisons.
pub fn json(value: &Value) -> serde_json::Value {
    value.to_json()
}

/// A journal that fails from one entry on.
pub struct Full(pub MemoryJournal, pub u64);

#[async_trait]
impl Journal for Full {
    async fn append_entries(
        &self,
        run: &str,
        entries: &[Entry],
        message_ids: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        if entries.iter().any(|e| e.seq >= self.1) {
            return Err(JournalError::new("no space left"));
        }
        self.0.append_entries(run, entries, message_ids).await
    }
    async fn read_entries(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        self.0.read_entries(run, from).await
    }
}
