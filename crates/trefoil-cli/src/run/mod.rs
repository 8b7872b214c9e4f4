//! The user interface of a run: its input, its events on the screen, its result.

mod canvas;
mod display;
mod event_lines;
mod failures;
mod header;
pub mod input;
mod jsonl;
mod line_style;
pub mod missing_inputs;
mod nodes;
mod notes;
mod progress;
mod recording;
pub mod report;
pub mod result;
pub mod reuse;
pub mod reuse_reasons;
mod row;
mod session;
mod signal_stop;
mod source_notice;
mod steps;
pub mod suggestions;
mod terminal_inbox;
mod tree;

pub use display::RunDisplay;
#[cfg(feature = "server")]
pub use header::RunHeader;
pub use jsonl::JsonlEventWriter;
pub use line_style::MARKS;
pub use recording::TraceRecording;
pub use result::{print_again, print_result};
pub use reuse::ReuseRunOptions;
pub use session::{KeptRun, RunEndOptions, TerminalSession};
pub use signal_stop::{SignalStop, StopSignals};
pub use source_notice::announce_source;
pub use steps::StepCollector;
pub use terminal_inbox::TerminalInbox;
#[cfg(feature = "server")]
pub use terminal_inbox::TypedAnswer;
