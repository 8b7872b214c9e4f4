//! Short one-line descriptions of steps, expressions and conditions for plans and graphs, as written in the manifest.
//! `tree` uses them to describe a program.

mod tree;

use std::sync::Arc;

use trefoil_ir::walk::{Evaluated, evaluated, expressions};
use trefoil_ir::{CommandCall, Expr, Flow, Items, ModelChoice, Source, Step, Text, ToolKind};
use trefoil_syntax::{Files, Location};
use trefoil_template::Reference;

pub use tree::{ProgramDescription, StepContent, StepNode};

/// The maximum length of an expression; the rest becomes `…`.
const WIDTH: usize = 72;

/// `provider:model`, or the alias.
pub fn model_name(choice: &ModelChoice) -> String {
    match &choice.provider {
        Some(provider) => format!("{provider}:{}", choice.name),
        None => choice.name.to_string(),
    }
}

/// A feature in a sentence: a word of the manifest in backticks, a phrase unchanged.
pub fn feature_name(feature: &str) -> String {
    let phrase = ["a ", "an ", "the "].iter().any(|article| feature.starts_with(article));
    if phrase || feature.contains('`') { feature.to_owned() } else { format!("`{feature}`") }
}

/// `http tool`, `mcp tool`, ...
pub fn tool(kind: &ToolKind) -> &'static str {
    match kind {
        ToolKind::Local => "local tool",
        ToolKind::Http => "http tool",
        ToolKind::Mcp { .. } => "mcp tool",
        ToolKind::Python => "python tool",
    }
}

/// A command as written in the manifest, with placeholders instead of the shell's parameters.
pub fn command(files: &Files, flow: &Flow, call: &CommandCall) -> String {
    let mut script = call.script.to_string();
    for (index, argument) in call.arguments.iter().enumerate().rev() {
        let written = expr(files, flow, argument);
        let parameter = format!("${{{}}}", index + 1);
        // Lowering adds quotes around an unquoted parameter, and closes single quotes around it.
        for quoted in [format!("'\"{parameter}\"'"), format!("\"{parameter}\""), parameter] {
            script = script.replace(&quoted, &written);
        }
    }
    short_text(&script)
}

/// A text on one line, shortened to a readable width.
pub fn short_text(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.chars().count() > WIDTH {
        line = line.chars().take(WIDTH - 1).collect::<String>().trim_end().to_owned() + "…";
    }
    line
}

/// An expression as written, otherwise the names that it reads.
pub fn expr(files: &Files, flow: &Flow, expr: &Expr) -> String {
    match expr {
        Expr::Const(value) => short_text(&value.to_json().to_string()),
        Expr::Template(text) | Expr::Typed(text) => written(files, text),
        Expr::Read(source) => read(flow, source),
        other => {
            let mut all = Vec::new();
            reads_of(flow, other, &mut all);
            short_text(&all.join(", "))
        }
    }
}

/// A template as written in the manifest, without YAML quotes.
pub fn written(files: &Files, text: &Text) -> String {
    let source = source_text(files, text.origin).unwrap_or_default().trim();
    let inner = ['"', '\''].iter().find_map(|q| source.strip_prefix(*q)?.strip_suffix(*q));
    if source.is_empty() {
        let all: Vec<_> = text.template.references().iter().map(braced).collect();
        return short_text(&all.join(" "));
    }
    short_text(inner.unwrap_or(source))
}

fn source_text(files: &Files, at: Location) -> Option<&str> {
    files.get(at.file)?.text().get(at.span.start as usize..at.span.end as usize)
}

fn braced(reference: &Reference) -> String {
    format!("{{{{{}}}}}", path(reference))
}

fn path(reference: &Reference) -> String {
    if reference.path.is_empty() { "this".to_owned() } else { reference.dotted() }
}

/// The paths that a step itself reads in its templates and conditions, without duplicates, in order.
pub fn reads(flow: &Flow, step: &Step) -> Vec<String> {
    let mut all = Vec::new();
    for part in evaluated(step) {
        match part {
            Evaluated::Expr(expr) => reads_of(flow, expr, &mut all),
            Evaluated::Cond(cond) => cond.condition.references().iter().for_each(|r| push(&mut all, path(r))),
            Evaluated::Text(text) => text.template.references().iter().for_each(|r| push(&mut all, path(r))),
            Evaluated::Source(source) => push_source(flow, source, &mut all),
        }
    }
    all
}

