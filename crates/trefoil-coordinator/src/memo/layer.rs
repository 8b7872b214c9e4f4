//! The results of one earlier run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::EarlierResult;
use crate::recovery::is_unknown;
use trefoil_machine::clock::WorkMs;
use trefoil_machine::key::{ContentKey, Key, own_step, without_try};
use trefoil_machine::request::{Activity, Request};
use trefoil_machine::step_path::RunPath;
use trefoil_machine::{PreparedProgram, ReplayNotice, ReplayObserver};

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    /// The run's id.
    pub run: Arc<str>,
    /// Results that may be reused.
    pub by_key: BTreeMap<Key, EarlierResult>,
    /// The order in which results arrived.
    pub came: BTreeMap<Key, usize>,
    /// All activities that were started, with their position in the order of starting, even if their results cannot be reused.
    pub done: BTreeMap<Key, (usize, Arc<Activity>)>,
    /// Why an activity has no reusable result.
    pub lost: BTreeMap<Key, LostResultReason>,
    /// Where results were reused from: the run, and the key there.
    pub reused: BTreeMap<Key, (String, Key)>,
    /// Activities that failed with a known outcome: as when a failed run is resumed, they may be tried again.
    pub undone: BTreeSet<Key>,
    /// The run's program.
    pub program: Option<Arc<PreparedProgram>>,
    /// The activities that the user asked to repeat, with or without a result.
    pub wanted: BTreeSet<Key>,
    /// The calls of flows that the user asked to repeat only from these steps of the flow on.
    pub within: BTreeMap<Key, Vec<String>>,
}

/// What is repeated with a step.
#[derive(Debug, Clone, Copy)]
pub enum RepeatScope<'s> {
    /// Nothing else.
    Alone,
    /// All activities that started after it.
    AndLater,
    /// The same; the step is a call, of which only what its flow did from this step on is repeated.
    Within(&'s str),
}

/// Why an activity has no reusable result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostResultReason {
    /// It failed, with this code.
    Failed(String),
    /// It had not ended when its run was stopped.
    Unfinished,
    /// The user asked to repeat it.
    Wanted,
    /// The answer came from this embedded or scripted model.
    MadeUp(String),
    /// Another activity has used the result.
    Taken(Key),
    /// The flow that this tool called was edited.
    Edited(Arc<str>),
}

impl Layer {
    /// An empty layer.
    pub fn for_run(run: &str) -> Self {
        Self { run: run.into(), ..Self::default() }
    }

    /// Whether the layer has a result with this key and content.
    pub fn has_result(&self, key: &Key, content: ContentKey) -> bool {
        matches!(self.by_key.get(key), Some(earlier) if earlier.activity.content == content)
    }

    /// The results that were reused from other runs, with the run and the key there.
    pub fn cited_results(&self) -> impl Iterator<Item = (String, Key)> {
        self.by_key.iter().filter_map(|(key, earlier)| {
            let cited = earlier.about.from.as_ref()?;
            Some((cited.run.clone(), cited.key.as_ref().unwrap_or(key).clone()))
        })
    }

    /// Whether the run performed the activity with this key, and did not reuse a result for it.
    pub fn has_performed(&self, key: &Key) -> bool {
        self.done.contains_key(key) && !self.reused.contains_key(key)
    }

    /// The activities with this key, in any try, that may have had an effect.
    pub fn tries_of(&self, key: &Key) -> impl Iterator<Item = &Key> {
        let step = key.without_try();
        let all = self.done.range(Key(step.into())..).map(|(key, _)| key);
        all.take_while(move |key| key.as_str().starts_with(step)).filter(move |key| key.without_try() == step)
    }

    /// The activities that have a result, in the order in which they started. `dropped`: also those that the user asked to
    /// repeat, and calls of edited flows.
    pub fn activities_with_result(&self, dropped: bool) -> Vec<Arc<Activity>> {
        let is_dropped = |key: &Key| {
            dropped && matches!(self.lost.get(key), Some(LostResultReason::Wanted | LostResultReason::Edited(_)))
        };
        let mut started: Vec<&(usize, Arc<Activity>)> = Vec::new();
        for (key, activity) in &self.done {
            if self.by_key.contains_key(key) || is_dropped(key) {
                started.push(activity);
            }
        }
        started.sort_by_key(|(at, _)| *at);
        started.into_iter().map(|(_, activity)| activity.clone()).collect()
    }

