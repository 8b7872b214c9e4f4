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
        let sides = self.a.as_ref().zip(self.b.as_ref());
        let errors = sides.is_some_and(|(a, b)| a.error == b.error && a.answer.is_some() == b.answer.is_some());
        errors && self.request.is_empty() && self.answer.as_ref().is_none_or(WordDiff::is_same)
    }
}

/// Compares two runs of a store: steps are matched by key, and renamed steps by reused results or by content.
///
/// # Errors
///
/// [`Error::Store`] if a run does not exist or its content was removed, [`Error::NotStarted`] if a journal cannot be
/// replayed.
pub async fn compare_runs(store: Arc<dyn Store>, a: &str, b: &str) -> Result<RunDiff> {
    let (one, other) = (StoredRun::read_run(&*store, a).await?, StoredRun::read_run(&*store, b).await?);
    let seen = Arc::new(HiddenValues::default());
    let (acts_a, side_a) = read_activities(store.clone(), &one, &seen).await?;
    let (acts_b, side_b) = read_activities(store.clone(), &other, &seen).await?;
    let program = prepared_program(&other).program.clone();
    let partner = align(&acts_a, &acts_b, a);
    let renamed = partner.iter().filter(|(b, a)| b != *a).map(|(b, a)| ((*a).clone(), b.clone())).collect();
    let comparing = ComparisonData {
        files: &other.flow.loaded_target().files,
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
    let only_a = |keys: Option<Vec<&Key>>| {
        let sides = keys.into_iter().flatten().filter_map(|key| acts_a.all.get(key)).map(side).collect::<Vec<_>>();
        sides.into_iter().map(|a| StepDiff { a: Some(a), b: None, request: Vec::new(), answer: None })
    };
    let mut steps: Vec<StepDiff> = only_a(alone.remove(&None)).collect();
    for (key, now) in &acts_b.all {
        let then = partner.get(key).and_then(|a| acts_a.all.get(*a));
        let (a, b) = (then.map(side), side(now));
        let texts = a.as_ref().and_then(|a| a.answer.as_ref()).zip(b.answer.as_ref());
        let answer = texts.map(|(a, b)| WordDiff::between_texts(a, b));
        let request = then.map(|then| comparing.find_reasons(&then.activity, &now.activity)).unwrap_or_default();
        steps.push(StepDiff { a, b: Some(b), request, answer });
        if let Some(then) = partner.get(key) {
            steps.extend(only_a(alone.remove(&Some(*then))));
        }
    }
    let outputs = acts_a.output.as_ref().zip(acts_b.output.as_ref());
    let output =
        outputs.map(|(a, b)| WordDiff::between_texts(&a.visible_value().to_text(), &b.visible_value().to_text()));
    Ok(RunDiff { a: side_a, b: side_b, steps, output })
}

/// For each step of the second run, the matching one of the first, if any. A result that one run cites from the other
/// is certain; then steps are matched by key, then by content.
fn align<'a>(a: &'a RunActivities, b: &RunActivities, run_a: &str) -> BTreeMap<Key, &'a Key> {
    let known = |key: &Key| a.all.get_key_value(key);
    let cited = |key: &Key, now: &ActivityRecord, _: &BTreeSet<&Key>| {
        let cited = now.about.from.as_ref().filter(|cited| cited.run == run_a)?;
        known(cited.key.as_ref().unwrap_or(key))
    };
    let named = |key: &Key, now: &ActivityRecord, _: &BTreeSet<&Key>| {
        known(key).filter(|(_, then)| then.activity.request.sort_name() == now.activity.request.sort_name())
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
            if let Some((with, _)) = find(key, now, &taken).filter(|(with, _)| !taken.contains(with)) {
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
            ReplayNotice::Began(activity) => (activity, None),
            ReplayNotice::Ended(activity, result, about) => (activity, Some((result, about))),
            ReplayNotice::Finished(_, output, ..) => {
                self.output = output.cloned();
                output.iter().for_each(|output| self.seen.hide_parts_of(output));
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
            result.iter().for_each(|value| self.seen.hide_parts_of(value));
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
    stored.started.input.iter().for_each(|input| seen.hide_parts_of(input));
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
    let text = |value: &PrivateValue| turn_content::visible_turn(&value.visible_value()).to_text().to_string();
    StepSide {
        key: act.activity.key.clone(),
        sort: act.activity.request.sort_name(),
        answer: act.result.as_ref().and_then(|result| result.as_ref().ok()).map(text),
        error: act.result.as_ref().and_then(|result| result.as_ref().err()).map(|error| error.code.clone()),
        kept: act.about.from.as_deref().cloned(),
        usage: act.about.usage,
        duration_ms: act.about.duration_ms,
    }
}
