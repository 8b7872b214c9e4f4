//! What an earlier run has that a run may use instead of doing it again: the results of activities, by key and content.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use super::Options;
use super::activity::World;
use super::past::Reader;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::{About, Cited, Started};
use trefoil_machine::key::{ContentKey, Key};
use trefoil_machine::request::{Activity, Request};
use trefoil_machine::{Past, Prepared, Watcher};
use trefoil_template::Value;

use crate::ports::Ports;

/// An activity of an earlier run that ended well.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// As it was asked for.
    pub activity: Arc<Activity>,
    /// What came of it.
    pub value: Value,
    /// What else is known about that.
    pub about: About,
}

/// The results of an earlier run.
#[derive(Debug, Clone, Default)]
pub struct Memo {
    /// The run.
    run: Arc<str>,
    by_key: BTreeMap<Key, Earlier>,
    /// Keys by what was asked for, in the order in which that ended.
    by_content: BTreeMap<ContentKey, VecDeque<Key>>,
    /// What was begun in the earlier run, whether its result may be used or not, and its place in the order of that.
    done: BTreeMap<Key, (usize, Arc<Activity>)>,
    /// Steps whose tools and commands may be done again.
    rerun: BTreeSet<String>,
    /// What became of what was asked for, for whoever wants to know.
    decisions: Arc<Mutex<Vec<Decision>>>,
}

/// What became of an activity of a run that goes by an earlier one.
#[derive(Debug, Clone)]
pub struct Decision {
    /// As it is asked for now.
    pub asked: Arc<Activity>,
    /// What follows.
    pub is: Reuse,
}

/// Whether something is done again.
#[derive(Debug, Clone)]
pub enum Reuse {
    /// The result of the earlier run is used; what the activity was called there, where that is another name.
    Kept(Option<Key>),
    /// It is done: there was no such activity.
    New,
    /// It is done again: at its place this was asked for.
    Again(Arc<Activity>),
}

/// What a memo has for an activity.
#[derive(Debug)]
pub enum Recalled {
    /// The result of one with equal content.
    Kept(Box<Earlier>, Cited),
    /// Nothing: there was no such activity.
    New,
    /// Nothing: at its place something else was done.
    Changed(Arc<Activity>),
}

impl Memo {
    /// All results of a run, read from its journal: nothing is done.
    ///
    /// # Errors
    ///
    /// `JOURNAL_ERROR` if the journal cannot be read, `NONDETERMINISM` if it is of another program.
    pub async fn of(prepared: Arc<Prepared>, run: &str, ports: Ports, options: &Options) -> Result<Self, RunError> {
        let world = World::new(prepared, ports, run.into(), 0);
        let mut collect = Collect(Self { run: run.into(), ..Self::default() });
        super::read(&world, options, &mut collect).await?;
        Ok(collect.0)
    }

    /// Uses no result of a step, nor of anything that began after it.
    ///
    /// # Errors
    ///
    /// The steps that there are, if there is no such step.
    pub fn from_step(mut self, step: &str) -> Result<Self, Vec<String>> {
        let is_of = |activity: &Activity| {
            activity.key.without_try() == step || activity.labels.iter().any(|label| **label == *step)
        };
        let Some(first) = self.done.values().filter(|(_, a)| is_of(a)).map(|(at, _)| *at).min() else {
            let labels = self.done.values().filter_map(|(_, a)| a.labels.last()).map(ToString::to_string);
            return Err(labels.collect::<BTreeSet<_>>().into_iter().collect());
        };
        let before: BTreeSet<Key> =
            self.done.iter().filter(|(_, (at, _))| *at < first).map(|(key, _)| key.clone()).collect();
        self.keep(|key, _| before.contains(key));
        Ok(self)
    }

    /// Without answers that were made up: no run takes those for real ones. `by` is who makes up the answers of the run that uses this, if
    /// somebody does: its own kind may stay.
    pub fn without_made_up(mut self, by: Option<&str>) -> Self {
        let real = |earlier: &Earlier| match earlier.about.model.as_deref() {
            Some(made_up @ ("embedded" | "scripted")) => by == Some(made_up),
            _ => true,
        };
        self.keep(|_, earlier| real(earlier));
        self
    }

    /// Drops the results that are not to be used.
    fn keep(&mut self, is_kept: impl Fn(&Key, &Earlier) -> bool) {
        self.by_key.retain(|key, earlier| is_kept(key, earlier));
        let left = &self.by_key;
        self.by_content.values_mut().for_each(|keys| keys.retain(|key| left.contains_key(key)));
    }

