//! The user interface of a run: its input, its events on the screen, its result.

pub mod ask;
pub mod based;
mod canvas;
mod failures;
mod header;
pub mod input;
mod jsonl;
mod look;
pub mod next;
mod nodes;
mod notes;
mod notice;
mod person;
mod plain;
mod progress;
mod recording;
pub mod report;
pub mod result;
mod row;
mod session;
mod shown;
mod steps;
mod stop;
mod tree;
pub mod why;

pub use based::Based;
pub use jsonl::Jsonl;
pub use look::MARKS;
pub use notice::announce_source;
pub use person::Terminal;
pub use recording::Recording;
pub use result::{print_again, print_result};
pub use session::{End, KeptRun, Session};
pub use shown::Shown;
pub use steps::Steps;
pub use stop::{SignalStop, Signals};
