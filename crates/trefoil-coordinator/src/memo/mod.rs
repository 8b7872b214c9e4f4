//! Results of earlier runs that a run may reuse instead of performing an activity again, by key and content.
//!
//! A result is reused only for the same request, and only once. An activity with an unchanged key and content gets its own result.
//! If the request under a key has changed, or the key is new, it may use a result with the same content that no other activity has
//! a claim to: the result's step is no longer in the program, or has requested something else, or is the same step in another pass,
//! item or try. So a renamed step keeps its result, and if two steps make the same request, each keeps its own. A result that a later
//! run has reused under another key still belongs to the key under which it was performed, too: that edit may be taken back. The effect
//! of a tool or a command is what it does: of equal ones, the first that is requested has the first result, whatever its step is called.
//!
//! Of several earlier runs, the newest comes first. Tools and commands change the world, and questions and waits belong to a
//! moment, so their results are reused only if no newer run has performed anything under the same key.

mod effects;
mod layer;
mod possible_executions;
mod reusable_answers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;

use trefoil_machine::PreparedProgram;
use trefoil_machine::content;
use trefoil_machine::guard::validator::is_ended_by_signal;
use trefoil_machine::journal::{ActivityMetadata, Cited};
use trefoil_machine::key::{ContentKey, Key};
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_machine::step_path::{RunPath, find_steps};

pub use effects::IsIdempotent;
use effects::{StepsByLabels, ToolSafety};
pub use layer::{Layer, LayerCollector, LostResultReason, RepeatScope};
pub use possible_executions::PossibleExecution;
use possible_executions::has_effect;
pub use reusable_answers::{FoundAnswers, FoundEntry, ReusableAnswers};

/// An activity of an earlier run that succeeded.
#[derive(Debug, Clone)]
pub struct EarlierResult {
    /// The activity as it was requested.
    pub activity: Arc<Activity>,
    /// Its result.
    pub value: PrivateValue,
    /// Metadata of the result.
    pub about: ActivityMetadata,
}

impl EarlierResult {
    /// For a tool call: the name of the tool.
    pub fn tool_name(&self) -> Option<&Arc<str>> {
        match &self.activity.request {
            Request::Tool(request) => Some(&request.name),
            _ => None,
        }
    }

    /// Its usage when it was performed, even if the earlier run had itself reused the result.
    pub fn original_usage(&self) -> Option<Usage> {
        match &self.about.from {
            Some(cited) => cited.used,
            None => self.about.usage,
        }
    }
}

/// Whether a run may reuse an answer. Embedded and scripted answers are reused only by runs with the same source of answers (`by`).
fn is_real(about: &ActivityMetadata, by: Option<&str>) -> bool {
    match about.model.as_deref() {
        Some(made_up @ ("embedded" | "scripted")) => by == Some(made_up),
        _ => true,
    }
}

/// Whether an answer is as the model gave it, or was changed by the same guardrails.
fn is_whole(about: &ActivityMetadata, asked: &Activity) -> bool {
    match (&about.changed_by, &asked.request) {
        (Some(by), Request::Model(request)) => *by == content::changing_guards(&request.guards),
        _ => true,
    }
}

/// The name of all steps, for [`Memo::allow_rerun`].
pub const EVERY_STEP: &str = "*";

/// A tool call of an earlier run.
#[derive(Debug, Clone)]
pub struct EarlierCall {
    /// The run.
    pub run: Arc<str>,
    /// The call.
    pub activity: Arc<Activity>,
    /// Whether the user asked to repeat it.
    pub wanted: bool,
    /// If only from some steps of its flow on: these steps.
    pub within: Vec<String>,
}

/// The place of a result: the index of its run, and its key.
pub type ClaimPlace = (usize, Key);

