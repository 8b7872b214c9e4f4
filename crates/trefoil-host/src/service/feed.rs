//! Feeds: the events of a run for any number of watchers. All watchers of a run share one feed, so that a run with a thousand
//! watchers is read once. A run of this process fills its feed itself; that of another process is followed in the store.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use trefoil_project::error::{Error, Result};
use trefoil_project::flow::Flow;
use trefoil_runtime::Event;
use trefoil_runtime::locks::lock;

use crate::durable::StoredRun;
use crate::stored_runs::{RunFollower, Runs};

/// The most events that a feed of a run of this process keeps. The watchers of a longer run read its journal.
const MOST_EVENTS: usize = 20_000;

/// The feeds of the runs that somebody watches.
#[derive(Clone)]
pub struct RunFeeds {
    runs: Runs,
    feeds: Arc<Mutex<HashMap<String, Weak<RunFeed>>>>,
}

/// The events of a run so far.
struct RunFeed {
    flow: Flow,
    state: Mutex<FeedState>,
    changed: Notify,
    /// The task that follows the run in the store, which ends with the feed.
    following: OnceLock<AbortHandle>,
}

#[derive(Default)]
struct FeedState {
    events: Vec<Arc<FeedEvent>>,
    stage: FeedStage,
}

/// Whether more events will come.
#[derive(Default, Clone)]
enum FeedStage {
    /// Yes.
    #[default]
    Open,
    /// No: the run has ended.
    Ended,
    /// Not here: the run continues in another process, or has too many events.
    Elsewhere,
    /// The journal cannot be read.
    Failed(Arc<Error>),
}

/// An event with its JSON, which is made once for all watchers.
pub struct FeedEvent {
    event: Event,
    text: OnceLock<Arc<str>>,
}

impl FeedEvent {
    fn new(event: Event) -> Self {
        Self { event, text: OnceLock::new() }
    }
    /// The event.
    pub fn event(&self) -> &Event {
        &self.event
    }
    /// Its JSON, as in `trefoil runs events`. `flow`: that of its [reader](FeedReader::flow).
    pub fn json_text(&self, flow: &Flow) -> &Arc<str> {
        self.text.get_or_init(|| flow.event_json(&self.event).to_string().into())
    }
}

/// What a watcher finds in a feed.
enum FeedItem {
    Event(Arc<FeedEvent>),
    /// Nothing yet.
    Pending,
    End(FeedStage),
}

impl RunFeed {
    fn new(flow: Flow) -> Self {
        Self { flow, state: Mutex::default(), changed: Notify::new(), following: OnceLock::new() }
    }

    fn add_event(&self, event: Event, most: usize) {
        {
            let mut state = lock(&self.state);
            if !matches!(state.stage, FeedStage::Open) {
                return;
            }
            if state.events.len() < most {
                state.events.push(Arc::new(FeedEvent::new(event)));
            } else {
                *state = FeedState { events: Vec::new(), stage: FeedStage::Elsewhere };
            }
        }
        self.changed.notify_waiters();
    }

    fn set_stage(&self, stage: FeedStage) {
        {
            let mut state = lock(&self.state);
            if matches!(state.stage, FeedStage::Open) {
                state.stage = stage;
            }
        }
        self.changed.notify_waiters();
    }

    fn read_item(&self, position: usize) -> FeedItem {
        let state = lock(&self.state);
        match (state.events.get(position), &state.stage) {
            (Some(event), _) => FeedItem::Event(event.clone()),
            (None, FeedStage::Open) => FeedItem::Pending,
            (None, stage) => FeedItem::End(stage.clone()),
        }
    }
}

impl Drop for RunFeed {
    fn drop(&mut self) {
        if let Some(following) = self.following.get() {
            following.abort();
        }
    }
}

impl RunFeeds {
    /// The feeds of the runs in a store.
    pub fn new(runs: Runs) -> Self {
        Self { runs, feeds: Arc::default() }
    }

    /// The feed of a run that starts or continues in this process, which fills it from the first event on. Whoever has watched the run in
    /// the store goes on here, and also gets text as it arrives.
    pub(crate) fn open_local(&self, run: &str, flow: Flow) -> LocalFeed {
        let feed = Arc::new(RunFeed::new(flow));
        let before = {
            let mut feeds = lock(&self.feeds);
            if feeds.len() >= 64 && feeds.len().is_power_of_two() {
                feeds.retain(|_, feed| feed.strong_count() > 0);
            }
            feeds.insert(run.to_owned(), Arc::downgrade(&feed))
        };
        if let Some(before) = before.and_then(|before| before.upgrade()) {
            before.set_stage(FeedStage::Elsewhere);
        }
        LocalFeed { feeds: self.clone(), run: run.to_owned(), feed }
    }

