//! A stored run, before it is resumed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use trefoil_machine::{Entry, EntryKind, ProgramIdentity, RunStart};
use trefoil_runtime::locks::lock;
use trefoil_store::{Content, Store, StoreError};

use trefoil_project::bundle::{FileOrigin, load_run_program};
use trefoil_project::error::{Error, Result};
use trefoil_project::flow::Flow;

/// Flows that are kept at a time.
const MOST_FLOWS: usize = 64;

/// A stored run, before it is resumed.
pub struct StoredRun {
    /// What it runs.
    pub flow: Flow,
    /// How it started.
    pub started: RunStart,
    /// A note for the user who resumes it.
    pub note: Option<String>,
    /// Where its files come from. Whether the settings of a project apply is decided by [`StoredProject`](super::StoredProject).
    pub(super) origin: FileOrigin,
    /// What the store keeps of it.
    pub(crate) content: Content,
    /// How it started, with what later processes have changed.
    pub(crate) now: RunStart,
    /// The steps that later processes may repeat.
    pub(crate) rerun: Vec<String>,
}

impl StoredRun {
    /// Whether the store keeps its content when it has ended, so that another run can use its results.
    pub fn is_kept(&self) -> bool {
        self.content == Content::All
    }

    /// Reads the start of a run, and loads its flow.
    pub async fn read_run(store: &dyn Store, run: &str) -> Result<Self> {
        Self::read_with_flow(store, run, None).await
    }

    /// The same. `flows`: a flow that is there is not loaded again.
    pub(crate) async fn read_with_flow(store: &dyn Store, run: &str, flows: Option<&FlowCache>) -> Result<Self> {
        let record = store.record(run).await?;
        if !record.content.keeps_prompts() {
            return Err(Error::Store(StoreError::NoContent { run: run.to_owned() }));
        }
        let mut page = store.read_entries(run, 0).await?.into_iter();
        let Some(Entry { kind: EntryKind::Started(started), .. }) = page.next() else {
            return Err(Error::Store(StoreError::NoRun { run: run.to_owned() }));
        };
        let known = flows.and_then(|flows| flows.find_flow(&started.program));
        let (flow, origin) = match known {
            Some(known) => known,
            None => {
                let loaded = load_flow(store, run, &started.program).await?;
                if let Some(flows) = flows {
                    flows.keep_flow(&started.program, &loaded);
                }
                loaded
            }
        };
        let note = match &origin {
            FileOrigin::Disk(_) => None,
            FileOrigin::Store { root, .. } => root.as_deref().map(changed),
        };
        let (mut now, mut rerun) = (RunStart::clone(&started), Vec::new());
        let mut page: Vec<Entry> = page.collect();
        loop {
            for entry in &page {
                if let EntryKind::Resumed { changes, .. } | EntryKind::Reopened { changes, .. } = &entry.kind {
                    now.apply_changes(changes);
                    rerun.extend(changes.rerun.iter().cloned());
                }
            }
            // In its first epoch, a run has had one process: the one that started it, or a worker, whose entry is the second.
            let Some(last) = page.last().filter(|_| record.epoch > 1) else { break };
            page = store.read_entries(run, last.seq.saturating_add(1)).await?;
        }
        Ok(Self { flow, started: *started, note, origin, content: record.content, now, rerun })
    }

    /// The settings to continue with: the original start, with the current models, limits and permissions.
    pub fn current_start(&self) -> RunStart {
        self.now.clone()
    }

    /// The file of its entry, where the run was started. Says nothing about its permissions.
    pub(crate) fn entry_path(&self) -> &Path {
        match &self.origin {
            FileOrigin::Disk(file) | FileOrigin::Store { file, .. } => file,
        }
    }

    /// Whether its files are those on the disk.
    pub(crate) fn is_from_disk(&self) -> bool {
        matches!(self.origin, FileOrigin::Disk(_))
    }

    /// Whether this step's tools and commands may be repeated already.
    pub(crate) fn may_rerun(&self, step: &String) -> bool {
        self.rerun.contains(step) || matches!(&self.started.basis, Some(basis) if basis.rerun.contains(step))
    }
}

async fn load_flow(store: &dyn Store, run: &str, program: &ProgramIdentity) -> Result<(Flow, FileOrigin)> {
    let (loaded, origin) = load_run_program(store, run, program).await?;
    let loaded = match &origin {
        FileOrigin::Disk(_) => loaded,
        // Their contents are not in the store, and those on the disk belong to the project that is there.
        FileOrigin::Store { .. } => loaded.without_env_files(),
    };
    Ok((Flow::from(loaded), origin))
}

/// The flows of stored runs, for whoever reads many runs of a few flows: loading one takes longer than reading a short journal. Which
/// files it has is in its key, so it never changes. Only for looking: environment files are as they were when it was loaded.
#[derive(Default)]
pub(crate) struct FlowCache(Mutex<HashMap<String, (Flow, FileOrigin)>>);

impl FlowCache {
    fn find_flow(&self, program: &ProgramIdentity) -> Option<(Flow, FileOrigin)> {
        lock(&self.0).get(program.bundle.as_ref()?).cloned()
    }

    fn keep_flow(&self, program: &ProgramIdentity, loaded: &(Flow, FileOrigin)) {
        let Some(bundle) = &program.bundle else { return };
        let mut flows = lock(&self.0);
        if flows.len() >= MOST_FLOWS {
            flows.clear();
        }
        flows.insert(bundle.clone(), loaded.clone());
    }
}

fn changed(root: &Path) -> String {
    format!("files in `{}` have changed since the run started; it continues with the original files", root.display())
}
