//! The user interface of a run: its input, its events on the screen, its result.

pub mod ask;
pub mod based;
mod canvas;
pub mod command;
mod failures;
mod header;
pub mod input;
mod jsonl;
mod look;
pub mod next;
mod nodes;
mod notes;
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
pub mod waiting;
pub mod why;
pub mod words;

pub use based::Based;
pub use jsonl::Jsonl;
pub use person::Terminal;
pub use recording::Recording;
pub use session::{End, HostArgs, Session, ShowArgs, Unknown, is_refused};
pub use shown::Shown;
pub use steps::Steps;
pub use stop::{SignalStop, Signals};
pub use words::{arrived, cut, money, preview, time, tokens};
