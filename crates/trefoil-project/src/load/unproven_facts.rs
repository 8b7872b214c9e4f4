//! What a check could not prove about a program that may still run.

use std::collections::HashSet;

use trefoil_ir::facts::{DeclarationKind, FactDetail};
use trefoil_ir::types::ValueType;
use trefoil_syntax::FindingSeverity;

use super::LoadedTarget;

/// The rule for names without a value on some paths.
const MAYBE: &str = "maybe-undefined";

impl LoadedTarget {
    /// What remains unproven, in a few words: `2 names may be undefined, 1 output is untyped`; `None` if nothing does,
    /// or if there was no check.
    pub fn unproven_summary(&self) -> Option<String> {
        if self.facts.detail_level() == FactDetail::Nothing {
            return None;
        }
        // Uses the findings, because facts do not consider guards in templates.
        let (maybe, notes): (Vec<_>, Vec<_>) = self
            .diagnostics
            .iter()
            .filter(|d| d.severity <= FindingSeverity::Info || d.rule == MAYBE)
            .partition(|d| d.rule == MAYBE);
        let read: HashSet<_> = self.facts.mentions.iter().filter_map(|m| m.to).collect();
        let outputs = self.facts.declarations.iter().filter(|d| {
            let step = matches!(d.kind, DeclarationKind::Step | DeclarationKind::State | DeclarationKind::Node);
            step && d.schema == ValueType::Any && read.contains(&d.at)
        });
        let parts: Vec<String> = [
            (maybe.len(), "name may be undefined", "names may be undefined"),
            (outputs.count(), "output is untyped", "outputs are untyped"),
            (notes.len(), "note", "notes"),
        ]
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| format!("{n} {}", if n == 1 { one } else { many }))
        .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}