    /// The paths of the activities, in the order in which they started.
    pub fn activity_paths(&self) -> impl Iterator<Item = RunPath<'_>> {
        let mut all: Vec<_> = self.done.iter().collect();
        all.sort_by_key(|(_, (at, _))| *at);
        all.into_iter().map(|(key, _)| RunPath::from_key(key))
    }

    /// Drops the results of a step and of what else is repeated with it, as well as those in `void`, which collects the dropped keys
    /// across runs, newest first. Returns whether the step exists.
    pub fn drop_from(
        &mut self,
        is_of: &dyn Fn(&Activity) -> bool,
        scope: RepeatScope<'_>,
        void: &mut BTreeSet<Key>,
    ) -> bool {
        let first = self.done.values().filter(|(_, activity)| is_of(activity)).map(|(at, _)| *at).min();
        if let Some(first) = first {
            for (key, (at, activity)) in &self.done {
                let is_repeated = match scope {
                    RepeatScope::Alone => is_of(activity),
                    RepeatScope::AndLater | RepeatScope::Within(_) => *at >= first,
                };
                if is_repeated {
                    void.insert(key.clone());
                }
            }
        }
        for (key, (_, activity)) in &self.done {
            if !void.contains(key) {
                continue;
            }
            match scope {
                RepeatScope::Within(inner) if is_of(activity) => {
                    self.within.entry(key.clone()).or_default().push(inner.to_owned());
                }
                _ => drop(self.wanted.insert(key.clone())),
            }
        }
        self.drop_those(|key, _| if void.contains(key) { Some(LostResultReason::Wanted) } else { None });
        first.is_some()
    }

    /// Drops results and records the reasons.
    pub fn drop_those(&mut self, why: impl Fn(&Key, &EarlierResult) -> Option<LostResultReason>) {
        let lost = &mut self.lost;
        self.by_key.retain(|key, earlier| match why(key, earlier) {
            None => true,
            Some(why) => {
                lost.insert(key.clone(), why);
                false
            }
        });
    }
}

/// The codes of activities that were stopped on their way.
const STOPPED: [&str; 2] = ["CANCELLED", "INTERRUPTED"];

/// Collects the results of a replay.
#[derive(Debug)]
pub struct LayerCollector(pub Layer);

impl ReplayObserver for LayerCollector {
    fn observe_notice(&mut self, _at: WorkMs, past: ReplayNotice<'_>) {
        let layer = &mut self.0;
        let at = layer.done.len();
        let (activity, result, about) = match past {
            ReplayNotice::Began(activity, _) => {
                let begun = || (at, Arc::new(activity.clone()));
                layer.done.entry(activity.key.clone()).or_insert_with(begun);
                layer.undone.remove(&activity.key);
                if is_result(activity) && !layer.by_key.contains_key(&activity.key) {
                    layer.lost.insert(activity.key.clone(), LostResultReason::Unfinished);
                }
                return;
            }
            ReplayNotice::Ended(activity, result, about) => (activity, result, about),
            _ => return,
        };
        if let Some(cited) = &about.from {
            let there = cited.key.as_ref().unwrap_or(&activity.key).clone();
            layer.reused.insert(activity.key.clone(), (cited.run.clone(), there));
        } else {
            layer.reused.remove(&activity.key);
        }
        if let Err(error) = result {
            let certain = !STOPPED.contains(&error.code.as_str()) && !is_unknown(error);
            if certain {
                layer.undone.insert(activity.key.clone());
            }
            let lost = if STOPPED.contains(&error.code.as_str()) {
                LostResultReason::Unfinished
            } else {
                LostResultReason::Failed(error.code.clone())
            };
            layer.lost.insert(activity.key.clone(), lost);
        }
        let (Ok(value), true) = (result, is_result(activity)) else { return };
        layer.lost.remove(&activity.key);
        let mut about = about.clone();
        // Of a run that was reopened: the result is in its journal twice, and only the first entry has the usage.
        if let (Some(_), Some(before)) = (about.kept, layer.by_key.get(&activity.key)) {
            about.usage = about.usage.or(before.about.usage);
        }
        let earlier = EarlierResult { activity: Arc::new(activity.clone()), value: value.clone(), about };
        layer.came.insert(activity.key.clone(), layer.came.len());
        layer.by_key.insert(activity.key.clone(), earlier);
    }

    fn wants_provenance(&self) -> bool {
        true
    }
}

/// Whether a result can be reused. Free activities are repeated, because variables and tools may have changed. The end of a time
/// limit or of a retry delay is not a result, but the end of a wait step is.
fn is_result(activity: &Activity) -> bool {
    let key = activity.key.as_str();
    match activity.request {
        Request::Decide(_) | Request::Describe(_) => false,
        Request::Timer { .. } => own_step(key) == without_try(key),
        Request::Model(_) | Request::Tool(_) | Request::Command(_) | Request::Human(_) => true,
    }
}
