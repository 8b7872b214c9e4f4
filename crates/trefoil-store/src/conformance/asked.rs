//! The index of model requests.

use trefoil_machine::PrivateValue;
use trefoil_machine::journal::Cited;
use trefoil_machine::{About, ContentKey, EntryKind, Key, RunError};

use super::{batch, begun, claim, completed, done, entry, equal, finished, started};
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

async fn found(store: &dyn Store, content: u8) -> Result<Vec<String>, String> {
    done(store.note_asked().await, "taking note of what was asked for")?;
    done(store.asked(ContentKey([content; 32]), 10).await, "looking for runs that asked for something")
}

pub async fn all(store: &dyn Store) -> Result<(), String> {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    for (at, run) in (AT..).zip(["asked-1", "asked-2"]) {
        let lease = begun(store, run, "main", at).await?;
        let entries = [entry(1, scheduled(91, "model")), entry(2, scheduled(92, "tool")), entry(3, finished(None))];
        done(store.append(&lease, batch(&entries)?).await, "ending a run")?;
    }
    equal(
        &found(store, 91).await?,
        &names(&["asked-2", "asked-1"]),
        "the runs that asked a model for it, newest first",
    )?;
    equal(&found(store, 92).await?, &names(&[]), "the runs that asked a tool for it")?;
    equal(&done(store.asked(ContentKey([91; 32]), 1).await, "looking")?, &names(&["asked-2"]), "one of them")?;

    // A run in progress, and one that reused an answer of another run.
    let lease = begun(store, "asked-3", "main", AT + 2).await?;
    done(store.append(&lease, batch(&[entry(1, scheduled(93, "model"))])?).await, "appending")?;
    equal(&found(store, 93).await?, &names(&["asked-3"]), "a run that goes on")?;
    let cited = Cited { run: "asked-1".to_owned(), key: None, content: ContentKey([91; 32]), used: None };
    let about = About { from: Some(Box::new(cited)), ..About::default() };
    let kept =
        EntryKind::Completed { key: Key("b".into()), value: PrivateValue::plain("said"), about: Box::new(about) };
    let failed = finished(Some(RunError::new("MODEL_ERROR", "no")));
    done(store.append(&lease, batch(&[entry(2, kept), entry(3, failed)])?).await, "failing")?;
    equal(&found(store, 91).await?.first(), &Some(&"asked-3".to_owned()), "the newest that has the answer")?;

    // A failed run is reopened and makes another request.
    let lease =
        done(store.claim("asked-3", crate::Claim { failed: true, ..claim("suite", AT, AT + 9) }).await, "claiming")?;
    let again =
        EntryKind::Reopened { engine: String::new(), execution: 1, at: AT + 5, again: vec![], changes: Box::default() };
    let entries = [entry(4, again), entry(5, scheduled(94, "model")), entry(6, finished(None))];
    done(store.append(&lease, batch(&entries)?).await, "going on with a run that failed")?;
    equal(&found(store, 94).await?, &names(&["asked-3"]), "what it asked for then")?;
    done(store.delete("asked-3", AT + 10).await, "deleting")?;
    equal(&found(store, 94).await?, &names(&[]), "the runs that asked for it, without one that is gone")?;

    // Runs whose content is not kept are not found.
    let first = batch(&[entry(0, started("asked-4", "main", AT + 3, "in".into()))])?;
    let claim = Some(claim("suite", AT, AT + 10_000));
    let new =
        NewRun { run: "asked-4".to_owned(), claim, batch: first, content: Content::UntilEnd, ..NewRun::default() };
    let lease = done(store.create(new).await, "creating")?.ok_or("it has no lease")?;
    done(store.append(&lease, batch(&[entry(1, scheduled(95, "model"))])?).await, "appending")?;
    equal(&found(store, 95).await?, &names(&[]), "a run whose content is kept until its end")?;
    let entries = [entry(2, completed("a", "said".into(), 1)), entry(3, finished(None))];
    done(store.append(&lease, batch(&entries)?).await, "ending it")?;
    equal(&found(store, 95).await?, &names(&[]), "a run whose content was removed")?;
    for run in ["asked-1", "asked-2", "asked-4"] {
        done(store.delete(run, AT + 10).await, "deleting")?;
    }
    Ok(())
}
