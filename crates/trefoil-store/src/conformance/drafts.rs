//! Drafts: partial answers of calls that have not ended.

use trefoil_machine::Key;
use trefoil_runtime::ports::Draft;
use trefoil_template::Value;

use super::{batch, begin_run, claim, completed, entry, equal, finished, require_success, resumed, scheduled, started};
use crate::error::StoreError;
use crate::lease::Claim;
use crate::port::{NewRun, Store};
use crate::record::Content;

const AT: u64 = 1_500_000;

fn draft(key: &str, text: &str) -> Draft {
    Draft { key: Key(key.into()), text: text.to_owned() }
}

pub async fn check_drafts(store: &dyn Store) -> Result<(), String> {
    let lease = begin_run(store, "draft", "main", AT).await?;
    let other = begin_run(store, "draft-other", "main", AT).await?;
    let of = async |run: &str| require_success(store.read_drafts(run).await, "reading drafts");
    equal(&of("draft").await?, &vec![], "the drafts of a run without any")?;
    let before = require_success(store.record("draft").await, "reading")?;
    let calls = ["a", "b", "c", "d"].map(scheduled);
    let calls: Vec<_> = (1..).zip(calls).map(|(seq, kind)| entry(seq, kind)).collect();
    require_success(store.append_batch(&lease, batch(&calls)?).await, "appending")?;
    let first = vec![draft("a", "so"), draft("b", "be"), draft("c", "go"), draft("d", "no")];
    require_success(store.store_drafts(&lease, first).await, "keeping drafts")?;
    require_success(
        store.store_drafts(&lease, vec![draft("a", "so far, \u{1f340} so \u{0}good")]).await,
        "keeping a longer one",
    )?;
    require_success(store.store_drafts(&other, vec![draft("a", "another")]).await, "keeping those of another run")?;
    let a = draft("a", "so far, \u{1f340} so \u{0}good");
    equal(&of("draft").await?, &vec![a.clone(), draft("b", "be"), draft("c", "go"), draft("d", "no")], "drafts")?;
    equal(
        &require_success(store.record("draft").await, "reading")?.entries,
        &(before.entries + 4),
        "entries, for which drafts do not count",
    )?;

    require_success(
        store.append_batch(&lease, batch(&[entry(5, completed("b", "be".into(), 5))])?).await,
        "ending an answer",
    )?;
    equal(
        &of("draft").await?,
        &vec![a.clone(), draft("c", "go"), draft("d", "no")],
        "drafts when one answer has ended",
    )?;
    require_success(store.append_batch(&lease, batch(&[entry(6, resumed("c"))])?).await, "losing an answer")?;
    equal(&of("draft").await?, &vec![a, draft("d", "no")], "drafts when one answer is lost")?;
    require_success(store.append_batch(&lease, batch(&[entry(7, finished(None))])?).await, "ending the run")?;
    equal(&of("draft").await?, &vec![], "drafts of a run that has ended")?;

    // Another process has claimed the run.
    let gone = Some("suite".to_owned());
    let later = Claim { gone, ..claim("later", AT + 50_000, AT + 60_000) };
    let later = require_success(store.claim_run("draft-other", later).await, "claiming")?;
    let _ = store.store_drafts(&other, vec![draft("a", "late"), draft("b", "late")]).await;
    equal(&of("draft-other").await?, &vec![draft("a", "another")], "what whoever has lost a run cannot write to")?;
    require_success(store.release_run(&later).await, "releasing")?;
    require_success(store.delete_run("draft-other", AT).await, "deleting")?;
    let gone = store.read_drafts("draft-other").await;
    super::require_refusal(gone, "read drafts of no run", |e| matches!(e, StoreError::NoRun { .. }))?;

    let first = batch(&[entry(0, started("draft-bare", "main", AT, Value::Null))])?;
    let claim = Some(claim("suite", AT, AT + 10_000));
    let bare =
        NewRun { run: "draft-bare".to_owned(), claim, batch: first, content: Content::UntilEnd, ..NewRun::default() };
    let lease = require_success(store.create_run(bare).await, "creating")?.ok_or("it has no lease")?;
    let _ = store.store_drafts(&lease, vec![draft("a", "secret")]).await;
    equal(&of("draft-bare").await?, &vec![], "drafts of a run whose content is not kept")
}
