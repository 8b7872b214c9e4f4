//! What a run has seen of its tools: digests of their descriptions, also those of earlier processes, and tools that cannot be
//! offered. A tool host reports both, and the driver journals them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::locks::lock;
use trefoil_machine::journal::ToolDigest;

/// The descriptions that a run has seen, as digests.
#[derive(Debug, Default)]
pub struct ToolDigests(Mutex<BTreeMap<(String, String), StoredDigest>>);

#[derive(Debug)]
struct StoredDigest {
    text: String,
    /// Whether the journal has it.
    stored: bool,
}

impl ToolDigests {
    /// Adds what the journal has. The first digest of a tool counts.
    pub(crate) fn load_stored(&self, tools: &[ToolDigest]) {
        let mut all = lock(&self.0);
        for ToolDigest { place, tool, digest } in tools {
            let digest = || StoredDigest { text: digest.clone(), stored: true };
            all.entry((place.clone(), tool.clone())).or_insert_with(digest);
        }
    }

    /// Those that the journal does not have yet. They count as stored from now on.
    pub(crate) fn take_unstored(&self, tools: Vec<ToolDigest>) -> Vec<ToolDigest> {
        let mut all = lock(&self.0);
        let mut is_new = |seen: &ToolDigest| {
            let known = all.get_mut(&(seen.place.clone(), seen.tool.clone()));
            known.is_some_and(|known| known.text == seen.digest && !std::mem::replace(&mut known.stored, true))
        };
        tools.into_iter().filter(|seen| is_new(seen)).collect()
    }

    fn is_same(&self, seen: &ToolDigest) -> bool {
        let mut all = lock(&self.0);
        let digest = || StoredDigest { text: seen.digest.clone(), stored: false };
        all.entry((seen.place.clone(), seen.tool.clone())).or_insert_with(digest).text == seen.digest
    }
}

/// A tool that cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTool {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// What one call reports about tools.
#[derive(Debug, Default)]
pub(super) struct ToolReports {
    run: Arc<ToolDigests>,
    seen: Mutex<Vec<ToolDigest>>,
    skipped: Mutex<Vec<SkippedTool>>,
}

impl ToolReports {
    pub fn for_run(run: Arc<ToolDigests>) -> Self {
        Self { run, ..Self::default() }
    }

    pub fn add_digest(&self, place: &str, tool: &str, digest: &str) -> bool {
        let seen = ToolDigest { place: place.to_owned(), tool: tool.to_owned(), digest: digest.to_owned() };
        let same = self.run.is_same(&seen);
        if same {
            lock(&self.seen).push(seen);
        }
        same
    }

    pub fn add_skipped(&self, name: &str, why: String) {
        let skipped = SkippedTool { name: name.to_owned(), why };
        lock(&self.skipped).push(skipped);
    }

    pub fn take_digests(&self) -> Vec<ToolDigest> {
        self.run.take_unstored(std::mem::take(&mut *lock(&self.seen)))
    }

    pub fn take_skipped(&self) -> Vec<SkippedTool> {
        std::mem::take(&mut *lock(&self.skipped))
    }
}
