//! Agents whose whole prompt is an input that is not set: their answer would be paid for, and mean nothing.

use trefoil_check::semantic::rendered::{Piece, pieces_of};
use trefoil_ir::{Program, Source, StepKind};
use trefoil_syntax::Diagnostic;
use trefoil_template::Value;

use super::certain::certain_steps;
use crate::engine::INPUT;
use crate::input::missing;

/// The agents that every run calls with nothing but inputs that are not set.
pub fn empty_prompts(program: &Program, given: Option<&Value>) -> Vec<Diagnostic> {
    let Some(intake) = program.flow(program.entry).map(|flow| &flow.intake) else { return Vec::new() };
    let missing = missing(program, given);
    let mut found = Vec::new();
    for (flow, step) in certain_steps(program) {
        let StepKind::Model(call) = &step.kind else { continue };
        if flow != program.entry {
            continue;
        }
        let mut unset = Vec::new();
        let is_unset = pieces_of(&call.user).iter().all(|piece| match piece {
            Piece::Written(text) => text.trim().is_empty(),
            Piece::Value(value) => {
                let mut path = match value.source {
                    Some(Source::Member(slot, path)) if *slot == intake.slot => path.clone(),
                    Some(Source::Slot(slot)) if *slot == intake.slot => Vec::new(),
                    _ => return false,
                };
                path.extend(value.rest());
                let name = path.first().map(|name| name.to_string());
                let one = missing.iter().find(|one| name.as_ref().map_or(one.is_whole(), |name| one.name == *name));
                unset.extend(one);
                one.is_some()
            }
        });
        if let (true, Some(first)) = (is_unset, unset.first()) {
            let input = if first.is_whole() { "its input".to_owned() } else { format!("the input `{}`", first.name) };
            let message = format!("the whole prompt of `{}` is {input}, which is not set", call.speaker);
            let options: Vec<String> = unset.iter().map(|one| one.option()).collect();
            found.push(Diagnostic::error(INPUT, step.origin, message).help(format!("pass `{}`", options.join(" "))));
        }
    }
    found
}
