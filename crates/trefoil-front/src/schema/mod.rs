//! JSON Schemas in manifests of any dialect, with every keyword checked at its place. A shorthand that a dialect allows
//! instead of a schema is read by the dialect.

pub mod canonical_syntax;
pub mod keywords;
pub mod schema_reading;
pub mod value_check;

use trefoil_ir::schema::{SchemaCost, compile_schema, pattern_bytes};
use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind};
use trefoil_template::Value;
use trefoil_template::limits::PATTERNS_BYTES;

use crate::ManifestReader;
use crate::yaml_reader::to_value;
use schema_reading::SchemaReading;

/// Advice for patterns that need too much memory.
pub(crate) const LESS: &str = "repeat less (`{1,50}` needs 50 times the memory), or use `minLength` and `maxLength`";

/// Bytes of a schema as JSON.
pub const MAX_BYTES: usize = 262_144;

/// Reads a mapping as a schema. Mistakes are reported at the keyword; `None`: there was an error.
pub fn read_schema(reader: &ManifestReader<'_>, node: &YamlNode, what: &str) -> Option<Value> {
    if node.as_mapping().is_none() {
        reader.wrong_type(node, what, "a JSON Schema");
        return None;
    }
    let json = to_value(node);
    // An older draft has other keywords, and its own compiler.
    let draft = json.get("$schema").and_then(Value::as_str);
    let older = matches!(draft, Some(uri) if !uri.contains("2020-12"));
    if !older {
        let mut reading = SchemaReading::for_json_schema(reader);
        canonical_syntax::check_subschema(&mut reading, node, 1);
        reading.check_pointers(&json);
        if reading.has_failed() {
            return None;
        }
    }
    let plain = json.to_json();
    if !check_pattern_memory(reader, node, &plain) {
        return None;
    }
    // The compiler finds mistakes that the checks at the keys miss.
    if let Err(error) = compile_schema(&plain, None) {
        let at = reader.location_of(at_pointer(node, error.instance_path().as_str()).span);
        reader.report_finding(Diagnostic::new_error(
            "invalid-schema",
            at,
            format!("`{what}` is not a valid JSON Schema: {error}"),
        ));
        return None;
    }
    if check_work_limit(reader, node, &plain) { Some(json) } else { None }
}

/// Whether the patterns of a schema are within the memory limit of a program; reports if they are not. Called before
/// they are compiled, because that takes the memory.
pub fn check_pattern_memory(reader: &ManifestReader<'_>, node: &YamlNode, schema: &serde_json::Value) -> bool {
    if pattern_bytes([schema], PATTERNS_BYTES) <= PATTERNS_BYTES {
        return true;
    }
    let message = format!("the patterns of the schema need more than {} MB", PATTERNS_BYTES >> 20);
    let d = Diagnostic::new_error("invalid-schema", reader.location_of(node.span), message);
    reader.report_finding(d.with_help(LESS));
    false
}

/// Whether checking a value against a schema terminates within the work limit; reports if it does not.
pub fn check_work_limit(reader: &ManifestReader<'_>, node: &YamlNode, schema: &serde_json::Value) -> bool {
    let Some(endless) = SchemaCost::new(schema).find_endless() else { return true };
    let at = reader.location_of(at_pointer(node, &endless.pointer).span);
    let (message, help) = match endless.circular {
        true => (
            "the schema refers to itself without going deeper into the value",
            "put the reference under `properties` or `items`, or remove it",
        ),
        false => (
            "the references of the schema multiply, so checking one value would take forever",
            "use each definition once",
        ),
    };
    reader.report_finding(Diagnostic::new_error("invalid-schema", at, message).with_help(help));
    false
}

/// The node at a JSON pointer, or its nearest ancestor.
fn at_pointer<'n>(root: &'n YamlNode, pointer: &str) -> &'n YamlNode {
    let mut node = root;
    for segment in pointer.split('/').skip(1) {
        match child_at(node, &segment.replace("~1", "/").replace("~0", "~")) {
            Some(child) => node = child,
            None => break,
        }
    }
    node
}

fn child_at<'n>(node: &'n YamlNode, segment: &str) -> Option<&'n YamlNode> {
    match &*node.kind {
        YamlNodeKind::Mapping(mapping) => Some(&mapping.get(segment)?.value),
        YamlNodeKind::Sequence(items) => items.get(segment.parse::<usize>().ok()?),
        YamlNodeKind::Scalar(..) => None,
    }
}
