//! The suites that every store and every inbox must pass.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_runtime::conformance::{InboxFixture, check_inbox};
use trefoil_runtime::ports::NoHumans;
use trefoil_runtime::{HumanInbox, Journal as _, QuestionState, RawDecision, RawRunMessage};
use trefoil_store::{
    InboxMessage, MessageKind, Owner, SqliteStore, Store, StoreDurability, StoreInbox, StoreOptions, conformance,
};
use trefoil_template::Value;

use crate::runs::owner;
use crate::world::{on_both, runtimes, started};

#[test]
fn a_store_in_a_file_does_what_a_store_does() {
    for durability in [StoreDurability::Sync, StoreDurability::Batch] {
        for runtime in runtimes() {
            let folder = tempfile::tempdir().unwrap();
            let options = StoreOptions { durability, ..StoreOptions::default() };
            let store = SqliteStore::open(folder.path().join("runs.db"), options).unwrap();
            runtime.block_on(conformance::check_store(Arc::new(store))).unwrap();
        }
    }
}

/// People who write from another process to the runs of this one.
struct Letters {
    inbox: Arc<StoreInbox>,
    elsewhere: SqliteStore,
    asked: Arc<QuestionState>,
}

#[async_trait]
impl InboxFixture for Letters {
    fn inbox(&self) -> Arc<dyn HumanInbox> {
        self.inbox.clone()
    }
    async fn send(&self, run: &str, what: RawRunMessage) -> bool {
        let (kind, key, value) = match what {
            RawRunMessage::Answer { key, text, .. } => (MessageKind::Answer, key.to_string(), Value::from(text)),
            RawRunMessage::Decided(key, RawDecision::Retry) => (MessageKind::Signal, key.to_string(), "retry".into()),
            RawRunMessage::Decided(key, RawDecision::Fail) => (MessageKind::Signal, key.to_string(), "fail".into()),
            RawRunMessage::Decided(key, RawDecision::Done(value)) => {
                (MessageKind::Signal, key.to_string(), [(InboxMessage::DONE, value)].into_iter().collect())
            }
            RawRunMessage::Continue(run) => (MessageKind::Signal, run, InboxMessage::CONTINUE.into()),
            RawRunMessage::Cancel => (MessageKind::Cancel, String::new(), Value::Null),
            RawRunMessage::Unknown => (MessageKind::Signal, String::new(), "unknown".into()),
        };
        // If a person answers in this process, the suite tests that instead.
        *self.asked == QuestionState::Later
            && self
                .elsewhere
                .post_message(run, InboxMessage { kind, key, value, at: 1, as_of: 1, sender: None })
                .await
                .is_ok()
    }
    fn expected_state(&self) -> &QuestionState {
        &self.asked
    }
}

#[test]
fn an_inbox_of_letters_does_what_an_inbox_does() {
    type Somebody = (Option<Arc<dyn HumanInbox>>, Arc<QuestionState>);
    let somebody: [Somebody; 2] =
        [(None, Arc::new(QuestionState::Later)), (Some(Arc::new(NoHumans)), Arc::new(QuestionState::Nobody))];
    for (here, asked) in &somebody {
        on_both(async || {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("runs.db");
            let owner: Arc<Owner> = owner(&path, "here");
            for run in ["run-a", "run-b"] {
                owner.append_entries(run, &[started(run)], &[]).await.unwrap();
            }
            let inbox = Arc::new(StoreInbox::new(owner, here.clone()));
            let elsewhere = SqliteStore::open(&path, StoreOptions::default()).unwrap();
            let letters = Letters { inbox, elsewhere, asked: asked.clone() };
            assert_eq!(check_inbox(&letters).await, Ok(()));
        });
    }
}
