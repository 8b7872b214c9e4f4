//! What is wrong with a text by itself.

use trefoil_ir::Position;

use super::handler;
use super::unit::{AgentUnit, Found, Workflow};
use crate::text::{self, lookalike};
use trefoil_front::aegis::texts::Texts;

/// Looks at the texts of a workflow.
pub fn of_workflow(unit: &Workflow<'_, '_>, found: &mut Found) {
    check(unit.texts, found);
}

/// Looks at the texts of an agent.
pub fn of_agent(unit: &AgentUnit<'_, '_>, found: &mut Found) {
    check(unit.texts, found);
}

fn check(texts: &Texts, found: &mut Found) {
    for text in texts.all() {
        text::find(text, found);
    }
    // Commands are full of names; conditions are expressions.
    let data = |position| !matches!(position, Position::Command | Position::Condition);
    texts.bound().filter(|text| data(text.place.position())).for_each(|text| lookalike::whole(text, found));
    handler::unknown(texts, found);
}
