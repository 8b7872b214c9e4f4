//! Model answers of any earlier runs, looked up by content key. Other results are not looked up: a tool reads the current state of
//! the world, a command changes it, and a person's answer belongs to a moment.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use async_trait::async_trait;
use trefoil_machine::journal::{About, Cited};
use trefoil_machine::key::{ContentKey, Key};
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, ModelRequest, Request};

use super::{Earlier, is_real, is_whole};

/// A source of answers of earlier runs.
#[async_trait]
pub trait Library: Send + Sync + std::fmt::Debug {
    /// The answers to a request, newest first, from all runs except `own`. Answers that cannot be read are skipped.
    async fn answers(&self, own: &str, content: ContentKey) -> Vec<FoundEntry>;
}

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
    pub about: About,
}

/// The answers found so far. Each is used once, even if several runs have it, because two requests need two answers.
#[derive(Debug, Clone)]
pub struct Shelf {
    library: Arc<dyn Library>,
    /// The current run's source of embedded or scripted answers, if it has one.
    made_up_by: Option<String>,
    found: BTreeMap<ContentKey, VecDeque<FoundEntry>>,
    used: BTreeSet<(String, Key)>,
}

impl Shelf {
    /// A shelf without any lookups yet.
    pub fn of(library: Arc<dyn Library>) -> Self {
        Self { library, made_up_by: None, found: BTreeMap::new(), used: BTreeSet::new() }
    }

    /// As [`Memo::without_made_up`](super::Memo::without_made_up).
    pub fn without_made_up(&mut self, by: Option<&str>) {
        self.made_up_by = by.map(str::to_owned);
    }

    /// Looks up answers to activities that are requested together. `label`: the model that answers a call now. If an alias named a
    /// different model then, the answer is not used.
    pub async fn fetch(&mut self, own: &str, asked: &[Arc<Activity>], label: impl Fn(&ModelRequest) -> String) {
        for one in asked {
            let Request::Model(request) = &one.request else { continue };
            if self.found.contains_key(&one.content) {
                continue;
            }
            let mut found = self.library.answers(own, one.content).await;
            let now = request.provider.is_none().then(|| label(request));
            found.retain(|found| {
                let same = now.is_none() || found.about.model == now;
                same && is_real(&found.about, self.made_up_by.as_deref())
            });
            self.found.insert(one.content, found.into());
        }
    }

    /// Takes the next answer to a request.
    pub fn take(&mut self, asked: &Arc<Activity>) -> Option<(Earlier, Cited)> {
        let Request::Model(_) = asked.request else { return None };
        loop {
            // What other guardrails have changed stays for other requests.
            let found = self.found.get_mut(&asked.content)?;
            let at = found.iter().position(|found| is_whole(&found.about, asked))?;
            let answer = found.remove(at)?;
            let places = places(&answer);
            let new = places.iter().all(|place| !self.used.contains(place));
            self.used.extend(places);
            if !new {
                continue;
            }
            let FoundEntry { run, key, value, about } = answer;
            let earlier = Earlier { activity: asked.clone(), value, about };
            let was = (key != asked.key).then_some(key);
            let (run, used) = (run.to_string(), earlier.used());
            let cited = Cited { run, key: was, content: asked.content, used };
            return Some((earlier, cited));
        }
    }

    /// Which of these, in their order, have an answer if all of them are taken.
    pub fn has(&self, asked: &[&Arc<Activity>]) -> Vec<bool> {
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
                let places = places(answer);
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
    pub fn used(&mut self, key: &Key, cited: &Cited) {
        self.used.insert((cited.run.clone(), cited.key.clone().unwrap_or_else(|| key.clone())));
    }
}

/// Where an answer is, and where the run that has it took it from.
fn places(answer: &FoundEntry) -> Vec<(String, Key)> {
    let FoundEntry { run, key, about, .. } = answer;
    let origin = about.from.as_ref().map(|cited| (cited.run.clone(), cited.key.clone().unwrap_or_else(|| key.clone())));
    std::iter::once((run.to_string(), key.clone())).chain(origin).collect()
}
