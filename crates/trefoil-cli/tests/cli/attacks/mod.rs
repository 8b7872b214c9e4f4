//! Attacks through untrusted files: nothing is read, sent or written that the operator did not request.
//!
//! One file for each kind of attack. Each test plants something that must not get out, or that would cost too much, and
//! searches for it in everything that the program prints, writes and sends.

mod children;
mod effort;
mod keys;
mod memory;
mod paths;
#[cfg(unix)]
mod places;
mod roles;
#[cfg(unix)]
mod screens;
mod shell;
mod signals;
#[cfg(unix)]
mod stores;
mod tools;
mod trust;
