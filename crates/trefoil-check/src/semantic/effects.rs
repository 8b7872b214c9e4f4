//! What a call of a tool changes outside of the run, as far as its declaration, its method or its name says. What a shell
//! command changes is not known.

use trefoil_ir::{FlowId, Program, StepKind, ToolCall, ToolKind, ValueExpression, walk};

use crate::rule::ProjectDeclarations;

/// What a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEffect {
    /// Nothing is known.
    Unknown,
    /// It only reads.
    Reads,
    /// It changes something, and a second call with the same arguments changes nothing more.
    Repeatable(String),
    /// It changes something each time. The text names the call: `this POST request`.
    Writes(String),
}

impl CallEffect {
    /// What changes something, if anything does.
    pub fn change_text(&self) -> Option<&str> {
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
pub fn tool_call_effect<'s>(
    call: &ToolCall,
    supplied: impl Iterator<Item = &'s ProjectDeclarations> + Clone,
) -> CallEffect {
    match &call.kind {
        ToolKind::Http => request(&call.arguments),
        ToolKind::Local => {
            let tool = supplied.flat_map(|all| &all.tools).find(|tool| *tool.name == *call.name);
            match tool {
                Some(tool) if tool.writes => CallEffect::Writes(format!("`{}`", call.name)),
                Some(_) => CallEffect::Reads,
                None => CallEffect::Unknown,
            }
        }
        ToolKind::Mcp { server, .. } => {
            let server = supplied.flat_map(|all| &all.servers).find(|known| *known.name == **server);
            let repeatable = server.is_some_and(|server| server.is_idempotent(&call.name));
            if repeatable { CallEffect::Reads } else { by_name(&call.name) }
        }
        ToolKind::Python => member(&call.arguments, "function").map_or(CallEffect::Unknown, by_name),
    }
}

/// Whether a step of a flow, or of the flows that it calls, changes something each time.
pub fn flow_writes(program: &Program, flow: FlowId, supplied: &ProjectDeclarations) -> bool {
    let all = std::iter::once(supplied);
    walk::reachable_steps(program, flow).into_iter().any(|(_, step)| match &program.steps[step].kind {
        StepKind::Tool(call) => matches!(tool_call_effect(call, all.clone()), CallEffect::Writes(_)),
        _ => false,
    })
}

/// A request (RFC 9110, 9.2). An idempotency key says that the server ignores a repeated one
/// (draft-ietf-httpapi-idempotency-key-header).
fn request(arguments: &ValueExpression) -> CallEffect {
    let Some(method) = member(arguments, "method") else { return CallEffect::Unknown };
    let what = format!("this {method} request");
    let is_key =
        |(name, _): &(_, ValueExpression)| str::eq_ignore_ascii_case(name as &std::sync::Arc<str>, "idempotency-key");
    let has_key = match part(arguments, "headers") {
        Some(ValueExpression::Object(headers)) => headers.iter().any(is_key),
        _ => false,
    };
    match method {
        "GET" | "HEAD" | "OPTIONS" => CallEffect::Reads,
        "PUT" | "DELETE" => CallEffect::Repeatable(what),
        _ if has_key => CallEffect::Repeatable(what),
        _ => CallEffect::Writes(what),
    }
}

fn by_name(name: &str) -> CallEffect {
    let has = |known: &[&str]| words(name).any(|word| known.contains(&&*word));
    if has(WRITES) && !has(READS) { CallEffect::Writes(format!("`{name}`")) } else { CallEffect::Unknown }
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

fn part<'e>(arguments: &'e ValueExpression, name: &str) -> Option<&'e ValueExpression> {
    let ValueExpression::Object(members) = arguments else { return None };
    members.iter().find(|(have, _)| &**have == name).map(|(_, value)| value)
}

fn member<'e>(arguments: &'e ValueExpression, name: &str) -> Option<&'e str> {
    match part(arguments, name)? {
        ValueExpression::Const(value) => value.as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{CallEffect, by_name};

    #[test]
    fn a_name_says_what_a_tool_does() {
        for name in ["write_file", "deleteUser", "mail.send", "create-issue", "git/push", "httpPost"] {
            assert!(matches!(by_name(name), CallEffect::Writes(_)), "{name}");
        }
        for name in ["read_text_file", "list_orders_by_name", "search", "postcode", "get_order", "add", "borders"] {
            assert_eq!(by_name(name), CallEffect::Unknown, "{name}");
        }
    }
}
