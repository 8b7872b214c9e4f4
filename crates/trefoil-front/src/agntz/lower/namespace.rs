//! `env.NAME` and `secrets.NAME`: not state, but names that the driver fills in at the effect (decisions A18, C8).

use trefoil_ir::Source;
use trefoil_syntax::Severity;
use trefoil_template::{Missing, Segment};

use super::scope::{Answer, Note, Purpose};
use super::shape::Shape;

/// The namespaces.
pub const NAMESPACES: [&str; 2] = ["env", "secrets"];

/// What to do without a secret store.
pub const NO_SECRETS: &str = "there is no secret store: put the value into an environment variable and read `env.NAME`";

/// What a path into a namespace stands for; none: its root is no namespace.
pub fn look(path: &[Segment], purpose: Purpose) -> Option<Answer> {
    let root = path.first()?;
    let source = match &*root.name {
        "env" => Source::Environment,
        "secrets" => Source::Secrets,
        _ => return None,
    };
    let name = &root.name;
    let error = |rule, message: String, help: Option<String>| {
        let notes = vec![Note::new(Severity::Error, rule, message, help)];
        Some(Answer { source: Source::Missing(Missing::Key(0)), skip: 0, shape: Shape::Any, notes })
    };
    match path {
        [_] => {
            let help = format!("write `{{{{{name}.NAME}}}}`");
            error("unresolved-name", format!("`{name}` alone names nothing"), Some(help))
        }
        [_, entry, _, ..] => {
            let message = format!("`{name}.{}` is text and has no members", entry.name);
            error("property-of-text", message, None)
        }
        [_, entry] if source == Source::Secrets && purpose == Purpose::Prompt => {
            let message = format!("the secret `{}` would be sent to the model", entry.name);
            let help = "secrets belong in tool parameters, headers and bodies".to_owned();
            error("secret-in-prompt", message, Some(help))
        }
        _ => Some(Answer { source, skip: 1, shape: Shape::Text, notes: Vec::new() }),
    }
}
