//! Drafts of answers in progress: when they are stored, and their content.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use testbed::Build;
use trefoil_ir::{Program, StepKind, ToolCall, ToolKind, ValueExpression};
use trefoil_runtime::ports::{
    CallSite, Draft, InboxMessageId, Journal, JournalError, MapSecrets, MemoryJournal, VirtualClock,
};
use trefoil_runtime::{
    Clock as _, Entry, EntryKind, EventKind, ModelAnswer, ModelError, ModelProvider, ModelRequest, Usage, driver,
};

use crate::world::{World, block_on};

/// A model that sends one piece of text every ten milliseconds, and then ends or not.
struct Speaker {
    clock: Arc<VirtualClock>,
    pieces: Vec<&'static str>,
    ends: bool,
}

#[async_trait]
impl ModelProvider for Speaker {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        for piece in &self.pieces {
            delta(piece);
            self.clock.sleep_ms(10).await;
        }
        if !self.ends {
            std::future::pending::<()>().await;
        }
        Ok(ModelAnswer::new(self.pieces.concat(), Usage::default()))
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "speaker".to_owned()
    }
}

/// A journal that records drafts and when each was written.
struct Keeping {
    journal: MemoryJournal,
    clock: Arc<VirtualClock>,
    kept: Mutex<Vec<(u64, Draft)>>,
}

#[async_trait]
impl Journal for Keeping {
    async fn append_entries(
        &self,
        run: &str,
        entries: &[Entry],
        message_ids: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        self.journal.append_entries(run, entries, message_ids).await
    }
    async fn read_entries(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        self.journal.read_entries(run, from).await
    }
    fn keeps_drafts(&self) -> bool {
        true
    }
    async fn keep_drafts(&self, _run: &str, drafts: &[Draft]) {
        let now = self.clock.now_ms();
        self.kept.lock().unwrap().extend(drafts.iter().map(|draft| (now, draft.clone())));
    }
    async fn read_drafts(&self, _run: &str) -> Vec<Draft> {
        self.kept.lock().unwrap().last().map(|(_, draft)| draft.clone()).into_iter().collect()
    }
}

fn world(pieces: Vec<&'static str>, ends: bool) -> (World, Arc<Keeping>) {
    let mut world = World::echo();
    let clock = world.clock.clone();
    let keeping = Keeping { journal: MemoryJournal::new(), clock: clock.clone(), kept: Mutex::default() };
    let keeping = Arc::new(keeping);
    world.ports.journal = keeping.clone();
    world.ports.models = Arc::new(Speaker { clock, pieces, ends });
    (world, keeping)
}

/// A model call, then a call of a missing tool with a secret.
fn program() -> Arc<Program> {
    let mut b = Build::new();
    let arguments = ValueExpression::Object(vec![("key".into(), b.value("{{secrets.KEY}}"))]);
    let call = ToolCall { name: "none".into(), kind: ToolKind::Local, arguments };
    let tool = b.step("tool", StepKind::Tool(Box::new(call)));
    let say = b.model("say", "x");
    let never = b.sequence("later", &[say, tool]);
    let main = b.flow("main", never, None);
    b.program(main)
}

#[test]
fn however_many_pieces_come_a_draft_is_written_once_a_second() {
    let (world, keeping) = world(vec!["word "; 3_000], true);
    let _ = world.run(&program(), "x");
    let kept = keeping.kept.lock().unwrap();
    assert!((25..=31).contains(&kept.len()), "30 seconds of text were written {} times", kept.len());
    assert!(kept.windows(2).all(|two| two[1].0 >= two[0].0 + 1_000), "no two within a second");
    assert!(kept.windows(2).all(|two| two[1].1.text.starts_with(&two[0].1.text)), "each goes on from the one before");
}

#[test]
fn a_draft_has_no_secrets_and_is_in_the_journal_once_its_call_is_given_up() {
    let (mut world, keeping) = world(vec!["it is open", " ses", "ame", ", and more"], false);
    world.ports.secrets = Arc::new(MapSecrets::new().with_secret("KEY", "open sesame"));
    let stop = world.options.cancel.clone();
    let run = driver::run(program(), Some("x".into()), world.ports.clone(), world.options.clone());
    let interrupt = async {
        world.clock.sleep_ms(30_000).await;
        stop.interrupt_runs();
    };
    let (outcome, ()) = block_on(futures::future::join(run, interrupt));
    assert_eq!(outcome.result.unwrap_err().code, "INTERRUPTED");
    let draft = keeping.kept.lock().unwrap().last().unwrap().1.clone();
    assert_eq!((draft.key.as_str(), draft.text.as_str()), ("later/say", "it is ***, and more"));

    let again = World::echo();
    let ports =
        trefoil_runtime::Ports { journal: keeping.clone(), events: again.events.clone(), ..world.ports.clone() };
    let options = driver::DriverOptions { cancel: trefoil_runtime::CancelSwitch::new(), ..world.options.clone() };
    let stop = options.cancel.clone();
    let run = driver::resume_run(program(), "r1", ports, options);
    let interrupt = async {
        world.clock.sleep_ms(5_000).await;
        stop.interrupt_runs();
    };
    let _ = block_on(futures::future::join(run, interrupt));
    let partial = keeping.journal.entries("r1").into_iter().find_map(|entry| match entry.kind {
        EntryKind::Resumed { mut lost, .. } => lost.pop()?.partial,
        _ => None,
    });
    assert_eq!(partial.as_deref(), Some("it is ***, and more"));
    let shown = again.kinds().into_iter().find_map(|kind| match kind {
        EventKind::ModelStopped { partial, .. } => partial,
        _ => None,
    });
    assert_eq!(shown, partial);
}
