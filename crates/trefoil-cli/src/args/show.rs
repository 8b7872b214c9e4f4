//! How a run and its result are shown.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What to show of a run.
#[derive(Args)]
pub struct ShowArgs {
    /// Write a trace to a JSON file, or to a page if its name ends in `.html`: every step with its prompts, answers, usage and
    /// timing
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Stream events to stdout as JSON Lines instead of the result (the last event holds the output as it may be shown)
    #[arg(long, value_name = "FORMAT")]
    pub events: Option<EventFormat>,
    /// Output format of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output: OutputFormat,
    /// Print only errors and the result (the embedded-model notice is always shown)
    #[arg(long, short)]
    pub quiet: bool,
}

/// How events are written.
#[derive(Clone, Copy, ValueEnum)]
pub enum EventFormat {
    /// One JSON object per line.
    Jsonl,
}

/// How a result is written.
#[derive(Clone, Copy, ValueEnum)]
pub enum OutputFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How a list or a report is written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Text,
    Json,
}

impl OutputFormat {
    /// Whether the output is for programs.
    pub fn is_json(self) -> bool {
        matches!(self, Self::Json)
    }
}
