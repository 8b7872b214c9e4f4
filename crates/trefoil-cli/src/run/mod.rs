//! What a run looks like from outside: its input, its events on the screen, its end.

pub mod input;
mod jsonl;
mod person;
mod plain;
mod progress;
pub mod report;
mod shown;
mod tree;

pub use jsonl::Jsonl;
pub use person::Terminal;
pub use shown::Shown;
