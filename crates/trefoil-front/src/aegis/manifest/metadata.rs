//! `metadata`: the keys that agents and workflows share.

use std::sync::Arc;

use trefoil_syntax::{Diagnostic, Span};

use super::{Unit, words};
use crate::{Fields, Reader};

/// The identity of a manifest.
pub struct Identity {
    /// `metadata.name`; empty if it is missing.
    pub name: Arc<str>,
    /// The span of the name; if it is missing, where it should be.
    pub span: Span,
    /// The same without quotes.
    pub at: Span,
    /// `metadata.version`.
    pub version: Option<Arc<str>>,
}

/// Reads name, version and the descriptive keys. The caller reads the other keys and calls [`Fields::finish`].
pub fn read(fields: &mut Fields<'_, '_>, unit: Unit) -> Identity {
    fields.also_called(words::METADATA);
    if unit == Unit::Agent {
        fields.elsewhere(words::NOT_METADATA_OF_AGENT);
    }
    let name = fields.require_text("name");
    if let Some(name) = name {
        check_name(fields.reader, &name.value, name.span);
    }
    let version = fields.text("version");
    if let Some(blank) = version.filter(|t| t.value.trim().is_empty()) {
        fields.reader.warning("missing-key", blank.span, "`version` is blank");
    }
    if version.is_none() && unit == Unit::Agent {
        fields.note_need("version");
        fields.reader.report(
            Diagnostic::warning("missing-key", fields.reader.at(fields.owner()), "`metadata` has no `version`")
                .help("other tools for this format require it; for example `version: \"1.0.0\"`"),
        );
    }
    fields.text("description");
    for key in ["labels", "annotations"] {
        if let Some(entry) = fields.take(key) {
            let Some(mapping) = entry.value.mapping() else {
                fields.reader.wrong_type(&entry.value, key, "a mapping");
                continue;
            };
            for label in &mapping.entries {
                fields.reader.text(&label.value, &label.key.value);
            }
        }
    }
    fields.take("tags");
    let span = name.map_or_else(|| fields.head(), |n| n.span);
    Identity {
        name: name.map(|n| n.value.clone()).unwrap_or_default(),
        span,
        at: name.map_or(span, |n| n.content()),
        version: version.map(|v| v.value.clone()),
    }
}

/// Whether a text is a valid name.
pub fn is_name(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn check_name(reader: &Reader<'_>, name: &str, span: Span) {
    if !is_name(name) {
        reader.report(
            Diagnostic::error("invalid-name", reader.at(span), format!("`{name}` is not a valid name"))
                .help("use 1 to 63 lower-case letters, digits and hyphens; start and end with a letter or digit"),
        );
    }
}
