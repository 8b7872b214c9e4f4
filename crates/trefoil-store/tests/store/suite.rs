//! The suites that every store and every inbox must pass.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_runtime::conformance::{People, people};
use trefoil_runtime::ports::NoHumans;
use trefoil_runtime::{Arrived, Asked, Decided, HumanInbox, Journal as _};
use trefoil_store::{Durability, Inbox, Letter, LetterKind, Options, Owner, SqliteStore, Store, conformance};
use trefoil_template::Value;

use crate::runs::owner;
use crate::world::{on_both, runtimes, started};

#[test]
fn a_store_in_a_file_does_what_a_store_does() {
    for durability in [Durability::Sync, Durability::Batch] {
        for runtime in runtimes() {
            let folder = tempfile::tempdir().unwrap();
            let options = Options { durability, ..Options::default() };
            let store = SqliteStore::open(folder.path().join("runs.db"), options).unwrap();
            runtime.block_on(conformance::store(Arc::new(store))).unwrap();
        }
    }
}

/// People who write from another process to the runs of this one.
struct Letters {
    inbox: Arc<Inbox>,
    elsewhere: SqliteStore,
    asked: Arc<Asked>,
}

#[async_trait]
impl People for Letters {
    fn inbox(&self) -> Arc<dyn HumanInbox> {
        self.inbox.clone()
    }
    async fn send(&self, run: &str, what: Arrived) -> bool {
        let (kind, key, value) = match what {
            Arrived::Answer { key, text, .. } => (LetterKind::Answer, key.to_string(), Value::from(text)),
            Arrived::Decided(key, Decided::Retry) => (LetterKind::Signal, key.to_string(), "retry".into()),
            Arrived::Decided(key, Decided::Fail) => (LetterKind::Signal, key.to_string(), "fail".into()),
            Arrived::Decided(key, Decided::Done(value)) => {
                (LetterKind::Signal, key.to_string(), [(Letter::DONE, value)].into_iter().collect())
            }
            Arrived::Continue(run) => (LetterKind::Signal, run, Letter::CONTINUE.into()),
            Arrived::Cancel => (LetterKind::Cancel, String::new(), Value::Null),
            Arrived::Unknown => (LetterKind::Signal, String::new(), "unknown".into()),
        };
        // If a person answers in this process, the suite tests that instead.
        *self.asked == Asked::Later
            && self.elsewhere.post(run, Letter { kind, key, value, at: 1, as_of: 1 }).await.is_ok()
    }
    fn asked(&self) -> &Asked {
        &self.asked
    }
}

#[test]
fn an_inbox_of_letters_does_what_an_inbox_does() {
    type Somebody = (Option<Arc<dyn HumanInbox>>, Arc<Asked>);
    let somebody: [Somebody; 2] = [(None, Arc::new(Asked::Later)), (Some(Arc::new(NoHumans)), Arc::new(Asked::Nobody))];
    for (here, asked) in &somebody {
        on_both(async || {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("runs.db");
            let owner: Arc<Owner> = owner(&path, "here");
            for run in ["run-a", "run-b"] {
                owner.append(run, &[started(run)], &[]).await.unwrap();
            }
            let inbox = Arc::new(Inbox::new(owner, here.clone()));
            let elsewhere = SqliteStore::open(&path, Options::default()).unwrap();
            let letters = Letters { inbox, elsewhere, asked: asked.clone() };
            assert_eq!(people(&letters).await, Ok(()));
        });
    }
}
