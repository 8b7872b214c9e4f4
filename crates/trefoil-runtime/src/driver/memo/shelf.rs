//! Answers of models in any earlier runs, looked up by what is asked for. Only models: a tool reads the world as it is, a command
//! changes it, and a person's answer belongs to a moment.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use async_trait::async_trait;
use trefoil_machine::journal::{About, Cited};
use trefoil_machine::key::{ContentKey, Key};
use trefoil_machine::request::{Activity, ModelRequest, Request};
use trefoil_template::Value;

use super::{Earlier, is_real};

/// Where answers of earlier runs are.
#[async_trait]
pub trait Library: Send + Sync + std::fmt::Debug {
    /// The answers to that, the newest first, of other runs than `own`. What cannot be read has no answers.
    async fn answers(&self, own: &str, content: ContentKey) -> Vec<FoundEntry>;
}

/// An answer of an earlier run.
#[derive(Debug, Clone)]
pub struct FoundEntry {
    /// The run.
    pub run: Arc<str>,
    /// What the call is called there.
    pub key: Key,
    /// The answer.
    pub value: Value,
    /// What else is known about it.
    pub about: About,
}

/// What was found so far. Each answer is used once, whichever runs have it: who asks twice wants two answers.
#[derive(Debug, Clone)]
pub struct Shelf {
    library: Arc<dyn Library>,
    /// Who makes up the answers of the run that uses this, if somebody does.
    made_up_by: Option<String>,
    found: BTreeMap<ContentKey, VecDeque<FoundEntry>>,
    used: BTreeSet<(String, Key)>,
}

impl Shelf {
    /// Nothing was looked up yet.
    pub fn of(library: Arc<dyn Library>) -> Self {
        Self { library, made_up_by: None, found: BTreeMap::new(), used: BTreeSet::new() }
    }

    /// As [`Memo::without_made_up`](super::Memo::without_made_up).
    pub fn without_made_up(&mut self, by: Option<&str>) {
        self.made_up_by = by.map(str::to_owned);
    }

    /// Looks up what is asked for at the same time. `label`: what answers a call now. An alias that was another model then is
    /// another question.
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

    /// The next answer to that.
    pub fn take(&mut self, asked: &Arc<Activity>) -> Option<(Earlier, Cited)> {
        let Request::Model(_) = asked.request else { return None };
        loop {
            let FoundEntry { run, key, value, about } = self.found.get_mut(&asked.content)?.pop_front()?;
            if !self.is_new(&run, &key, about.from.as_deref()) {
                continue;
            }
            let earlier = Earlier { activity: asked.clone(), value, about };
            let was = (key != asked.key).then_some(key);
            let (run, used) = (run.to_string(), earlier.used());
            let cited = Cited { run, key: was, content: asked.content, there: None, used };
            return Some((earlier, cited));
        }
    }

    /// Whether it was not used yet, also not as what another run has of it. From now on it is.
    fn is_new(&mut self, run: &str, key: &Key, from: Option<&Cited>) -> bool {
        let own = (run.to_owned(), key.clone());
        let origin = from.map(|cited| (cited.run.clone(), cited.key.clone().unwrap_or_else(|| key.clone())));
        let new = !self.used.contains(&own) && origin.as_ref().is_none_or(|origin| !self.used.contains(origin));
        self.used.insert(own);
        self.used.extend(origin);
        new
    }

    /// An answer was used, by the journal of the run that uses it.
    pub fn used(&mut self, key: &Key, cited: &Cited) {
        self.used.insert((cited.run.clone(), cited.key.clone().unwrap_or_else(|| key.clone())));
    }
}
