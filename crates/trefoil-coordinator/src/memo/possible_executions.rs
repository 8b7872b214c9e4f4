//! What earlier runs may have done already: under the same key, with the same request under another key, or as a step that was
//! moved or renamed, even if it was changed as well.
//!
//! Nobody says that a step was renamed *and* changed: one is gone from the program, and another is new. What counts is what a step
//! does under its name: a tool or command is gone if the program has no step that performs such an effect under its name, even if
//! another step has got that name. A new tool or command may be one that is gone if it has the same label, or calls the same tool. All commands are calls of one tool, the shell, and so are all
//! HTTP requests and all Python functions: their names may be those of their steps. Each activity
//! of a step that is gone is replaced by one activity at most, so really new steps are performed. What was replaced is not the
//! last execution any more, so its result is not reused. The same applies to a tool call of a model that the model does not make
//! again, and another call of the same tool.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::effects::StepsByLabels;
use super::layer::{Layer, LostResultReason};
use super::{ClaimPlace, Memo};
use trefoil_machine::PreparedProgram;
use trefoil_machine::key::{Key, conversation_turn};
use trefoil_machine::request::{Activity, Request};

/// How an activity may have been performed by an earlier run.
#[derive(Debug, Clone)]
pub enum PossibleExecution {
    /// Under its own key.
    Here,
    /// With the same request under this key. It did not complete.
    Open(Key),
    /// As this activity of a step that is not in the program any more.
    Gone(Arc<Activity>),
    /// In a run that was not read.
    Unread,
}

/// Effects by the labels of their steps: of those that are alike, the one of the oldest run.
pub type EffectHistory = BTreeMap<Arc<[Arc<str>]>, Vec<(usize, Arc<Activity>)>>;

/// A tool call or command that was performed.
#[derive(Debug, Clone)]
pub struct EffectExecution {
    /// Where it was performed.
    pub origin: ClaimPlace,
    /// The newest run that has it.
    pub at: usize,
    /// What it is in that run.
    pub activity: Arc<Activity>,
}

impl Memo {
    /// How each of these activities may have been performed before. They are requested at the same time, and have no result.
    /// `found`: the results of other activities that are requested with them.
    pub fn possible_executions(
        &self,
        lacking: &[&Arc<Activity>],
        found: &[Option<ClaimPlace>],
    ) -> Vec<Option<PossibleExecution>> {
        let mut claimed: BTreeSet<ClaimPlace> = found.iter().flatten().map(|place| self.result_origin(place)).collect();
        lacking.iter().map(|asked| self.possible_execution(asked, &mut claimed)).collect()
    }

    fn possible_execution(&self, asked: &Activity, claimed: &mut BTreeSet<ClaimPlace>) -> Option<PossibleExecution> {
        if !self.hands.may_harm(&asked.request) {
            return None;
        }
        if self.is_done_here(asked, claimed) {
            return Some(PossibleExecution::Here);
        }
        if let Some(key) = self.open(asked) {
            return Some(PossibleExecution::Open(key.clone()));
        }
        if let Some((at, key)) = self.find_repeated(asked, claimed) {
            let (_, before) = self.layers.get(at)?.done.get(&key)?;
            claimed.insert(self.result_origin(&(at, key)));
            return Some(PossibleExecution::Gone(before.clone()));
        }
        if self.cut { Some(PossibleExecution::Unread) } else { None }
    }

    /// Whether an earlier run may have performed something under this key, in any try.
    fn is_done_here(&self, asked: &Activity, claimed: &BTreeSet<ClaimPlace>) -> bool {
        for (at, layer) in self.layers.iter().enumerate() {
            let (mut is_tried, mut perhaps) = (false, Vec::new());
            for key in layer.tries_of(&asked.key) {
                // Something else may have had the name.
                let acted = matches!(layer.done.get(key), Some((_, before)) if has_effect(&before.request));
                is_tried |= acted;
                if acted && !layer.undone.contains(key) {
                    perhaps.push((at, key.clone()));
                }
            }
            if !is_tried {
                continue;
            }
            if perhaps.is_empty() {
                // It failed and was not performed. The same request is made again, as if the run was resumed.
                let before = layer.done.get(&asked.key);
                if matches!(before, Some((_, before)) if before.content == asked.content) {
                    return false;
                }
                continue;
            }
            // Another step has the results, so it is the one that was there before, and this one is new.
            let is_moved = |place: &ClaimPlace| {
                let origin = self.result_origin(place);
                claimed.contains(&origin) || matches!(self.used.get(&origin), Some(labels) if *labels != asked.labels)
            };
            return !(perhaps.iter().all(is_moved) && self.has_nothing_left(asked, claimed));
        }
        false
    }

