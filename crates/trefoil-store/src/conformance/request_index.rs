//! The index of model requests.

use trefoil_machine::PrivateValue;
use trefoil_machine::journal::Cited;
use trefoil_machine::{ActivityMetadata, ContentKey, EntryKind, Key, RunError};

use super::{batch, begin_run, claim, completed, entry, equal, finished, require_success, started};
use crate::port::{NewRun, Store};
use crate::record::Content;

/// Later than the runs of the other parts of the suite.
const AT: u64 = 3_000_000;

fn scheduled(content: u8, sort: &'static str) -> EntryKind {
    EntryKind::Scheduled {
        key: Key("a".into()),
        sort: sort.into(),
        content: ContentKey([content; 32]),
        due_ms: None,
        again: false,
    }
}

async fn find_runs(store: &dyn Store, content: u8) -> Result<Vec<String>, String> {
    require_success(store.index_requests().await, "taking note of what was asked for")?;
    require_success(
        store.runs_with_request(ContentKey([content; 32]), 10).await,
        "looking for runs that asked for something",
    )
}

pub async fn check_request_index(store: &dyn Store) -> Result<(), String> {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    for (at, run) in (AT..).zip(["asked-1", "asked-2"]) {
        let lease = begin_run(store, run, "main", at).await?;
        let entries = [entry(1, scheduled(91, "model")), entry(2, scheduled(92, "tool")), entry(3, finished(None))];
        require_success(store.append_batch(&lease, batch(&entries)?).await, "ending a run")?;
    }
    equal(
        &find_runs(store, 91).await?,
        &names(&["asked-2", "asked-1"]),
        "the runs that asked a model for it, newest first",
    )?;
    equal(&find_runs(store, 92).await?, &names(&[]), "the runs that asked a tool for it")?;
    equal(
        &require_success(store.runs_with_request(ContentKey([91; 32]), 1).await, "looking")?,
        &names(&["asked-2"]),
        "one of them",
    )?;

    // A run in progress, and one that reused an answer of another run.
    let lease = begin_run(store, "asked-3", "main", AT + 2).await?;
    require_success(store.append_batch(&lease, batch(&[entry(1, scheduled(93, "model"))])?).await, "appending")?;
    equal(&find_runs(store, 93).await?, &names(&["asked-3"]), "a run that goes on")?;
    let cited = Cited { run: "asked-1".to_owned(), key: None, content: ContentKey([91; 32]), used: None };
    let about = ActivityMetadata { from: Some(Box::new(cited)), ..ActivityMetadata::default() };
    let kept = EntryKind::Completed {
        key: Key("b".into()),
        value: PrivateValue::without_hidden("said"),
        about: Box::new(about),
    };
    let failed = finished(Some(RunError::new("MODEL_ERROR", "no")));
    require_success(store.append_batch(&lease, batch(&[entry(2, kept), entry(3, failed)])?).await, "failing")?;
    equal(&find_runs(store, 91).await?.first(), &Some(&"asked-3".to_owned()), "the newest that has the answer")?;

    // A failed run is reopened and makes another request.
    let lease = require_success(
        store.claim_run("asked-3", crate::Claim { failed: true, ..claim("suite", AT, AT + 9) }).await,
        "claiming",
    )?;
    let again =
        EntryKind::Reopened { engine: String::new(), execution: 1, at: AT + 5, again: vec![], changes: Box::default() };
    let entries = [entry(4, again), entry(5, scheduled(94, "model")), entry(6, finished(None))];
    require_success(store.append_batch(&lease, batch(&entries)?).await, "going on with a run that failed")?;
    equal(&find_runs(store, 94).await?, &names(&["asked-3"]), "what it asked for then")?;
    require_success(store.delete_run("asked-3", AT + 10).await, "deleting")?;
    equal(&find_runs(store, 94).await?, &names(&[]), "the runs that asked for it, without one that is gone")?;

    // Runs whose content is not kept are not found.
    let first = batch(&[entry(0, started("asked-4", "main", AT + 3, "in".into()))])?;
    let claim = Some(claim("suite", AT, AT + 10_000));
    let new =
        NewRun { run: "asked-4".to_owned(), claim, batch: first, content: Content::UntilEnd, ..NewRun::default() };
    let lease = require_success(store.create_run(new).await, "creating")?.ok_or("it has no lease")?;
    require_success(store.append_batch(&lease, batch(&[entry(1, scheduled(95, "model"))])?).await, "appending")?;
    equal(&find_runs(store, 95).await?, &names(&[]), "a run whose content is kept until its end")?;
    let entries = [entry(2, completed("a", "said".into(), 1)), entry(3, finished(None))];
    require_success(store.append_batch(&lease, batch(&entries)?).await, "ending it")?;
    equal(&find_runs(store, 95).await?, &names(&[]), "a run whose content was removed")?;
    for run in ["asked-1", "asked-2", "asked-4"] {
        require_success(store.delete_run(run, AT + 10).await, "deleting")?;
    }
    Ok(())
}
