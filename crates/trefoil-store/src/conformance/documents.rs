//! Documents: they are as they were written, only one of several writers succeeds, and those that have expired are not there.

use std::collections::BTreeSet;

use super::{equal, expect, require_refusal, require_success};
use crate::document::Document;
use crate::error::StoreError;
use crate::port::Store;

/// When the documents of this part that expire do so: long ago, by every clock.
const EXPIRY: u64 = 5_000;

pub async fn check_documents(store: &dyn Store) -> Result<(), String> {
    written(store).await?;
    limits(store).await?;
    listed(store).await?;
    expired(store).await?;
    one_of_several_writers(store).await
}

fn document(name: &str, version: u64, value: &str) -> Document {
    let (collection, value) = ("suite".to_owned(), value.to_owned());
    Document { collection, name: name.to_owned(), version, value, expires: None }
}

async fn read(store: &dyn Store, name: &str, now: u64) -> Result<Option<Document>, String> {
    require_success(store.read_document("suite", name, now).await, "reading a document")
}

async fn write(store: &dyn Store, document: Document) -> Result<Option<u64>, String> {
    require_success(store.write_document(document).await, "writing a document")
}

async fn written(store: &dyn Store) -> Result<(), String> {
    equal(&read(store, "one", 0).await?, &None, "a document that nobody wrote")?;
    equal(&write(store, document("one", 7, "1")).await?, &None, "the version of a document that is no longer there")?;
    let large = format!("[\"{}\"]", "l\u{e9} \u{1f340}".repeat(100_000));
    let incompressible: String =
        (0..200_000_u64).map(|n| char::from(b'!' + (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u8 % 90)).collect();
    let mut seen = BTreeSet::new();
    let mut version = 0;
    for value in ["{\"a\":[1,null,\"\u{0}\\u0000\u{e9}\"]}", &large, "", &incompressible, "1"] {
        let new = write(store, document("one", version, value)).await?;
        version = new.ok_or("whoever has seen the last version of a document cannot write it")?;
        expect(version > 0 && version <= 1 << 53 && seen.insert(version), "each write has its own version")?;
        equal(&read(store, "one", 0).await?, &Some(document("one", version, value)), "a document that was written")?;
        for other in [0, 1, version + 1].into_iter().chain(seen.iter().copied().filter(|other| *other != version)) {
            if other != version {
                equal(&write(store, document("one", other, "other")).await?, &None, "a write of another version")?;
            }
        }
    }
    let odd = "\u{0}name/\u{e9} '%_\\";
    expect(write(store, document(odd, 0, "odd")).await?.is_some(), "a name may have any character")?;
    equal(&read(store, odd, 0).await?.map(|found| (found.name, found.value)), &Some((odd.into(), "odd".into())), "it")?;
    let elsewhere = Document { collection: "suite-2".to_owned(), ..document("one", 0, "elsewhere") };
    expect(write(store, elsewhere).await?.is_some(), "other collections have their own names")?;
    equal(&read(store, "one", 0).await?.map(|found| found.value), &Some("1".to_owned()), "the first one")?;

    let delete = async |name: &str| require_success(store.delete_document("suite", name).await, "deleting a document");
    equal(&(delete("one").await?, delete("one").await?, delete(odd).await?), &(true, false, true), "what is deleted")?;
    equal(&read(store, "one", 0).await?, &None, "a deleted document")?;
    equal(&write(store, document("one", version, "late")).await?, &None, "the version of a deleted document")?;
    let again = write(store, document("one", 0, "again")).await?.ok_or("a name cannot be used again")?;
    expect(!seen.contains(&again), "a document of a name that was used before has a new version")?;
    equal(&write(store, document("one", version, "late")).await?, &None, "the version before it was deleted")
}

async fn limits(store: &dyn Store) -> Result<(), String> {
    let longest = "n".repeat(1_024);
    let fits = Document { collection: longest.clone(), ..document(&longest, 0, "fits") };
    expect(write(store, fits).await?.is_some(), "names of 1,024 bytes are written")?;
    let found = require_success(store.read_document(&longest, &longest, 0).await, "reading a document")?;
    equal(&found.map(|found| found.value), &Some("fits".to_owned()), "it")?;
    let (too_long, is_of_document) =
        (format!("{longest}n"), |error: &StoreError| matches!(error, StoreError::Document { .. }));
    for (collection, name) in [("", "n"), ("c", ""), (&too_long, "n"), ("c", &too_long)] {
        let document = Document { collection: collection.to_owned(), ..document(name, 0, "1") };
        require_refusal(store.write_document(document).await, "write a document without a name", is_of_document)?;
    }
    Ok(())
}

async fn listed(store: &dyn Store) -> Result<(), String> {
    let list = async |after: Option<&str>, limit: usize| {
        let found = require_success(store.list_documents("suite-list", after, limit, 0).await, "listing documents")?;
        Ok::<_, String>(found.into_iter().map(|found| (found.name, found.value)).collect::<Vec<_>>())
    };
    equal(&list(None, 10).await?, &vec![], "the list of an empty collection")?;
    let names = ["B", "a", "a/1", "a1", "b", "\u{e9}"];
    for name in ["b", "a1", "\u{e9}", "a", "B", "a/1"] {
        let document = Document { collection: "suite-list".to_owned(), ..document(name, 0, name) };
        expect(write(store, document).await?.is_some(), "a new document is written")?;
    }
    let all: Vec<_> = names.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect();
    equal(&list(None, 10).await?, &all, "the list of all documents, by the bytes of their names")?;
    equal(&list(Some("a"), 2).await?, &all.iter().skip(2).take(2).cloned().collect(), "the list after a name")?;
    equal(
        &list(Some("a0"), usize::MAX).await?,
        &all.iter().skip(3).cloned().collect(),
        "the list after a name that no document has",
    )?;
    equal(&list(Some("\u{e9}"), 10).await?, &vec![], "the list after the last one")?;
    // Lists end somewhere, but none is empty before the last document.
    for n in 0..3 {
        let value = format!("\"{}\"", "v".repeat(3 << 20));
        let document = Document { collection: "suite-large".to_owned(), ..document(&n.to_string(), 0, &value) };
        expect(write(store, document).await?.is_some(), "a large document is written")?;
    }
    let (mut after, mut lists) = (None, Vec::new());
    loop {
        let list = store.list_documents("suite-large", after.as_deref(), 100, 0).await;
        let list = require_success(list, "listing large documents")?;
        let Some(last) = list.last() else { break };
        after = Some(last.name.clone());
        lists.push(list.len());
    }
    equal(&lists, &vec![2, 1], "the lengths of lists of large documents")
}

async fn expired(store: &dyn Store) -> Result<(), String> {
    let expiring = |name: &str, version| Document { expires: Some(EXPIRY), ..document(name, version, "old") };
    let version = write(store, expiring("expiring", 0)).await?.ok_or("a document that expires is not written")?;
    let found = read(store, "expiring", EXPIRY - 1).await?;
    equal(&found, &Some(expiring("expiring", version)), "a document that will expire")?;
    equal(&read(store, "expiring", EXPIRY).await?, &None, "a document that has expired")?;
    let list = async |now| {
        let found = require_success(store.list_documents("suite", Some("expiri"), 1, now).await, "listing")?;
        Ok::<_, String>(found.into_iter().map(|found| found.name).collect::<Vec<_>>())
    };
    equal(&list(EXPIRY - 1).await?, &vec!["expiring".to_owned()], "the list before it expires")?;
    expect(!list(EXPIRY).await?.contains(&"expiring".to_owned()), "a list has no document that has expired")?;
    // By the clock of the store, it has expired long ago.
    equal(&write(store, expiring("expiring", version)).await?, &None, "the version of a document that has expired")?;
    let again = write(store, expiring("expiring", 0)).await?;
    expect(again.is_some_and(|again| again != version), "one that has expired is replaced as if it were not there")?;
    expect(write(store, expiring("kept", 0)).await?.is_some(), "a document that expires is written")?;
    let renewed = Document { expires: None, ..expiring("kept", 0) };
    let kept = write(store, renewed).await?.ok_or("one that has expired cannot be written again")?;
    equal(&read(store, "kept", u64::MAX).await?.map(|found| found.version), &Some(kept), "one that expires no more")?;
    expect(
        !require_success(store.delete_document("suite", "expiring").await, "deleting")?,
        "deleting one that has expired deletes nothing that was there",
    )?;
    for n in 0..3 {
        expect(write(store, expiring(&format!("old-{n}"), 0)).await?.is_some(), "a document that expires is written")?;
    }
    require_success(store.reclaim_runs(EXPIRY - 1).await, "reclaiming")?;
    expect(read(store, "old-0", 0).await?.is_some(), "a document is not deleted before it expires")?;
    require_success(store.reclaim_runs(EXPIRY).await, "reclaiming")?;
    for n in 0..3 {
        expect(read(store, &format!("old-{n}"), 0).await?.is_none(), "documents that have expired are deleted")?;
    }
    expect(read(store, "kept", 0).await?.is_some(), "other documents are not deleted")
}

/// Several writers add one to a number, each twenty times.
async fn one_of_several_writers(store: &dyn Store) -> Result<(), String> {
    let add = async || {
        let mut written = 0;
        while written < 20 {
            let (version, n) = match read(store, "counter", 0).await? {
                Some(found) => (found.version, found.value.parse::<u64>().map_err(|error| error.to_string())?),
                None => (0, 0),
            };
            if write(store, document("counter", version, &(n + 1).to_string())).await?.is_some() {
                written += 1;
            }
        }
        Ok::<(), String>(())
    };
    let (first, second, third, fourth) = tokio::join!(add(), add(), add(), add());
    first.and(second).and(third).and(fourth)?;
    let counted = read(store, "counter", 0).await?.map(|found| found.value);
    equal(&counted, &Some("80".to_owned()), "a number to which four writers have each added one twenty times")
}
