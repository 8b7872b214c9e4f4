//! Answers of models in earlier runs of a store, by content key.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;
use trefoil_machine::{ContentKey, Entry, EntryKind};
use trefoil_runtime::driver::memo::{AnswerLibrary, FoundEntry};
use trefoil_store::{Content, Store};

use super::{called_runs, each_entry};

/// The maximum number of runs searched for one request.
const RUNS: usize = 16;
/// The maximum number of runs below one run that are searched.
const CALLED: usize = 1_000;

/// The answers of one run and of those that it called, or of all.
pub struct StoredAnswers {
    store: Arc<dyn Store>,
    /// The one run; `None`: all runs.
    only: Option<String>,
    read: Mutex<RunAnswerCache>,
}

/// The data read so far.
#[derive(Default)]
struct RunAnswerCache {
    /// Whether the store has indexed the requests of its runs.
    noted: bool,
    /// The one run, and those that it called.
    only: Option<Vec<String>>,
    runs: BTreeMap<String, Arc<RunAnswers>>,
}

/// The data of a run.
#[derive(Default)]
struct RunAnswers {
    answers: BTreeMap<ContentKey, Vec<FoundEntry>>,
    /// The runs of its calls, also of those whose results it has reused.
    called: Vec<String>,
}

impl fmt::Debug for StoredAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredAnswers").field("only", &self.only).finish_non_exhaustive()
    }
}

impl StoredAnswers {
    /// The answers of one run and of those that it called, or of all.
    pub fn of_runs(store: Arc<dyn Store>, only: Option<String>) -> Self {
        Self { store, only, read: Mutex::default() }
    }

    /// The runs that may have an answer, newest first.
    async fn runs(&self, read: &mut RunAnswerCache, content: ContentKey) -> Vec<String> {
        if let Some(run) = &self.only {
            if read.only.is_none() {
                read.only = Some(self.with_called(read, run).await);
            }
            return read.only.clone().unwrap_or_default();
        }
        if !read.noted {
            // If indexing fails, nothing is found, and the request is made again.
            let _ = self.store.index_requests().await;
            read.noted = true;
        }
        self.store.runs_with_request(content, RUNS).await.unwrap_or_default()
    }

    /// A run, and those that it called, directly or not.
    async fn with_called(&self, read: &mut RunAnswerCache, run: &str) -> Vec<String> {
        let mut all = vec![run.to_owned()];
        let mut next = 0;
        while let Some(run) = all.get(next).cloned() {
            next += 1;
            let mut called = self.of_run(read, &run).await.called.clone();
            // A call that has not ended names no run.
            called.extend(called_runs(&*self.store, &run).await);
            for run in called {
                if all.len() < CALLED && !all.contains(&run) {
                    all.push(run);
                }
            }
        }
        all
    }

    async fn of_run(&self, read: &mut RunAnswerCache, run: &str) -> Arc<RunAnswers> {
        if let Some(known) = read.runs.get(run) {
            return known.clone();
        }
        let found = Arc::new(answers(&*self.store, run).await.unwrap_or_default());
        read.runs.insert(run.to_owned(), found.clone());
        found
    }
}

#[async_trait]
impl AnswerLibrary for StoredAnswers {
    async fn find_answers(&self, own: &str, content: ContentKey) -> Vec<FoundEntry> {
        let mut read = self.read.lock().await;
        let mut all = Vec::new();
        for run in self.runs(&mut read, content).await {
            if run == own {
                continue;
            }
            let of_run = self.of_run(&mut read, &run).await;
            all.extend(of_run.answers.get(&content).into_iter().flatten().cloned());
        }
        all
    }
}

/// All answers of a run, for each request in order of arrival.
async fn answers(store: &dyn Store, run: &str) -> trefoil_store::StoreResult<RunAnswers> {
    if store.record(run).await?.content != Content::All {
        return Ok(RunAnswers::default());
    }
    let name: Arc<str> = run.into();
    let (mut asked, mut found) = (BTreeMap::new(), BTreeMap::new());
    let mut came = 0u64;
    let mut called = Vec::new();
    let each = |entry: Entry| {
        if let EntryKind::Completed { about, .. } | EntryKind::Failed { about, .. } = &entry.kind {
            called.extend(about.called.clone());
        }
        match entry.kind {
            EntryKind::Scheduled { key, sort, content, .. } if sort == "model" => drop(asked.insert(key, content)),
            EntryKind::Completed { key, value, about } if about.model.is_some() => {
                let content = match &about.from {
                    Some(cited) => Some(cited.content),
                    None => asked.get(&key).copied(),
                };
                came += 1;
                if let Some(content) = content {
                    let entry = FoundEntry { run: name.clone(), key: key.clone(), value, about: *about };
                    found.insert(key, (came, content, entry));
                }
            }
            EntryKind::Reopened { again, .. } => {
                // The earlier results of these activities are void.
                for key in &again {
                    found.remove(key);
                }
            }
            _ => {}
        }
    };
    each_entry(store, run, each).await?;
    let mut found: Vec<_> = found.into_values().collect();
    found.sort_by_key(|(came, ..)| *came);
    let mut of_run = RunAnswers { called, ..RunAnswers::default() };
    for (_, content, entry) in found {
        of_run.answers.entry(content).or_default().push(entry);
    }
    Ok(of_run)
}