    /// Whether the newest run that started an activity does not have its outcome.
    pub fn has_not_ended(&self, asked: &Activity) -> bool {
        for layer in &self.layers {
            if let Some(lost) = layer.lost.get(&asked.key) {
                return matches!(lost, LostResultReason::Unfinished);
            }
        }
        false
    }

    /// Whether no execution is left that could be the former one of an activity whose own one has become that of another step.
    fn has_nothing_left(&self, asked: &Activity, claimed: &BTreeSet<ClaimPlace>) -> bool {
        for EffectExecution { origin, activity, .. } in self.executions(0) {
            let is_claimed = claimed.contains(&origin) || self.used.contains_key(&origin);
            if is_claimed || !self.is_alike(asked, &activity) {
                continue;
            }
            let keeps_its_own = !self.asked.contains_key(&activity.key) && self.performs(&activity);
            if !keeps_its_own {
                return false;
            }
        }
        true
    }

    /// An activity with the same request under another key that may have been performed and did not complete, if no activity of the
    /// current run stands for it: one with that key and request, unless it has the result of another key.
    fn open(&self, asked: &Activity) -> Option<&Key> {
        for layer in &self.layers {
            for (key, lost) in &layer.lost {
                let is_open = matches!(lost, LostResultReason::Unfinished | LostResultReason::Failed(_))
                    && !layer.undone.contains(key);
                let stands = self.asked.get(key) == Some(&asked.content) && !self.borrowers.contains(key);
                if !is_open || stands || *key == asked.key {
                    continue;
                }
                if let Some((_, before)) = layer.done.get(key)
                    && before.content == asked.content
                {
                    return Some(key);
                }
            }
        }
        None
    }

    /// What a tool call or command without a result may repeat.
    fn find_repeated(&self, asked: &Activity, claimed: &BTreeSet<ClaimPlace>) -> Option<ClaimPlace> {
        self.find_former(asked, claimed).or_else(|| self.find_shifted_call(asked, claimed))
    }

    /// The activity of a step that is not in the program any more, and that a new tool call or command may repeat: the most
    /// similar one that nothing has replaced.
    pub(super) fn find_former(&self, asked: &Activity, claimed: &BTreeSet<ClaimPlace>) -> Option<ClaimPlace> {
        if !has_effect(&asked.request) {
            return None;
        }
        let open = self.former.iter().filter(|execution| self.is_unclaimed(&execution.origin, claimed));
        let former = self.pick(asked, self.program.as_deref()?, open)?;
        Some((former.at, former.activity.key.clone()))
    }

    /// Whether no activity of the current run stands for an execution.
    fn is_unclaimed(&self, origin: &ClaimPlace, claimed: &BTreeSet<ClaimPlace>) -> bool {
        !claimed.contains(origin) && !self.used.contains_key(origin) && !self.matched.contains(origin)
    }

    /// The call of a model that a call of the same tool may repeat, in the same turn or in an earlier one, if the model has not made it
    /// again: what it calls first depends on its answer.
    fn find_shifted_call(&self, asked: &Activity, claimed: &BTreeSet<ClaimPlace>) -> Option<ClaimPlace> {
        let (conversation, turn) = conversation_turn(asked.key.as_str())?;
        if !self.hands.may_harm(&asked.request) {
            return None;
        }
        for EffectExecution { origin, at, activity } in self.executions(0) {
            let key = &activity.key;
            let Some((its_conversation, its_turn)) = conversation_turn(key.as_str()) else { continue };
            let is_earlier = its_conversation == conversation && its_turn <= turn;
            if is_earlier
                && activity.labels == asked.labels
                && self.hands.may_harm(&activity.request)
                && !self.asked.contains_key(key)
                && self.is_unclaimed(&origin, claimed)
            {
                return Some((at, key.clone()));
            }
        }
        None
    }

    /// Records that the current run performs an activity.
    pub(super) fn replace_by(&mut self, asked: &Activity) {
        if let Some(place) = self.find_repeated(asked, &BTreeSet::new()) {
            self.matched.insert(self.result_origin(&place));
        }
    }

