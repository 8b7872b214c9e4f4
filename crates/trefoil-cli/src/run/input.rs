//! The run's input, from the arguments, a file or stdin.

use std::io::Read as _;

use trefoil_project::file_access::io_error_reason;
use trefoil_project::input::{InputError, parse_typed_input};
use trefoil_project::load::LoadedTarget;
use trefoil_syntax::{Diagnostic, SourceFiles};
use trefoil_template::{Value, limits};

use crate::{exit, output};
use trefoil_host::command::quote_for_shell;

/// Why the input is invalid.
pub enum InputRejection {
    /// An error in the arguments.
    Error(InputError),
    /// Findings in a file.
    Findings(SourceFiles, Vec<Diagnostic>),
}

/// Builds the input from the arguments.
pub fn read_input(
    loaded: &LoadedTarget,
    inputs: &[String],
    json: Option<&str>,
) -> Result<Option<Value>, InputRejection> {
    for input in inputs {
        check_no_file(input)?;
    }
    let base = match json {
        Some(argument) => Some(read_json_argument(argument)?),
        None => None,
    };
    parse_typed_input(&loaded.program, inputs, base).map_err(InputRejection::Error)
}

/// Reports why the input is invalid. Returns the exit code.
pub fn reject_input(loaded: &LoadedTarget, why: InputRejection) -> u8 {
    reject_input_of(&loaded.files, why)
}

/// The same for a flow with these files.
pub fn reject_input_of(files: &SourceFiles, why: InputRejection) -> u8 {
    match why {
        InputRejection::Error(error) => {
            output::print_line(output::format_message_findings(&[error.to_diagnostic()], files).trim_end());
        }
        InputRejection::Findings(files, found) => {
            output::print_line(output::format_message_findings(&found, &files).trim_end())
        }
    }
    exit::NOT_STARTED
}

/// The value of `--input-json`: JSON, `@FILE`, or `-` for standard input.
pub fn read_json_argument(argument: &str) -> Result<Value, InputRejection> {
    let (name, bytes) = match argument.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path);
            (path.to_owned(), file.and_then(take))
        }
        None if argument == "-" => ("--input-json -".to_owned(), take(std::io::stdin().lock())),
        None => ("--input-json".to_owned(), Ok(argument.as_bytes().to_vec())),
    };
    let error = |message: String| {
        InputRejection::Error(
            InputError::new(message).with_help("`--input-json` needs JSON, `@FILE`, or `-` for stdin"),
        )
    };
    let bytes = bytes.map_err(|e| error(format!("cannot read the input `{name}`: {}", io_error_reason(&e))))?;
    if bytes.len() as u64 > limits::INPUT_BYTES {
        return Err(error(format!("the input is larger than {} MB", limits::INPUT_BYTES >> 20)));
    }
    trefoil_project::data::parse_data_file(&name, bytes)
        .map_err(|(files, found)| InputRejection::Findings(files, found))
}

/// Refuses a text that is the name of a file behind an `@`, as other programs read files: the text itself would be sent.
pub fn check_no_file(input: &str) -> Result<(), InputRejection> {
    let Some(path) = named_file(input) else { return Ok(()) };
    let before = input.strip_suffix(&format!("@{path}")).unwrap_or_default();
    let path = quote_for_shell(path);
    let help = format!(
        "to read the file, write `--input {before}\"$(cat {path})\"`, or `--input-json @{path}` if it is the whole input as JSON"
    );
    Err(InputRejection::Error(
        InputError::new(format!("`--input` does not read files, and `{path}` is one")).with_help(help),
    ))
}

/// The file that `@FILE` or `KEY=@FILE` names.
fn named_file(input: &str) -> Option<&str> {
    let value = match input.split_once('=') {
        Some((_, value)) => value,
        None => input,
    };
    for text in [input, value] {
        if let Some(path) = text.strip_prefix('@')
            && std::path::Path::new(path).is_file()
        {
            return Some(path);
        }
    }
    None
}

fn take(from: impl std::io::Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limits::INPUT_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
