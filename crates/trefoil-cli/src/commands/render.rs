//! `trefoil render`: renders a template or condition with a state.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use clap::Args;
use trefoil_project::file_access;
use trefoil_project::render::{RenderRequest, answer_line, bad_question};
use trefoil_template::state::{RenderFailure, TextKind, TracedText};
use trefoil_template::{Value, ValueObject};

use crate::args::{NamedDialect, dialect_names, parse_dialect};
use crate::terminal_text::TerminalText;
use crate::{exit, output, shown};

/// Maximum size of a state in bytes.
const STATE_BYTES: u64 = 64 << 20;

/// Render one template or condition against a state
#[derive(Args)]
pub struct RenderCommandArgs {
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
pub fn run(args: &RenderCommandArgs) -> Result<u8, u8> {
    if args.jsonl {
        return Ok(lines());
    }
    let (Some(dialect), Some(text)) = (args.dialect, args.text.clone()) else { return Err(exit::NOT_STARTED) };
    let state = match &args.state {
        Some(state) => read_state(state)?,
        None => Value::from(ValueObject::default()),
    };
    if let Err(why) = trefoil_project::render::check_state(dialect.0, &state) {
        return Err(output::report_not_started(&why, None));
    }
    let kind = match (args.condition, args.value) {
        (true, _) => TextKind::Condition,
        (_, true) => TextKind::Value,
        _ => TextKind::Template,
    };
    let question = RenderRequest { dialect: dialect.0, kind, text, state };
    let answer = match args.provenance {
        true => {
            question.trace_text().map(|traced| output::write_result(shown!("{}\n", marked(&question.text, &traced))))
        }
        false => question.evaluate_text().map(|value| match kind {
            TextKind::Template => output::write_answer(&value.to_text()),
            _ => output::json_result(&value.to_json()),
        }),
    };
    answer.map_err(|failure| {
        let (files, found) = question.explain_failure(&failure);
        output::print_line(output::format_message_findings(&found, &files).trim_end());
        if matches!(failure, RenderFailure::Load(_)) { exit::NOT_STARTED } else { exit::FAILED }
    })
}

/// Answers each input line with one output line, even if the input line is empty or invalid.
fn lines() -> u8 {
    let mut out = output::LineProtocol::on_stdout();
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
        if let Err(error) = out.write_line(&answer.to_string()) {
            return output::write_exit_code(Err(error));
        }
        // Flushes before waiting for input, but not between lines that are already available.
        if input.fill_buf().map_or(true, |rest| rest.is_empty())
            && let Err(error) = out.flush()
        {
            return output::write_exit_code(Err(error));
        }
    }
    output::write_exit_code(out.flush())
}

fn read_state(path: &Path) -> Result<Value, u8> {
    let refuse = |why: String| {
        Err(output::report_not_started(&why, Some("`--state` needs a file with one JSON or YAML object")))
    };
    let read = if path == Path::new("-") {
        file_access::read_limited(std::io::stdin().lock(), 0, STATE_BYTES)
    } else {
        file_access::read_named_file(path, STATE_BYTES)
    };
    let name = path.display();
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(why) => return refuse(format!("cannot read `{name}`: {}", why.reason_text())),
    };
    match trefoil_project::data::parse_data_file(&name.to_string(), bytes) {
        Ok(state @ Value::Object(_)) => Ok(state),
        Ok(other) => refuse(format!("the state in `{name}` must be an object, not {}", other.kind_description())),
        Err((files, found)) => {
            output::print_line(output::format_message_findings(&found, &files).trim_end());
            Err(exit::NOT_STARTED)
        }
    }
}

/// The text with its inserted parts marked and numbered, and a list of their origins.
fn marked(source: &str, traced: &TracedText) -> TerminalText {
    let text = traced.text.to_text();
    let mark = anstyle::Style::new().underline().fg_color(Some(anstyle::AnsiColor::Cyan.into()));
    let (mut out, mut list, mut at) = (TerminalText::default(), String::new(), 0usize);
    for (index, part) in traced.provenance.iter().enumerate() {
        let (start, end) = (part.output.start as usize, part.output.end as usize);
        let inserted = text.get(start..end).unwrap_or_default();
        out.push(text.get(at..start).unwrap_or_default());
        out.push(TerminalText::with_style(mark, format!("«{}:{inserted}»", index + 1)));
        at = end;
        if let Some(reference) = traced.references.get(part.reference as usize) {
            let (line, column) = trefoil_template::state::line_and_column(source, reference.span.start as usize);
            let path = if reference.path.is_empty() { "this".to_owned() } else { reference.dotted_path() };
            list.push_str(&format!("\n{:>3}  {path}  at {line}:{column}", index + 1));
        }
    }
    out.push(text.get(at..).unwrap_or_default());
    if !list.is_empty() {
        out.push(format!("\n{list}"));
    }
    out
}
