//! Names that no run defines, or only some ways do (decision C9). A bare key may come with the start input, so only what
//! certainly is empty is called so.

use trefoil_ir::Source;
use trefoil_syntax::{Diagnostic, suggest};
use trefoil_template::{Missing, is_helper};

use super::{Look, Place, RESERVED, Shape};
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
        if before == Before::Sometimes {
            self.varies();
        }
        match before {
            Before::Always => {}
            Before::Sometimes if self.reference.guarded || self.reference.beside() || self.implied(state) => {}
            Before::Sometimes => {
                let message = format!("`{name}` may not have run before {here}; its value is then empty");
                self.scene.reader.report(Diagnostic::info("maybe-undefined", self.at, message));
            }
            Before::Never if here == format!("`{name}`") => {
                let message = format!("{here} cannot read its own result before it has run");
                self.warn_of("unordered-read", &message, "a state reads its own result in its transitions");
            }
            Before::Never => {
                let help = self.scene.names.index(name).map_or("", |_| "check the transitions, or the name");
                let message = format!("`{name}` never runs before {here}: it is always empty");
                self.warn_of("unordered-read", &message, help);
            }
        }
    }

    /// Whether a block around it asks for something that is there only when this state has run: the result of one behind it,
    /// the feedback of one.
    fn implied(&self, state: usize) -> bool {
        let names = self.scene.names;
        let behind = |later: usize| later == state || matches!(self.scene.paths.before(state, later), Before::Always);
        self.reference.asked.iter().any(|path| {
            let mut segments = path.iter().map(|s| &*s.name);
            match (segments.next(), segments.next(), self.place) {
                (Some("state"), Some("feedback"), Place::Entering(here)) => {
                    let from = names.states.get(here).map(|s| s.given_feedback.as_slice()).unwrap_or_default();
                    !from.is_empty() && from.iter().all(|s| behind(*s))
                }
                (Some(root), ..) => names.index(root).is_some_and(behind),
                _ => false,
            }
        })
    }

    /// Whether any transition into this state says something.
    pub(super) fn check_feedback(&self) {
        let (Place::Entering(state) | Place::Leaving(state) | Place::Deciding(state)) = self.place else { return };
        let names = self.scene.names;
        if !self.scene.paths.reachable(state) || names.states.get(state).is_none_or(|s| !s.given_feedback.is_empty()) {
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
        let listed = schema.closed() || schema.lists_all();
        if !listed && near.is_none() {
            return;
        }
        let help = match near {
            Some(near) => format!("did you mean `input.{}`?", near.name),
            None => {
                let all: Vec<_> = schema.properties().take(12).map(|(p, _)| format!("`{p}`")).collect();
                if all.is_empty() {
                    "it declares nothing".to_owned()
                } else {
                    format!("it declares {}", all.join(", "))
                }
            }
        };
        // an open input may have the field all the same
        let near = near.map(|n| suggest::Near { sure: n.sure && listed, ..n });
        let message = format!("`input_schema` declares no `{field}`");
        self.warn_near("unknown-property", &message, &help, left, near);
    }

    /// A path with a word before it that does not belong there; `meant` stands for it and the name after it.
    pub(super) fn without(&self, left: usize, meant: &[&str], name: &str) {
        let meant = meant.join(".");
        let first = self.reference.path.len().saturating_sub(left);
        let root = self.reference.path.get(first).map_or("", |s| &*s.name);
        let message = format!("nothing is called `{root}.{name}`");
        let d = Diagnostic::warning("unresolved-name", self.at, message).help(format!("write `{meant}`"));
        let place = mend::segments(self.reference, self.at, first, first + 1);
        self.scene.reader.report(mend::rewritten(d, place, &meant, false));
    }

    /// A key of the Blackboard. With an open input anybody may give it, but a near miss of a state's name is none.
    pub(super) fn check_key(&self, key: &str, segments: &[&str]) {
        let names = self.scene.names;
        let declared = |k: &str| {
            names.keys.contains(k)
                || ALWAYS.contains(&k)
                || names.schema.as_ref().is_some_and(|s| s.properties().any(|(p, _)| &**p == k))
        };
        if names.keys.contains(key) {
            self.varies();
        }
        if declared(key) {
            return self.check_written(key);
        }
        let like_a_result = segments.get(1).is_some_and(|field| OF_RESULTS.contains(field));
        if like_a_result {
            let on_board = self.reference.path.first().is_some_and(|s| matches!(&*s.name, "blackboard" | "workflow"));
            let states = suggest::near(key, names.state_names());
            // A state is another sort of thing than a key of the Blackboard.
            let keys = || suggest::near(key, names.keys.iter().map(|k| &**k));
            let near = if on_board { keys().or(states.map(|n| suggest::Near { sure: false, ..n })) } else { states };
            let help = near.map(|n| format!("did you mean `{}`?", n.name)).unwrap_or_default();
            let message = format!("no state is called `{key}`");
            return self.warn_near("unresolved-name", &message, &help, segments.len(), near);
        }
        let closed = names.schema.as_ref().is_some_and(|s| s.of_objects() && (s.closed() || s.lists_all()));
        if closed && self.is_word() {
            return self.without_quotes(key);
        }
        let fields = names.schema.iter().flat_map(|s| s.properties().map(|(p, _)| &**p));
        // Of the context neither a state nor a name that templates have is a part.
        let of_context = self.reference.path.first().is_some_and(|s| &*s.name == "workflow");
        let others = names.state_names().filter(|_| !of_context);
        let keys = names.keys.iter().map(|k| &**k).chain(fields).chain(others);
        if let Some((_, path)) = JOINED.iter().find(|(word, _)| *word == key && segments.len() == 1) {
            let message = format!("nothing in this manifest defines `{key}`");
            let d = Diagnostic::warning("unresolved-name", self.at, message).help(format!("did you mean `{path}`?"));
            let place = mend::segment(self.reference, self.at, self.reference.path.len() - 1);
            return self.scene.reader.report(mend::rewritten(d, place, path, false));
        }
        let abbreviated = BUILT_IN.iter().find(|n| abbreviates(key, n));
        let near = match abbreviated {
            Some(name) => Some(suggest::Near { name, distance: 0, sure: false }),
            // Every letter is like every other one.
            None if key.chars().nth(1).is_none() => None,
            None => suggest::near(key, keys.chain(RESERVED.iter().copied().filter(|_| !of_context))),
        };
        if closed {
            let help = near.map(|n| format!("did you mean `{}`?", n.name)).unwrap_or_default();
            let message = format!("neither the context, nor the input, nor any state defines `{key}`");
            return self.warn_near("unresolved-name", &message, &help, segments.len(), near);
        }
        if self.is_word() && near.is_some_and(|n| n.sure) {
            return self.without_quotes(key);
        }
        // With an open input anybody may give it, unless it is a slip of the pen.
        if let Some(near) = near.filter(|n| n.sure || abbreviated.is_some()) {
            let help =
                format!("did you mean `{}`? if the start input has `{key}`, declare it in `input_schema`", near.name);
            let message = format!("nothing in this manifest defines `{key}`");
            let near = suggest::Near { sure: false, ..near };
            return self.warn_near("unresolved-name", &message, &help, segments.len(), Some(near));
        }
        if key == "feedback" && self.reference.path.len() == 1 {
            self.bare_feedback();
        }
        if matches!(key, "env" | "secrets") && segments.len() > 1 {
            let message = format!("nothing in this manifest defines `{key}`: templates of this format do not read it");
            return self
                .warn(&message, "a System state reads the environment of its command; give other values as input");
        }
        if is_helper(key) && self.reference.path.len() == 1 {
            let message = format!("`{key}` is a helper, and nothing comes after it: here it is the name of a key");
            self.warn(&message, "write its argument after it");
        }
    }

    /// A key that only states write which never run before: with a start input that has no such field nothing is there.
    fn check_written(&self, key: &str) {
        let scene = self.scene;
        let Some(written) = scene.known.keys.get(key).filter(|k| !k.seeded && !k.writers.is_empty()) else { return };
        let given = scene.names.schema.as_ref().is_none_or(|s| {
            !(s.of_objects() && (s.closed() || s.lists_all())) || s.properties().any(|(p, _)| &**p == key)
        });
        let (Place::Entering(this) | Place::Leaving(this) | Place::Deciding(this)) = self.place else { return };
        let never = |w: &usize| *w != this && scene.known.defined(*w, self.place) == trefoil_ir::Defined::Never;
        if given || ALWAYS.contains(&key) || !scene.paths.reachable(this) || !written.writers.iter().all(never) {
            return;
        }
        let message = format!("nothing writes `{key}` before `{}`: it is always empty", scene.names.name(this));
        let d = Diagnostic::warning("unordered-read", self.at, message);
        scene.reader.report(d.label(written.at, "written here").help("check the transitions, or the name"));
    }

    /// Whether it is one word where a helper is mostly given a text.
    fn is_word(&self) -> bool {
        self.reference.operand && self.reference.path.len() == 1
    }

    /// A text without its quotes: it is read as a name, and nothing has it.
    fn without_quotes(&self, key: &str) {
        let message = format!("nothing is called `{key}`: without quotes it is the name of a value");
        let d = Diagnostic::warning("unresolved-name", self.at, message);
        let place = mend::segment(self.reference, self.at, 0);
        let double = place.is_some_and(|place| self.scene.reader.is_in_double_quotes(place.span));
        let quote = if double { '\'' } else { '"' };
        let meant = format!("{quote}{key}{quote}");
        let help = format!("write `{meant}` where the text is meant");
        self.scene.reader.report(match place {
            Some(place) => d.suggestion(help, place, meant),
            None => d.help(help),
        });
    }

    /// `{{feedback}}` where a transition, or a person, gives some: it is called otherwise.
    fn bare_feedback(&self) {
        let names = self.scene.names;
        let given = match self.place {
            Place::Entering(state) | Place::Leaving(state) | Place::Deciding(state) => {
                names.states.get(state).is_some_and(|s| !s.given_feedback.is_empty())
            }
            Place::End => false,
        };
        let meant = match given {
            true => "state.feedback",
            false if names.states.iter().any(|s| s.shape == Shape::Human) => "human.feedback",
            false => return,
        };
        let d = Diagnostic::warning("unresolved-name", self.at, "nothing in this manifest defines `feedback`");
        let d = d.help(format!("did you mean `{meant}`?"));
        self.scene.reader.report(mend::rewritten(d, mend::segment(self.reference, self.at, 0), meant, false));
    }
}