/// The results of earlier runs.
#[derive(Debug, Clone, Default)]
pub struct Memo {
    /// The runs, the newest first.
    layers: Vec<Layer>,
    /// The places of results, by their content: the newest run first, in the order in which the results arrived.
    by_content: BTreeMap<ContentKey, Vec<ClaimPlace>>,
    /// The requests of the current run so far.
    asked: BTreeMap<Key, ContentKey>,
    /// Those of them that have the result of another key. What an earlier run started under their own keys is still open.
    borrowers: BTreeSet<Key>,
    /// Results whose steps are not in the current run's program.
    gone: BTreeSet<ClaimPlace>,
    /// Where the results that the current run uses were performed, and the labels of the steps that use them.
    used: BTreeMap<ClaimPlace, Arc<[Arc<str>]>>,
    /// Tools and commands of steps that were deleted, moved or renamed, and the activity of an earlier run that has replaced each.
    replaced: BTreeMap<ClaimPlace, ClaimPlace>,
    /// The same for activities of the current run.
    matched: BTreeSet<ClaimPlace>,
    /// Tools and commands that the current run performed, according to its journal.
    met: IndexMap<Key, Arc<Activity>>,
    /// The current run's program.
    program: Option<Arc<PreparedProgram>>,
    /// Its tools.
    hands: ToolSafety,
    /// Which effects ran under which labels, and the oldest of the runs in which they did.
    ran: possible_executions::EffectHistory,
    /// Tools and commands of the earlier runs whose steps are not in it.
    former: Vec<possible_executions::EffectExecution>,
    /// Steps whose tools and commands may be repeated.
    rerun: BTreeSet<String>,
    /// Model answers of any earlier runs.
    shelf: Option<ReusableAnswers>,
    /// Whether a step whose request has changed has the result of its earlier request.
    stand_ins: bool,
    /// The only step that is performed.
    only: Option<String>,
    /// Whether there are older runs that were not read.
    cut: bool,
    /// What happened to each request, for reports.
    decisions: Arc<Mutex<Vec<MemoDecision>>>,
}

/// What happened to an activity of a run that reuses results.
#[derive(Debug, Clone)]
pub struct MemoDecision {
    /// The activity as it is requested now.
    pub asked: Arc<Activity>,
    /// What happened to it.
    pub is: ReuseOutcome,
}

/// Whether a result is reused or the activity is performed.
#[derive(Debug, Clone)]
pub enum ReuseOutcome {
    /// The result of an earlier run is used.
    Kept {
        /// That run.
        run: String,
        /// The activity's key there, if it is different.
        was: Option<Key>,
        /// For a model call: its usage there.
        used: Option<Usage>,
    },
    /// The activity is performed, because there was no such activity.
    New,
    /// The run stops before the activity. If it was performed before, this contains [`ReuseOutcome::Again`].
    Stopped(Option<Box<ReuseOutcome>>),
    /// The activity is performed again.
    Again {
        /// The earlier request with the same key.
        before: Arc<Activity>,
        /// Why the earlier result is not used, if the request is the same.
        lost: Option<LostResultReason>,
    },
}

impl Memo {
    /// The results of one run.
    pub fn from_layer(layer: Layer) -> Self {
        let mut memo = Self { layers: vec![layer], ..Self::default() };
        memo.index();
        memo
    }

    /// A memo with only the model answers of any earlier runs, which the host looks up.
    pub fn of_answers() -> Self {
        Self { shelf: Some(ReusableAnswers::default()), ..Self::default() }
    }

    /// Adds the results of older runs; those of this memo come first. A result that this memo reused from an older run counts once.
    #[must_use]
    pub fn with_older(mut self, older: Self) -> Self {
        let mut taken: BTreeSet<(String, Key)> = BTreeSet::new();
        for layer in &self.layers {
            taken.extend(layer.cited_results());
        }
        for mut layer in older.layers {
            layer.by_key.retain(|key, _| !taken.contains(&(layer.run.to_string(), key.clone())));
            self.layers.push(layer);
        }
        self.index();
        self
    }

    /// Marks that there are older runs that were not read, so any unknown activity may have been performed there.
    #[must_use]
    pub fn cut_off(self) -> Self {
        Self { cut: true, ..self }
    }

    /// Drops the results of a step and of everything that started after it. Returns whether the step exists.
    pub fn drop_from(&mut self, step: &str) -> bool {
        self.drop_step(step, RepeatScope::AndLater)
    }

    /// Drops the results of a step and of nothing else. Returns whether the step exists.
    pub fn drop_only(&mut self, step: &str) -> bool {
        self.drop_step(step, RepeatScope::Alone)
    }

