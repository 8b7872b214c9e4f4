//! The requirements for every store, as a test suite: an `Err` names the requirement that is not met.
//!
//! A store's tests call [`check_store`] with an empty store. What applies to only one kind of store (files, full disks) is
//! tested separately.

mod documents;
mod drafts;
mod inbox_messages;
mod leases;
mod lists;
mod records;
mod removal;
mod request_index;
mod shared_permits;
mod spending;

use std::sync::Arc;

use trefoil_machine::PrivateValue;
use trefoil_machine::{ActivityMetadata, Flags, Usage};
use trefoil_machine::{
    ContentKey, Entry, EntryKind, Key, ProgramFile, ProgramIdentity, RunError, RunStart, journal::LostModelCall,
    journal::VERSION,
};
use trefoil_runtime::ports::VirtualClock;
use trefoil_template::Value;

use crate::batch::EntryBatch;
use crate::error::StoreError;
use crate::lease::{Claim, Lease};
use crate::owner::Owner;
use crate::port::{NewRun, Store};

/// Runs all parts of the suite in order, in one store that is empty at first.
pub async fn check_store(store: Arc<dyn Store>) -> Result<(), String> {
    let owner = Owner::new(store.clone(), "suite", Arc::new(VirtualClock::new()));
    trefoil_runtime::conformance::check_journal(&*owner).await?;
    records::check_records(&*store).await?;
    leases::check_leases(&*store).await?;
    inbox_messages::check_inbox_messages(&store).await?;
    lists::check_lists(&*store).await?;
    spending::check_spending(&*store).await?;
    documents::check_documents(&*store).await?;
    drafts::check_drafts(&*store).await?;
    request_index::check_request_index(&*store).await?;
    removal::check_removal(&*store).await?;
    shared_permits::check_shared_permits(&store).await?;
    leases::lost_track(&*store).await?;
    let health = store.check_integrity().await.map_err(|e| format!("checking it: {e}"))?;
    match health.problems.first() {
        None => Ok(()),
        Some(problem) => Err(format!("it finds itself damaged: {problem}")),
    }
}

/// Whoever looks sees that leases have expired: for stores that cannot know whether a process lives.
pub async fn expired_leases(store: Arc<dyn Store>) -> Result<(), String> {
    leases::looked_at(&*store).await
}

/// Fails with a description of the requirement.
fn expect(right: bool, wanted: &str) -> Result<(), String> {
    if right { Ok(()) } else { Err(format!("it should be so: {wanted}")) }
}

fn equal<T: PartialEq + std::fmt::Debug>(found: &T, wanted: &T, what: &str) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what} is {found:?}, and should be {wanted:?}")) }
}

/// Requires success.
fn require_success<T>(result: Result<T, StoreError>, what: &str) -> Result<T, String> {
    result.map_err(|error| format!("{what}: {error}"))
}

/// Requires a certain failure.
fn require_refusal<T>(
    result: Result<T, StoreError>,
    what: &str,
    why: impl Fn(&StoreError) -> bool,
) -> Result<(), String> {
    match result {
        Ok(_) => Err(format!("it lets somebody {what}")),
        Err(error) if why(&error) => Ok(()),
        Err(error) => Err(format!("it refuses to {what} for the wrong reason: {error}")),
    }
}

fn claim(owner: &str, now: u64, until: u64) -> Claim {
    Claim { owner: owner.to_owned(), now, until, gone: None, failed: false }
}

fn entry(seq: u64, kind: EntryKind) -> Entry {
    Entry { v: VERSION, seq, at_ms: seq * 10, kind }
}

fn batch(entries: &[Entry]) -> Result<EntryBatch, String> {
    require_success(EntryBatch::from_entries(entries), "writing entries as JSON")
}

fn started(run: &str, flow: &str, at: u64, input: Value) -> EntryKind {
    let sources = vec![ProgramFile { path: "main.yaml".to_owned(), sha256: "f0".repeat(32) }];
    let program =
        ProgramIdentity { fingerprint: "0f".repeat(32), flow: flow.to_owned(), sources, ..ProgramIdentity::default() };
    EntryKind::Started(Box::new(RunStart {
        run: run.to_owned(),
        at,
        program,
        input: Some(PrivateValue::without_hidden(input)),
        warnings: Vec::new(),
        flags: Flags::default(),
        answers: "host".to_owned(),
        models: Vec::new(),
        basis: None,
        permissions: Default::default(),
    }))
}

fn scheduled(key: &str) -> EntryKind {
    EntryKind::Scheduled {
        key: Key(key.into()),
        sort: "model".into(),
        content: ContentKey([7; 32]),
        due_ms: None,
        again: false,
    }
}

fn resumed(lost: &str) -> EntryKind {
    let lost = vec![LostModelCall {
        key: Key(lost.into()),
        usage: Usage { unpriced_calls: 1, ..Usage::for_unknown_call() },
        partial: None,
    }];
    EntryKind::Resumed { engine: "0.1.0".to_owned(), execution: 1, lost, changes: Box::default() }
}

fn completed(key: &str, value: Value, input_tokens: u64) -> EntryKind {
    let usage = Usage {
        output_tokens: 2,
        cached_tokens: 1,
        written_tokens: 1,
        cost_micro: 30,
        unpriced_calls: 1,
        ..Usage { input_tokens, ..Usage::default() }
    };
    EntryKind::Completed {
        key: Key(key.into()),
        value: PrivateValue::without_hidden(value),
        about: Box::new(ActivityMetadata {
            model: Some("openai:m".to_owned()),
            ..ActivityMetadata::from_usage(Some(usage))
        }),
    }
}

fn finished(error: Option<RunError>) -> EntryKind {
    let output = error.is_none().then(|| PrivateValue::without_hidden("done"));
    EntryKind::Finished { output, error, items: None, warnings: Vec::new() }
}

/// A started run, owned by `suite` with a lease of 10,000 ms.
async fn begin_run(store: &dyn Store, run: &str, flow: &str, at: u64) -> Result<Lease, String> {
    let batch = batch(&[entry(0, started(run, flow, at, "in".into()))])?;
    let claim = Some(claim("suite", at, at + 10_000));
    let new = NewRun { run: run.to_owned(), claim, batch, now: at, ..NewRun::default() };
    let lease = require_success(store.create_run(new).await, "creating a run")?;
    lease.ok_or_else(|| "a run that is created for somebody has no lease".to_owned())
}

/// A run that has ended: [`begin_run`] plus one entry.
async fn end_run(store: &dyn Store, run: &str, flow: &str, at: u64, error: Option<RunError>) -> Result<(), String> {
    let lease = begin_run(store, run, flow, at).await?;
    require_success(store.append_batch(&lease, batch(&[entry(1, finished(error))])?).await, "ending a run")
}
