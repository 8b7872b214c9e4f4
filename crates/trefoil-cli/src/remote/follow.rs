//! Follows a run of a server to its end, or until it waits for a person, and shows its progress with the same display as a run of this
//! process. A signal ends the following, and not the run.

use std::time::{Duration, Instant};

use serde_json::Value as Json;
use trefoil::store::Status;
use trefoil_host::command::PrintedCommand;
use trefoil_runtime::{EventKind, EventSink as _, RunError};
use trefoil_server::RunDetail;

use super::client::ServerClient;
use super::event_feed::{FeedStep, RemoteFeed};
use super::failure::RemoteFailure;
use super::run_end::{EndEvent, RemoteEnd};
use super::run_events::read_event;
use super::run_lookup::read_detail;
use super::waits::{RemoteWait, run_status};
use crate::args::ShowArgs;
use crate::refusal::cannot_start;
use crate::run::{RunDisplay, RunHeader, StopSignals};
use crate::{exit, output};

/// How long nothing may come until it is said that all earlier events are there.
const IDLE: Duration = Duration::from_millis(250);
/// Time between questions how a run stands that has said that it waits.
const ASK: Duration = Duration::from_secs(2);
/// How long a server that cannot be reached is tried again.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_secs(5);

/// A run that is followed.
pub struct FollowedRun<'f> {
    client: &'f ServerClient,
    run: String,
    show: &'f ShowArgs,
    shown: RunDisplay,
    /// Whether events come that had happened before.
    is_past: bool,
    /// Whether the last event said that the run waits.
    is_suspended: bool,
    /// When it was last asked how the run stands.
    asked: Option<Instant>,
    end: EndEvent,
    placeholders: bool,
    /// The first failure to write an event.
    unwritten: Option<std::io::Error>,
}

/// How the following ended.
enum FollowEnd {
    /// The run has ended, or waits.
    Stands(Box<RunDetail>),
    /// A signal.
    Detached,
    /// The server cannot be reached any more, or refuses.
    Failed(RemoteFailure),
}

impl<'f> FollowedRun<'f> {
    /// Follows a run of this flow from its first event.
    pub fn new(client: &'f ServerClient, run: &str, flow: &str, show: &'f ShowArgs) -> Self {
        // Events on a terminal and a live picture would disturb each other.
        let events_shown = show.events.is_some() && output::is_result_shown();
        let shown = RunDisplay::new(show.quiet || events_shown);
        if !show.quiet {
            output::print_line(format!("run {run}"));
        }
        shown.show_start_of(RunHeader::for_server(flow, client.server_address()));
        Self {
            client,
            run: run.to_owned(),
            show,
            shown,
            is_past: false,
            is_suspended: false,
            asked: None,
            end: EndEvent::default(),
            placeholders: false,
            unwritten: None,
        }
    }

    /// The first events have happened before.
    pub fn with_past(mut self) -> Self {
        self.is_past = true;
        self.shown.set_resumed();
        self
    }

    /// Follows it, and prints its result. Returns the exit code: as that of `run`.
    pub async fn follow_to_end(mut self) -> Result<u8, u8> {
        let mut signals = StopSignals::new().map_err(|error| cannot_start(&error))?;
        let mut feed = RemoteFeed::for_run(self.client, &self.run);
        let ended = tokio::select! {
            ended = self.follow_feed(&mut feed) => ended,
            () = signals.next() => FollowEnd::Detached,
        };
        self.catch_up();
        match ended {
            FollowEnd::Stands(detail) => Ok(self.print_end(*detail)),
            FollowEnd::Detached => {
                self.shown.show_end(&self.end.cut_outcome(&self.run, RunError::new("INTERRUPTED", "detached")));
                output::print_note("detached; the run goes on at the server");
                self.print_ways();
                Ok(exit::CANCELLED)
            }
            FollowEnd::Failed(failure) => {
                self.shown.show_end(&self.end.cut_outcome(&self.run, RunError::new("INTERRUPTED", "connection lost")));
                self.client.report_failure(&failure);
                output::print_note("the run may go on at the server");
                self.print_ways();
                Err(exit::FAILED)
            }
        }
    }

