//! Why something is done again: what is different in what is asked for, and what put that there.

use trefoil_machine::provenance::{From, Origin};
use trefoil_machine::request::{Activity, Message, ModelRequest, Request};
use trefoil_runtime::driver::memo::{Decision, Reuse};
use trefoil_syntax::Files;

/// What became of one activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its key.
    pub key: String,
    /// `kept`, `new` or `again`.
    pub what: &'static str,
    /// Why, or where from; may be empty.
    pub why: String,
}

/// What became of an activity; none for what is no step's own: time, conditions, descriptions of tools.
pub fn line(decision: &Decision, files: &Files) -> Option<Line> {
    let asked = &decision.asked;
    if matches!(asked.request, Request::Timer { .. } | Request::Decide(_) | Request::Describe(_)) {
        return None;
    }
    let (what, why) = match &decision.is {
        Reuse::Kept(None) => ("kept", String::new()),
        Reuse::Kept(Some(other)) => ("kept", format!("it was `{other}` before")),
        Reuse::New => ("new", String::new()),
        Reuse::Again(before) => ("again", because(before, asked, files)),
    };
    Some(Line { key: asked.key.to_string(), what, why })
}

fn because(before: &Activity, now: &Activity, files: &Files) -> String {
    if before.content == now.content {
        return "it is to be done again".to_owned();
    }
    let reasons = match (&before.request, &now.request) {
        (Request::Model(before), Request::Model(now)) => of_model(before, now, files),
        (Request::Tool(before), Request::Tool(now)) if before.name == now.name && before.kind == now.kind => {
            let (before, now) = (before.arguments.to_json(), now.arguments.to_json());
            members("argument", &before, &now)
        }
        (Request::Command(before), Request::Command(now)) => {
            let mut all = Vec::new();
            let mut compare = |what: &str, same: bool| {
                if !same {
                    all.push(format!("its {what} changed"));
                }
            };
            compare("script", before.script == now.script);
            compare("arguments", before.arguments == now.arguments);
            compare("environment", before.env == now.env);
            compare("folder", before.workdir == now.workdir);
            all
        }
        (Request::Human(before), Request::Human(now)) if before.prompt != now.prompt => {
            vec!["the question changed".to_owned()]
        }
        (before, now) if before.sort() != now.sort() => vec![format!("it was a {} before", before.sort())],
        _ => Vec::new(),
    };
    match reasons.is_empty() {
        true => format!("its {} changed", now.request.sort()),
        false => reasons.join("; "),
    }
}

fn of_model(before: &ModelRequest, now: &ModelRequest, files: &Files) -> Vec<String> {
    let mut all = Vec::new();
    if (&before.provider, &before.model) != (&now.provider, &now.model) {
        all.push(format!("the model was `{}`", before.model));
    }
    if before.parameters != now.parameters {
        all.push("its parameters changed".to_owned());
    }
    if before.format != now.format || before.schema != now.schema {
        all.push("the schema of its answer changed".to_owned());
    }
    if before.tools != now.tools {
        all.push("its tools changed".to_owned());
    }
    if before.guards != now.guards {
        all.push("its guardrails changed".to_owned());
    }
    if before.messages.len() != now.messages.len() {
        all.push(format!("it has {} messages, and had {}", now.messages.len(), before.messages.len()));
    }
    for (before, now) in before.messages.iter().zip(&now.messages) {
        if before.role != now.role || before.content != now.content {
            all.push(message(before, now, files));
        }
    }
    all
}

/// What is different in a message, by the parts that it is made of.
fn message(before: &Message, now: &Message, files: &Files) -> String {
    let (old, new) = (before.content.to_text(), now.content.to_text());
    let role = format!("{:?}", now.role).to_lowercase();
    let same = |(a, b): &(char, char)| a == b;
    let head: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let tail: usize = old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let end = new.len().saturating_sub(tail).max(head);
    let mut at = 0;
    let mut from = Vec::new();
    for part in &now.parts {
        let start = at;
        at += part.len as usize;
        // Text that was taken out left its mark between two parts.
        if start < end.max(head + 1) && head < at.max(start + 1) {
            let origin = source(&part.origin, files);
            if !from.contains(&origin) {
                from.push(origin);
            }
        }
    }
    match from.is_empty() {
        true => format!("the {role} message changed"),
        false => format!("the {role} message changed: {}", from.join(", ")),
    }
}

fn source(origin: &Origin, files: &Files) -> String {
    let place = origin.place.and_then(|place| {
        let file = files.get(place.file)?;
        Some(format!("{}:{}", file.name(), file.position(place.span.start).line))
    });
    let at = place.map(|place| format!(" ({place})")).unwrap_or_default();
    match (&origin.from, &origin.path) {
        (From::Literal | From::Const, None) => format!("its own text{at}"),
        (From::Step(key), _) => format!("the result of `{key}`{at}"),
        (From::Input, Some(path)) => format!("the input, `{path}`{at}"),
        (_, Some(path)) => format!("`{path}`{at}"),
        _ => format!("a part of it{at}"),
    }
}

/// The members of two objects that are not the same.
fn members(what: &str, before: &serde_json::Value, now: &serde_json::Value) -> Vec<String> {
    let (Some(before), Some(now)) = (before.as_object(), now.as_object()) else { return Vec::new() };
    let names: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let other = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
    other.map(|name| format!("its {what} `{name}` changed")).collect()
}
