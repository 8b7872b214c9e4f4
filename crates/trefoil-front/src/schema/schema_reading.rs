//! A schema being read: the destination of findings, whether there was an error, and the references to check at the
//! end.

use trefoil_syntax::yaml::{YamlNode, YamlText};
use trefoil_syntax::{Diagnostic, FindingSeverity, Span, suggestions};
use trefoil_template::Value;

use crate::spelling_fixes::fix_spelling;
use crate::yaml_reader::ManifestReader;
use trefoil_syntax::suggestions::NearMatch;

/// The maximum nesting of subschemas.
pub const MAX_DEPTH: usize = 64;

/// The type names.
pub const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// One schema being read.
pub struct SchemaReading<'d> {
    /// The file's reader.
    pub reader: &'d ManifestReader<'d>,
    failed: bool,
    delicate: bool,
    partial: bool,
    plain: bool,
    pointers: Vec<(String, Span)>,
}

impl<'d> SchemaReading<'d> {
    /// A schema in which everything that can only be a mistake is an error.
    pub fn new(reader: &'d ManifestReader<'d>) -> Self {
        Self { reader, failed: false, delicate: false, partial: false, plain: false, pointers: Vec::new() }
    }
    /// A plain JSON Schema: something that JSON Schema allows but that can only be a mistake is a warning.
    pub fn for_json_schema(reader: &'d ManifestReader<'d>) -> Self {
        Self { plain: true, ..Self::new(reader) }
    }
    /// Whether it is a plain JSON Schema.
    pub fn is_plain(&self) -> bool {
        self.plain
    }
    /// Marks the next schema as having a sibling that may declare what it requires.
    pub fn note_partial(&mut self) {
        self.partial = true;
    }
    /// Whether the schema that starts here has such a sibling.
    pub fn take_partial(&mut self) -> bool {
        std::mem::take(&mut self.partial)
    }
    /// Reports something that JSON Schema allows but that no value can match.
    pub fn report_pointless(&mut self, diagnostic: Diagnostic) {
        if self.plain {
            self.reader.report_finding(Diagnostic { severity: FindingSeverity::Warning, ..diagnostic });
        } else {
            self.report_finding(diagnostic);
        }
    }
    /// Records an error reported elsewhere.
    pub fn mark_failed(&mut self) {
        self.failed = true;
    }
    /// Whether there was an error.
    pub fn has_failed(&self) -> bool {
        self.failed
    }
    /// Records that the whole schema must be compiled to check it.
    pub fn note_delicate(&mut self) {
        self.delicate = true;
    }
    /// Whether the whole schema must be compiled to check it.
    pub fn is_delicate(&self) -> bool {
        self.delicate
    }
    /// Reports an error.
    pub fn report_error(&mut self, span: Span, message: impl Into<String>) {
        self.report_finding(Diagnostic::new_error("invalid-schema", self.reader.location_of(span), message));
    }
    /// Reports a given error.
    pub fn report_finding(&mut self, diagnostic: Diagnostic) {
        self.mark_failed();
        self.reader.report_finding(diagnostic);
    }
    /// Reports a value of the wrong type.
    pub fn wrong_type(&mut self, node: &YamlNode, what: &str, expected: &str) {
        self.mark_failed();
        self.reader.wrong_type(node, what, expected);
    }
    /// Whether the nesting is within the limit; reports if it is not.
    pub fn check_depth(&mut self, node: &YamlNode, depth: usize) -> bool {
        if depth <= MAX_DEPTH {
            return true;
        }
        self.report_error(node.span, format!("the schema is nested more than {MAX_DEPTH} levels deep"));
        false
    }
    /// Whether it is the name of a type; reports if it is not.
    pub fn type_name(&mut self, text: &YamlText) -> bool {
        let name = &*text.value;
        if TYPES.contains(&name) {
            return true;
        }
        let d = Diagnostic::new_error(
            "invalid-schema",
            self.reader.location_of(text.span),
            format!("unknown type `{name}`"),
        );
        let all = TYPES.map(|t| format!("`{t}`")).join(", ");
        let foreign = [
            ("int", "integer"),
            ("str", "string"),
            ("bool", "boolean"),
            ("float", "number"),
            ("list", "array"),
            ("dict", "object"),
            ("map", "object"),
            ("text", "string"),
            ("double", "number"),
            ("any", "object"),
        ];
        // A list of something needs two keywords, not one.
        if let Some(of) = name.strip_suffix("[]") {
            let of = match foreign.iter().find(|(word, _)| *word == of) {
                Some((_, known)) => known,
                None => of,
            };
            let of = if TYPES.contains(&of) { of } else { "string" };
            self.report_finding(d.with_help(format!("write a list as `{{ type: array, items: {{ type: {of} }} }}`")));
            return false;
        }
        let near = match foreign.iter().find(|(word, _)| *word == name) {
            // `any` includes more than objects.
            Some((word, known)) => Some(NearMatch { name: known, distance: 1, sure: *word != "any" }),
            None => suggestions::find_near_match(name, TYPES),
        };
        self.report_finding(match near {
            Some(near) => {
                let d = d.with_help(format!("did you mean `{}`? available: {all}", near.name));
                fix_spelling(d, self.reader.location_of(text.span), text, near)
            }
            None => d.with_help(format!("available: {all}")),
        });
        false
    }
    /// A local reference, checked when the schema is complete; anything else is an error.
    pub fn note_reference(&mut self, text: &YamlText) {
        if text.value.starts_with('#') {
            self.pointers.push((text.value.to_string(), text.span));
        } else {
            let d = Diagnostic::new_error(
                "invalid-schema",
                self.reader.location_of(text.span),
                format!("`{}` points outside the schema", text.value),
            );
            self.report_finding(d.with_help("use a local reference, for example `#/$defs/name`"));
        }
    }
    /// Reports references without a target in the complete schema.
    pub fn check_pointers(&mut self, json: &Value) {
        for (pointer, span) in std::mem::take(&mut self.pointers) {
            let Some(path) = pointer.strip_prefix("#/") else { continue };
            if value_at(json, path).is_none() {
                self.report_error(span, format!("`{pointer}` points to nothing"));
            }
        }
    }
}

/// The value at the path of a JSON pointer.
fn value_at<'v>(root: &'v Value, path: &str) -> Option<&'v Value> {
    let mut value = root;
    for step in path.split('/') {
        value = value.get(&step.replace("~1", "/").replace("~0", "~"))?;
    }
    Some(value)
}
