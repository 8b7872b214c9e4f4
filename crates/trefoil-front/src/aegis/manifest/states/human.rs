//! `kind: Human`: asks a person.

use std::sync::Arc;

use trefoil_syntax::Span;
use trefoil_syntax::yaml::{YamlScalar, YamlText};

use crate::MappingReader;
use crate::aegis::manifest::require_filled_text;

/// A Human state.
pub struct HumanState {
    /// The template of the question.
    pub prompt: Option<YamlText>,
    /// The answer used on timeout.
    pub default_response: Option<Arc<str>>,
    /// Where that answer is written.
    pub default_span: Option<Span>,
}

/// Reads the keys specific to a Human state.
pub fn read_human_state(fields: &mut MappingReader<'_, '_>) -> HumanState {
    let prompt = require_filled_text(fields, "prompt").cloned();
    let mut default_response = None;
    let mut default_span = None;
    if let Some(entry) = fields.take("default_response") {
        // Accept `yes` and `true` without quotes, because people write them that way.
        match entry.value.as_scalar() {
            Some((scalar, text)) if scalar != YamlScalar::Null => {
                default_response = Some(text.value.clone());
                default_span = Some(text.span);
            }
            _ => fields.reader.wrong_type(&entry.value, "default_response", "text"),
        }
    }
    if let Some(entry) = fields.take("reject_on_timeout")
        && fields.reader.read_boolean(&entry.value, "reject_on_timeout") == Some(true)
    {
        match &default_response {
            Some(_) => fields.reader.report_warning(
                "no-effect",
                entry.key.span,
                "`reject_on_timeout` has no effect: `default_response` decides",
            ),
            None => default_response = Some("no".into()),
        }
    }
    HumanState { prompt, default_response, default_span }
}
