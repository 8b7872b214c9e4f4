//! Compares two runs step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use indexmap::IndexMap;
use trefoil_machine::clock::WorkMs;
use trefoil_machine::journal::{ActivityMetadata, Cited};
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_machine::{Key, PrivateValue, ReplayNotice, ReplayObserver, turn_content};
use trefoil_runtime::driver::HiddenValues;
use trefoil_runtime::{RunError, driver};
use trefoil_store::{Status, Store};

use super::StoredRun;
use super::replay::{StoredJournal, prepared_program};
use super::start_diff::{StartDiff, compare_starts};
use trefoil_project::error::{Error, FoundErrors, Result};
use trefoil_view::change_reasons::{ChangeReason, ComparisonData};
use trefoil_view::diff::WordDiff;

/// Two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDiff {
    /// The first run.
    pub a: RunSide,
    /// The second run.
    pub b: RunSide,
    /// What they started with.
    pub start: StartDiff,
    /// Their activities, in the order of the second run; those only in the first one are inserted at their position.
    pub steps: Vec<StepDiff>,
    /// Their outputs, if both have one.
    pub output: Option<WordDiff>,
}

/// A run as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSide {
    /// Its id.
    pub run: String,
    /// Its flow.
    pub flow: String,
    /// Its status.
    pub status: Status,
    /// The code of its failure.
    pub error: Option<String>,
    /// Model calls.
    pub calls: u64,
    /// The usage.
    pub usage: Usage,
    /// The duration in milliseconds.
    pub duration_ms: u64,
}

/// A step of both runs, or of one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct StepDiff {
    /// The step in the first run.
    pub a: Option<StepSide>,
    /// The step in the second run.
    pub b: Option<StepSide>,
    /// The differences between the requests.
    pub request: Vec<ChangeReason>,
    /// The differences between the answers; `None`: they cannot be compared.
    pub answer: Option<WordDiff>,
}

/// A step in one run.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct StepSide {
    /// Its key.
    pub key: Key,
    /// Its kind.
    pub sort: &'static str,
    /// The answer as text; `None`: it failed, or has not ended.
    pub answer: Option<String>,
    /// The code of its failure.
    pub error: Option<String>,
    /// The earlier run from which the result was taken, if any.
    pub kept: Option<Cited>,
    /// For a model call: the usage.
    pub usage: Option<Usage>,
    /// The duration in milliseconds.
    pub duration_ms: Option<u64>,
}

impl StepDiff {
    /// Whether both runs have it, with the same request and the same answer.
    pub fn is_same(&self) -> bool {
        let (Some(a), Some(b)) = (&self.a, &self.b) else { return false };
        let has_same_end = a.error == b.error && a.answer.is_some() == b.answer.is_some();
        let has_same_answer = match &self.answer {
            Some(words) => words.is_same(),
            None => true,
        };
        has_same_end && self.request.is_empty() && has_same_answer
    }
}

/// Compares two runs of a store: steps are matched by key, and renamed steps by reused results or by content.
///
/// # Errors
///
/// [`Error::Store`] if a run does not exist or its content was removed, [`Error::NotStarted`] if a journal cannot be
/// replayed.
pub async fn compare_runs(store: Arc<dyn Store>, a: &str, b: &str) -> Result<RunDiff> {
    let (stored_a, stored_b) = (StoredRun::read_run(&*store, a).await?, StoredRun::read_run(&*store, b).await?);
    let seen = Arc::new(HiddenValues::default());
    let (acts_a, side_a) = read_activities(store.clone(), &stored_a, &seen).await?;
    let (acts_b, side_b) = read_activities(store.clone(), &stored_b, &seen).await?;
    let start = compare_starts(&*store, &stored_a.started, &stored_b.started).await?;
    let program = prepared_program(&stored_b).program.clone();
    let partner = align(&acts_a, &acts_b, a);
    let mut renamed = BTreeMap::new();
    for (b, a) in &partner {
        if b != *a {
            renamed.insert((*a).clone(), b.clone());
        }
    }
    let comparing = ComparisonData {
        files: &stored_b.flow.loaded_target().files,
        program: Some(&program),
        renamed: &renamed,
        seen: &seen,
    };
    let taken: BTreeSet<&Key> = partner.values().copied().collect();
    // Steps that only the first run has, by the preceding step that both have.
    let mut alone: BTreeMap<Option<&Key>, Vec<&Key>> = BTreeMap::new();
    let mut last = None;
    for key in acts_a.all.keys() {
        match taken.contains(key) {
            true => last = Some(key),
            false => alone.entry(last).or_default().push(key),
        }
    }
    let mut steps = only_in_first(&acts_a, alone.remove(&None));
    for (key, now) in &acts_b.all {
        let then_key = partner.get(key).copied();
        let then = then_key.and_then(|then_key| acts_a.all.get(then_key));
        steps.push(compare_step(then, now, &comparing));
        if then_key.is_some() {
            steps.extend(only_in_first(&acts_a, alone.remove(&then_key)));
        }
    }
    let output = match (&acts_a.output, &acts_b.output) {
        (Some(a), Some(b)) => Some(WordDiff::between_texts(&a.visible_value().to_text(), &b.visible_value().to_text())),
        _ => None,
    };
    Ok(RunDiff { a: side_a, b: side_b, start, steps, output })
}

/// A step of the second run beside its match in the first one.
fn compare_step(then: Option<&ActivityRecord>, now: &ActivityRecord, comparing: &ComparisonData<'_>) -> StepDiff {
    let b = side(now);
    let Some(then) = then else { return StepDiff { a: None, b: Some(b), request: Vec::new(), answer: None } };
    let a = side(then);
    let answer = match (&a.answer, &b.answer) {
        (Some(a), Some(b)) => Some(WordDiff::between_texts(a, b)),
        _ => None,
    };
    let request = comparing.find_reasons(&then.activity, &now.activity);
    StepDiff { a: Some(a), b: Some(b), request, answer }
}