    /// How a run is followed and ended that goes on without this process.
    fn print_ways(&self) {
        let options = self.client.run_options();
        output::print_line(format!("to follow it: {}", options.resume_command(&self.run, &[])));
        output::print_line(format!("to end it: {}", options.render_command(PrintedCommand::Cancel(&self.run))));
    }

    async fn follow_feed(&mut self, feed: &mut RemoteFeed<'_>) -> FollowEnd {
        let mut lost: Option<Instant> = None;
        let mut pause = Duration::from_millis(250);
        loop {
            let step = match feed.next_step(IDLE).await {
                Ok(step) => step,
                Err(failure) => return FollowEnd::Failed(failure),
            };
            let failure = match step {
                FeedStep::Event(event) => {
                    (lost, pause) = (None, Duration::from_millis(250));
                    self.receive_json(&event);
                    continue;
                }
                FeedStep::Idle => {
                    self.catch_up();
                    match self.ask_when_suspended().await {
                        Ok(Some(detail)) => return FollowEnd::Stands(detail),
                        Ok(None) => continue,
                        Err(failure) => failure,
                    }
                }
                FeedStep::Closed => match read_detail(self.client, &self.run).await {
                    Ok(detail) if run_status(&detail.summary).is_end() => return FollowEnd::Stands(Box::new(detail)),
                    Ok(_) => RemoteFailure::Lost("the server has closed the stream".to_owned()),
                    Err(failure) => failure,
                },
                FeedStep::Lost(failure) => failure,
            };
            if !failure.is_passing() {
                return FollowEnd::Failed(failure);
            }
            if lost.is_none() {
                self.say("the connection to the server was lost; trying again");
            }
            if lost.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                return FollowEnd::Failed(failure);
            }
            let wanted = failure.retry_after().map(Duration::from_secs).unwrap_or_default();
            tokio::time::sleep(pause.max(wanted).min(PAUSE)).await;
            pause = (pause * 2).min(PAUSE);
        }
    }

    /// The run as it stands, if it has said that it waits, and nobody has answered it.
    async fn ask_when_suspended(&mut self) -> Result<Option<Box<RunDetail>>, RemoteFailure> {
        let is_due = self.asked.is_none_or(|asked| asked.elapsed() >= ASK);
        if !self.is_suspended || !is_due {
            return Ok(None);
        }
        self.asked = Some(Instant::now());
        let detail = read_detail(self.client, &self.run).await?;
        let is_waiting =
            run_status(&detail.summary) == Status::Waiting && RemoteWait::of_members(&detail.wait).is_open();
        Ok(if is_waiting { Some(Box::new(detail)) } else { None })
    }

    /// All earlier events are there.
    fn catch_up(&mut self) {
        if std::mem::take(&mut self.is_past) {
            self.shown.caught_up();
        }
    }

    fn receive_json(&mut self, json: &Json) {
        if self.show.events.is_some()
            && let Err(error) = output::json_line(json)
        {
            self.unwritten.get_or_insert(error);
        }
        // One of a newer server is not shown.
        let Some(event) = read_event(json) else { return };
        self.end.note_event(&event, json);
        let is_delta = matches!(event.kind, EventKind::TextDelta { .. });
        if !is_delta {
            self.is_suspended = matches!(event.kind, EventKind::RunSuspended { .. });
            self.asked = None;
        }
        if let EventKind::RunStarted { placeholder: true, .. } = event.kind
            && !std::mem::replace(&mut self.placeholders, true)
        {
            let _paused = self.shown.pause_drawing();
            output::print_bold_note("answers are placeholders from the offline embedded model");
        }
        self.shown.receive_event(&event);
    }

    fn say(&self, note: &str) {
        if !self.show.quiet {
            let _paused = self.shown.pause_drawing();
            output::print_note(note);
        }
    }

    fn print_end(self, detail: RunDetail) -> u8 {
        let Self { client, show, shown, end, unwritten, placeholders, .. } = self;
        let ended = RemoteEnd::new(detail, end);
        shown.show_end(&ended.outcome);
        let mut code = ended.print_end(show, Some(&shown), client.run_options());
        if placeholders && code == exit::OK && !show.quiet {
            output::print_bold_note("these are placeholder answers from the embedded model");
        }
        if let Some(error) = unwritten {
            code = code.max(output::write_exit_code(Err(error)));
        }
        code
    }
}
