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
        let (mut maybe, mut notes) = (0, 0);
        for d in &self.diagnostics {
            if d.rule == MAYBE {
                maybe += 1;
            } else if d.severity <= FindingSeverity::Info {
                notes += 1;
            }
        }
        let counts = [
            (maybe, "name may be undefined", "names may be undefined"),
            (self.untyped_outputs(), "output is untyped", "outputs are untyped"),
            (notes, "note", "notes"),
        ];
        let mut parts = Vec::new();
        for (n, one, many) in counts {
            match n {
                0 => {}
                1 => parts.push(format!("1 {one}")),
                _ => parts.push(format!("{n} {many}")),
            }
        }
        if parts.is_empty() { None } else { Some(parts.join(", ")) }
    }

    /// The number of outputs of unknown type that something reads.
    fn untyped_outputs(&self) -> usize {
        let read: HashSet<_> = self.facts.mentions.iter().filter_map(|mention| mention.to).collect();
        let mut untyped = 0;
        for d in &self.facts.declarations {
            let step = matches!(d.kind, DeclarationKind::Step | DeclarationKind::State | DeclarationKind::Node);
            if step && d.schema == ValueType::Any && read.contains(&d.at) {
                untyped += 1;
            }
        }
        untyped
    }
}
