//! Follows a run of a server to its end, or until it waits for a person, and shows its progress with the same display as a run of this
//! process. A signal ends the following, and not the run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use trefoil::store::Status;
use trefoil_host::command::PrintedCommand;
use trefoil_runtime::{EventKind, EventSink as _, RunError};
use trefoil_server::RunDetail;

use super::ask::RemoteAsker;
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
    shown: Arc<RunDisplay>,
    /// Asks on the terminal. `None`: nobody is there.
    asker: Option<RemoteAsker<'f>>,
    /// The number of the last event that had happened before, while earlier ones come.
    past: Option<u64>,
    /// The number of the last event that has come.
    seen: Option<u64>,
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
        let shown = Arc::new(RunDisplay::new(show.quiet || events_shown));
        if !show.quiet {
            output::print_line(format!("run {run}"));
        }
        shown.show_start_of(RunHeader::for_server(flow, client.server_address()));
        Self {
            client,
            run: run.to_owned(),
            show,
            asker: RemoteAsker::for_display(client, &shown),
            shown,
            past: None,
            seen: None,
            is_suspended: false,
            asked: None,
            end: EndEvent::default(),
            placeholders: false,
            unwritten: None,
        }
    }

    /// The run is resumed: the events up to this number had happened before.
    pub fn with_past(mut self, last: Option<u64>) -> Self {
        self.past = last;
        if last.is_some() {
            self.shown.set_resumed();
        }
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
        self.catch_up(None);
        match ended {
            FollowEnd::Stands(detail) => Ok(self.print_end(*detail)),
            FollowEnd::Detached => {
                self.show_cut("detached");
                output::print_note("detached; the run goes on at the server");
                self.print_ways();
                Ok(exit::CANCELLED)
            }
            FollowEnd::Failed(failure) => {
                self.show_cut("connection lost");
                self.client.report_failure(&failure);
                output::print_note("the run may go on at the server");
                self.print_ways();
                Err(exit::FAILED)
            }
        }
    }

    /// Shows what is known of a run that goes on.
    fn show_cut(&self, why: &str) {
        let why = RunError::new("INTERRUPTED", why);
        self.shown.show_cut(&self.end.cut_outcome(&self.run, why, self.shown.seen_figures()));
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
                    self.catch_up(self.seen.map(|seen| seen.saturating_add(1)));
                    match self.ask_when_suspended().await {
                        Ok(Some(detail)) => match self.ask_person(&detail).await {
                            Ok(true) => continue,
                            Ok(false) => return FollowEnd::Stands(detail),
                            Err(failure) => return FollowEnd::Failed(failure),
                        },
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

    /// Asks the person at the terminal what the run asks. Returns whether the run goes on.
    async fn ask_person(&self, detail: &RunDetail) -> Result<bool, RemoteFailure> {
        match &self.asker {
            Some(asker) => asker.ask_first(detail).await,
            None => Ok(false),
        }
    }

    /// All earlier events are there, if the next one has this number. `None`: no more will come.
    fn catch_up(&mut self, next: Option<u64>) {
        let Some(last) = self.past else { return };
        if next.is_none_or(|next| next > last) {
            self.past = None;
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
        if !matches!(event.kind, EventKind::TextDelta { .. }) {
            self.catch_up(Some(event.seq));
            self.seen = Some(event.seq);
        }
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
