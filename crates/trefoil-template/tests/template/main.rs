//! Everything the three languages promise, tested through the public interface.

#![allow(missing_docs, reason = "tests")]

mod mistakes;
mod vectors;
