//! `trefoil render`: renders a template or condition with a state.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use clap::Args;
use trefoil_project::door;
use trefoil_project::render::{RenderQuestion, answer_line, bad_question};
use trefoil_template::state::{Failure, TextKind, Traced};
use trefoil_template::{Object, Value};

use crate::args::{NamedDialect, dialect_names, parse_dialect};
use crate::harmless::TerminalText;
use crate::{exit, output, shown};

/// Maximum size of a state in bytes.
const STATE_BYTES: u64 = 64 << 20;

/// Render one template or condition against a state
#[derive(Args)]
pub struct Render {
    #[arg(
        long,
        value_name = "NAME",
        value_parser = parse_dialect,
        required_unless_present = "jsonl",
        help = format!("Template dialect: {}", dialect_names())
    )]
    dialect: Option<NamedDialect>,
    /// JSON or YAML file with the state, an object (`-` for stdin); `env` comes from this file too
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Evaluate the text as a condition and print `true` or `false`
    #[arg(long, conflicts_with = "jsonl")]
    condition: bool,
    /// Keep the type of a lone placeholder and print JSON
    #[arg(long, conflicts_with_all = ["condition", "jsonl"])]
    value: bool,
    /// Mark which part came from which reference
    #[arg(long, conflicts_with_all = ["condition", "value", "jsonl"])]
    provenance: bool,
    /// Read questions from stdin, one JSON object per line, and print one answer per line
    #[arg(long, conflicts_with_all = ["dialect", "state", "text"])]
    jsonl: bool,
    /// The template or condition
    #[arg(required_unless_present = "jsonl")]
    text: Option<String>,
}

/// Exit code 0; 1: the state lacks a value, or the result cannot be written; 2: the text or the state cannot be read.
pub fn run(args: &Render) -> Result<u8, u8> {
    if args.jsonl {
        return Ok(lines());
    }
    let (Some(dialect), Some(text)) = (args.dialect, args.text.clone()) else { return Err(exit::NOT_STARTED) };
    let state = args.state.as_deref().map_or_else(|| Ok(Value::from(Object::default())), read_state)?;
    if let Err(why) = trefoil_project::render::check_state(dialect.0, &state) {
        return Err(output::not_started(&why, None));
    }
    let kind = match (args.condition, args.value) {
        (true, _) => TextKind::Condition,
        (_, true) => TextKind::Value,
        _ => TextKind::Template,
    };
    let question = RenderQuestion { dialect: dialect.0, kind, text, state };
    let answer = match args.provenance {
        true => question.trace().map(|traced| output::result(shown!("{}\n", marked(&question.text, &traced)))),
        false => question.answer().map(|value| match kind {
            TextKind::Template => output::answer(&value.to_text()),
            _ => output::json_result(&value.to_json()),
        }),
    };
    answer.map_err(|failure| {
        let (files, found) = question.explain(&failure);
        output::say(output::diagnostics(&found, &files).trim_end());
        if matches!(failure, Failure::Load(_)) { exit::NOT_STARTED } else { exit::FAILED }
    })
}

/// Answers each input line with one output line, even if the input line is empty or invalid.
fn lines() -> u8 {
    let mut out = output::Protocol::start();
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let answer = match std::str::from_utf8(&line) {
            Ok(text) => answer_line(text),
            Err(_) => bad_question("this line is not UTF-8 text"),
        };
        if let Err(error) = out.line(&answer.to_string()) {
            return output::written(Err(error));
        }
        // Flushes before waiting for input, but not between lines that are already available.
        if input.fill_buf().map_or(true, |rest| rest.is_empty())
            && let Err(error) = out.flush()
        {
            return output::written(Err(error));
        }
    }
    output::written(out.flush())
}

fn read_state(path: &Path) -> Result<Value, u8> {
    let refuse =
        |why: String| Err(output::not_started(&why, Some("`--state` needs a file with one JSON or YAML object")));
    let read = if path == Path::new("-") {
        door::bytes(std::io::stdin().lock(), 0, STATE_BYTES)
    } else {
        door::named(path, STATE_BYTES)
    };
    let name = path.display();
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(why) => return refuse(format!("cannot read `{name}`: {}", why.reason())),
    };
    match trefoil_project::data::data(&name.to_string(), bytes) {
        Ok(state @ Value::Object(_)) => Ok(state),
        Ok(other) => refuse(format!("the state in `{name}` must be an object, not {}", other.describe())),
        Err((files, found)) => {
            output::say(output::diagnostics(&found, &files).trim_end());
            Err(exit::NOT_STARTED)
        }
    }
}

/// The text with its inserted parts marked and numbered, and a list of their origins.
fn marked(source: &str, traced: &Traced) -> TerminalText {
    let text = traced.text.to_text();
    let mark = anstyle::Style::new().underline().fg_color(Some(anstyle::AnsiColor::Cyan.into()));
    let (mut out, mut list, mut at) = (TerminalText::default(), String::new(), 0usize);
    for (index, part) in traced.provenance.iter().enumerate() {
        let (start, end) = (part.output.start as usize, part.output.end as usize);
        let inserted = text.get(start..end).unwrap_or_default();
        out.push(text.get(at..start).unwrap_or_default());
        out.push(TerminalText::styled(mark, format!("«{}:{inserted}»", index + 1)));
        at = end;
        if let Some(reference) = traced.references.get(part.reference as usize) {
            let (line, column) = trefoil_template::state::position(source, reference.span.start as usize);
            let path = if reference.path.is_empty() { "this".to_owned() } else { reference.dotted() };
            list.push_str(&format!("\n{:>3}  {path}  at {line}:{column}", index + 1));
        }
    }
    out.push(text.get(at..).unwrap_or_default());
    if !list.is_empty() {
        out.push(format!("\n{list}"));
    }
    out
}
