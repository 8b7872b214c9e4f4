//! What has happened in a run, for those who watch it: the owned form of what a replay shows ([`ReplayNotice`]), so
//! that one converter makes
//! the events of both.

use std::sync::Arc;

use trefoil_machine::error::RunError;
use trefoil_machine::journal::{ActivityMetadata, CalledRun, LostModelCall};
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::Activity;
use trefoil_machine::{AnswerReceipt, MachineEvent, ReplayNotice};

/// Something that has happened.
#[derive(Debug)]
pub enum Notice {
    /// The machine emitted an event.
    Noted(MachineEvent),
    /// An activity was started; and who decided that it is repeated.
    Began(Arc<Activity>, Option<Box<AnswerReceipt>>),
    /// It ended.
    Ended(Arc<Activity>, Result<PrivateValue, RunError>, Box<ActivityMetadata>),
    /// The run was resumed, for the how manieth time.
    Resumed(u32),
    /// The outcome of a model call is unknown.
    Lost(Arc<Activity>, Box<LostModelCall>),
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
    pub fn as_replay_notice(&mut self) -> ReplayNotice<'_> {
        match self {
            Self::Noted(noted) => ReplayNotice::Noted(noted),
            Self::Began(activity, given_by) => ReplayNotice::Began(activity, given_by.as_deref()),
            Self::Ended(activity, result, about) => ReplayNotice::Ended(activity, result, about),
            Self::Resumed(execution) => ReplayNotice::Resumed(*execution, None),
            Self::Lost(activity, lost) => ReplayNotice::Lost(activity, lost),
            Self::Suspended(run) => {
                let waiting = run.waiting.iter().map(|activity| &**activity).collect();
                ReplayNotice::Suspended(waiting, &run.called, run.wake_at, run.why.as_ref())
            }
        }
    }

    /// Keeps what a replay shows. `None`: the end of a run.
    pub fn from_replay(past: ReplayNotice<'_>) -> Option<Self> {
        let shared = |activity: &Activity| Arc::new(activity.clone());
        Some(match past {
            ReplayNotice::Noted(noted) => Self::Noted(noted.clone()),
            ReplayNotice::Began(activity, given_by) => {
                Self::Began(shared(activity), given_by.map(|given_by| Box::new(given_by.clone())))
            }
            ReplayNotice::Ended(activity, result, about) => {
                Self::Ended(shared(activity), result.clone(), Box::new(about.clone()))
            }
            ReplayNotice::Resumed(execution, _) => Self::Resumed(execution),
            ReplayNotice::Lost(activity, lost) => Self::Lost(shared(activity), Box::new(lost.clone())),
            ReplayNotice::Suspended(waiting, called, wake_at, why) => Self::Suspended(Box::new(SuspendedRun {
                waiting: waiting.into_iter().map(shared).collect(),
                called: called.to_vec(),
                wake_at,
                why: why.cloned(),
            })),
            ReplayNotice::Finished(..) => return None,
        })
    }
}
