//! What a run has seen of its tools: digests of their descriptions, also those of earlier processes, and tools that cannot be
//! offered. A tool host reports both, and the driver journals them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_machine::journal::SeenTool;

/// The descriptions that a run has seen, as digests.
#[derive(Debug, Default)]
pub struct SeenTools(Mutex<BTreeMap<(String, String), Digest>>);

#[derive(Debug)]
struct Digest {
    text: String,
    /// Whether the journal has it.
    stored: bool,
}

impl SeenTools {
    /// Adds what the journal has. The first digest of a tool counts.
    pub(crate) fn recall(&self, tools: &[SeenTool]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for SeenTool { place, tool, digest } in tools {
            let digest = || Digest { text: digest.clone(), stored: true };
            all.entry((place.clone(), tool.clone())).or_insert_with(digest);
        }
    }

    /// Those that the journal does not have yet. They count as stored from now on.
    pub(crate) fn unstored(&self, tools: Vec<SeenTool>) -> Vec<SeenTool> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_new = |seen: &SeenTool| {
            let known = all.get_mut(&(seen.place.clone(), seen.tool.clone()));
            known.is_some_and(|known| known.text == seen.digest && !std::mem::replace(&mut known.stored, true))
        };
        tools.into_iter().filter(|seen| is_new(seen)).collect()
    }

    fn is_same(&self, seen: &SeenTool) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let digest = || Digest { text: seen.digest.clone(), stored: false };
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
    run: Arc<SeenTools>,
    seen: Mutex<Vec<SeenTool>>,
    skipped: Mutex<Vec<SkippedTool>>,
}

impl ToolReports {
    pub fn of(run: Arc<SeenTools>) -> Self {
        Self { run, ..Self::default() }
    }

    pub fn sees(&self, place: &str, tool: &str, digest: &str) -> bool {
        let seen = SeenTool { place: place.to_owned(), tool: tool.to_owned(), digest: digest.to_owned() };
        let same = self.run.is_same(&seen);
        if same {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
        }
        same
    }

    pub fn skip(&self, name: &str, why: String) {
        let skipped = SkippedTool { name: name.to_owned(), why };
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner).push(skipped);
    }

    pub fn take_seen(&self) -> Vec<SeenTool> {
        self.run.unstored(std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    pub fn take_skipped(&self) -> Vec<SkippedTool> {
        std::mem::take(&mut *self.skipped.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