    /// Finds what the earlier runs and the current one have replaced so far, the oldest first.
    pub(super) fn learn_replacements(&mut self) {
        self.replaced.clear();
        self.matched.clear();
        for at in (0..self.layers.len()).rev() {
            let Some(layer) = self.layers.get(at) else { continue };
            let Some(program) = layer.program.clone() else { continue };
            let mut new: Vec<(usize, Arc<Activity>)> = Vec::new();
            for (key, (order, activity)) in &layer.done {
                if has_effect(&activity.request) && layer.has_performed(key) && !layer.undone.contains(key) {
                    new.push((*order, activity.clone()));
                }
            }
            new.sort_by_key(|(order, _)| *order);
            if new.is_empty() {
                continue;
            }
            let reused: BTreeSet<ClaimPlace> =
                layer.reused.keys().map(|key| self.result_origin(&(at, key.clone()))).collect();
            let older = at.saturating_add(1);
            let mut gone = self.gone_from(&program, older);
            gone.retain(|execution| !reused.contains(&execution.origin));
            for (_, activity) in new {
                if let Some(former) = self.pick(&activity, &program, gone.iter()) {
                    let origin = former.origin.clone();
                    gone.retain(|execution| execution.origin != origin);
                    self.replaced.insert(origin, (at, activity.key.clone()));
                }
            }
        }
        self.former = match &self.program {
            Some(program) => self.gone_from(program, 0),
            None => Vec::new(),
        };
        let met = std::mem::take(&mut self.met);
        for asked in met.values() {
            self.replace_by(asked);
        }
        self.met = met;
    }

