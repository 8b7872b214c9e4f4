//! Rejects commands of tools that would run a parameter as code, or let it choose the program.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;
use trefoil_check::semantic::shell::{ArgPart, ExecutedValue, values_that_run};
use trefoil_template::Value;
use trefoil_tools::{CommandTool, WordPart};

use super::values::value_of;

/// What is wrong with a command.
pub struct RefusedCommand {
    /// The place of the word.
    pub at: Range<usize>,
    pub message: String,
    pub help: &'static str,
}

/// The first parameter of a tool that its command would run. `value` is the tool's table.
pub fn find_refused_command(tool: &CommandTool, value: &Spanned<DeValue<'_>>) -> Option<RefusedCommand> {
    let mut words: Vec<Vec<ArgPart<'_>>> = Vec::new();
    for word in tool.command_template().word_parts() {
        words.push(word.iter().map(part).collect());
    }
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
    Some(RefusedCommand { at: word_place(value, word).unwrap_or(value.span()), message, help })
}

/// The place of a word of the command in a tool's table.
fn word_place(value: &Spanned<DeValue<'_>>, word: usize) -> Option<Range<usize>> {
    let command = value_of(value.get_ref().as_table()?, "command")?;
    Some(command.get_ref().as_array()?.get(word)?.span())
}

fn part(part: &WordPart) -> ArgPart<'_> {
    match part {
        WordPart::Text(text) => ArgPart::Text(text),
        WordPart::Parameter { name, .. } => ArgPart::Value(name),
    }
}

/// Whether a parameter can only be a number, a boolean, or a value that the operator has written.
fn is_limited(parameters: &Value, name: &str) -> bool {
    let Some(properties) = parameters.get("properties") else { return false };
    let Some(schema) = properties.get(name) else { return false };
    if schema.get("enum").is_some() || schema.get("const").is_some() {
        return true;
    }
    let is_plain = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number" | "boolean" | "null"));
    match schema.get("type") {
        Some(Value::List(kinds)) => kinds.iter().all(is_plain),
        Some(kind) => is_plain(kind),
        None => false,
    }
}
