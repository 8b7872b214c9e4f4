//! Habits from other systems and languages: one table of what people write at the start of a path, and what they mean
//! here. A finder looks a word up and reports it if what comes after it fits. Also environment variables in the notation
//! of a shell.

use trefoil_syntax::yaml::{YamlStyle, YamlText};
use trefoil_syntax::{Diagnostic, FileId, Location};

/// The format in which something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenFormat {
    Agntz,
    Aegis,
    Sirenspec,
}

/// What the first word of a path means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathHabit {
    /// Other systems have this word before every name.
    BeforeNames,
    /// Other systems have this word before the results of steps.
    BeforeResults,
    /// Other systems have this word before fixed values.
    BeforeContext,
    /// Here, it is this path.
    Instead(&'static str),
}

use PathHabit::{BeforeContext, BeforeNames, BeforeResults, Instead};
use WrittenFormat::{Aegis, Agntz, Sirenspec};

/// The habits: where, what is written, what is meant.
const PATHS: &[(WrittenFormat, &[&str], PathHabit)] = &[
    (Agntz, &["args", "context", "ctx", "data", "input", "inputs", "output", "outputs", "params"], BeforeNames),
    (Agntz, &["state", "step", "steps", "this", "var", "variables", "vars", "workflow"], BeforeNames),
    (Agntz, &["ENV", "Env", "environment"], Instead("env")),
    (Agntz, &["secret", "Secret", "Secrets"], Instead("secrets")),
    (Aegis, &["states", "steps", "nodes", "outputs", "output", "results", "result", "agents", "tasks"], BeforeResults),
    (Aegis, &["context", "ctx", "vars", "variables", "env", "spec"], BeforeContext),
    (Aegis, &["execution_id"], Instead("execution.id")),
    (Aegis, &["workflow_name"], Instead("workflow.name")),
    (Aegis, &["state_feedback"], Instead("state.feedback")),
    (Aegis, &["human_feedback"], Instead("human.feedback")),
    (Aegis, &["last_error"], Instead("previous_error")),
    (Sirenspec, &["nodes", "steps", "outputs", "context", "results", "state", "agents"], BeforeResults),
    (Sirenspec, &["input", "prompt", "query", "question"], Instead("inputs.message")),
];

/// The habit of which a word at the start of a path comes.
pub fn path_habit(format: WrittenFormat, word: &str) -> Option<PathHabit> {
    let row = PATHS.iter().find(|(written_in, words, _)| *written_in == format && words.contains(&word));
    row.map(|(.., habit)| *habit)
}

/// What is before and after the name of an environment variable in shells.
const SHELL_SIGNS: [(&str, &str); 3] = [("${", "}"), ("$", ""), ("%", "%")];

/// The first environment variable in shell notation in a text: `$TOKEN`, `${TOKEN}`, `%TOKEN%`. `space`: what
/// placeholders of the format have inside their braces.
pub fn find_shell_variable(file: FileId, text: &YamlText, space: &str) -> Option<Diagnostic> {
    let value = &*text.value;
    for (start, _) in value.match_indices(['$', '%']) {
        let rest = value.get(start..)?;
        let (left, right) = SHELL_SIGNS.into_iter().find(|(left, _)| rest.starts_with(left))?;
        let inner = rest.get(left.len()..)?;
        let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let (name, after) = inner.split_at(inner.find(|c| !is_part(c)).unwrap_or(inner.len()));
        let is_name = name.len() > 2 && name.starts_with(|c: char| c.is_ascii_uppercase());
        let ends = !right.is_empty() || !after.starts_with(char::is_alphanumeric);
        if !is_name || !ends || !after.starts_with(right) {
            continue;
        }
        let end = start + left.len() + name.len() + right.len();
        let place = Location::new(file, text.source_span(start as u32..end as u32));
        let message = format!("`{left}{name}{right}` is text, so the environment is not read");
        let d = Diagnostic::new_warning("not-a-placeholder", place, message);
        let meant = format!("{{{{{space}env.{name}{space}}}}}");
        // Only if the file spells the text as decoded, and in quotes.
        let is_spelled_out = (place.span.end - place.span.start) as usize == end - start;
        return Some(if is_spelled_out && text.style != YamlStyle::Plain {
            d.with_suggestion(format!("write `{meant}`"), place, meant)
        } else {
            d.with_help(format!("write `{meant}`"))
        });
    }
    None
}
