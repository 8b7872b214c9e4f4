//! `output_template` compared with `output_schema`.

use std::sync::Arc;

use trefoil_syntax::yaml::Mapping;
use trefoil_syntax::{Diagnostic, Severity, suggest};

use super::unit::{Found, Workflow};
use trefoil_front::aegis::manifest::schema::JsonSchema;
use trefoil_front::mend::respelt;

/// A schema without an output template.
pub fn without_template(unit: &Workflow<'_, '_>, found: &mut Found) {
    if let (None, Some(schema)) = (&unit.workflow.output_template, &unit.workflow.output_schema) {
        let message =
            "`output_schema` has no effect: without `output_template` the output is the answer of the last state";
        found.push(Diagnostic::warning("unused", unit.file.at(schema.node.span), message));
    }
}

/// Keys that the schema requires but the template lacks, and keys that the template has but the schema lacks.
pub fn keys(unit: &Workflow<'_, '_>, found: &mut Found) {
    let (Some(node), Some(schema)) = (&unit.workflow.output_template, &unit.workflow.output_schema) else { return };
    let Some(mapping) = node.mapping() else { return };
    let meant = unknown(unit, schema, mapping, found);
    for (property, _) in schema.properties().filter(|(p, _)| schema.requires(p)) {
        if mapping.get(property).is_none() && !meant.contains(property) {
            let message = format!("`output_template` has no `{property}`, but `output_schema` requires it");
            let d = Diagnostic::warning("schema-mismatch", unit.file.at(node.span), message);
            found.push(d.label(unit.file.at(schema.property_at(property)), "required here"));
        }
    }
}

/// Keys that the schema does not declare: certainly wrong if it is closed, probably if a declared one is missing.
/// Returns the declared keys that were meant.
fn unknown(unit: &Workflow<'_, '_>, schema: &JsonSchema, template: &Mapping, found: &mut Found) -> Vec<Arc<str>> {
    let mut meant = Vec::new();
    let left_out = || schema.properties().map(|(p, _)| &**p).filter(|p| template.get(p).is_none());
    for entry in &template.entries {
        let key = &entry.key;
        if schema.properties().any(|(p, _)| *p == key.value) {
            continue;
        }
        let at = unit.file.at(key.span);
        // An open schema may have other keys.
        let near = suggest::near(&key.value, left_out()).filter(|n| n.sure || schema.closed());
        let message = format!("`output_schema` declares no `{}`", key.value);
        let d = Diagnostic::warning("schema-mismatch", at, message);
        let d = d.of_property();
        match near {
            Some(near) => {
                meant.push(near.name.into());
                found.push(respelt(d.help(format!("did you mean `{}`?", near.name)), at, key, near));
            }
            None if schema.closed() || schema.lists_all() && left_out().next().is_some() => found.push(d),
            None if schema.lists_all() => found.push(Diagnostic { severity: Severity::Info, ..d }),
            None => {}
        }
    }
    meant
}