    /// Lets the tools and commands of these steps be done again.
    pub fn rerunning(mut self, steps: impl IntoIterator<Item = String>) -> Self {
        self.rerun.extend(steps);
        self
    }

    /// What became of what was asked for so far.
    pub fn decisions(&self) -> Arc<Mutex<Vec<Decision>>> {
        self.decisions.clone()
    }

    /// What there is for an activity. What was used is used up.
    pub fn recall(&mut self, asked: &Arc<Activity>) -> Recalled {
        let recalled = self.find(asked);
        let is = match &recalled {
            Recalled::Kept(_, cited) => Reuse::Kept(cited.key.clone()),
            Recalled::New => Reuse::New,
            Recalled::Changed(before) => Reuse::Again(before.clone()),
        };
        let decision = Decision { asked: asked.clone(), is };
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).push(decision);
        recalled
    }

    fn find(&mut self, asked: &Activity) -> Recalled {
        let same = self.by_key.get(&asked.key).is_some_and(|earlier| earlier.activity.content == asked.content);
        let key = match same {
            true => Some(asked.key.clone()),
            false => self.by_content.get(&asked.content).and_then(|keys| keys.front().cloned()),
        };
        let Some((key, earlier)) = key.and_then(|key| Some((key.clone(), self.by_key.remove(&key)?))) else {
            return match self.done.get(&asked.key) {
                Some((_, before)) => Recalled::Changed(before.clone()),
                None => Recalled::New,
            };
        };
        if let Some(keys) = self.by_content.get_mut(&asked.content) {
            keys.retain(|known| *known != key);
        }
        let renamed = key != asked.key;
        let cited = Cited { run: self.run.to_string(), key: renamed.then_some(key), content: asked.content };
        Recalled::Kept(Box::new(earlier), cited)
    }

    /// Of what is asked for at the same time, what was begun in the earlier run and is left without a result that it could use: each
    /// result is used once.
    pub fn repeated<'a>(&'a self, asked: &'a [Arc<Activity>]) -> impl Iterator<Item = &'a Arc<Activity>> {
        let mut used: BTreeMap<ContentKey, usize> = BTreeMap::new();
        asked.iter().filter(move |asked| {
            let left = self.by_content.get(&asked.content).map_or(0, VecDeque::len);
            let used = used.entry(asked.content).or_default();
            *used += 1;
            *used > left && self.done.contains_key(&asked.key)
        })
    }

    /// A result was used, by the journal of the run that uses it.
    pub fn used(&mut self, key: &Key, cited: &Cited) {
        let key = cited.key.as_ref().unwrap_or(key);
        self.by_key.remove(key);
        if let Some(keys) = self.by_content.get_mut(&cited.content) {
            keys.retain(|known| known != key);
        }
    }

    /// Whether somebody said that an activity may be done again.
    pub fn may_rerun(&self, asked: &Activity) -> bool {
        self.rerun.contains(asked.key.as_str()) || asked.labels.iter().any(|label| self.rerun.contains(&**label))
    }
}

/// Collects what a replay shows.
struct Collect(Memo);

impl Watcher for Collect {
    fn past(&mut self, _at_ms: u64, past: Past<'_>) {
        let memo = &mut self.0;
        let at = memo.done.len();
        let (activity, result, about) = match past {
            Past::Began(activity) => {
                let begun = || (at, Arc::new(activity.clone()));
                memo.done.entry(activity.key.clone()).or_insert_with(begun);
                return;
            }
            Past::Ended(activity, result, about) => (activity, result, about),
            _ => return,
        };
        // What costs nothing is asked again: what is set and what tools there are may be different now. So does time: that a limit
        // was reached is no result.
        let free = matches!(activity.request, Request::Decide(_) | Request::Describe(_) | Request::Timer { .. });
        let (Ok(value), false) = (result, free) else { return };
        let activity = Arc::new(activity.clone());
        memo.by_content.entry(activity.content).or_default().push_back(activity.key.clone());
        let earlier = Earlier { activity: activity.clone(), value: value.clone(), about: about.clone() };
        memo.by_key.insert(activity.key.clone(), earlier);
    }
}

impl Reader for Collect {
    fn began(&mut self, _started: &Started, _options: &Options) {}
}
