//! What keeping a step costs: an entry of 1 KB that is on the disk when the append returns, beside a bare write that is.

use std::io::Write as _;

use trefoil_machine::journal::{Entry, EntryKind, VERSION};
use trefoil_machine::{About, Key};
use trefoil_store::{Batch, Claim, Lease, NewRun, Options, SqliteStore, Store as _};

use super::long;
use crate::race::{Race, Standing};

/// Entries a turn: long enough to be timed, short enough that neighbours in time see the same disk.
const TURN: usize = 20;

pub fn races(out: &mut Vec<Standing>) {
    let folder = tempfile::tempdir().unwrap();
    let bytes = Batch::of(&[entry(0)]).unwrap().bodies.first().map(|body| body.json.clone()).unwrap();
    let mut bare = std::fs::File::create(folder.path().join("bare")).unwrap();
    let mut in_place = Kept::open(folder.path(), "in-place", tokio::runtime::Builder::new_multi_thread());
    let mut by_thread = Kept::open(folder.path(), "by-thread", tokio::runtime::Builder::new_current_thread());
    let race = Race::new("store, a step of 1 KB on the disk", "step", TURN)
        .goal("<= 1.5 of a bare write")
        .lane("append and fdatasync", || {
            for _ in 0..TURN {
                bare.write_all(bytes.as_bytes()).unwrap();
                bare.sync_data().unwrap();
            }
        })
        .lane("store, committed in place", || in_place.append())
        .lane("store, committed by its thread", || by_thread.append());
    out.push(long(race));
    eprintln!("an entry of {} bytes takes up {} bytes of the store", bytes.len(), in_place.bytes_an_entry());
}

/// A run in a store of its own.
struct Kept {
    runtime: tokio::runtime::Runtime,
    store: SqliteStore,
    lease: Lease,
    next: u64,
    empty: u64,
}

impl Kept {
    fn open(folder: &std::path::Path, name: &str, mut runtime: tokio::runtime::Builder) -> Self {
        let runtime = runtime.enable_time().build().unwrap();
        let store = SqliteStore::open(folder.join(name), Options::default()).unwrap();
        let claim = Some(Claim { owner: "bench".to_owned(), now: 0, until: 1, gone: None, failed: false });
        let run = NewRun { run: "bench".to_owned(), claim, ..NewRun::default() };
        let lease = runtime.block_on(store.create(run)).unwrap().unwrap();
        let empty = runtime.block_on(store.size()).unwrap().used;
        Self { runtime, store, lease, next: 0, empty }
    }

    fn append(&mut self) {
        for _ in 0..TURN {
            let batch = Batch::of(&[entry(self.next)]).unwrap();
            self.runtime.block_on(self.store.append(&self.lease, batch)).unwrap();
            self.next += 1;
        }
    }

    fn bytes_an_entry(&self) -> u64 {
        let used = self.runtime.block_on(self.store.size()).unwrap().used;
        used.saturating_sub(self.empty) / self.next.max(1)
    }
}

fn entry(seq: u64) -> Entry {
    let value = format!("{seq:08}").repeat(120).into();
    let kind = EntryKind::Completed { key: Key("main/step".into()), value, about: About::default() };
    Entry { v: VERSION, seq, at_ms: seq, kind }
}