/// Names of one word that every template has.
const BUILT_IN: &[&str] = &["iteration_number", "previous_error"];

/// Names of two words, as people write them in one, and a name that others have.
const JOINED: &[(&str, &str)] = &[
    ("execution_id", "execution.id"),
    ("workflow_name", "workflow.name"),
    ("state_feedback", "state.feedback"),
    ("human_feedback", "human.feedback"),
    ("last_error", "previous_error"),
];

/// Whether a word is a name with some of its parts cut short: `prev_error`, `iteration_nr`.
fn abbreviates(word: &str, name: &str) -> bool {
    let cut = |part: &str, whole: &str| {
        let mut left = whole.chars();
        part.chars().next() == whole.chars().next() && part.chars().all(|c| left.any(|w| w == c))
    };
    let (parts, wholes) = (word.split('_'), name.split('_'));
    parts.clone().count() == wholes.clone().count() && parts.zip(wholes).all(|(p, w)| p.len() > 1 && cut(p, w))
}

/// The name that was surely meant, where any other one could be there too: nothing but two letters swapped, or one left
/// out, inside of a word.
pub(super) fn slip<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<suggest::Near<'c>> {
    let letters = |text: &str| {
        let mut all: Vec<char> = text.chars().collect();
        all.sort_unstable();
        all
    };
    let all: Vec<&str> = candidates.collect();
    let near = suggest::near(word, all.iter().copied()).filter(|near| near.sure && near.name != word)?;
    let swapped = letters(word) == letters(near.name);
    let left_out = near.distance == 1 && word.len() < near.name.len() && !near.name.starts_with(word);
    (word.len() >= 4 && (swapped || left_out)).then_some(near)
}
