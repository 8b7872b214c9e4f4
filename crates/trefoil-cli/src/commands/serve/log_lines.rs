//! The log of a server on standard error: one line for each request and for the end of each run, for people or as JSON.

use clap::ValueEnum;
use std::collections::HashMap;
use std::sync::Mutex;

use serde::Serialize;
use trefoil_host::service::RunEndWatch as _;
use trefoil_host::worker::{WorkerEvent, WorkerWatch};
use trefoil_runtime::locks::lock;
use trefoil_server::{RequestLog, RequestRecord, RunLog, RunRecord};

use crate::commands::worker::WorkerLines;
use crate::output::{self, LogStyle};
use crate::terminal_text::escape_line;

/// The format of the log.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum LogFormat {
    /// A line for people.
    Text,
    /// A JSON object a line.
    Json,
    /// None.
    Off,
}

/// Writes a line for each request.
pub struct LogLines {
    /// Its form.
    pub format: LogFormat,
}

impl RequestLog for LogLines {
    fn write_record(&self, record: &RequestRecord) {
        match self.format {
            LogFormat::Off => {}
            LogFormat::Json => write_json(record),
            LogFormat::Text => output::print_line(escape_line(&text_line(record)).into_owned()),
        }
    }

    fn write_run(&self, record: &RunRecord) {
        match self.format {
            LogFormat::Off => {}
            LogFormat::Json => write_json(record),
            LogFormat::Text => output::print_line(escape_line(&run_line(record)).into_owned()),
        }
    }
}

impl LogFormat {
    /// How other messages are written into the log.
    pub fn message_style(self) -> LogStyle {
        match self {
            Self::Json => LogStyle::Json,
            Self::Text | Self::Off => LogStyle::Timed,
        }
    }
}

fn write_json(record: &impl Serialize) {
    #[derive(Serialize)]
    struct TimedRecord<'r, R: Serialize> {
        time: String,
        #[serde(flatten)]
        record: &'r R,
    }
    let text = serde_json::to_string(&TimedRecord { time: output::log_time(), record }).unwrap_or_default();
    output::print_log_object(&text);
}

/// What the worker of a server says: its runs are in the log, and what is wrong is a message.
pub struct ServedWorkerLines {
    /// The messages.
    pub lines: WorkerLines,
    /// The log.
    pub log: RunLog,
    /// The flows of the runs that it drives.
    pub flows: Mutex<HashMap<String, String>>,
}

impl WorkerWatch for ServedWorkerLines {
    fn take_event(&self, event: WorkerEvent<'_>) {
        match &event {
            WorkerEvent::RunBegun { run, flow } => {
                lock(&self.flows).insert((*run).to_owned(), (*flow).to_owned());
                self.log.note_continued(run, flow);
            }
            WorkerEvent::RunEnded { outcome, .. } | WorkerEvent::RunTaken(outcome) => {
                let flow = lock(&self.flows).remove(&*outcome.run).unwrap_or_default();
                self.log.take_outcome(&flow, outcome, matches!(event, WorkerEvent::RunTaken(_)));
            }
            _ => {}
        }
        self.lines.take_event(event);
    }
}

fn run_line(record: &RunRecord) -> String {
    let mut line = format!("run {} of {} {}", record.run, record.flow, record.status.replace('_', " "));
    if let Some(code) = &record.code {
        line.push_str(&format!(" {code}"));
    }
    if let Some(ms) = record.duration_ms {
        line.push_str(&format!(" {ms} ms"));
    }
    if let Some(cost) = &record.cost {
        line.push_str(&format!(" cost {}", cost.text));
    }
    line
}

fn text_line(record: &RequestRecord) -> String {
    let mut line = format!("{} {} {} {} ms", record.status, record.method, record.route, record.ms);
    if let Some(code) = &record.code {
        line.push_str(&format!(" {code}"));
    }
    if let Some(run) = &record.run {
        line.push_str(&format!(" run {run}"));
    }
    if let Some(key) = &record.key {
        line.push_str(&format!(" key {key}"));
    }
    line.push_str(&format!(" request {}", record.request));
    line
}
