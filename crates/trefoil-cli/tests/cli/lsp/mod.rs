//! The language server over the real protocol.

mod aegis;
mod agntz;
mod begin;
mod client;
mod diagnostics;
mod lifecycle;
mod look;
mod sirenspec;

use serde_json::Value;

use client::{Client, labels, rules};

/// Asks about the place of the bar in `context`, with more parameters.
fn with(client: &mut Client, method: &str, name: &str, context: &str, more: Value) -> Value {
    let mut params = client.at(name, context);
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    client.ask(method, params)
}
