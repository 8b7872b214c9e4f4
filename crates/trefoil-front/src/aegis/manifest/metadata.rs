//! `metadata`: the keys that agents and workflows share.

use std::sync::Arc;

use trefoil_syntax::{Diagnostic, Span};

use super::{AegisUnitKind, key_synonyms};
use crate::{ManifestReader, MappingReader};

/// The identity of a manifest.
pub struct ManifestIdentity {
    /// `metadata.name`; empty if it is missing.
    pub name: Arc<str>,
    /// The span of the name; if it is missing, where it should be.
    pub span: Span,
    /// The same without quotes.
    pub at: Span,
    /// `metadata.version`.
    pub version: Option<Arc<str>>,
}

/// Reads name, version and the descriptive keys. The caller reads the other keys and calls [`MappingReader::finish_mapping`].
pub fn read_identity(fields: &mut MappingReader<'_, '_>, unit: AegisUnitKind) -> ManifestIdentity {
    fields.also_called(key_synonyms::METADATA);
    if unit == AegisUnitKind::Agent {
        fields.set_foreign_keys(key_synonyms::NOT_METADATA_OF_AGENT);
    }
    let name = fields.require_text("name");
    if let Some(name) = name {
        check_name(fields.reader, &name.value, name.span);
    }
    let version = fields.read_text("version");
    if let Some(version) = version
        && version.value.trim().is_empty()
    {
        fields.reader.report_warning("missing-key", version.span, "`version` is blank");
    }
    if version.is_none() && unit == AegisUnitKind::Agent {
        fields.note_need("version");
        fields.reader.report_finding(
            Diagnostic::new_warning(
                "missing-key",
                fields.reader.location_of(fields.owner_span()),
                "`metadata` has no `version`",
            )
            .with_help("other tools for this format require it; for example `version: \"1.0.0\"`"),
        );
    }
    fields.read_text("description");
    for key in ["labels", "annotations"] {
        if let Some(entry) = fields.take(key) {
            let Some(mapping) = entry.value.as_mapping() else {
                fields.reader.wrong_type(&entry.value, key, "a mapping");
                continue;
            };
            for label in &mapping.entries {
                fields.reader.read_text(&label.value, &label.key.value);
            }
        }
    }
    fields.take("tags");
    let version = version.map(|version| version.value.clone());
    match name {
        Some(name) => ManifestIdentity { name: name.value.clone(), span: name.span, at: name.content_span(), version },
        None => ManifestIdentity { name: Arc::default(), span: fields.head_span(), at: fields.head_span(), version },
    }
}

/// Whether a text is a valid name.
pub fn is_name(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn check_name(reader: &ManifestReader<'_>, name: &str, span: Span) {
    if !is_name(name) {
        reader.report_finding(
            Diagnostic::new_error("invalid-name", reader.location_of(span), format!("`{name}` is not a valid name"))
                .with_help("use 1 to 63 lower-case letters, digits and hyphens; start and end with a letter or digit"),
        );
    }
}
