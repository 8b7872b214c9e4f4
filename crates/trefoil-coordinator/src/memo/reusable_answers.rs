//! Model answers of any earlier runs, looked up by content key. Other results are not looked up: a tool reads the current state of
//! the world, a command changes it, and a person's answer belongs to a moment.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use trefoil_machine::journal::{ActivityMetadata, Cited};
use trefoil_machine::key::{ContentKey, Key};
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, Request};

use super::{EarlierResult, is_real, is_whole};

/// An answer of an earlier run.
#[derive(Debug, Clone)]
pub struct FoundEntry {
    /// The run's id.
    pub run: Arc<str>,
    /// The key of the call in that run.
    pub key: Key,
    /// The answer.
    pub value: PrivateValue,
    /// Metadata of the answer.
    pub about: ActivityMetadata,
}

/// What was looked up for a request.
#[derive(Debug, Clone)]
pub struct FoundAnswers {
    /// The request.
    pub content: ContentKey,
    /// If the request names an alias: the model that answers it now. Answers of another model are not used.
    pub model: Option<String>,
    /// The answers of all runs but the current one, newest first.
    pub answers: Vec<FoundEntry>,
}

/// The answers found so far. Each is used once, even if several runs have it, because two requests need two answers.
#[derive(Debug, Clone, Default)]
pub struct ReusableAnswers {
    /// The current run's source of embedded or scripted answers, if it has one.
    made_up_by: Option<String>,
    found: BTreeMap<ContentKey, VecDeque<FoundEntry>>,
    used: BTreeSet<(String, Key)>,
}

impl ReusableAnswers {
    /// As [`Memo::without_made_up`](super::Memo::without_made_up).
    pub fn without_made_up(&mut self, by: Option<&str>) {
        self.made_up_by = by.map(str::to_owned);
    }

    /// Of the activities that are requested together, those whose answers were not looked up yet: one for each request.
    pub fn answers_to_look_up(&self, asked: &[Arc<Activity>]) -> Vec<Arc<Activity>> {
        let mut met = BTreeSet::new();
        let mut unknown = Vec::new();
        for activity in asked {
            let content = activity.content;
            if matches!(activity.request, Request::Model(_))
                && !self.found.contains_key(&content)
                && met.insert(content)
            {
                unknown.push(activity.clone());
            }
        }
        unknown
    }

    /// Adds answers that were looked up.
    pub fn add_found_answers(&mut self, found: Vec<FoundAnswers>) {
        for FoundAnswers { content, model, answers } in found {
            let is_usable = |found: &FoundEntry| {
                let same = model.is_none() || found.about.model == model;
                same && is_real(&found.about, self.made_up_by.as_deref())
            };
            self.found.insert(content, answers.into_iter().filter(is_usable).collect());
        }
    }

    /// Takes the next answer to a request.
    pub fn take_answer(&mut self, asked: &Arc<Activity>) -> Option<(EarlierResult, Cited)> {
        let Request::Model(_) = asked.request else { return None };
        loop {
            // What other guardrails have changed stays for other requests.
            let found = self.found.get_mut(&asked.content)?;
            let at = found.iter().position(|found| is_whole(&found.about, asked))?;
            let answer = found.remove(at)?;
            let places = answer_places(&answer);
            let new = places.iter().all(|place| !self.used.contains(place));
            self.used.extend(places);
            if !new {
                continue;
            }
            let FoundEntry { run, key, value, about } = answer;
            let earlier = EarlierResult { activity: asked.clone(), value, about };
            let was = if key == asked.key { None } else { Some(key) };
            let (run, used) = (run.to_string(), earlier.original_usage());
            let cited = Cited { run, key: was, content: asked.content, used };
            return Some((earlier, cited));
        }
    }

    /// Which of these, in their order, have an answer if all of them are taken.
    pub fn has_answers(&self, asked: &[&Arc<Activity>]) -> Vec<bool> {
        let mut next: BTreeMap<ContentKey, usize> = BTreeMap::new();
        let mut taken = BTreeSet::new();
        let mut has = |asked: &Activity| {
            let Some(found) = self.found.get(&asked.content) else { return false };
            let next = next.entry(asked.content).or_default();
            while let Some(answer) = found.get(*next) {
                *next += 1;
                if !is_whole(&answer.about, asked) {
                    continue;
                }
                let places = answer_places(answer);
                let new = places.iter().all(|place| !self.used.contains(place) && !taken.contains(place));
                taken.extend(places);
                if new {
                    return true;
                }
            }
            false
        };
        asked.iter().map(|one| matches!(one.request, Request::Model(_)) && has(one)).collect()
    }

    /// Records that the current run has used an answer, according to its journal.
    pub fn record_use(&mut self, key: &Key, cited: &Cited) {
        self.used.insert((cited.run.clone(), cited.key.as_ref().unwrap_or(key).clone()));
    }
}

/// Where an answer is, and where the run that has it took it from.
fn answer_places(answer: &FoundEntry) -> Vec<(String, Key)> {
    let FoundEntry { run, key, about, .. } = answer;
    let mut places = vec![(run.to_string(), key.clone())];
    if let Some(cited) = &about.from {
        places.push((cited.run.clone(), cited.key.as_ref().unwrap_or(key).clone()));
    }
    places
}
