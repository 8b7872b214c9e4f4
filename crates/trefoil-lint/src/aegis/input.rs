//! Fields that the start input does not have.

use trefoil_syntax::{Diagnostic, suggest};

use super::asked::Asked;
use trefoil_front::names::End;

/// A field of the start input that its schema does not have.
pub fn check(asked: &Asked<'_, '_, '_>, segment: usize) -> Option<Diagnostic> {
    if asked.used.bound.end != End::Open(segment) {
        return None;
    }
    let schema = asked.names.input.schema.as_ref().filter(|s| s.of_objects())?;
    let field = asked.name(segment);
    let near = suggest::near(field, schema.properties().map(|(p, _)| &**p));
    let listed = asked.names.input.is_complete();
    if !listed && near.is_none() {
        return None;
    }
    let all: Vec<_> = schema.properties().take(12).map(|(p, _)| format!("`{p}`")).collect();
    let help = match near {
        Some(near) => format!("did you mean `input.{}`?", near.name),
        None if all.is_empty() => "`input_schema` has no properties".to_owned(),
        None => format!("available: {}", all.join(", ")),
    };
    // An open input may still have the field.
    let near = near.map(|n| suggest::Near { sure: n.sure && listed, ..n });
    let message = format!("`input_schema` declares no `{field}`");
    Some(asked.near("unknown-property", &message, &help, segment, near))
}
