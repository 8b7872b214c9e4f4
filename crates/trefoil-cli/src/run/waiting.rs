//! A run that waits for somebody: for what, and how to answer.

use trefoil_machine::event::Waiting;

use super::words::safe;
use crate::output;
use crate::store::StoreArgs;

/// Says what a run waits for. It is not an error, and shown however quiet it is to be: nothing else says how to go on.
pub fn say(run: &str, waiting: &[Waiting], store: Option<&StoreArgs>) {
    let store = store.map(StoreArgs::option).unwrap_or_default();
    for one in waiting {
        output::say(&safe(&format!("waiting: {}", line(one))));
        output::say(&safe(&format!(
            "  trefoil runs answer {run} {} {}{store}",
            pasted(&one.step, &one.key.0),
            choices(one)
        )));
    }
    output::say(&format!("then: trefoil resume {run}{store}"));
}

/// What is asked.
pub fn line(one: &Waiting) -> String {
    match &one.prompt {
        Some(prompt) => format!("`{}` asks: {}", one.step, prompt.split_whitespace().collect::<Vec<_>>().join(" ")),
        None => format!("`{}`: the process ended while this {} was running; was it done?", one.step, one.sort),
    }
}

fn choices(one: &Waiting) -> String {
    match (one.prompt.is_some(), one.accepts.as_slice()) {
        (false, _) => "retry|fail".to_owned(),
        (true, []) => "VALUE".to_owned(),
        (true, accepts) => accepts.join("|"),
    }
}

/// A step by its label, where that can be pasted; else by its key.
fn pasted<'s>(step: &'s str, key: &'s str) -> &'s str {
    let bare = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    if bare(step) { step } else { key }
}
