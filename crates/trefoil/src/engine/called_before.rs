//! Whether the flow of a call was called before: in a run whose results the calling run reuses.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_ir::Program;
use trefoil_machine::journal::{Basis, Started};
use trefoil_machine::{EntryKind, Key};
use trefoil_runtime::ports::CallSite;
use trefoil_store::{Filter, Store};
use trefoil_template::Value;

use super::flows::id_of;
use crate::durable::Stored;

/// Runs before the calling one that are searched for the same call.
const BEFORE: usize = 64;
/// Called runs of one run that are searched for the same call under another name.
const CALLED: usize = 1_000;

/// Whether a call was made in an earlier run.
pub(super) enum CalledBefore {
    /// It was, with this run.
    As(String),
    /// It was not.
    Never,
    /// A run before the calling one cannot be read any more.
    Perhaps(Basis),
}

/// A call of a flow.
pub(super) struct Call<'c> {
    /// Who calls.
    pub at: CallSite<'c>,
    /// The name of the flow.
    pub flow: &'c str,
    /// Its input.
    pub input: Option<Value>,
    /// The called runs whose results other calls of this process reuse.
    pub taken: &'c Mutex<HashSet<String>>,
}

impl Call<'_> {
    /// The run of the same call in the runs before the calling one: the one with its key, or else one with its input whose step
    /// has another name now.
    pub async fn before(&self, store: &dyn Store) -> CalledBefore {
        let mut run = self.at.run.to_owned();
        for _ in 0..BEFORE {
            let Some(started) = started(store, &run).await else {
                return CalledBefore::Perhaps(Basis { run: id_of(&run, self.at.key, 0), ..Basis::default() });
            };
            let Some(basis) = started.basis.filter(|basis| !basis.answers) else { return CalledBefore::Never };
            run = basis.run;
            let found = match last_run_of(store, &run, self.at.key).await {
                None => self.renamed(store, &run).await,
                found => found,
            };
            if let Some(found) = found {
                return CalledBefore::As(found);
            }
        }
        CalledBefore::Never
    }

    /// A call with the same flow and input in an earlier run, if its step is not in the calling run's program.
    async fn renamed(&self, store: &dyn Store, run: &str) -> Option<String> {
        let alike = self.alike(store, run).await;
        if alike.is_empty() {
            return None;
        }
        let (before, now) = (program(store, run).await?, program(store, self.at.run).await?);
        let (before, now) = (labels(&before), labels(&now));
        let is_gone = |key: &Key| {
            let names = key.0.split('/').filter_map(|segment| segment.split(['@', '[', '~', '!']).next());
            names.into_iter().any(|name| before.contains(name) && !now.contains(name))
        };
        let others = self.taken_before(store).await;
        for key in tools_of(store, run).await.iter().filter(|key| is_gone(key)) {
            let Some(found) = last_run_of(store, run, key).await.filter(|found| alike.contains(found)) else {
                continue;
            };
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            if !others.contains(&found) && taken.insert(found.clone()) {
                return Some(found);
            }
        }
        None
    }

    /// The called runs of a run with the same flow and input.
    async fn alike(&self, store: &dyn Store, run: &str) -> HashSet<String> {
        let mut alike = HashSet::new();
        for called in called_by(store, run).await {
            if let Some(started) = started(store, &called).await
                && *started.program.flow == *self.flow
                && started.input == self.input
            {
                alike.insert(called);
            }
        }
        alike
    }

    /// The called runs whose results the calling run has reused already.
    async fn taken_before(&self, store: &dyn Store) -> HashSet<String> {
        let mut taken = HashSet::new();
        for called in called_by(store, self.at.run).await {
            taken.extend(started(store, &called).await.and_then(|started| Some(started.basis?.run)));
        }
        taken
    }
}

/// The last run of the call with this key.
pub(crate) async fn last_run_of(store: &dyn Store, run: &str, key: &Key) -> Option<String> {
    let mut found = None;
    for nth in 0u32.. {
        let id = id_of(run, key, nth);
        if store.record(&id).await.is_err() {
            break;
        }
        found = Some(id);
    }
    found
}

async fn called_by(store: &dyn Store, run: &str) -> Vec<String> {
    let filter = Filter { parent: Some(run.to_owned()), ..Filter::default() };
    let page = store.list(&filter, None, CALLED).await;
    page.map(|page| page.runs.into_iter().map(|record| record.run).collect()).unwrap_or_default()
}

/// The start of a run.
pub(crate) async fn started(store: &dyn Store, run: &str) -> Option<Started> {
    match store.entries(run, 0).await.ok()?.into_iter().next()?.kind {
        EntryKind::Started(started) => Some(*started),
        _ => None,
    }
}

async fn program(store: &dyn Store, run: &str) -> Option<Arc<Program>> {
    Some(Stored::read(store, run).await.ok()?.flow.loaded().program.clone())
}

fn labels(program: &Program) -> BTreeSet<&str> {
    program.steps.iter().filter_map(|step| step.label.as_deref()).collect()
}

/// The keys of the tool calls of a run, in their order.
async fn tools_of(store: &dyn Store, run: &str) -> Vec<Key> {
    let (mut keys, mut next) = (Vec::new(), 0);
    while let Ok(page) = store.entries(run, next).await {
        let Some(end) = page.last() else { break };
        next = end.seq.saturating_add(1);
        keys.extend(page.into_iter().filter_map(|entry| match entry.kind {
            EntryKind::Scheduled { key, sort, .. } if sort == "tool" => Some(key),
            _ => None,
        }));
    }
    keys
}
