//! What a stranger's file tries, and what it gets: nothing is read, sent or written that the operator did not ask for.
//!
//! One file a kind of attack. Each test plants what must not get out, or what would cost too much, and looks for it in all
//! that the program prints, writes and sends.

mod children;
mod effort;
mod keys;
mod memory;
mod paths;
mod roles;
mod shell;
mod signals;
mod trust;
