//! What has happened in a run, for those who watch it: the owned form of what a replay shows ([`Past`]), so that one converter makes
//! the events of both.

use std::sync::Arc;

use trefoil_machine::error::RunError;
use trefoil_machine::journal::{About, CalledRun, Lost};
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::Activity;
use trefoil_machine::{Noted, Past};

/// Something that has happened.
#[derive(Debug)]
pub enum Notice {
    /// The machine emitted an event.
    Noted(Noted),
    /// An activity was started.
    Began(Arc<Activity>),
    /// It ended.
    Ended(Arc<Activity>, Result<PrivateValue, RunError>, Box<About>),
    /// The run was resumed, for the how manieth time.
    Resumed(u32),
    /// The outcome of a model call is unknown.
    Lost(Arc<Activity>, Box<Lost>),
    /// The run can only wait for these.
    Suspended(Box<SuspendedRun>),
}

/// What a suspended run waits for.
#[derive(Debug)]
pub struct SuspendedRun {
    /// The activities.
    pub waiting: Vec<Arc<Activity>>,
    /// Those of them that are calls of runs that are suspended, too.
    pub called: Vec<CalledRun>,
    /// When it can continue without an answer, in milliseconds since 1970-01-01 UTC.
    pub wake_at: Option<u64>,
    /// Why it waits for permission.
    pub why: Option<RunError>,
}

impl Notice {
    /// The same as a replay shows it.
    pub fn past(&mut self) -> Past<'_> {
        match self {
            Self::Noted(noted) => Past::Noted(noted),
            Self::Began(activity) => Past::Began(activity),
            Self::Ended(activity, result, about) => Past::Ended(activity, result, about),
            Self::Resumed(execution) => Past::Resumed(*execution, None),
            Self::Lost(activity, lost) => Past::Lost(activity, lost),
            Self::Suspended(run) => {
                let waiting = run.waiting.iter().map(|activity| &**activity).collect();
                Past::Suspended(waiting, &run.called, run.wake_at, run.why.as_ref())
            }
        }
    }

    /// Keeps what a replay shows. `None`: the end of a run.
    pub fn of(past: Past<'_>) -> Option<Self> {
        let shared = |activity: &Activity| Arc::new(activity.clone());
        Some(match past {
            Past::Noted(noted) => Self::Noted(noted.clone()),
            Past::Began(activity) => Self::Began(shared(activity)),
            Past::Ended(activity, result, about) => {
                Self::Ended(shared(activity), result.clone(), Box::new(about.clone()))
            }
            Past::Resumed(execution, _) => Self::Resumed(execution),
            Past::Lost(activity, lost) => Self::Lost(shared(activity), Box::new(lost.clone())),
            Past::Suspended(waiting, called, wake_at, why) => Self::Suspended(Box::new(SuspendedRun {
                waiting: waiting.into_iter().map(shared).collect(),
                called: called.to_vec(),
                wake_at,
                why: why.cloned(),
            })),
            Past::Finished(..) => return None,
        })
    }
}
