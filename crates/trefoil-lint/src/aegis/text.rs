//! Mistakes inside a text.

use trefoil_ir::TextRole;

use super::unit::{AgentUnit, FindingList, WorkflowUnit};
use crate::text::lookalike;
use trefoil_front::aegis::texts::AegisTexts;

/// Checks the texts of a workflow.
pub fn check_workflow_texts(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    check(unit.texts, found);
}

/// Checks the texts of an agent.
pub fn check_agent_texts(unit: &AgentUnit<'_, '_>, found: &mut FindingList) {
    check(unit.texts, found);
}

fn check(texts: &AegisTexts, found: &mut FindingList) {
    // Commands contain many words that are also names; conditions are expressions.
    let data = |position| !matches!(position, TextRole::Command | TextRole::Condition);
    texts
        .rendered_texts()
        .filter(|text| data(text.place.text_position()))
        .for_each(|text| lookalike::check_whole_value(text, found));
}
