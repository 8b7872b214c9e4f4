//! Names that no run defines, or only some ways do (decision C9). A bare key may come with the start input, so only what
//! certainly is empty is called so.

use trefoil_ir::Source;
use trefoil_syntax::{Diagnostic, suggest};
use trefoil_template::Missing;

use super::{Look, Place, RESERVED};
use crate::aegis::lower::paths::Before;
use crate::mend;

/// What only results of states have.
pub(super) const OF_RESULTS: &[&str] =
    &["output", "status", "score", "confidence", "stdout", "stderr", "exit_code", "response", "agents", "consensus"];

/// Keys that a start input always may have.
/// Fields of a start input that nobody declares.
pub const ALWAYS: &[&str] = &["task", "intent", "attachments", "tenant_id", "input"];

impl Look<'_, '_, '_> {
    pub(super) fn warn(&self, message: &str, help: &str) {
        self.warn_of("unresolved-name", message, help);
    }

    pub(super) fn warn_of(&self, rule: &'static str, message: &str, help: &str) {
        let d = Diagnostic::warning(rule, self.at, message);
        self.scene.reader.report(if help.is_empty() { d } else { d.help(help) });
    }

    /// A warning about the segment with which as many are left, and the name that was meant by it.
    pub(super) fn warn_near(
        &self,
        rule: &'static str,
        message: &str,
        help: &str,
        left: usize,
        near: Option<suggest::Near<'_>>,
    ) {
        let Some(near) = near else { return self.warn_of(rule, message, help) };
        let place = self.reference.path.len().checked_sub(left).and_then(|i| mend::segment(self.reference, self.at, i));
        let d = Diagnostic::warning(rule, self.at, message).help(help);
        self.scene.reader.report(mend::renamed(d, place, near, true));
    }

    pub(super) fn unknown(&self, skip: u16, message: &str, help: &str) -> (Source, u16) {
        self.warn_of("unknown-property", message, help);
        (Source::Missing(Missing::Key(skip)), 0)
    }

    /// Whether a state's result is there when this template is rendered.
    pub(super) fn check_order(&self, state: usize) {
        let paths = self.scene.paths;
        let (before, here) = match self.place {
            Place::Leaving(this) | Place::Deciding(this) if this == state => return,
            Place::Entering(this) | Place::Leaving(this) | Place::Deciding(this) => {
                if !paths.reachable(this) {
                    return;
                }
                (paths.before(state, this), format!("`{}`", self.scene.names.name(this)))
            }
            Place::End => (paths.at_end(state), "the end".to_owned()),
        };
        let name = self.scene.names.name(state);
        match before {
            Before::Always => {}
            Before::Sometimes if self.reference.guarded || self.reference.beside => {}
            Before::Sometimes => {
                let message = format!("`{name}` has not run on every way to {here}: it is empty where it has not");
                self.scene.reader.report(Diagnostic::info("maybe-undefined", self.at, message));
            }
            Before::Never => {
                let help = self.scene.names.index(name).map_or("", |_| "check the transitions, or the name");
                let message = format!("`{name}` never runs before {here}: it is always empty");
                self.warn_of("unordered-read", &message, help);
            }
        }
    }

    /// Whether any transition into this state says something.
    pub(super) fn check_feedback(&self) {
        let (Place::Entering(state) | Place::Leaving(state) | Place::Deciding(state)) = self.place else { return };
        let names = self.scene.names;
        if !self.scene.paths.reachable(state) || names.states.get(state).is_none_or(|s| s.given_feedback) {
            return;
        }
        let message =
            format!("`state.feedback` is always empty: no transition into `{}` has `feedback`", names.name(state));
        self.warn(&message, "");
    }

    /// A field of the start input that its schema does not have.
    pub(super) fn check_field(&self, field: &str, left: usize) {
        let Some(schema) = self.scene.names.schema.as_ref().filter(|s| s.of_objects()) else { return };
        if ALWAYS.contains(&field) || schema.properties().any(|(p, _)| &**p == field) {
            return;
        }
        let near = suggest::near(field, schema.properties().map(|(p, _)| &**p));
        if !schema.closed() && near.is_none() {
            return;
        }
        let help = near.map(|n| format!("did you mean `input.{}`?", n.name)).unwrap_or_default();
        // an open input may have the field all the same
        let near = near.map(|n| suggest::Near { sure: n.sure && schema.closed(), ..n });
        let message = format!("`input_schema` declares no `{field}`");
        self.warn_near("unknown-property", &message, &help, left, near);
    }

    /// A key of the Blackboard. With an open input anybody may give it, but a near miss of a state's name is none.
    pub(super) fn check_key(&self, key: &str, segments: &[&str]) {
        let names = self.scene.names;
        let declared = |k: &str| {
            names.keys.contains(k)
                || ALWAYS.contains(&k)
                || names.schema.as_ref().is_some_and(|s| s.properties().any(|(p, _)| &**p == k))
        };
        if declared(key) {
            return;
        }
        let like_a_result = segments.get(1).is_some_and(|field| OF_RESULTS.contains(field));
        if like_a_result {
            let near = suggest::near(key, names.state_names());
            let help = near.map(|n| format!("did you mean `{}`?", n.name)).unwrap_or_default();
            let message = format!("no state is called `{key}`");
            return self.warn_near("unresolved-name", &message, &help, segments.len(), near);
        }
        let closed = names.schema.as_ref().is_some_and(|s| s.of_objects() && s.closed());
        if closed {
            let fields = names.schema.iter().flat_map(|s| s.properties().map(|(p, _)| &**p));
            let keys = names.keys.iter().map(|k| &**k).chain(fields).chain(names.state_names());
            let near = suggest::near(key, keys.chain(RESERVED.iter().copied()));
            let help = near.map(|n| format!("did you mean `{}`?", n.name)).unwrap_or_default();
            let message = format!("neither the context, nor the input, nor any state defines `{key}`");
            self.warn_near("unresolved-name", &message, &help, segments.len(), near);
        }
    }
}
