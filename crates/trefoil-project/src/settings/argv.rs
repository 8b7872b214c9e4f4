//! Rejects commands of tools that would run a parameter as code, or let it choose the program.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;
use trefoil_check::semantic::shell::{ArgPart, ExecutedValue, values_that_run};
use trefoil_template::Value;
use trefoil_tools::{CommandTool, WordPart};

/// What is wrong with a command.
pub struct RefusedCommand {
    /// The place of the word.
    pub at: Range<usize>,
    pub message: String,
    pub help: &'static str,
}

/// The first parameter of a tool that its command would run. `value` is the tool's table.
pub fn find_refused_command(tool: &CommandTool, value: &Spanned<DeValue<'_>>) -> Option<RefusedCommand> {
    let words: Vec<Vec<ArgPart<'_>>> =
        tool.command_template().word_parts().iter().map(|word| word.iter().map(part).collect()).collect();
    let parameters = &tool.tool_spec().parameters;
    let mut found = values_that_run(&words);
    found.retain(|found| !is_limited(parameters, &found.name));
    let ExecutedValue { word, name, program } = found.into_iter().min_by_key(|found| found.word)?;
    let (message, help) = match program {
        Some(program) => (
            format!("`{program}` would run the value of `{{{name}}}` as code"),
            "pass it as a separate argument after the code (`\"$1\"` in a shell, `sys.argv[1]` in Python), or use `input = \"json\"`",
        ),
        None => (
            format!("`{{{name}}}` would decide which program runs"),
            "write the program in `command`, or limit the parameter with an `enum` in `parameters`",
        ),
    };
    let command = value.get_ref().as_table().and_then(|all| all.iter().find(|(key, _)| key.get_ref() == "command"));
    let place = command.and_then(|(_, words)| words.get_ref().as_array()?.get(word).map(Spanned::span));
    Some(RefusedCommand { at: place.unwrap_or_else(|| value.span()), message, help })
}

fn part(part: &WordPart) -> ArgPart<'_> {
    match part {
        WordPart::Text(text) => ArgPart::Text(text),
        WordPart::Parameter { name, .. } => ArgPart::Value(name),
    }
}

/// Whether a parameter can only be a number, a boolean, or a value that the operator has written.
fn is_limited(parameters: &Value, name: &str) -> bool {
    let Some(schema) = parameters.get("properties").and_then(|all| all.get(name)) else { return false };
    let plain = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number" | "boolean" | "null"));
    schema.get("enum").is_some()
        || schema.get("const").is_some()
        || schema.get("type").is_some_and(|kind| match kind {
            Value::List(all) => all.iter().all(plain),
            one => plain(one),
        })
}
