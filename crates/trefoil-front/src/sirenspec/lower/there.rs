//! Which paths in a text surely name a value, whatever brackets stand around them.

use trefoil_template::Segment;

use super::scope::Scope;
use crate::sirenspec::manifest::Root;

/// Whether a word is an input's name.
pub fn field(scope: &Scope<'_, '_, '_>, name: &str) -> bool {
    scope.flow.inputs.shape(name).is_some() || scope.body.is_some_and(|b| b.borrow().input(name).is_some())
}

/// Whether a path is one of a value: of nothing that is a single word, but for the loop variables and the inputs.
pub fn is_there(scope: &Scope<'_, '_, '_>, path: &str) -> bool {
    let names: Vec<&str> = path.split('.').collect();
    let body = || scope.body.map(|b| b.borrow());
    let led = |root: Root, names: &[&str]| {
        let path: Vec<Segment> = names.iter().map(|n| Segment { name: (*n).into(), span: 0..0 }).collect();
        let look = scope.flow.names.look(root, &path);
        let written = || look.writes.iter().any(|w| scope.flow.names.provides(*w, &path));
        !path.is_empty() && (look.in_node || look.seeded || written())
    };
    match names.as_slice() {
        [name @ ("item" | "index" | "total"), ..] => body().is_some_and(|b| b.variable(name).is_some()),
        ["inputs", field, ..] => self::field(scope, field),
        ["env", name] => name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'),
        ["_budget", _] => true,
        // The agents of the swarm whose synthesis this is.
        [_, "agents", agent, ..] if scope.own.iter().any(|(id, _)| **id == **agent) => true,
        // What somebody writes under a name that is no everyday word.
        [name] => {
            field(scope, path)
                || name.contains('_') && led(Root::Working, &names) && scope.flow.names.node_of(name).is_none()
        }
        ["working", rest @ ..] => led(Root::Working, rest),
        ["output", rest @ ..] => led(Root::Output, rest),
        [_, _, ..] => led(Root::Working, &names),
        _ => false,
    }
}