/// The paths that an expression reads.
pub fn reads_of(flow: &Flow, expr: &Expr, all: &mut Vec<String>) {
    expressions(expr, &mut |e| match e {
        Expr::Template(text) | Expr::Typed(text) => {
            text.template.references().iter().for_each(|r| push(all, path(r)));
        }
        Expr::Read(source) | Expr::If { source, .. } => push_source(flow, source, all),
        Expr::Join { parts, .. } => parts.iter().for_each(|s| push_source(flow, s, all)),
        _ => {}
    });
}

fn push(all: &mut Vec<String>, name: String) {
    if !name.is_empty() && !all.contains(&name) {
        all.push(name);
    }
}

fn push_source(flow: &Flow, source: &Source, all: &mut Vec<String>) {
    if let Source::Compose { parts, .. } = source {
        // A tree composed of values written into it.
        parts.iter().for_each(|part| push(all, slot_name(flow, part.slot)));
    }
    push(all, read(flow, source));
}

/// A source by the name of its slot; empty if the manifest has no name for it.
fn read(flow: &Flow, source: &Source) -> String {
    let slot = |id: trefoil_ir::SlotId| slot_name(flow, id);
    let with = |base: String, path: &[Arc<str>]| path.iter().fold(base, |all, s| all + "." + s);
    match source {
        Source::Slot(id) => slot(*id),
        Source::Member(id, path) => with(slot(*id), path),
        Source::Layered { top, path, .. } => with(slot(*top), path),
        Source::Either(first, _) => read(flow, first),
        Source::Environment => "env".to_owned(),
        Source::Secrets => "secrets".to_owned(),
        Source::Compose { .. }
        | Source::Const(_)
        | Source::RunId
        | Source::Spent(_)
        | Source::Result
        | Source::Failure
        | Source::Missing(..) => String::new(),
    }
}

/// A slot's name in the manifest.
pub fn slot_name(flow: &Flow, id: trefoil_ir::SlotId) -> String {
    flow.slots[id].name.to_string()
}

/// A slot's name and the other paths of its value.
pub fn slot_paths(flow: &Flow, id: trefoil_ir::SlotId) -> String {
    let slot = &flow.slots[id];
    let mut paths: Vec<&str> = Vec::new();
    for path in std::iter::once(&slot.name).chain(&slot.writes).filter(|p| !p.is_empty()) {
        if !paths.contains(&&**path) {
            paths.push(path);
        }
    }
    paths.join(", ")
}

/// `for each item of {{plan.output}}`, `4 times`.
pub fn items(files: &Files, flow: &Flow, items: &Items) -> String {
    match items {
        Items::List(list) => format!("for each item of {}", expr(files, flow, list)),
        Items::Count(count, max) => format!("{} times, at most {max}", expr(files, flow, count)),
    }
}

/// Notes about a step's policies: tries, time limit, handling of failures.
pub fn policies(step: &Step) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(retry) = &step.policy.retry {
        notes.push(format!("up to {} tries", retry.max_attempts));
    }
    if let Some(ms) = step.policy.timeout_ms {
        notes.push(format!("time limit {}", duration(ms)));
    }
    match &step.policy.on_failure {
        trefoil_ir::OnFailure::Fail => {}
        trefoil_ir::OnFailure::Skip => notes.push("on failure: skipped".to_owned()),
        trefoil_ir::OnFailure::Use(_) => notes.push("on failure: use default".to_owned()),
    }
    notes
}

/// Milliseconds in readable units: `250 ms`, `1.5 s`, `2 min`, `1 h 30 min`.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{} s", trim(format!("{:.1}", ms as f64 / 1000.0))),
        60_000..3_600_000 => with_rest(ms / 60_000, "min", ms % 60_000 / 1000, "s"),
        _ => with_rest(ms / 3_600_000, "h", ms % 3_600_000 / 60_000, "min"),
    }
}

fn trim(text: String) -> String {
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn with_rest(whole: u64, unit: &str, rest: u64, small: &str) -> String {
    if rest == 0 { format!("{whole} {unit}") } else { format!("{whole} {unit} {rest} {small}") }
}

#[cfg(test)]
mod tests {
    use super::{duration, short_text};

    #[test]
    fn durations_read_like_a_person_wrote_them() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1 s"),
            (1_500, "1.5 s"),
            (60_000, "1 min"),
            (90_000, "1 min 30 s"),
            (3_600_000, "1 h"),
            (5_400_000, "1 h 30 min"),
        ] {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        assert_eq!(short_text("a\n  b"), "a b");
        let long = short_text(&"ä".repeat(100));
        assert_eq!(long.chars().count(), 72);
        assert!(long.ends_with('…'));
    }
}