    fn drop_step(&mut self, step: &str, scope: RepeatScope<'_>) -> bool {
        let places = self.places_of(step);
        let is_of = |activity: &Activity| {
            let path = activity.step_path().find_named(step);
            matches!(path, Some(path) if places.contains(&*path.label_path()))
        };
        self.drop_started(is_of, scope)
    }

    /// Drops what started after a call of a flow, and of the call what its flow did from this step on. Returns whether the call exists.
    pub fn drop_within(&mut self, call: &EarlierCall, step: &str) -> bool {
        let is_call = |activity: &Activity| activity.key.without_try() == call.activity.key.without_try();
        self.drop_started(is_call, RepeatScope::Within(step))
    }

    fn drop_started(&mut self, is_of: impl Fn(&Activity) -> bool, scope: RepeatScope<'_>) -> bool {
        let mut void = BTreeSet::new();
        let mut met = false;
        for layer in &mut self.layers {
            met |= layer.drop_from(&is_of, scope, &mut void);
        }
        self.index();
        met
    }

    /// Drops all results.
    pub fn drop_all(&mut self) {
        for layer in &mut self.layers {
            layer.wanted = layer.done.keys().cloned().collect();
            layer.drop_those(|_, _| Some(LostResultReason::Wanted));
        }
        self.index();
    }

