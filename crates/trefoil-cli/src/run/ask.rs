//! Inputs that a run needs and was not given: asked for on a terminal, a warning elsewhere.

use std::io::{BufRead as _, Write as _};

use trefoil::Loaded;
use trefoil::input::{self, Missing};
use trefoil::template::Value;

use super::words::{line, safe};
use crate::output;

/// Asks for what is missing, or says that it is. None: the person ended the questions.
pub fn complete(loaded: &Loaded, given: Option<Value>, interactive: bool, quiet: bool) -> Option<Option<Value>> {
    let missing = input::missing(&loaded.program, given.as_ref());
    if missing.is_empty() {
        return Some(given);
    }
    if !interactive {
        for one in missing.iter().filter(|_| !quiet) {
            let name = safe(&one.name);
            output::warning(&format!(
                "the input `{name}` is not set: it is empty wherever it is used; pass `--input {name}=...`"
            ));
        }
        return Some(given);
    }
    let mut given = given;
    for one in &missing {
        if let Some(value) = ask(one)? {
            input::put(&mut given, &one.name, value);
        }
    }
    Some(given)
}

/// Asks until the answer fits. Nothing typed leaves an input empty that may be.
fn ask(one: &Missing) -> Option<Option<Value>> {
    let bold = anstyle::Style::new().bold();
    let mut err = anstream::stderr();
    let about = one.description.as_deref().map(|d| format!("  {}", line(d))).unwrap_or_default();
    let _ = writeln!(
        err,
        "{bold}{}{bold:#} ({}{}){about}",
        safe(&one.name),
        one.kind,
        if one.may_be_empty() { ", may be empty" } else { "" }
    );
    for (number, choice) in one.choices.iter().enumerate() {
        let _ = writeln!(err, "  {}) {}", number + 1, safe(choice));
    }
    loop {
        let _ = write!(err, "> ").and_then(|()| err.flush());
        let mut typed = String::new();
        // The end of the input is no answer.
        if std::io::stdin().lock().read_line(&mut typed).ok()? == 0 {
            return None;
        }
        let typed = typed.trim_end_matches(['\n', '\r']);
        let numbered = typed.trim().parse::<usize>().ok().and_then(|n| one.choices.get(n.checked_sub(1)?));
        if typed.is_empty() {
            if one.may_be_empty() {
                return Some(None);
            }
            continue;
        }
        match one.value(numbered.map_or(typed, String::as_str)) {
            Ok(value) => return Some(Some(value)),
            Err(error) => {
                output::warning(&error.message);
                if let Some(help) = &error.help {
                    output::say(&format!("  {help}"));
                }
            }
        }
    }
}
