//! The log of a server on standard error: one line a request, for people or as JSON.

use clap::ValueEnum;
use trefoil_server::{RequestLog, RequestRecord};

use crate::output;
use crate::terminal_text::{escape_json, escape_line};

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
            LogFormat::Json => {
                let text = serde_json::to_string(record).unwrap_or_default();
                output::print_line(escape_json(&text));
            }
            LogFormat::Text => output::print_line(escape_line(&text_line(record)).into_owned()),
        }
    }
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