    /// The events of a run, also of one that has ended. `after`: only those with a higher number.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if there is no such run, or its content is not kept.
    pub async fn watch_run(&self, run: &str, after: Option<u64>) -> Result<FeedReader> {
        let feed = self.find_feed(run).await?;
        Ok(FeedReader { feeds: self.clone(), run: run.to_owned(), feed, position: 0, skip_through: after, last: after })
    }

    async fn find_feed(&self, run: &str) -> Result<Arc<RunFeed>> {
        if let Some(feed) = self.known_feed(run) {
            return Ok(feed);
        }
        let stored = StoredRun::read_run(&**self.runs.store(), run).await?;
        let flow = stored.flow.clone();
        let follower = self.runs.follow_stored(stored);
        let feed = Arc::new(RunFeed::new(flow));
        let following = tokio::spawn(fill_feed(Arc::downgrade(&feed), follower));
        let _ = feed.following.set(following.abort_handle());
        let mut feeds = lock(&self.feeds);
        // Somebody else may have been faster.
        if let Some(known) = feeds.get(run).and_then(Weak::upgrade)
            && known.is_live()
        {
            return Ok(known);
        }
        feeds.retain(|_, feed| feed.strong_count() > 0);
        feeds.insert(run.to_owned(), Arc::downgrade(&feed));
        Ok(feed)
    }

    fn known_feed(&self, run: &str) -> Option<Arc<RunFeed>> {
        let feed = lock(&self.feeds).get(run)?.upgrade()?;
        if feed.is_live() { Some(feed) } else { None }
    }
}

impl RunFeed {
    /// Whether it has, or will have, all events of the run.
    fn is_live(&self) -> bool {
        matches!(lock(&self.state).stage, FeedStage::Open | FeedStage::Ended)
    }
}

/// The feed of a run that this process drives. If it is dropped before its end, its watchers look at the store.
pub(crate) struct LocalFeed {
    feeds: RunFeeds,
    run: String,
    feed: Arc<RunFeed>,
}

impl LocalFeed {
    /// Adds an event of the run.
    pub fn push_event(&self, event: Event) {
        self.feed.add_event(event, MOST_EVENTS);
    }

    /// The run has ended here. `continues`: it has not ended as a whole.
    pub fn end_feed(&self, continues: bool) {
        self.feed.set_stage(if continues { FeedStage::Elsewhere } else { FeedStage::Ended });
    }
}

impl Drop for LocalFeed {
    fn drop(&mut self) {
        self.feed.set_stage(FeedStage::Elsewhere);
        let mut feeds = lock(&self.feeds.feeds);
        let is_own =
            matches!(feeds.get(&self.run), Some(known) if std::ptr::eq(known.as_ptr(), Arc::as_ptr(&self.feed)));
        if is_own {
            feeds.remove(&self.run);
        }
    }
}

/// Fills the feed of a run in the store.
async fn fill_feed(feed: Weak<RunFeed>, mut follower: RunFollower) {
    loop {
        let next = follower.next_event().await;
        let Some(feed) = feed.upgrade() else { return };
        match next {
            Ok(Some(event)) => feed.add_event(event, usize::MAX),
            Ok(None) => return feed.set_stage(FeedStage::Ended),
            Err(error) => return feed.set_stage(FeedStage::Failed(Arc::new(error))),
        }
    }
}

/// A watcher of a run. Dropping it stops nothing.
pub struct FeedReader {
    feeds: RunFeeds,
    run: String,
    feed: Arc<RunFeed>,
    position: usize,
    /// Events up to this number are skipped, until one with a higher number comes.
    skip_through: Option<u64>,
    last: Option<u64>,
}

impl FeedReader {
    /// The flow of the run.
    pub fn flow(&self) -> &Flow {
        &self.feed.flow
    }

    /// The next event; waits for it. `None` after the last event of a run that has ended. A run that waits is watched on:
    /// somebody may answer it.
    ///
    /// # Errors
    ///
    /// The journal cannot be read, or is not that of its program.
    pub async fn next_event(&mut self) -> Result<Option<Arc<FeedEvent>>, Arc<Error>> {
        loop {
            let feed = self.feed.clone();
            let mut changed = pin!(feed.changed.notified());
            // Registered before the feed is read, so that no event is missed.
            changed.as_mut().enable();
            match feed.read_item(self.position) {
                FeedItem::Event(event) => {
                    self.position += 1;
                    let seq = event.event.seq;
                    if matches!(self.skip_through, Some(through) if seq <= through) {
                        continue;
                    }
                    self.skip_through = None;
                    self.last = Some(seq);
                    return Ok(Some(event));
                }
                FeedItem::Pending => changed.await,
                FeedItem::End(FeedStage::Failed(error)) => return Err(error),
                FeedItem::End(FeedStage::Elsewhere) => {
                    self.feed = self.feeds.find_feed(&self.run).await.map_err(Arc::new)?;
                    self.position = 0;
                    self.skip_through = self.last;
                }
                FeedItem::End(_) => return Ok(None),
            }
        }
    }
}
