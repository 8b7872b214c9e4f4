//! Reads a trace file with a size limit, and checks its format.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use trefoil_project::file_access::io_error_reason;
use trefoil_template::read_own_json;

/// Maximum size of a trace file in bytes.
const MOST: u64 = 512 << 20;
/// The latest version that this build knows.
const VERSION: u64 = 2;

/// The trace in a file and a note about its version, or an error message with help.
pub fn read_trace(path: &Path) -> Result<(Value, Option<String>), (String, Option<String>)> {
    let name = path.display();
    let unreadable = |error: std::io::Error| (format!("cannot read `{name}`: {}", io_error_reason(&error)), None);
    let file = File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(MOST + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MOST {
        return Err((format!("`{name}` is larger than {} MB, the limit for traces", MOST >> 20), None));
    }
    let not_one = |why: &str| {
        let help = "record one with `trefoil run TARGET --trace FILE`".to_owned();
        (format!("`{name}` is not a trace: {why}"), Some(help))
    };
    let json: Value = read_own_json(&text).map_err(|e| not_one(&format!("it is not JSON ({e})")))?;
    let version = json.get("version").and_then(Value::as_u64);
    match (version, json.get("steps").and_then(Value::as_array)) {
        (Some(1), Some(_)) => {
            let note = "this trace has version 1, which does not record where the parts of a prompt came from";
            Ok((json, Some(note.to_owned())))
        }
        (Some(2), Some(_)) => Ok((json, None)),
        (Some(newer), Some(_)) if newer > VERSION => {
            let note = format!(
                "this trace has version {newer}, but this build supports only version {VERSION}; some of it may be missing"
            );
            Ok((json, Some(note)))
        }
        _ => Err(not_one("it has no `version` and `steps`")),
    }
}
