//! The run's input, from the arguments, a file or stdin.

use std::io::Read as _;

use trefoil_project::door::reason;
use trefoil_project::input::{InputError, typed};
use trefoil_project::load::LoadedTarget;
use trefoil_syntax::{Diagnostic, Files};
use trefoil_template::{Value, limits};

use crate::{exit, output};
use trefoil_host::command::pasted;

/// Why the input is invalid.
pub enum Refusal {
    /// An error in the arguments.
    Error(InputError),
    /// Findings in a file.
    Findings(Files, Vec<Diagnostic>),
}

/// Builds the input from the arguments.
pub fn read(loaded: &LoadedTarget, inputs: &[String], json: Option<&str>) -> Result<Option<Value>, Refusal> {
    inputs.iter().try_for_each(|input| not_a_file(input))?;
    let base = json.map(base).transpose()?;
    typed(&loaded.program, inputs, base).map_err(Refusal::Error)
}

/// Reports why the input is invalid. Returns the exit code.
pub fn refuse(loaded: &LoadedTarget, why: Refusal) -> u8 {
    match why {
        Refusal::Error(error) => {
            output::say(output::diagnostics(&[error.diagnostic()], &loaded.files).trim_end());
        }
        Refusal::Findings(files, found) => output::say(output::diagnostics(&found, &files).trim_end()),
    }
    exit::NOT_STARTED
}

fn base(argument: &str) -> Result<Value, Refusal> {
    let (name, bytes) = match argument.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path);
            (path.to_owned(), file.and_then(take))
        }
        None if argument == "-" => ("--input-json -".to_owned(), take(std::io::stdin().lock())),
        None => ("--input-json".to_owned(), Ok(argument.as_bytes().to_vec())),
    };
    let error = |message: String| {
        Refusal::Error(InputError::new(message).help("`--input-json` needs JSON, `@FILE`, or `-` for stdin"))
    };
    let bytes = bytes.map_err(|e| error(format!("cannot read the input `{name}`: {}", reason(&e))))?;
    if bytes.len() as u64 > limits::INPUT_BYTES {
        return Err(error(format!("the input is larger than {} MB", limits::INPUT_BYTES >> 20)));
    }
    trefoil_project::data::data(&name, bytes).map_err(|(files, found)| Refusal::Findings(files, found))
}

/// Refuses a text that is the name of a file behind an `@`, as other programs read files: the text itself would be sent.
fn not_a_file(input: &str) -> Result<(), Refusal> {
    let value = input.split_once('=').map_or(input, |(_, value)| value);
    let named = |text: &str| text.strip_prefix('@').is_some_and(|path| std::path::Path::new(path).is_file());
    let Some(path) = [input, value].into_iter().find(|text| named(text)).and_then(|text| text.strip_prefix('@')) else {
        return Ok(());
    };
    let before = input.strip_suffix(&format!("@{path}")).unwrap_or_default();
    let path = pasted(path);
    let help = format!(
        "to read the file, write `--input {before}\"$(cat {path})\"`, or `--input-json @{path}` if it is the whole input as JSON"
    );
    Err(Refusal::Error(InputError::new(format!("`--input` does not read files, and `{path}` is one")).help(help)))
}

fn take(from: impl std::io::Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limits::INPUT_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