/// Steps of the first run that the second one does not have.
fn only_in_first(first: &RunActivities, keys: Option<Vec<&Key>>) -> Vec<StepDiff> {
    let mut steps = Vec::new();
    for key in keys.unwrap_or_default() {
        if let Some(activity) = first.all.get(key) {
            steps.push(StepDiff { a: Some(side(activity)), b: None, request: Vec::new(), answer: None });
        }
    }
    steps
}

/// For each step of the second run, the matching one of the first, if any. A result that one run cites from the other
/// is certain; then steps are matched by key, then by content.
fn align<'a>(a: &'a RunActivities, b: &RunActivities, run_a: &str) -> BTreeMap<Key, &'a Key> {
    let known = |key: &Key| a.all.get_key_value(key);
    let cited = |key: &Key, now: &ActivityRecord, _: &BTreeSet<&Key>| {
        let cited = now.about.from.as_ref()?;
        if cited.run != run_a {
            return None;
        }
        known(cited.key.as_ref().unwrap_or(key))
    };
    let named = |key: &Key, now: &ActivityRecord, _: &BTreeSet<&Key>| {
        let (key, then) = known(key)?;
        let has_same_sort = then.activity.request.sort_name() == now.activity.request.sort_name();
        if has_same_sort { Some((key, then)) } else { None }
    };
    let alike = |_: &Key, now: &ActivityRecord, taken: &BTreeSet<&Key>| {
        a.all.iter().find(|(key, then)| !taken.contains(*key) && then.activity.content == now.activity.content)
    };
    type FindActivity<'f, 'a> =
        &'f dyn Fn(&Key, &ActivityRecord, &BTreeSet<&Key>) -> Option<(&'a Key, &'a ActivityRecord)>;
    let ways: [FindActivity<'_, 'a>; 3] = [&cited, &named, &alike];
    let mut partner = BTreeMap::new();
    let mut taken: BTreeSet<&Key> = BTreeSet::new();
    for find in ways {
        for (key, now) in &b.all {
            if partner.contains_key(key) {
                continue;
            }
            if let Some((with, _)) = find(key, now, &taken)
                && !taken.contains(with)
            {
                taken.insert(with);
                partner.insert(key.clone(), with);
            }
        }
    }
    partner
}

/// The activities of a run, with their requests and results.
#[derive(Default)]
struct RunActivities {
    all: IndexMap<Key, ActivityRecord>,
    output: Option<PrivateValue>,
    worked: WorkMs,
    /// What must not be shown.
    seen: Arc<HiddenValues>,
}

struct ActivityRecord {
    activity: Activity,
    result: Option<std::result::Result<PrivateValue, RunError>>,
    about: ActivityMetadata,
}

impl ReplayObserver for RunActivities {
    fn observe_notice(&mut self, at: WorkMs, past: ReplayNotice<'_>) {
        self.worked = at;
        let (activity, ended) = match past {
            ReplayNotice::Began(activity, _) => (activity, None),
            ReplayNotice::Ended(activity, result, about) => (activity, Some((result, about))),
            ReplayNotice::Finished(_, output, ..) => {
                self.output = output.cloned();
                if let Some(output) = output {
                    self.seen.hide_parts_of(output);
                }
                return;
            }
            _ => return,
        };
        if matches!(activity.request, Request::Timer { .. } | Request::Decide(_) | Request::Describe(_)) {
            return;
        }
        let act = self.all.entry(activity.key.clone());
        let act = act.or_insert_with(|| ActivityRecord {
            activity: activity.clone(),
            result: None,
            about: ActivityMetadata::default(),
        });
        if let Some((result, about)) = ended {
            if let Ok(value) = result {
                self.seen.hide_parts_of(value);
            }
            (act.activity, act.result, act.about) = (activity.clone(), Some(result.clone()), about.clone());
        }
    }

    fn wants_provenance(&self) -> bool {
        true
    }
}

async fn read_activities(
    store: Arc<dyn Store>,
    stored: &StoredRun,
    seen: &Arc<HiddenValues>,
) -> Result<(RunActivities, RunSide)> {
    let run = &stored.started.run;
    let record = store.record(run).await?;
    if let Some(input) = &stored.started.input {
        seen.hide_parts_of(input);
    }
    let mut acts = RunActivities { seen: seen.clone(), ..RunActivities::default() };
    let looked = driver::look_on(prepared_program(stored), run, &StoredJournal::from_store(store), &mut acts).await;
    looked.map_err(|error| Error::NotStarted(FoundErrors::of_run(&stored.flow.loaded_target().files, &error)))?;
    let side = RunSide {
        run: run.clone(),
        flow: record.flow,
        status: record.status,
        error: record.error.map(|(code, _)| code),
        calls: record.spent.calls,
        usage: record.spent.usage,
        duration_ms: acts.worked.0,
    };
    Ok((acts, side))
}

fn side(act: &ActivityRecord) -> StepSide {
    let (answer, error) = match &act.result {
        Some(Ok(value)) => (Some(turn_content::visible_turn(&value.visible_value()).to_text().to_string()), None),
        Some(Err(error)) => (None, Some(error.code.clone())),
        None => (None, None),
    };
    StepSide {
        key: act.activity.key.clone(),
        sort: act.activity.request.sort_name(),
        answer,
        error,
        kept: act.about.from.as_deref().cloned(),
        usage: act.about.usage,
        duration_ms: act.about.duration_ms,
    }
}
