//! Reads the records of many runs, and the journals of the newest.

use std::collections::{BTreeMap, HashMap};

use trefoil_store::{Record, RunFilter, Store, StoreError, StoreResult};

use super::prompt_versions::{PromptHashes, PromptHistory, add_run, hash_prompts};
use super::step_spending::{RunSteps, StepSpending};
use crate::durable::{FlowCache, StoredRun, prepared_program, with_called_usage};

/// How much is read at most.
#[derive(Debug, Clone, Copy)]
pub struct HistoryLimits {
    /// Records of runs.
    pub records: usize,
    /// Journals, those of the newest runs.
    pub journals: usize,
    /// Entries of these journals.
    pub entries: u64,
    /// Programs, for the versions of prompts. Loading one takes as long as reading many journals.
    pub programs: usize,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { records: 1_000, journals: 200, entries: 200_000, programs: 20 }
    }
}

/// Many runs, and what their steps used.
#[derive(Debug, Default)]
pub struct RecentRuns {
    /// The runs, newest first, with what called runs have used.
    pub records: Vec<Record>,
    /// Whether there are older ones that match.
    pub has_more: bool,
    /// How many journals were read, those of the newest runs.
    pub journals: usize,
    /// Whether the last of them was not read to its end.
    pub is_cut: bool,
    /// How many entries were read.
    pub entries: u64,
    /// How many runs in between have no journal any more, or one that this version cannot read.
    pub unreadable: usize,
    /// What each step used in these journals, the most expensive first.
    pub steps: Vec<StepSpending>,
    /// The versions of the prompts in these journals, by step; empty if they were not asked for.
    pub prompts: Vec<PromptHistory>,
}

/// Reads the runs that match, and what their steps used. `accepts`: whether a run counts. `wants_prompts`: also the versions of prompts.
///
/// # Errors
///
/// If the store cannot be read. A journal that is gone or cannot be read is counted.
pub async fn read_history(
    store: &dyn Store,
    filter: &RunFilter,
    accepts: &(dyn Fn(&Record) -> bool + Send + Sync),
    limits: HistoryLimits,
    wants_prompts: bool,
) -> StoreResult<RecentRuns> {
    let page = store.list_runs(filter, None, limits.records).await?;
    let mut history = RecentRuns { has_more: page.next.is_some(), ..RecentRuns::default() };
    for record in page.runs {
        if accepts(&record) {
            history.records.push(with_called_usage(store, record).await?);
        }
    }
    let mut programs = ProgramPrompts::default();
    let (mut steps, mut prompts) = (BTreeMap::new(), BTreeMap::new());
    for record in &history.records {
        if history.journals >= limits.journals || history.entries >= limits.entries {
            break;
        }
        let left = limits.entries - history.entries;
        let Some(read) = read_steps(store, record, left).await? else {
            history.unreadable += 1;
            continue;
        };
        history.journals += 1;
        history.entries += read.entries;
        history.is_cut = read.is_cut;
        if wants_prompts {
            let hashes = programs.find_hashes(store, record, limits.programs).await;
            add_run(&mut prompts, record, &read.steps, hashes);
        }
        for step in read.steps {
            let place = (step.flow.clone(), step.step.clone());
            match steps.get_mut(&place) {
                None => drop(steps.insert(place, step)),
                Some(known) => StepSpending::add_spending(known, &step),
            }
        }
    }
    history.steps = steps.into_values().collect();
    history.steps.sort_by_key(|step| std::cmp::Reverse((step.usage.cost_micro, step.usage.total_tokens(), step.calls)));
    history.prompts = prompts.into_iter().map(|(step, versions)| PromptHistory { step, versions }).collect();
    Ok(history)
}

/// A journal, or the beginning of one.
struct ReadJournal {
    steps: Vec<StepSpending>,
    entries: u64,
    is_cut: bool,
}

/// What the steps of a run used, from the first entries of its journal, `most` and the rest of a page. `None`: it cannot be read.
async fn read_steps(store: &dyn Store, record: &Record, most: u64) -> StoreResult<Option<ReadJournal>> {
    if !record.content.keeps_prompts() {
        return Ok(None);
    }
    let mut steps = RunSteps::of_run(&record.run, &record.flow);
    let mut next = 0;
    loop {
        let page = match store.read_entries(&record.run, next).await {
            Ok(page) => page,
            // It was deleted or emptied meanwhile, or a later version has written it.
            Err(StoreError::NoContent { .. } | StoreError::NoRun { .. } | StoreError::Entry { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(last) = page.last().map(|entry| entry.seq) else { break };
        next = last.saturating_add(1);
        for entry in &page {
            steps.add_entry(&entry.kind);
        }
        if next >= most {
            break;
        }
    }
    Ok(Some(ReadJournal { steps: steps.into_steps(), entries: next, is_cut: next < record.entries }))
}

/// The prompts of programs, each read once.
#[derive(Default)]
struct ProgramPrompts {
    known: HashMap<String, Option<PromptHashes>>,
    flows: FlowCache,
}

impl ProgramPrompts {
    /// The hashes of the prompts of a run. `None`: its program cannot be loaded, or `most` were already.
    async fn find_hashes(&mut self, store: &dyn Store, record: &Record, most: usize) -> Option<&PromptHashes> {
        if !self.known.contains_key(&record.program) {
            if self.known.len() >= most {
                return None;
            }
            let stored = StoredRun::read_with_flow(store, &record.run, Some(&self.flows)).await.ok();
            let hashes = stored.map(|stored| hash_prompts(&prepared_program(&stored).program));
            self.known.insert(record.program.clone(), hashes);
        }
        self.known.get(&record.program)?.as_ref()
    }
}
