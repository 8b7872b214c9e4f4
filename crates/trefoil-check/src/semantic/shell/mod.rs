//! What a shell script, as parsed by `trefoil-shell`, does with the values passed to it. `value_uses` follows them
//! through variables and pipes, `code` into arguments that a program of `interpreters` reads as code, `request` into the
//! addresses of `curl`. Nothing is run, and unknown uses count as harmless. `argv` does the same for a command without
//! a shell, and `wait_times` says how long a script waits.

mod argv;
mod code;
mod interpreters;
mod request;
mod value_uses;
mod wait_times;
mod words;

use trefoil_ir::{CommandCall, ValueExpression};

use std::collections::{BTreeMap, BTreeSet};

pub use argv::{ArgPart, ExecutedValue, values_that_run};
pub use interpreters::decides_code;
pub use value_uses::ShellUseKind;
use value_uses::{FOLDER, ShellValueUse};
pub use wait_times::find_waits;

/// The uses of a command's values.
pub fn command_uses(call: &CommandCall) -> BTreeSet<ShellValueUse> {
    let written = call.env.iter().filter_map(|(name, value)| match value {
        ValueExpression::Const(value) => Some((name.to_string(), value.as_str()?.to_owned())),
        _ => None,
    });
    let constants: BTreeMap<String, String> = written.collect();
    value_uses::find_uses(&call.script, &|name| parameter_value(call, name).is_some(), constants)
}

/// The value of a parameter or a variable of a command, or its working folder.
pub fn parameter_value<'c>(call: &'c CommandCall, name: &str) -> Option<&'c ValueExpression> {
    if name == FOLDER {
        return call.workdir.as_ref();
    }
    match name.parse::<usize>() {
        Ok(n) => call.arguments.get(n.checked_sub(1)?),
        Err(_) => call.env.iter().find(|(n, _)| **n == *name).map(|(_, value)| value),
    }
}

#[cfg(test)]
mod tests;
