//! Formats the result of a run.

use trefoil_machine::PrivateValue;
use trefoil_project::load::LoadedTarget;
use trefoil_runtime::{Event, EventKind, EventSink as _};
use trefoil_template::Value;
use trefoil_view::trace::CalledFailure;

use super::{JsonlEventWriter, report};
use crate::args::{EventFormat, OutputFormat, ShowArgs};
use crate::{exit, output};

/// Formats a result: text as it is, anything else as JSON. On a terminal, an object with multi-line texts is shown as
/// blocks.
pub fn format_result(value: &Value, terminal: bool) -> String {
    match value {
        Value::Str(text) => text.trim_end_matches('\n').to_owned(),
        Value::Object(members) if terminal && members.values().any(several_lines) => {
            let mut out = String::new();
            for (name, value) in members.iter() {
                match value {
                    Value::Str(text) if several_lines(value) => {
                        out.push_str(&format!("{name}:\n"));
                        for line in text.trim_end().lines() {
                            out.push_str(&format!("  {line}\n"));
                        }
                    }
                    Value::Str(text) => out.push_str(&format!("{name}: {}\n", text.trim_end())),
                    other => out.push_str(&format!("{name}: {}\n", other.to_json())),
                }
            }
            out.trim_end_matches('\n').to_owned()
        }
        Value::List(_) | Value::Object(_) => format!("{:#}", value.to_json()),
        other => other.to_text().to_string(),
    }
}

fn several_lines(value: &Value) -> bool {
    matches!(value.as_str(), Some(text) if text.trim_end().contains('\n'))
}

/// Prints a result. The exit code says whether it could be written.
pub fn print_result(show: &ShowArgs, value: &Value) -> u8 {
    match show.output {
        OutputFormat::Json => output::json_result(&value.to_json()),
        OutputFormat::Text => output::write_answer(&format_result(value, output::is_result_shown())),
    }
}

/// Shows the end of a run that had already ended: its result or its error, with that of a called run. Returns that run's exit code.
pub fn print_again(show: &ShowArgs, loaded: &LoadedTarget, end: &Event, called: Option<&CalledFailure>) -> u8 {
    let EventKind::RunFinished { output, error, .. } = &end.kind else { return exit::FAILED };
    let code = match (show.events, output, error) {
        (Some(EventFormat::Jsonl), ..) => {
            let lines = JsonlEventWriter::new(loaded.files.clone());
            lines.receive_event(end);
            output::write_exit_code(lines.write_outcome())
        }
        (None, _, Some(error)) if error.code != "CANCELLED" => {
            output::print_line(report::format_failure(loaded, error, called, &[], true).trim_end());
            exit::OK
        }
        (None, _, Some(_)) => exit::OK,
        (None, output, None) => print_result(show, output.as_ref().map_or(&Value::Null, PrivateValue::exact_value)),
    };
    code.max(match error.as_ref().map(|error| error.code.as_str()) {
        None => exit::OK,
        Some("CANCELLED") => exit::CANCELLED,
        Some(_) => exit::FAILED,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value {
        Value::from_json(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn texts_of_several_lines_are_blocks_on_a_terminal_and_json_elsewhere() {
        let result = value(r#"{"approved": true, "article": "one\n\ntwo\n", "title": "T"}"#);
        assert_eq!(format_result(&result, true), "approved: true\narticle:\n  one\n  \n  two\ntitle: T");
        assert!(format_result(&result, false).starts_with("{\n  \"approved\": true"));
        assert_eq!(format_result(&value(r#"{"n": 3}"#), true), "{\n  \"n\": 3\n}");
        assert_eq!(format_result(&value("\"a\\nb\\n\""), true), "a\nb");
    }
}
