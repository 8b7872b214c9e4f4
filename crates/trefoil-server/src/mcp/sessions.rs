//! The sessions that are open. Each is of use to the key that has begun it, and to nobody else, and takes memory until it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use http::StatusCode;
use rmcp::transport::streamable_http_server::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use trefoil_runtime::locks::lock;

use crate::problem::{ApiResult, Problem};

/// The most sessions at a time.
const MOST: usize = 10_000;
/// The most sessions of a key. If it begins another one, that of its idle ones ends which it has not used for longest.
const MOST_OF_CALLER: usize = 100;

/// Who has begun which session.
pub struct SessionBook {
    manager: Arc<LocalSessionManager>,
    notes: Mutex<SessionNotes>,
}

#[derive(Default)]
struct SessionNotes {
    sessions: HashMap<String, SessionNote>,
    /// How many sessions each caller is about to begin.
    beginning: HashMap<Arc<str>, usize>,
    /// The number of requests so far.
    requests: u64,
}

struct SessionNote {
    caller: Arc<str>,
    /// The number of its last request.
    last: u64,
    /// Shared with the requests that are in progress.
    uses: Arc<()>,
}

/// That a request of a session is in progress, until this is dropped.
pub struct SessionUse(#[allow(dead_code, reason = "counted")] Arc<()>);

/// That a caller begins a session, until this is dropped.
pub struct BeginningSession<'b> {
    book: &'b SessionBook,
    caller: Arc<str>,
}

impl SessionBook {
    /// None yet.
    pub fn new(manager: Arc<LocalSessionManager>) -> Self {
        Self { manager, notes: Mutex::default() }
    }

    fn notes(&self) -> MutexGuard<'_, SessionNotes> {
        lock(&self.notes)
    }

    /// Notes a request of a session. `None`: there is no such session.
    ///
    /// # Errors
    ///
    /// 404 for a session of somebody else.
    pub fn use_session(&self, session: &str, caller: &Arc<str>) -> ApiResult<Option<SessionUse>> {
        let notes = &mut *self.notes();
        let Some(note) = notes.sessions.get_mut(session) else { return Ok(None) };
        if note.caller != *caller {
            return Err(Problem::not_found("SESSION_NOT_FOUND", "there is no such session"));
        }
        notes.requests += 1;
        note.last = notes.requests;
        Ok(Some(SessionUse(note.uses.clone())))
    }

    /// Makes room for another session of a caller.
    ///
    /// # Errors
    ///
    /// 503 if there are too many sessions, 429 if the caller has too many with a call in progress.
    pub async fn make_room(&self, caller: &Arc<str>) -> ApiResult<BeginningSession<'_>> {
        let (room, idle) = {
            // No session begins meanwhile, so every one that is noted is among these, unless it has ended.
            let open = self.manager.sessions.read().await;
            let mut notes = self.notes();
            if notes.sessions.len() > open.len() {
                notes.sessions.retain(|session, _| open.contains_key(session.as_str()));
            }
            if open.len() + notes.beginning.values().sum::<usize>() >= MOST {
                let detail = "too many sessions are open";
                let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "TOO_MANY_SESSIONS", detail);
                return Err(problem.with_retry_after(60));
            }
            let mut idle = None;
            if notes.count_of(caller) >= MOST_OF_CALLER {
                idle = notes.take_idle(caller);
                if idle.is_none() {
                    let detail = format!("{MOST_OF_CALLER} sessions of the key have a call in progress");
                    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_SESSIONS", detail);
                    return Err(problem.with_help("use a session for several calls").with_retry_after(5));
                }
            }
            *notes.beginning.entry(caller.clone()).or_default() += 1;
            (BeginningSession { book: self, caller: caller.clone() }, idle)
        };
        if let Some(idle) = idle {
            // It may have ended by itself.
            let _ = self.manager.close_session(&idle.into()).await;
        }
        Ok(room)
    }
}

impl SessionNotes {
    fn count_of(&self, caller: &Arc<str>) -> usize {
        let beginning = self.beginning.get(caller).copied().unwrap_or_default();
        beginning + self.sessions.values().filter(|note| note.caller == *caller).count()
    }

    /// Forgets the session of a caller that has no request in progress and was not used for longest.
    fn take_idle(&mut self, caller: &Arc<str>) -> Option<String> {
        let mut oldest: Option<(u64, &String)> = None;
        for (session, note) in &self.sessions {
            let is_idle = note.caller == *caller && Arc::strong_count(&note.uses) == 1;
            if is_idle && oldest.is_none_or(|(last, _)| note.last < last) {
                oldest = Some((note.last, session));
            }
        }
        let session = oldest?.1.clone();
        self.sessions.remove(&session);
        Some(session)
    }
}

impl BeginningSession<'_> {
    /// It has begun.
    pub fn note_session(self, session: String) -> SessionUse {
        let uses = Arc::new(());
        let mut notes = self.book.notes();
        notes.requests += 1;
        let note = SessionNote { caller: self.caller.clone(), last: notes.requests, uses: uses.clone() };
        notes.sessions.insert(session, note);
        SessionUse(uses)
    }
}

impl Drop for BeginningSession<'_> {
    fn drop(&mut self) {
        let mut notes = self.book.notes();
        if let Some(count) = notes.beginning.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                notes.beginning.remove(&self.caller);
            }
        }
    }
}
