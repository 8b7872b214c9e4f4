//! Data files: JSON or YAML that is data and no manifest (states, inputs).

use trefoil_front::read::to_value;
use trefoil_syntax::yaml::{self, Limits};
use trefoil_syntax::{Diagnostic, Files, Location, Severity, SourceFile, Span};
use trefoil_template::Value;

/// The value in a file: JSON if it is that, else YAML; or what is wrong with it.
pub fn data(name: &str, bytes: Vec<u8>) -> Result<Value, (Files, Vec<Diagnostic>)> {
    let source = SourceFile::from_bytes(name, bytes);
    let json = serde_json::from_str(source.text());
    if let Ok(json) = json {
        return Ok(Value::from_json(json));
    }
    let mut files = Files::default();
    let file = files.add(source.clone());
    if let (true, Err(error)) = (name.ends_with(".json"), json) {
        let line = source.line_span(error.line() as u32);
        let at = (line.start + error.column().saturating_sub(1) as u32).min(line.end);
        let message = error.to_string();
        let message = message.split(" at line").next().unwrap_or(&message);
        let at = Location::new(file, Span::new(at, at));
        return Err((files, vec![Diagnostic::error("json-syntax", at, message.to_owned())]));
    }
    let parsed = yaml::parse(file, &source, &Limits::default());
    let failed = parsed.diagnostics.iter().any(|d| d.severity == Severity::Error);
    match parsed.root {
        Some(root) if !failed => Ok(to_value(&root)),
        _ => Err((files, parsed.diagnostics)),
    }
}