    /// The earlier runs, the newest first.
    pub fn run_ids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.layers.iter().map(|layer| &layer.run)
    }

    /// The tool calls that the earlier runs have made themselves, the newest run first, in the order in which they started.
    pub fn tool_calls(&self) -> Vec<EarlierCall> {
        let mut calls = Vec::new();
        for layer in &self.layers {
            let mut made = Vec::new();
            for (key, (at, activity)) in &layer.done {
                if matches!(activity.request, Request::Tool(_)) && !layer.reused.contains_key(key) {
                    made.push((*at, key, activity));
                }
            }
            made.sort_by_key(|(at, ..)| *at);
            for (_, key, activity) in made {
                calls.push(EarlierCall {
                    run: layer.run.clone(),
                    activity: activity.clone(),
                    wanted: layer.wanted.contains(key),
                    within: layer.within.get(key).cloned().unwrap_or_default(),
                });
            }
        }
        calls
    }

    /// Whether there are older runs that were not read.
    pub fn is_cut_off(&self) -> bool {
        self.cut
    }

    /// The steps whose tools and commands may be repeated.
    pub fn rerun_steps(&self) -> impl Iterator<Item = &str> {
        self.rerun.iter().map(String::as_str)
    }

    /// The paths of all activities of the earlier runs, the newest run first, in the order in which they started.
    pub fn activity_paths(&self) -> impl Iterator<Item = RunPath<'_>> {
        self.layers.iter().flat_map(Layer::activity_paths)
    }

    /// Drops embedded and scripted answers, because no run may take them for real ones. `by`: the current run's source of such
    /// answers, if it has one; answers from that source stay.
    #[must_use]
    pub fn without_made_up(mut self, by: Option<&str>) -> Self {
        if let Some(shelf) = &mut self.shelf {
            shelf.without_made_up(by);
        }
        self.without_results(|_, _, earlier| {
            if is_real(&earlier.about, by) {
                return None;
            }
            Some(LostResultReason::MadeUp(earlier.about.model.clone().unwrap_or_default()))
        })
    }

    /// All results, with their runs and keys.
    pub fn iter_results(&self) -> impl Iterator<Item = (&str, &Key, &EarlierResult)> {
        self.layers.iter().flat_map(|layer| layer.by_key.iter().map(|(key, earlier)| (&*layer.run, key, earlier)))
    }

    /// Drops results and records the reasons, by run, key and result.
    #[must_use]
    pub fn without_results(mut self, why: impl Fn(&str, &Key, &EarlierResult) -> Option<LostResultReason>) -> Self {
        for layer in &mut self.layers {
            let run = layer.run.clone();
            layer.drop_those(|key, earlier| why(&run, key, earlier));
        }
        self.index();
        self
    }

    /// Drops results of a run that failed with this code, and allows these activities to be tried again.
    #[must_use]
    pub fn trying_again(mut self, run: &str, keys: &[Key], code: &str) -> Self {
        for layer in &mut self.layers {
            if *layer.run != *run {
                continue;
            }
            for key in keys {
                let Some(earlier) = layer.by_key.get(key) else { continue };
                // How much a command did before a signal ended it is unknown.
                let is_stopped = matches!(earlier.activity.request, Request::Command(_))
                    && is_ended_by_signal(earlier.value.exact_value());
                if !is_stopped {
                    layer.undone.insert(key.clone());
                }
            }
            layer.drop_those(
                |key, _| {
                    if keys.contains(key) { Some(LostResultReason::Failed(code.to_owned())) } else { None }
                },
            );
        }
        self.index();
        self
    }

    /// Lets the result of an earlier request stand in for that of a changed one, so that one can look at what comes after a changed step
    /// as it would be if the result stayed the same. For previews: the journal of a run accepts no such result.
    #[must_use]
    pub fn with_stand_ins(self) -> Self {
        Self { stand_ins: true, ..self }
    }

    /// Performs one step and nothing else: a run is cancelled where it needs more than that and the results of earlier runs.
    #[must_use]
    pub fn limited_to_step(self, step: String) -> Self {
        Self { only: Some(step), ..self }
    }

    /// Whether an activity may be performed if it has no result.
    pub fn may_perform(&self, asked: &Activity) -> bool {
        match &self.only {
            Some(step) => asked.step_path().find_named(step).is_some(),
            None => true,
        }
    }

    /// Allows the tools and commands of these steps to be repeated; those of [`EVERY_STEP`]: of all.
    #[must_use]
    pub fn allow_rerun(mut self, steps: impl IntoIterator<Item = String>) -> Self {
        self.rerun.extend(steps);
        self
    }

    /// Prepares the memo for a run of this program with these tools: results of steps that it does not have become available to
    /// other steps.
    #[must_use]
    pub fn used_by(mut self, prepared: &Arc<PreparedProgram>, idempotent: IsIdempotent) -> Self {
        let mut steps = StepsByLabels::for_program(prepared);
        self.gone.clear();
        for (at, layer) in self.layers.iter().enumerate() {
            for (key, earlier) in &layer.by_key {
                if !steps.has_step_of(&earlier.activity) {
                    self.gone.insert((at, key.clone()));
                }
            }
        }
        self.program = Some(prepared.clone());
        self.hands = ToolSafety::from_idempotency(idempotent);
        self.learn_ran();
        self.learn_replacements();
        self
    }

    /// Records that the run stops before these activities.
    pub fn record_stop<'a>(&self, asked: impl Iterator<Item = &'a Arc<Activity>>) {
        let mut stopped: Vec<MemoDecision> = Vec::new();
        for asked in asked {
            let is = ReuseOutcome::Stopped(self.again(asked).map(Box::new));
            stopped.push(MemoDecision { asked: asked.clone(), is });
        }
        let mut decisions = self.lock_decisions();
        decisions.retain(|decision| stopped.iter().all(|stopped| stopped.asked.key != decision.asked.key));
        decisions.extend(stopped);
    }

    fn lock_decisions(&self) -> MutexGuard<'_, Vec<MemoDecision>> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happened to each request so far.
    pub fn reuse_decisions(&self) -> Arc<Mutex<Vec<MemoDecision>>> {
        self.decisions.clone()
    }

    /// Finds the result that each of these activities can use. They are requested at the same time.
    pub fn find_results(&mut self, asked: &[Arc<Activity>]) -> Vec<Option<ClaimPlace>> {
        for activity in asked {
            self.asked.insert(activity.key.clone(), activity.content);
        }
        let mut found: Vec<Option<ClaimPlace>> = asked.iter().map(|activity| self.own(activity)).collect();
        let mut taken: BTreeSet<ClaimPlace> = found.iter().flatten().cloned().collect();
        for claim in [Self::moved, Self::other, Self::stand_in] {
            for (activity, place) in asked.iter().zip(&mut found) {
                if place.is_none() {
                    *place = claim(self, activity, &taken);
                    taken.extend(place.clone());
                }
            }
        }
        for (activity, place) in asked.iter().zip(&found) {
            if let Some((_, key)) = place
                && *key != activity.key
            {
                self.borrowers.insert(activity.key.clone());
            }
        }
        found
    }

    /// What has no result of any earlier run and is to be performed, of what is asked for at the same time and what [was found](Self::find_results) for it.
    pub fn find_lacking<'a>(&self, asked: &'a [Arc<Activity>], found: &[Option<ClaimPlace>]) -> Vec<&'a Arc<Activity>> {
        let mut left = Vec::new();
        for (activity, place) in asked.iter().zip(found) {
            if place.is_none() && self.may_perform(activity) {
                left.push(activity);
            }
        }
        let Some(shelf) = &self.shelf else { return left };
        let answered = shelf.has_answers(&left);
        let mut lacking = Vec::new();
        for (activity, is_answered) in left.into_iter().zip(answered) {
            if !is_answered {
                lacking.push(activity);
            }
        }
        lacking
    }

    /// The result with the same key and content.
    fn own(&self, asked: &Activity) -> Option<ClaimPlace> {
        for (at, layer) in self.layers.iter().enumerate() {
            if !layer.has_result(&asked.key, asked.content) {
                continue;
            }
            let place = (at, asked.key.clone());
            if self.is_valid(&place, asked) {
                return Some(place);
            }
        }
        None
    }

    /// The result that an earlier run had under this key, and that a newer one has reused under another: if the edit in between is
    /// taken back, it is the activity's own again.
    fn moved(&self, asked: &Activity, taken: &BTreeSet<ClaimPlace>) -> Option<ClaimPlace> {
        for place in self.by_content.get(&asked.content)? {
            if !taken.contains(place) && self.was_named(place, asked) && self.is_valid(place, asked) {
                return Some(place.clone());
            }
        }
        None
    }

    /// Whether a result was that of an activity's key in an older run, and no newer run has performed anything there.
    fn was_named(&self, place: &ClaimPlace, asked: &Activity) -> bool {
        let mut earlier = self.claim_history(place).skip(1);
        earlier.any(|place| place.1 == asked.key && self.is_last_word(&place, &asked.request))
    }

    fn earlier_result(&self, (at, key): &ClaimPlace) -> Option<&EarlierResult> {
        self.layers.get(*at)?.by_key.get(key)
    }

    /// A result with the same content that no other activity has a claim to. An effect is what it does, so of equal ones the first
    /// that is requested has the first result, whatever its step is called; unless the user wants it to be performed.
    fn other(&self, asked: &Activity, taken: &BTreeSet<ClaimPlace>) -> Option<ClaimPlace> {
        if matches!(asked.request, Request::Timer { .. }) {
            return None;
        }
        let first_come = has_effect(&asked.request) && !self.may_rerun(asked);
        let mut first = None;
        for place in self.by_content.get(&asked.content)? {
            let earlier = self.earlier_result(place);
            let is_alike = matches!(earlier, Some(earlier) if earlier.activity.labels == asked.labels);
            let is_free = match self.asked.get(&place.1) {
                _ if first_come => true,
                // If the request is the same, that activity has a claim to the result, or has used it.
                Some(now) => *now != asked.content,
                None => self.gone.contains(place) || is_alike,
            };
            if !is_free || taken.contains(place) || !self.is_valid(place, asked) {
                continue;
            }
            if is_alike {
                return Some(place.clone());
            }
            first = first.or(Some(place));
        }
        first.cloned()
    }

    /// The result of the earlier request with the same key.
    fn stand_in(&self, asked: &Activity, taken: &BTreeSet<ClaimPlace>) -> Option<ClaimPlace> {
        if !self.stand_ins {
            return None;
        }
        for (at, layer) in self.layers.iter().enumerate() {
            let Some(earlier) = layer.by_key.get(&asked.key) else { continue };
            let place = (at, asked.key.clone());
            if earlier.activity.request.sort_name() == asked.request.sort_name() && !taken.contains(&place) {
                return Some(place);
            }
        }
        None
    }

    /// Whether a result with the same content can be used.
    fn is_valid(&self, place: &ClaimPlace, asked: &Activity) -> bool {
        if let Some(earlier) = self.earlier_result(place)
            && !is_whole(&earlier.about, asked)
        {
            return false;
        }
        self.is_last_word(place, &asked.request) && self.is_same_question(place, asked)
    }

    /// Whether no newer run has performed anything under this key or in its place. Model answers stay valid.
    fn is_last_word(&self, place: &ClaimPlace, request: &Request) -> bool {
        if matches!(request, Request::Model(_)) {
            return true;
        }
        let (at, key) = place;
        let is_repeated = self.layers.iter().take(*at).any(|layer| layer.done.contains_key(key));
        !is_repeated && !self.replaced.contains_key(&self.result_origin(place))
    }

    /// For a question: whether the same answers are accepted, in any order. They are not in its content key.
    fn is_same_question(&self, place: &ClaimPlace, asked: &Activity) -> bool {
        let Some(earlier) = self.earlier_result(place) else { return true };
        match (&earlier.activity.request, &asked.request) {
            (Request::Human(then), Request::Human(now)) => {
                then.accepts.iter().collect::<BTreeSet<_>>() == now.accepts.iter().collect()
            }
            _ => true,
        }
    }

    /// Takes a result that was found, so that it cannot be used again, and records the decision.
    pub fn take_result(&mut self, asked: &Arc<Activity>, place: Option<ClaimPlace>) -> Option<(EarlierResult, Cited)> {
        let mut taken = None;
        if let Some(place) = place {
            taken = self.take_from_layer(asked, place);
        }
        if taken.is_none()
            && let Some(shelf) = &mut self.shelf
        {
            taken = shelf.take_answer(asked);
        }
        let is = match &taken {
            Some((_, cited)) => ReuseOutcome::Kept { run: cited.run.clone(), was: cited.key.clone(), used: cited.used },
            None => self.again(asked).unwrap_or(ReuseOutcome::New),
        };
        match &taken {
            Some((_, cited)) => self.forget(asked.content, &asked.key, cited),
            None => self.replace_by(asked),
        }
        self.lock_decisions().push(MemoDecision { asked: asked.clone(), is });
        taken
    }

    fn take_from_layer(&mut self, asked: &Activity, (at, key): ClaimPlace) -> Option<(EarlierResult, Cited)> {
        self.used.insert(self.result_origin(&(at, key.clone())), asked.labels.clone());
        let layer = self.layers.get_mut(at)?;
        let earlier = layer.by_key.remove(&key)?;
        let was = if key == asked.key { None } else { Some(key) };
        if let Some(was) = &was {
            layer.lost.insert(was.clone(), LostResultReason::Taken(asked.key.clone()));
        }
        let (run, used) = (layer.run.to_string(), earlier.original_usage());
        let cited = Cited { run, key: was, content: asked.content, used };
        Some((earlier, cited))
    }

    fn again(&self, asked: &Activity) -> Option<ReuseOutcome> {
        let here = self.layers.iter().position(|layer| layer.done.contains_key(&asked.key));
        let (at, key) = match here {
            Some(at) => self.latest_place((at, asked.key.clone())),
            None => self.find_former(asked, &BTreeSet::new()).or_else(|| self.renamed(asked))?,
        };
        let layer = self.layers.get(at)?;
        let (_, before) = layer.done.get(&key)?;
        let lost = if before.content == asked.content { layer.lost.get(&key).cloned() } else { None };
        Some(ReuseOutcome::Again { before: before.clone(), lost })
    }

    /// The same question or call of a model under the name of a step that is not in the program any more, if its result was dropped.
    fn renamed(&self, asked: &Activity) -> Option<ClaimPlace> {
        if !matches!(asked.request, Request::Model(_) | Request::Human(_)) {
            return None;
        }
        let decisions = self.lock_decisions();
        let is_performed_again = |key: &Key| {
            let repeats =
                |outcome: &ReuseOutcome| matches!(outcome, ReuseOutcome::Again { before, .. } if before.key == *key);
            decisions.iter().any(|decision| repeats(&decision.is))
        };
        for (at, layer) in self.layers.iter().enumerate() {
            for (key, why) in &layer.lost {
                if matches!(why, LostResultReason::Taken(_)) || self.asked.contains_key(key) || is_performed_again(key)
                {
                    continue;
                }
                if let Some((_, before)) = layer.done.get(key)
                    && before.content == asked.content
                    && !self.has_step_of(before)
                {
                    return Some((at, key.clone()));
                }
            }
        }
        None
    }

    /// Whether a name means a step of the earlier runs.
    pub fn has_step(&self, name: &str) -> bool {
        let is_named = |key: &Key| RunPath::from_key(key).find_named(name).is_some();
        self.layers.iter().any(|layer| layer.done.keys().any(is_named))
    }

    /// The paths of the steps of the earlier runs that a name means, without marks.
    pub fn places_of(&self, name: &str) -> BTreeSet<String> {
        let mut named = Vec::new();
        for layer in &self.layers {
            for key in layer.done.keys() {
                if let Some(path) = RunPath::from_key(key).find_named(name) {
                    named.push((path, path.label_path().into_owned()));
                }
            }
        }
        find_steps(name, named).into_iter().collect()
    }

    /// The activities of the newest run that have a result, in the order in which they started.
    pub fn activities_with_result(&self) -> Vec<Arc<Activity>> {
        match self.layers.first() {
            Some(newest) => newest.activities_with_result(false),
            None => Vec::new(),
        }
    }

    /// The values of all results.
    pub fn result_values(&self) -> impl Iterator<Item = &PrivateValue> {
        self.iter_results().map(|(_, _, earlier)| &earlier.value)
    }

    /// The same, and after it what only older runs have a result of, with the results that were dropped to repeat their steps.
    pub fn all_results(&self) -> Vec<Arc<Activity>> {
        let mut known = BTreeSet::new();
        let mut all = Vec::new();
        for layer in &self.layers {
            all.extend(layer.activities_with_result(true));
        }
        all.retain(|activity: &Arc<Activity>| known.insert(activity.key.clone()));
        all
    }

    /// Records a request of the current run that is in its journal.
    pub fn record_request(&mut self, asked: &Activity) {
        self.asked.insert(asked.key.clone(), asked.content);
        if has_effect(&asked.request) {
            self.met.entry(asked.key.clone()).or_insert_with(|| Arc::new(asked.clone()));
        }
    }

    /// Records that the current run has used a result, according to its journal.
    pub fn record_use(&mut self, key: &Key, cited: &Cited) {
        let of = cited.key.as_ref().unwrap_or(key);
        if of != key {
            self.borrowers.insert(key.clone());
        }
        let at = self.layers.iter().position(|layer| *layer.run == *cited.run);
        let met = self.met.shift_remove(key);
        if let (Some(at), Some(met)) = (at, met) {
            self.used.insert(self.result_origin(&(at, of.clone())), met.labels.clone());
        }
        if let Some(at) = at
            && let Some(layer) = self.layers.get_mut(at)
            && let Some(earlier) = layer.by_key.remove(of)
        {
            if of != key {
                layer.lost.insert(of.clone(), LostResultReason::Taken(key.clone()));
            }
            self.forget(earlier.activity.content, key, cited);
        }
        if let Some(shelf) = &mut self.shelf {
            shelf.record_use(key, cited);
        }
    }

    /// The activities for which answers of any earlier runs are to be [looked up](Self::add_found_answers), before results are taken.
    pub fn answers_to_look_up(&self, asked: &[Arc<Activity>]) -> Vec<Arc<Activity>> {
        match &self.shelf {
            Some(shelf) => shelf.answers_to_look_up(asked),
            None => Vec::new(),
        }
    }

    /// Adds answers that were looked up.
    pub fn add_found_answers(&mut self, found: Vec<FoundAnswers>) {
        if let Some(shelf) = &mut self.shelf {
            shelf.add_found_answers(found);
        }
    }

    fn forget(&mut self, content: ContentKey, key: &Key, cited: &Cited) {
        let of = cited.key.as_ref().unwrap_or(key);
        let layers = &self.layers;
        let is_cited =
            |(at, key): &ClaimPlace| key == of && matches!(layers.get(*at), Some(layer) if *layer.run == *cited.run);
        if let Some(places) = self.by_content.get_mut(&content) {
            places.retain(|place| !is_cited(place));
        }
    }

    /// Whether the user allowed the activity to be repeated.
    pub fn may_rerun(&self, asked: &Activity) -> bool {
        self.rerun.iter().any(|name| name == EVERY_STEP || asked.step_path().find_named(name).is_some())
    }

    fn index(&mut self) {
        self.by_content.clear();
        for (at, layer) in self.layers.iter().enumerate() {
            let mut all: Vec<_> = layer.by_key.iter().collect();
            all.sort_by_key(|(key, _)| layer.came.get(*key));
            for (key, earlier) in all {
                self.by_content.entry(earlier.activity.content).or_default().push((at, key.clone()));
            }
        }
    }
}
