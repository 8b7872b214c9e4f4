//! Missing inputs of a run: prompts for them on a terminal, otherwise warns. What certainly stops the run is found by its preflight.

use std::io::BufRead as _;

use trefoil_host::preflight;
use trefoil_project::input::{self, MissingInput};
use trefoil_project::load::LoadedTarget;
use trefoil_template::Value;

use crate::terminal_text::TerminalText;
use crate::words::{escape_line, one_line};
use crate::{exit, output, shown};

/// The warnings of a run about missing inputs.
pub fn input_warnings(loaded: &LoadedTarget, given: Option<&Value>) -> Vec<String> {
    let warning = |one: &MissingInput| {
        let (name, option) = (&one.name, one.option_text());
        format!("the input `{name}` is not set, so it is empty wherever it is used; pass `{option}`")
    };
    input::find_missing_inputs(&loaded.program, given).iter().map(warning).collect()
}

/// Reports what is certain to go wrong because of what an input lacks.
pub fn refuse_missing(loaded: &LoadedTarget, given: Option<&Value>) -> Result<(), u8> {
    let found = preflight::missing_inputs(&loaded.program, given);
    if found.is_empty() {
        return Ok(());
    }
    output::print_line(output::format_message_findings(&found, &loaded.files).trim_end());
    Err(exit::NOT_STARTED)
}

/// Prompts for missing inputs.
pub fn prompt_missing(loaded: &LoadedTarget, given: Option<Value>) -> Result<Option<Value>, u8> {
    let missing = input::find_missing_inputs(&loaded.program, given.as_ref());
    let mut given = given;
    for (at, one) in missing.iter().enumerate() {
        let Some(answer) = ask(one) else {
            let left: Vec<&MissingInput> = missing.iter().skip(at).filter(|one| !one.may_be_empty()).collect();
            let left = if left.is_empty() { vec![one] } else { left };
            output::print_line("");
            let message = format!("the run did not start: {} missing", escape_line(&preflight::input_names(&left)));
            return Err(output::report_not_started(&message, Some(&escape_line(&preflight::pass_advice(&left)))));
        };
        if let Some(value) = answer {
            one.add_to_input(&mut given, value);
        }
    }
    refuse_missing(loaded, given.as_ref())?;
    Ok(given)
}

/// Prompts until the answer is valid. An empty answer skips an optional input.
fn ask(one: &MissingInput) -> Option<Option<Value>> {
    let bold = anstyle::Style::new().bold();
    let about = match &one.description {
        Some(description) => format!("  {}", one_line(description)),
        None => String::new(),
    };
    let empty = if one.may_be_empty() { ", may be empty" } else { "" };
    let name = TerminalText::with_style(bold, TerminalText::from_line(&one.name));
    output::print_line(shown!("{} ({}{}){}", name, one.kind, empty, about));
    for (number, choice) in one.choices.iter().enumerate() {
        output::print_line(shown!("  {}) {}", number + 1, choice));
    }
    loop {
        output::print_part("> ");
        let mut typed = String::new();
        // The end of stdin is not an answer.
        if std::io::stdin().lock().read_line(&mut typed).ok()? == 0 {
            return None;
        }
        let typed = typed.trim_end_matches(['\n', '\r']);
        let mut chosen = typed;
        if let Ok(number) = typed.trim().parse::<usize>()
            && let Some(index) = number.checked_sub(1)
            && let Some(choice) = one.choices.get(index)
        {
            chosen = choice;
        }
        if typed.is_empty() {
            if one.may_be_empty() {
                return Some(None);
            }
            output::print_line(format!("  {} is required and cannot be empty", escape_line(&one.name)));
            continue;
        }
        match one.value(chosen) {
            Ok(value) => return Some(Some(value)),
            Err(error) => {
                output::print_warning(&error.message);
                if let Some(help) = &error.help {
                    output::print_line(format!("  {help}"));
                }
            }
        }
    }
}
