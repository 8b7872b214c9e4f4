//! Mistakes inside a text.

use trefoil_ir::Position;

use super::unit::{AgentUnit, Found, Workflow};
use crate::text::lookalike;
use trefoil_front::aegis::texts::Texts;

/// Checks the texts of a workflow.
pub fn of_workflow(unit: &Workflow<'_, '_>, found: &mut Found) {
    check(unit.texts, found);
}

/// Checks the texts of an agent.
pub fn of_agent(unit: &AgentUnit<'_, '_>, found: &mut Found) {
    check(unit.texts, found);
}

fn check(texts: &Texts, found: &mut Found) {
    // Commands contain many words that are also names; conditions are expressions.
    let data = |position| !matches!(position, Position::Command | Position::Condition);
    texts.bound().filter(|text| data(text.place.position())).for_each(|text| lookalike::whole(text, found));
}