    /// The most similar of these executions, if it may be the former one of an activity of a new step of this program.
    fn pick<'e>(
        &self,
        asked: &Activity,
        program: &PreparedProgram,
        gone: impl Iterator<Item = &'e EffectExecution>,
    ) -> Option<&'e EffectExecution> {
        // Of each run once, because it walks the whole program.
        let mut known: BTreeMap<usize, bool> = BTreeMap::new();
        let mut best = None;
        let mut highest = None;
        for execution in gone {
            if !self.is_alike(asked, &execution.activity) {
                continue;
            }
            let at = execution.at;
            if !*known.entry(at).or_insert_with(|| self.is_new(asked, program, at)) {
                continue;
            }
            // Of several, the first.
            let score = Some(similarity(asked, &execution.activity));
            if score > highest {
                (best, highest) = (Some(execution), score);
            }
        }
        best
    }

    /// Whether the step of an activity is new in this program, compared with that of an earlier run. One that was changed and never
    /// ran is as good as new: its name may now be that of another.
    fn is_new(&self, asked: &Activity, program: &PreparedProgram, at: usize) -> bool {
        let Some(Layer { program: Some(before), .. }) = self.layers.get(at) else { return true };
        let mut then = StepsByLabels::for_program(before);
        if !then.has_effect_step(asked, &self.hands) {
            return true;
        }
        if let Some(ran) = self.ran.get(&asked.labels)
            && ran.iter().any(|(last, activity)| *last >= at && self.is_alike(asked, activity))
        {
            return false;
        }
        let then = then.effect_definitions(asked, &self.hands);
        StepsByLabels::for_program(program).effect_definitions(asked, &self.hands).is_disjoint(&then)
    }

    /// Finds which effects have run under which labels.
    pub(super) fn learn_ran(&mut self) {
        let mut ran = EffectHistory::new();
        // The oldest run first: it is the last in which something of the sort ran.
        for (at, layer) in self.layers.iter().enumerate().rev() {
            for (_, activity) in layer.done.values() {
                if !has_effect(&activity.request) {
                    continue;
                }
                let known = ran.entry(activity.labels.clone()).or_default();
                if !known.iter().any(|(_, one)| self.is_alike(activity, one)) {
                    known.push((at, activity.clone()));
                }
            }
        }
        self.ran = ran;
    }

    /// The executions in the runs from this one on whose steps are not in a program, in their order, without those that were replaced.
    fn gone_from(&self, program: &PreparedProgram, from: usize) -> Vec<EffectExecution> {
        let mut steps = StepsByLabels::for_program(program);
        let mut gone = self.executions(from);
        gone.retain(|execution| {
            !self.replaced.contains_key(&execution.origin) && !steps.has_effect_step(&execution.activity, &self.hands)
        });
        gone
    }

    /// The tool calls and commands that the runs from this one on may have performed, each once, with the newest name: the newest
    /// run first, in the order in which they were started. What was performed again under the same key does not count.
    fn executions(&self, from: usize) -> Vec<EffectExecution> {
        let mut all = Vec::new();
        let (mut met, mut keys) = (BTreeSet::new(), BTreeSet::new());
        for (at, layer) in self.layers.iter().enumerate().skip(from) {
            let mut of_run: Vec<_> = layer.done.iter().filter(|(_, (_, a))| has_effect(&a.request)).collect();
            of_run.sort_by_key(|(_, (order, _))| *order);
            let mut again = Vec::new();
            for (key, (_, activity)) in of_run {
                let origin = self.result_origin(&(at, key.clone()));
                let performed = origin == (at, key.clone());
                if performed {
                    again.push(key);
                }
                let is_void = performed && (layer.undone.contains(key) || keys.contains(key));
                if !is_void && met.insert(origin.clone()) {
                    all.push(EffectExecution { origin, at, activity: activity.clone() });
                }
            }
            keys.extend(again);
        }
        all
    }

    /// Where a result was performed, even if several runs have reused it.
    pub(super) fn result_origin(&self, place: &ClaimPlace) -> ClaimPlace {
        let mut origin = None;
        for place in self.claim_history(place) {
            if place.0 >= self.layers.len() {
                break;
            }
            origin = Some(place);
        }
        origin.unwrap_or_else(|| place.clone())
    }

    /// The places that a result has had: this one, and those in older runs from which it was reused. The last may be in a run that
    /// was not read, after all others.
    pub(super) fn claim_history(&self, place: &ClaimPlace) -> impl Iterator<Item = ClaimPlace> {
        std::iter::successors(Some(place.clone()), |(at, key)| {
            let (run, there) = self.layers.get(*at)?.reused.get(key)?;
            let older = self.layers.iter().position(|layer| *layer.run == **run).unwrap_or(self.layers.len());
            // Only an older run comes after it, so this ends.
            if older > *at { Some((older, there.clone())) } else { None }
        })
    }

    /// What a step became in later runs that replaced it, or that have its result under another name.
    pub(super) fn latest_place(&self, mut place: ClaimPlace) -> ClaimPlace {
        loop {
            let next = self.find_reuser(&place).or_else(|| self.replaced.get(&self.result_origin(&place)).cloned());
            match next {
                // Only a newer run comes after it, so this ends.
                Some(next) if next.0 < place.0 => place = next,
                _ => return place,
            }
        }
    }

    /// The place in the next newer run that has reused a result.
    fn find_reuser(&self, (at, key): &ClaimPlace) -> Option<ClaimPlace> {
        let run = &self.layers.get(*at)?.run;
        for (newer, layer) in self.layers.iter().enumerate().take(*at).rev() {
            for (reuser, (from, there)) in &layer.reused {
                if **from == **run && there == key {
                    return Some((newer, reuser.clone()));
                }
            }
        }
        None
    }

    /// Whether the program has the step of an activity.
    pub(super) fn has_step_of(&self, activity: &Activity) -> bool {
        matches!(&self.program, Some(program) if program.has_step_of(activity))
    }

    /// Whether the program has a step under the same names that performs the same effect.
    fn performs(&self, activity: &Activity) -> bool {
        let Some(program) = &self.program else { return false };
        StepsByLabels::for_program(program).has_effect_step(activity, &self.hands)
    }

    /// Whether two tool calls or commands may be the same step before and after an edit.
    fn is_alike(&self, asked: &Activity, before: &Activity) -> bool {
        let same_label = asked.labels.last().is_some() && asked.labels.last() == before.labels.last();
        let same_tool = match (&asked.request, &before.request) {
            (Request::Tool(now), Request::Tool(then)) => now.calls_same(then),
            (Request::Command(_), Request::Command(_)) => true,
            _ => false,
        };
        (same_label || same_tool) && self.hands.same_class(&asked.request, &before.request)
    }
}

/// How similar two tool calls or commands are: whether they do the same, have the same label, and are in the same place.
fn similarity(asked: &Activity, before: &Activity) -> (bool, bool, bool) {
    let same_label = before.labels.last() == asked.labels.last();
    (before.content == asked.content, same_label, labels_around(before) == labels_around(asked))
}

fn labels_around(activity: &Activity) -> Option<&[Arc<str>]> {
    let (_, around) = activity.labels.split_last()?;
    Some(around)
}

/// Whether an activity may have an effect on the world.
pub(super) fn has_effect(request: &Request) -> bool {
    matches!(request, Request::Tool(_) | Request::Command(_))
}
