//! Answers that a run has gone on with: whoever answers the same question later is told who was faster.

use std::sync::{Arc, Mutex};

use trefoil_machine::Key;
use trefoil_machine::receipt::GivenAnswer;
use trefoil_machine::step_path::{RunPath, find_steps};
use trefoil_runtime::locks::lock;
use trefoil_runtime::{Event, EventKind, EventSink};
use trefoil_store::Store;

use super::{UnreadableRun, send_run_events};
use crate::durable::StoredRun;

/// The answer that a run has got last to a question of a step with this name. `None`: it has not asked it, or nobody has answered.
///
/// # Errors
///
/// If the run cannot be read.
pub async fn earlier_answer(
    store: &Arc<dyn Store>,
    run: &str,
    step: &str,
) -> Result<Option<GivenAnswer>, UnreadableRun> {
    let stored = StoredRun::read_run(&**store, run).await?;
    let sink = Arc::new(AnswerSink::default());
    send_run_events(store, &stored, sink.clone()).await?;
    let answers = lock(&sink.0);
    let mut named = Vec::new();
    for (index, (key, _)) in answers.iter().enumerate() {
        named.push((RunPath::from_key(key), index));
    }
    let last = find_steps(step, named).into_iter().max();
    Ok(last.and_then(|index| answers.get(index)).map(|(_, answer)| answer.clone()))
}

/// Collects the answers and decisions of people, in their order.
#[derive(Default)]
struct AnswerSink(Mutex<Vec<(Key, GivenAnswer)>>);

impl EventSink for AnswerSink {
    fn receive_event(&self, event: &Event) {
        let Some(key) = &event.key else { return };
        let (text, receipt) = match &event.kind {
            EventKind::EffectFinished { value, given_by: Some(receipt), .. } => (value.to_text().to_string(), receipt),
            EventKind::EffectFailed { given_by: Some(receipt), .. } => ("fail".to_owned(), receipt),
            _ => return,
        };
        let receipt = Some((**receipt).clone());
        lock(&self.0).push((key.clone(), GivenAnswer { text, receipt }));
    }
}
