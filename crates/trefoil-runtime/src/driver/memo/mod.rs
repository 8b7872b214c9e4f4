//! What earlier runs have that a run may use instead of doing it again: the results of activities, by key and content.
//!
//! A result is used for what is asked for as it was there, and once. A key that is asked for as it was keeps its own result. What is
//! asked for otherwise at its place, or at a place that was not there, may use a result of equal content that nothing else has a
//! claim to: its step is not in the program any more, or has been asked for something else, or is the same step with another pass,
//! item or try. So a step that was renamed keeps its result, and of two steps that ask for the same each keeps its own.
//!
//! Of several earlier runs the newest comes first. What changes the world (tools, commands) or belongs to a moment (people, waits)
//! is used only if it was the last that was done at its place.

mod layer;
mod shelf;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::Options;
use super::activity::World;
use trefoil_machine::Prepared;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::{About, Cited};
use trefoil_machine::key::{ContentKey, Key, own_step};
use trefoil_machine::request::{Activity, ModelRequest, Request, Usage};
use trefoil_machine::wire;
use trefoil_template::Value;

use crate::ports::Ports;
use layer::Collect;
pub use layer::{Layer, Lost};
pub use shelf::{FoundEntry, Library, Shelf};

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

impl Earlier {
    /// Of a model call: what it used when it was made, in whichever run that was.
    pub fn used(&self) -> Option<Usage> {
        let model = matches!(self.activity.request, Request::Model(_));
        let used = match &self.about.from {
            Some(cited) => cited.used,
            None => self.about.usage,
        };
        used.filter(|_| model)
    }
}

/// Whether an answer is one that a run may use whose answers are made up by this, if they are.
fn is_real(about: &About, by: Option<&str>) -> bool {
    match about.model.as_deref() {
        Some(made_up @ ("embedded" | "scripted")) => by == Some(made_up),
        _ => true,
    }
}

/// By what an activity is found at another place: all that it asks for. The name of its step is no part of that.
fn sought(activity: &Activity) -> ContentKey {
    match &activity.request {
        Request::Human(request) => wire::question(request),
        _ => activity.content,
    }
}

/// Whether a step is called so, by its key or a label.
fn is_named(activity: &Activity, name: &str) -> bool {
    let key = activity.key.as_str();
    key == name || own_step(key) == name || activity.labels.iter().any(|label| **label == *name)
}

/// Where a result is: in which of the runs, under which key.
type ClaimPlace = (usize, Key);

/// The results of earlier runs.
#[derive(Debug, Clone, Default)]
pub struct Memo {
    /// The runs, the newest first.
    layers: Vec<Layer>,
    /// Where results are, by what is sought: of the newest run first, each in the order in which they came.
    by_content: BTreeMap<ContentKey, Vec<ClaimPlace>>,
    /// What the run that uses this has asked for so far.
    asked: BTreeMap<Key, ContentKey>,
    /// Results whose steps the program of that run does not have.
    gone: BTreeSet<ClaimPlace>,
    /// Steps whose tools and commands may be done again.
    rerun: BTreeSet<String>,
    /// Answers of models in any earlier runs.
    shelf: Option<Shelf>,
    /// There were runs before these, which were not read.
    cut: bool,
    /// What became of what was asked for, for whoever wants to know.
    decisions: Arc<Mutex<Vec<Decision>>>,
}

/// What became of an activity of a run that goes by earlier ones.
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
    /// The result of an earlier run is used.
    Kept {
        /// That run.
        run: String,
        /// What the activity was called there, where that is another name.
        was: Option<Key>,
        /// Of a model call: what it used there.
        used: Option<Usage>,
    },
    /// It is done: there was no such activity.
    New,
    /// The run stops before it is done, or done again: see [`Reuse::Again`].
    Stopped(Option<Box<Reuse>>),
    /// It is done again.
    Again {
        /// What was asked for at its place.
        before: Arc<Activity>,
        /// Why that is not used, if it was asked for as it is now.
        lost: Option<Lost>,
    },
}

impl Memo {
    /// All results of a run, read from its journal: nothing is done.
    ///
    /// # Errors
    ///
    /// `JOURNAL_ERROR` if the journal cannot be read, `NONDETERMINISM` if it is of another program.
    pub async fn of(prepared: Arc<Prepared>, run: &str, ports: Ports, options: &Options) -> Result<Self, RunError> {
        let world = World::new(prepared, ports, run.into(), 0);
        let mut collect = Collect(Layer::of(run));
        super::read(&world, options, &mut collect).await?;
        let mut memo = Self { layers: vec![collect.0], ..Self::default() };
        memo.index();
        Ok(memo)
    }

    /// Answers of models in any earlier runs, and nothing else.
    pub fn of_answers(library: Arc<dyn Library>) -> Self {
        Self { shelf: Some(Shelf::of(library)), ..Self::default() }
    }

