//! Failures of the journal and of the clock during a run.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json as j;
use trefoil_machine::PreparedProgram;
use trefoil_runtime::ports::{Clock, Journal as _, MemoryJournal, VirtualClock};
use trefoil_runtime::{Entry, EntryKind, EventKind, driver};

use crate::waiting::{Inbox, asking, numbered, resume, world};
use crate::world::{Full, World, block_on, json};
use testbed::Build;

#[test]
fn what_could_not_be_written_is_not_told() {
    let mut b = Build::new();
    let steps = [b.model("a", "x"), b.model("b", "x")];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let whole = World::echo();
    whole.run(&program, "x").result.unwrap();
    for room in 0..whole.journal.entries("r1").len() as u64 {
        let journal = Arc::new(Full(MemoryJournal::new(), room));
        let mut world = World::echo();
        world.ports.journal = journal.clone();
        assert_eq!(world.run(&program, "x").result.unwrap_err().code, "JOURNAL_ERROR");
        let mut told = numbered(&world);
        assert_eq!(told.pop().unwrap().2, "run_finished", "whoever watches sees that it is over");
        let Some(EventKind::RunFinished { output: None, error: Some(error), .. }) = world.kinds().pop() else {
            panic!("it has not ended well: {:?}", world.kinds())
        };
        assert_eq!(error.code, "JOURNAL_ERROR");
        let again = World::echo();
        let entries = journal.0.entries("r1");
        if !entries.is_empty() {
            block_on(again.journal.append_entries("r1", &entries, &[])).unwrap();
            let prepared = PreparedProgram::new(program.clone());
            block_on(driver::retell_events(prepared, "r1", again.ports.clone(), &again.options)).unwrap();
        }
        assert_eq!(told, numbered(&again), "room for {room} entries");
    }
}

#[test]
fn an_answer_that_could_not_be_written_is_kept() {
    let mut b = Build::new();
    let body = asking(&mut b, "first", None);
    let main = b.flow("main", body, None);
    let (program, inbox) = (b.program(main), Arc::new(Inbox::default()));
    inbox.answers.lock().unwrap().insert("first".into(), "yes".into());
    let mut cut = world(&inbox, &[]);
    // The start and the question fit in the journal, the answer does not.
    let full = Arc::new(Full(MemoryJournal::new(), 2));
    cut.ports.journal = full.clone();
    assert_eq!(cut.run(&program, "tea").result.unwrap_err().code, "JOURNAL_ERROR");
    assert!(full.0.processed_messages("r1").is_empty());
    let whole = world(&inbox, &[]);
    assert_eq!(json(&whole.run(&program, "tea").result.unwrap()), j!("yes"));
    assert_eq!(inbox.taken(&whole), ["first"]);
}

/// A clock whose wall time was set back by this many milliseconds.
struct SetBack(Arc<VirtualClock>, u64);

#[async_trait]
impl Clock for SetBack {
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }
    async fn sleep_ms(&self, ms: u64) {
        self.0.sleep_ms(ms).await;
    }
    fn wall_ms(&self) -> u64 {
        self.0.wall_ms() - self.1
    }
}

#[test]
fn a_clock_that_was_set_back_does_not_lengthen_a_time_limit() {
    let mut b = Build::new();
    let steps = [b.wait("rest", 100_000), asking(&mut b, "first", Some(600_000))];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    let (program, inbox) = (b.program(main), Arc::new(Inbox::default()));
    let first = world(&inbox, &[]);
    assert_eq!(first.run(&program, "tea").result.unwrap_err().code, "SUSPENDED");
    // According to its wall clock, the next process starts an hour before the run.
    let mut second = world(&inbox, &first.journal.entries("r1"));
    second.ports.clock = Arc::new(SetBack(second.clock.clone(), 3_600_000));
    second.options.linger_ms = Some(u64::MAX);
    assert_eq!(json(&resume(&second, &program).result.unwrap()), j!("nobody"));
    assert_eq!(second.clock.now_ms(), 600_000, "what was left of the limit");
    let entries = second.journal.entries("r1");
    assert!(entries.is_sorted_by_key(|entry: &Entry| entry.at_ms), "the run's clock never goes back");
    let due = entries.iter().find_map(|entry| match &entry.kind {
        EntryKind::Scheduled { due_ms, .. } if *due_ms > Some(100_000) => *due_ms,
        _ => None,
    });
    assert_eq!((due, entries.last().unwrap().at_ms), (Some(700_000), 700_000));
}

/// Each event, with the time for which the run has been worked on.
fn timed(world: &World) -> Vec<(u64, &'static str)> {
    world.events.collected_events().iter().map(|event| (event.at_ms, event.kind.name())).collect()
}

#[test]
fn the_times_of_events_stand_still_while_no_process_has_the_run() {
    let mut b = Build::new();
    let steps = [b.wait("rest", 100_000), asking(&mut b, "first", None), b.wait("pause", 5_000)];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    let (program, inbox) = (b.program(main), Arc::new(Inbox::default()));
    let first = world(&inbox, &[]);
    first.run(&program, "tea").result.unwrap_err();
    inbox.answers.lock().unwrap().insert("first".into(), "yes".into());
    let entries = first.journal.entries("r1");
    let waits = entries.iter().position(|entry| matches!(entry.kind, EntryKind::Suspended { .. })).unwrap();
    // Killed during the first wait, or suspended before the answer: the next process starts an hour later.
    for (cut, worked) in [(2, 5_000), (waits + 1, 105_000)] {
        let second = world(&inbox, &entries[..cut]);
        block_on(second.clock.sleep_ms(entries[cut - 1].at_ms + 3_600_000));
        let outcome = resume(&second, &program);
        assert_eq!((outcome.result.is_ok(), outcome.duration_ms), (true, worked));
        let told = timed(&second);
        assert!(told.is_sorted_by_key(|(at, _)| *at), "{told:?}");
        assert_eq!(told.last(), Some(&(worked, "run_finished")));
        let third = world(&inbox, &second.journal.entries("r1"));
        let prepared = PreparedProgram::new(program.clone());
        block_on(driver::retell_events(prepared, "r1", third.ports.clone(), &third.options)).unwrap();
        assert_eq!(timed(&third), told);
    }
}
