//! `output_template` compared with `output_schema`.

use std::sync::Arc;

use trefoil_syntax::yaml::YamlMapping;
use trefoil_syntax::{Diagnostic, FindingSeverity, suggestions};

use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::aegis::manifest::schema::JsonSchema;
use trefoil_front::spelling_fixes::fix_spelling;

/// A schema without an output template.
pub fn without_template(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    if let (None, Some(schema)) = (&unit.workflow.output_template, &unit.workflow.output_schema) {
        let message =
            "`output_schema` has no effect: without `output_template` the output is the answer of the last state";
        found.push(Diagnostic::new_warning("unused", unit.file.location_of(schema.node.span), message));
    }
}

/// Keys that the schema requires but the template lacks, and keys that the template has but the schema lacks.
pub fn check_output_keys(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    let (Some(node), Some(schema)) = (&unit.workflow.output_template, &unit.workflow.output_schema) else { return };
    let Some(mapping) = node.as_mapping() else { return };
    let meant = unknown(unit, schema, mapping, found);
    for (property, _) in schema.declared_properties().filter(|(p, _)| schema.requires_property(p)) {
        if mapping.get(property).is_none() && !meant.contains(property) {
            let message = format!("`output_template` has no `{property}`, but `output_schema` requires it");
            let d = Diagnostic::new_warning("schema-mismatch", unit.file.location_of(node.span), message);
            found.push(d.with_label(unit.file.location_of(schema.property_at(property)), "required here"));
        }
    }
}

/// Keys that the schema does not declare: certainly wrong if it is closed, probably if a declared one is missing.
/// Returns the declared keys that were meant.
fn unknown(
    unit: &WorkflowUnit<'_, '_>,
    schema: &JsonSchema,
    template: &YamlMapping,
    found: &mut FindingList,
) -> Vec<Arc<str>> {
    let mut meant = Vec::new();
    let left_out = || schema.declared_properties().map(|(p, _)| &**p).filter(|p| template.get(p).is_none());
    for entry in &template.entries {
        let key = &entry.key;
        if schema.declared_properties().any(|(p, _)| *p == key.value) {
            continue;
        }
        let at = unit.file.location_of(key.span);
        // An open schema may have other keys.
        let near = suggestions::find_near_match(&key.value, left_out()).filter(|n| n.sure || schema.is_closed());
        let message = format!("`output_schema` declares no `{}`", key.value);
        let d = Diagnostic::new_warning("schema-mismatch", at, message);
        let d = d.of_property();
        match near {
            Some(near) => {
                meant.push(near.name.into());
                found.push(fix_spelling(d.with_help(format!("did you mean `{}`?", near.name)), at, key, near));
            }
            None if schema.is_closed() || schema.lists_all() && left_out().next().is_some() => found.push(d),
            None if schema.lists_all() => found.push(Diagnostic { severity: FindingSeverity::Info, ..d }),
            None => {}
        }
    }
    meant
}