    /// With what the run before has: where both have a result, this one's comes first. What this one took from there is one result.
    #[must_use]
    pub fn over(mut self, older: Self) -> Self {
        let taken: BTreeSet<(String, Key)> = self.layers.iter().flat_map(Layer::cited).collect();
        for mut layer in older.layers {
            layer.by_key.retain(|key, _| !taken.contains(&(layer.run.to_string(), key.clone())));
            self.layers.push(layer);
        }
        self.index();
        self
    }

    /// There were more runs before these: of what is not known, nobody knows whether it was done there.
    #[must_use]
    pub fn cut_off(self) -> Self {
        Self { cut: true, ..self }
    }

    /// Whether it may have been done by one of the runs before.
    pub fn may_be_done(&self, key: &Key) -> bool {
        self.cut || self.before(key).is_some()
    }

    /// Uses no result of a step, nor of anything that began after it. Whether there is such a step.
    pub fn drop_from(&mut self, step: &str) -> bool {
        let mut void = BTreeSet::new();
        let mut met = false;
        for layer in &mut self.layers {
            met |= layer.drop_from(step, &mut void);
        }
        self.index();
        met
    }

    /// The labels of the steps that there were.
    pub fn steps(&self) -> Vec<String> {
        self.layers.iter().flat_map(Layer::labels).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Without answers that were made up: no run takes those for real ones. `by` is who makes up the answers of the run that uses this, if
    /// somebody does: its own kind may stay.
    #[must_use]
    pub fn without_made_up(mut self, by: Option<&str>) -> Self {
        let real = |earlier: &Earlier| is_real(&earlier.about, by);
        self.shelf.iter_mut().for_each(|shelf| shelf.without_made_up(by));
        for layer in &mut self.layers {
            layer.drop_those(|_, earlier| {
                (!real(earlier)).then(|| Lost::MadeUp(earlier.about.model.clone().unwrap_or_default()))
            });
        }
        self.index();
        self
    }

    /// Lets the tools and commands of these steps be done again.
    #[must_use]
    pub fn rerunning(mut self, steps: impl IntoIterator<Item = String>) -> Self {
        self.rerun.extend(steps);
        self
    }

    /// For a run of this program: what it cannot come to leaves its results to others.
    #[must_use]
    pub fn used_by(mut self, prepared: &Prepared) -> Self {
        let mut known: BTreeMap<Arc<[Arc<str>]>, bool> = BTreeMap::new();
        let all = self.layers.iter().enumerate().flat_map(|(at, layer)| layer.by_key.iter().map(move |one| (at, one)));
        let gone = all.filter(|(_, (_, earlier))| {
            let labels = &earlier.activity.labels;
            !*known.entry(labels.clone()).or_insert_with(|| prepared.has_effect(labels))
        });
        self.gone = gone.map(|(at, (key, _))| (at, key.clone())).collect();
        self
    }

    /// The run stops before any of this is done.
    pub fn stop<'a>(&self, asked: impl Iterator<Item = &'a Arc<Activity>>) {
        let stopped =
            asked.map(|asked| Decision { asked: asked.clone(), is: Reuse::Stopped(self.again(asked).map(Box::new)) });
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).extend(stopped);
    }

    /// What became of what was asked for so far.
    pub fn decisions(&self) -> Arc<Mutex<Vec<Decision>>> {
        self.decisions.clone()
    }

    /// What each of what is asked for at the same time can use.
    pub fn find(&mut self, asked: &[Arc<Activity>]) -> Vec<Option<ClaimPlace>> {
        self.asked.extend(asked.iter().map(|one| (one.key.clone(), one.content)));
        let mut found: Vec<Option<ClaimPlace>> = asked.iter().map(|one| self.own(one)).collect();
        let mut taken: BTreeSet<ClaimPlace> = found.iter().flatten().cloned().collect();
        for (one, place) in asked.iter().zip(&mut found).filter(|(_, place)| place.is_none()) {
            *place = self.other(one, &taken);
            taken.extend(place.clone());
        }
        found
    }

    /// The result of the same key and content.
    fn own(&self, asked: &Activity) -> Option<ClaimPlace> {
        let at = self.layers.iter().position(|layer| layer.has(&asked.key, asked.content))?;
        self.is_last_word(at, &asked.key, &asked.request).then(|| (at, asked.key.clone()))
    }

    /// A result of the same content that nothing else has a claim to.
    fn other(&self, asked: &Activity, taken: &BTreeSet<ClaimPlace>) -> Option<ClaimPlace> {
        if matches!(asked.request, Request::Timer { .. }) {
            return None;
        }
        let alike = |(at, key): &ClaimPlace| {
            let earlier = self.layers.get(*at).and_then(|layer| layer.by_key.get(key));
            earlier.is_some_and(|earlier| earlier.activity.labels == asked.labels)
        };
        let may = |place: &&ClaimPlace| {
            let (at, key) = place;
            let free = match self.asked.get(key) {
                // Else it is taken, or has been used.
                Some(now) => *now != asked.content,
                None => self.gone.contains(*place) || alike(place),
            };
            free && !taken.contains(*place) && self.is_last_word(*at, key, &asked.request)
        };
        let mut all = self.by_content.get(&sought(asked))?.iter().filter(may);
        let first = all.next()?;
        Some(std::iter::once(first).chain(all).find(|place| alike(place)).unwrap_or(first).clone())
    }

    /// Whether no newer run has done something else there. What a model said stays true.
    fn is_last_word(&self, at: usize, key: &Key, request: &Request) -> bool {
        matches!(request, Request::Model(_)) || self.layers.iter().take(at).all(|layer| !layer.done.contains_key(key))
    }

    /// Takes what was found. It is used up.
    pub fn take(&mut self, asked: &Arc<Activity>, place: Option<ClaimPlace>) -> Option<(Earlier, Cited)> {
        let taken = place.and_then(|(at, key)| {
            let layer = self.layers.get_mut(at)?;
            let earlier = layer.by_key.remove(&key)?;
            let was = (key != asked.key).then_some(key);
            if let Some(was) = &was {
                layer.lost.insert(was.clone(), Lost::Taken(asked.key.clone()));
            }
            let there = Some(earlier.activity.content).filter(|there| *there != asked.content);
            let (run, used) = (layer.run.to_string(), earlier.used());
            let cited = Cited { run, key: was, content: asked.content, there, used };
            Some((earlier, cited))
        });
        let taken = taken.or_else(|| self.shelf.as_mut()?.take(asked));
        let is = match &taken {
            Some((_, cited)) => Reuse::Kept { run: cited.run.clone(), was: cited.key.clone(), used: cited.used },
            None => self.again(asked).unwrap_or(Reuse::New),
        };
        if let Some((_, cited)) = &taken {
            self.forget(sought(asked), &asked.key, cited);
        }
        let decision = Decision { asked: asked.clone(), is };
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).push(decision);
        taken
    }

    fn again(&self, asked: &Activity) -> Option<Reuse> {
        let layer = self.layers.iter().find(|layer| layer.done.contains_key(&asked.key))?;
        let (_, before) = layer.done.get(&asked.key)?;
        let same = before.content == asked.content;
        Some(Reuse::Again { before: before.clone(), lost: layer.lost.get(&asked.key).filter(|_| same).cloned() })
    }

    /// Whether this names a step that there was: by its label or its key.
    pub fn has_step(&self, name: &str) -> bool {
        let mut all = self.layers.iter().flat_map(|layer| layer.done.values());
        all.any(|(_, activity)| is_named(activity, name))
    }

    /// The activities of the newest run that have a result, in the order in which they began.
    pub fn results(&self) -> Vec<Key> {
        let Some(layer) = self.layers.first() else { return Vec::new() };
        let mut all: Vec<_> = layer.by_key.keys().filter_map(|key| Some((layer.done.get(key)?.0, key))).collect();
        all.sort();
        all.into_iter().map(|(_, key)| key.clone()).collect()
    }

    /// What was begun at a place, whether its result may be used or not.
    pub fn before(&self, key: &Key) -> Option<&Arc<Activity>> {
        self.layers.iter().find_map(|layer| layer.done.get(key)).map(|(_, before)| before)
    }

    /// The run that uses this has asked for that, by its journal.
    pub fn met(&mut self, asked: &Activity) {
        self.asked.insert(asked.key.clone(), asked.content);
    }

    /// A result was used, by the journal of the run that uses it.
    pub fn used(&mut self, key: &Key, cited: &Cited) {
        let of = cited.key.as_ref().unwrap_or(key);
        let of_run = self.layers.iter_mut().find(|layer| *layer.run == *cited.run);
        if let Some(earlier) = of_run.and_then(|layer| layer.by_key.remove(of)) {
            self.forget(sought(&earlier.activity), key, cited);
        }
        self.shelf.iter_mut().for_each(|shelf| shelf.used(key, cited));
    }

    /// Looks up what may be used of any earlier runs, before it is asked what can be. See [`Shelf::fetch`].
    pub async fn fetch(&mut self, own: &str, asked: &[Arc<Activity>], label: impl Fn(&ModelRequest) -> String) {
        if let Some(shelf) = &mut self.shelf {
            shelf.fetch(own, asked, label).await;
        }
    }

    fn forget(&mut self, sought: ContentKey, key: &Key, cited: &Cited) {
        let of = cited.key.as_ref().unwrap_or(key);
        let layers = &self.layers;
        if let Some(places) = self.by_content.get_mut(&sought) {
            places.retain(|(at, known)| known != of || layers.get(*at).is_none_or(|layer| *layer.run != *cited.run));
        }
    }

    /// Whether somebody said that an activity may be done again.
    pub fn may_rerun(&self, asked: &Activity) -> bool {
        self.rerun.iter().any(|name| is_named(asked, name))
    }

    fn index(&mut self) {
        self.by_content.clear();
        for (at, layer) in self.layers.iter().enumerate() {
            let mut all: Vec<_> = layer.by_key.iter().collect();
            all.sort_by_key(|(key, _)| layer.came.get(*key));
            for (key, earlier) in all {
                self.by_content.entry(sought(&earlier.activity)).or_default().push((at, key.clone()));
            }
        }
    }
}
