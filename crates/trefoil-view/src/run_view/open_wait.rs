//! What a run waits for. Every view of a run says it with this: the trace, its page, lists of runs and their JSON.

use serde_json::{Map, Value, json};
use trefoil_machine::event::{AwaitedActivity, QuestionClosure};
use trefoil_machine::receipt::DisplayedReceipt;
use trefoil_machine::{Key, RunLimits};
use trefoil_runtime::RunError;

/// What a run waits for. Empty: it does not wait.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenWait {
    /// The questions, decisions and called runs.
    pub waiting: Vec<AwaitedActivity>,
    /// What it stopped before, because somebody has to allow it.
    pub stopped: Option<RunError>,
}

impl OpenWait {
    /// Whether it waits for nothing.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.stopped.is_none()
    }

    /// The time of its record from which on the run can continue unasked. None: it is answered, or needs a process with a permission,
    /// which no time gives.
    pub fn due_time(&self, wake_at: Option<u64>) -> Option<u64> {
        let is_denied = self.stopped.is_some() || self.waiting.iter().any(|one| one.why.is_some());
        if is_denied || self.is_answered() { None } else { wake_at }
    }

    /// Whether something that it waits for is answered.
    pub fn is_answered(&self) -> bool {
        self.waiting.iter().any(|one| matches!(one.settled, Some(QuestionClosure::Answered(_))))
    }

    /// The keys of the steps that wait.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let mut keys = Vec::new();
        for asked in &self.waiting {
            // A question of a called run is that of the step that calls it.
            keys.push(asked.calls.first().unwrap_or(&asked.key).as_str());
        }
        if let Some(why) = &self.stopped {
            if let Some(key) = &why.key {
                keys.push(key.as_str());
            }
            for other in &why.others {
                keys.push(other.as_str());
            }
        }
        keys.into_iter()
    }

    /// Adds it to the JSON of a run: `waiting`, each with its question in one sentence, and `stopped`. Without `wake_at`, if no time lets
    /// the run continue.
    pub fn add_to(&self, members: &mut Map<String, Value>) {
        if self.due_time(Some(0)).is_none() {
            members.remove("wake_at");
        }
        if !self.waiting.is_empty() {
            members.insert("waiting".to_owned(), self.waiting.iter().map(question).collect());
        }
        if let Some(why) = &self.stopped {
            let (step, code, message) = (&why.key, &why.code, &why.message);
            let text = why.stopped_before();
            let mut stopped = Map::new();
            for (name, value) in
                [("step", json!(step)), ("code", json!(code)), ("message", json!(message)), ("text", json!(text))]
            {
                stopped.insert(name.to_owned(), value);
            }
            let repeated: Vec<&Key> = why.repeated_steps().collect();
            if !repeated.is_empty() {
                stopped.insert("rerun".to_owned(), json!(repeated));
            }
            if let Some(RunLimits { calls, tokens: _, cost_micro }) = why.raise {
                stopped.insert("raise".to_owned(), json!({"calls": calls, "cost_micro": cost_micro}));
            }
            members.insert("stopped".to_owned(), stopped.into());
        }
    }
}

fn question(one: &AwaitedActivity) -> Value {
    let mut all = json!(one);
    if let Some(members) = all.as_object_mut() {
        members.insert("question".to_owned(), one.describe_question(&one.step).into());
        if let Some(call) = one.called_with() {
            members.insert("called_with".to_owned(), call.into());
        }
        match &one.settled {
            Some(QuestionClosure::Answered(given)) => {
                if let Some(receipt) = &given.receipt {
                    members.insert("given_by".to_owned(), json!(DisplayedReceipt(receipt)));
                }
                members.insert("answered".to_owned(), given.text.as_str().into())
            }
            Some(QuestionClosure::Late) => members.insert("late".to_owned(), true.into()),
            None => None,
        };
    }
    all
}
