//! What a server does with runs: it starts them in this process, lets anybody watch a run of any process, and stops in good order.
//! Runs that wait (for a person, after a crash, in the queue of a busy server) are continued by a [worker](crate::worker) beside it.

mod answer_text;
mod blocking_work;
mod feed;
mod local_runs;
mod run_ends;
mod unnoted_ends;

pub use answer_text::AnswerText;
pub use blocking_work::{BlockingWork, is_large_value};
pub use feed::{FeedEvent, FeedReader, RunFeeds};
pub use local_runs::{HeldRun, LocalRuns, ResumePermission, StartedRun};
pub use run_ends::RunEndWatch;
pub(crate) use unnoted_ends::UnnotedEnds;
