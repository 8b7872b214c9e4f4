//! What a call of a tool or a command changes outside of the run, as far as its declaration, its method or its name says.

mod script;

use trefoil_ir::{CommandCall, Expr, FlowId, Program, StepKind, ToolCall, ToolKind, walk};

use crate::rule::Supplied;

/// What a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Nothing is known.
    Unknown,
    /// It only reads.
    Reads,
    /// It changes something, and a second call with the same arguments changes nothing more.
    Repeatable(String),
    /// It changes something each time. The text names the call: `this POST request`.
    Writes(String),
}

impl Effect {
    /// What changes something, if anything does.
    pub fn change(&self) -> Option<&str> {
        match self {
            Self::Repeatable(what) | Self::Writes(what) => Some(what),
            Self::Unknown | Self::Reads => None,
        }
    }
}

/// The words for what a tool does, in a name such as `write_file`, `deleteUser` or `mail.send`.
const WRITES: &[&str] = &[
    "append", "book", "cancel", "charge", "close", "commit", "create", "delete", "deploy", "drop", "edit", "insert",
    "install", "kill", "merge", "modify", "move", "order", "patch", "pay", "post", "publish", "push", "put", "refund",
    "remove", "rename", "reply", "replace", "save", "send", "store", "submit", "transfer", "update", "upload", "write",
];

/// The words for what only reads. A name that has one of them is not that of a tool that writes: `get_order`.
const READS: &[&str] =
    &["check", "count", "describe", "fetch", "find", "get", "list", "load", "look", "query", "read", "search", "show"];

/// One call of a tool, with these declarations.
pub fn of<'s>(call: &ToolCall, supplied: impl Iterator<Item = &'s Supplied> + Clone) -> Effect {
    match &call.kind {
        ToolKind::Http => request(&call.arguments),
        ToolKind::Local => {
            let tool = supplied.flat_map(|all| &all.tools).find(|tool| *tool.name == *call.name);
            match tool {
                Some(tool) if tool.writes => Effect::Writes(format!("`{}`", call.name)),
                Some(_) => Effect::Reads,
                None => Effect::Unknown,
            }
        }
        ToolKind::Mcp { server, .. } => {
            let server = supplied.flat_map(|all| &all.servers).find(|known| *known.name == **server);
            let repeatable = server.is_some_and(|server| server.is_idempotent(&call.name));
            if repeatable { Effect::Reads } else { by_name(&call.name) }
        }
        ToolKind::Python => member(&call.arguments, "function").map_or(Effect::Unknown, by_name),
    }
}

/// A shell command.
pub fn of_command(call: &CommandCall) -> Effect {
    script::of(&call.script)
}

/// Whether a step of a flow, or of the flows that it calls, changes something each time.
pub fn writes(program: &Program, flow: FlowId, supplied: &Supplied) -> bool {
    let all = std::iter::once(supplied);
    walk::reachable(program, flow).into_iter().any(|(_, step)| match &program.steps[step].kind {
        StepKind::Tool(call) => matches!(of(call, all.clone()), Effect::Writes(_)),
        StepKind::Command(call) => matches!(of_command(call), Effect::Writes(_)),
        _ => false,
    })
}

/// A request (RFC 9110, 9.2). An idempotency key says that the server ignores a repeated one
/// (draft-ietf-httpapi-idempotency-key-header).
fn request(arguments: &Expr) -> Effect {
    let Some(method) = member(arguments, "method") else { return Effect::Unknown };
    let what = format!("this {method} request");
    let is_key = |(name, _): &(_, Expr)| str::eq_ignore_ascii_case(name as &std::sync::Arc<str>, "idempotency-key");
    let has_key = match part(arguments, "headers") {
        Some(Expr::Object(headers)) => headers.iter().any(is_key),
        _ => false,
    };
    match method {
        "GET" | "HEAD" | "OPTIONS" => Effect::Reads,
        "PUT" | "DELETE" => Effect::Repeatable(what),
        _ if has_key => Effect::Repeatable(what),
        _ => Effect::Writes(what),
    }
}

fn by_name(name: &str) -> Effect {
    let has = |known: &[&str]| words(name).any(|word| known.contains(&&*word));
    if has(WRITES) && !has(READS) { Effect::Writes(format!("`{name}`")) } else { Effect::Unknown }
}

/// The words of a name, in lower case: at `_`, `-`, `.`, `/`, and before capital letters.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut split = String::with_capacity(name.len() + 4);
    let mut small = false;
    for c in name.chars() {
        if c.is_uppercase() && small {
            split.push(' ');
        }
        small = c.is_lowercase();
        split.extend(if c.is_alphanumeric() { c.to_lowercase().next() } else { Some(' ') });
    }
    split.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

fn part<'e>(arguments: &'e Expr, name: &str) -> Option<&'e Expr> {
    let Expr::Object(members) = arguments else { return None };
    members.iter().find(|(have, _)| &**have == name).map(|(_, value)| value)
}

fn member<'e>(arguments: &'e Expr, name: &str) -> Option<&'e str> {
    match part(arguments, name)? {
        Expr::Const(value) => value.as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, by_name};

    #[test]
    fn a_name_says_what_a_tool_does() {
        for name in ["write_file", "deleteUser", "mail.send", "create-issue", "git/push", "httpPost"] {
            assert!(matches!(by_name(name), Effect::Writes(_)), "{name}");
        }
        for name in ["read_text_file", "list_orders_by_name", "search", "postcode", "get_order", "add", "borders"] {
            assert_eq!(by_name(name), Effect::Unknown, "{name}");
        }
    }
}
