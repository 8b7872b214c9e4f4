//! `STATE.x`: the result of a state, by its shape (decisions E6, E7).

use trefoil_ir::Source;
use trefoil_syntax::suggest;
use trefoil_template::{Missing, Value};

use super::check::slip;
use super::{Look, Shape, root};
use crate::aegis::lower::pieces::path;
use crate::learn;

/// What the result of any state has.
const OPEN: [&str; 6] = ["output", "status", "error", "stdout", "stderr", "exit_code"];

/// What a consensus has.
const VERDICT: [&str; 5] = ["score", "confidence", "strategy", "binary_valid", "metadata"];

/// What a consensus may have under `metadata`, by its strategy.
const METADATA: [&str; 9] = [
    "pass_votes",
    "fail_votes",
    "threshold",
    "all_pass",
    "total_judges",
    "agreement",
    "reasoning",
    "individual_outputs",
    "individual_results",
];

/// What the result of a container has, beside the same once more under `output`.
const CONTAINER: [&str; 6] = ["status", "exit_code", "stdout", "stderr", "duration_ms", "attempts"];

/// What the result of several containers has.
const CONTAINERS: [&str; 7] = ["status", "overall_success", "completion", "succeeded", "failed", "output", "results"];

impl Look<'_, '_, '_> {
    /// What stands after the state's name; how many segments of it are used up.
    pub(super) fn state(&self, state: usize, rest: &[&str]) -> (Source, u16) {
        let names = self.scene.names;
        let slot = names.slot(state);
        let shape = names.shape(state);
        let [field, inner @ ..] = rest else { return (root::state(shape, slot), 0) };
        let here = (Source::Slot(slot), 0);
        match (shape, *field) {
            (_, "status" | "error") => here,
            (Shape::Open, field) => {
                // It may have anything, but not what is a slip of the finger.
                if let Some(near) = slip(field, OPEN.iter().copied()) {
                    let name = names.name(state);
                    let message = format!("the result of `{name}` surely has no `{field}`");
                    let help = format!("did you mean `{name}.{}`?", near.name);
                    self.warn_near("unknown-property", &message, &help, rest.len(), Some(near));
                }
                here
            }
            (_, "execution_id") => (Source::RunId, 1),
            (Shape::Agent, "output") => here,
            (Shape::Agent, what @ ("score" | "confidence")) => {
                self.check_figure(state, what, rest.len());
                (Source::Member(slot, path(["output", what])), 1)
            }
            (Shape::Parallel { .. }, "consensus") => {
                match inner {
                    [member, ..] if !VERDICT.contains(member) => {
                        self.report_member(state, &VERDICT, member, inner.len())
                    }
                    ["metadata", member, ..] => {
                        if let Some(near) = slip(member, METADATA.iter().copied()) {
                            let message = format!("a consensus surely has no `metadata.{member}`");
                            let help = format!("did you mean `{}`?", near.name);
                            self.warn_near("unknown-property", &message, &help, inner.len() - 1, Some(near));
                        }
                    }
                    _ => {}
                }
                here
            }
            (Shape::Parallel { .. }, "agents" | "score" | "confidence" | "output") => here,
            (Shape::Container, _) => {
                let fields = if *field == "output" { inner } else { rest };
                if let Some(field) = fields.first().filter(|f| **f != "output" && !CONTAINER.contains(f)) {
                    self.report_member(state, &CONTAINER, field, fields.len());
                }
                here
            }
            (Shape::Containers(steps), "output") => {
                if let [step, of_step @ ..] = inner {
                    let all: Vec<&str> = steps.iter().map(|s| &**s).collect();
                    match of_step {
                        _ if !all.contains(step) => self.report_member(state, &all, step, inner.len()),
                        [field, ..] if !CONTAINER.contains(field) => {
                            self.report_member(state, &CONTAINER, field, of_step.len());
                        }
                        _ => {}
                    }
                }
                here
            }
            (Shape::Containers(_), field) => {
                if !CONTAINERS.contains(&field) {
                    self.report_member(state, &CONTAINERS, field, rest.len());
                }
                here
            }
            (Shape::Human, "response") => (names.response(state), 1),
            (Shape::Human, "feedback") => (Source::Member(slot, path(["output", "feedback"])), 1),
            (Shape::Human, "output") => match inner {
                [] => (names.response(state), 1),
                _ => here,
            },
            (Shape::Update, "updated") => here,
            (s, "stdout" | "stderr" | "exit_code") if s.is_command() => here,
            (s, "output") if s.is_command() => match inner {
                // Printed whole it is what the command printed.
                [] => (Source::Member(slot, path(["stdout"])), 1),
                ["stdout" | "stderr" | "exit_code" | "status", ..] => (Source::Slot(slot), 1),
                // Fields of what it printed, when that is JSON.
                [field, ..] => {
                    self.check_printed(state, field, inner.len());
                    (Source::Member(slot, path(["json"])), 1)
                }
            },
            _ => {
                self.report_field(state, shape, field, rest.len());
                (Source::Missing(Missing::Key(1)), 0)
            }
        }
    }

    /// Whether an agent's answer may well have a field: it declares it, or is an object of which nobody knows all.
    fn answers_with(&self, state: usize, field: &str) -> bool {
        const WHOLE: &[&str] =
            &["text", "stdout", "result", "content", "response", "message", "answer", "reply", "completion", "value"];
        let answer = || self.scene.known.states.get(state)?.schema.get("properties")?.get("output");
        match answer().and_then(|answer| answer.get("properties")) {
            Some(declared) => declared.get(field).is_some(),
            None => !WHOLE.contains(&field),
        }
    }

    /// A score that the agent's answer, by its schema, cannot have.
    fn check_figure(&self, state: usize, what: &str, left: usize) {
        let Some(known) = self.scene.known.states.get(state) else { return };
        let Some(answer) = known.schema.get("properties").and_then(|p| p.get("output")) else { return };
        if learn::is_closed(answer, what) && answer.get("type").and_then(Value::as_str) == Some("object") {
            let message = format!("`{}` is always empty: the agent's answer has no `{what}`", self.reference.dotted());
            let declared = answer.get("properties").and_then(Value::as_object).into_iter().flatten();
            let all: Vec<_> = declared.map(|(p, _)| format!("`{}.output.{p}`", known.name)).take(8).collect();
            self.warn_near("unknown-property", &message, &format!("there is {}", all.join(", ")), left, None);
        }
    }

    /// A member that a result certainly has not; `fields` are those that it has.
    fn report_member(&self, state: usize, fields: &[&str], field: &str, left: usize) {
        let near = suggest::near(field, fields.iter().copied());
        let all = fields.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(", ");
        let help = match near {
            Some(near) => format!("did you mean `{}`?", near.name),
            None => format!("it has {all}"),
        };
        let before = self.reference.path.len().saturating_sub(left);
        let whole: Vec<&str> = self.reference.path.iter().take(before).map(|s| &*s.name).collect();
        let whole = if whole.is_empty() { self.scene.names.name(state).to_string() } else { whole.join(".") };
        let message = format!("`{whole}` has no `{field}`: it is always empty");
        self.warn_near("unknown-property", &message, &help, left, near);
    }

    /// JSON that a command printed may have any field; a near miss of what every command has is none.
    fn check_printed(&self, state: usize, field: &str, left: usize) {
        let near = suggest::near(field, ["stdout", "stderr", "exit_code", "status"]);
        if let Some(near) = near.filter(|n| n.sure) {
            let name = self.scene.names.name(state);
            let message = format!("the result of `{name}` has no `{field}`, unless it prints JSON that has");
            let help = format!("did you mean `{name}.output.{}`?", near.name);
            let near = suggest::Near { sure: false, ..near };
            self.warn_near("unknown-property", &message, &help, left, Some(near));
        }
    }

    fn report_field(&self, state: usize, shape: &Shape, field: &str, left: usize) {
        let fields: &[&str] = match shape {
            Shape::Agent => &["output", "status", "score", "confidence", "error"],
            Shape::Parallel { .. } => &["consensus", "agents", "score", "confidence", "output", "status", "error"],
            Shape::Human => &["response", "feedback", "output", "status", "error"],
            Shape::Update => &["updated", "output", "status", "exit_code"],
            _ => &["output", "stdout", "stderr", "exit_code", "status", "error"],
        };
        let name = self.scene.names.name(state);
        let message = format!("the result of `{name}` has no `{field}`: it is always empty");
        let near = suggest::near(field, fields.iter().copied());
        let help = match near {
            Some(near) => format!("did you mean `{name}.{}`?", near.name),
            None if *shape == Shape::Agent && self.answers_with(state, field) => {
                format!("a field of the answer is `{name}.output.{field}`")
            }
            None if *shape == Shape::Agent => format!("the answer is `{name}.output`"),
            None => format!("it has {}", fields.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(", ")),
        };
        self.warn_near("unknown-property", &message, &help, left, near);
    }
}
