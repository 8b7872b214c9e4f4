//! The language server over the real protocol.

mod client;
mod diagnostics;
mod lifecycle;
mod look;

pub use client::{Client, labels, rules};
