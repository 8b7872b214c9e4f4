//! Short one-line descriptions of steps, expressions and conditions for plans and graphs, as written in the manifest.
//! `tree` uses them to describe a program.

mod step_tree;

use std::sync::Arc;

use trefoil_ir::walk::{EvaluatedPart, evaluated_by_step, visit_expressions};
use trefoil_ir::{
    BoundTemplate, CommandCall, FanOutItems, FlowDefinition, ModelChoice, Source, Step, ToolKind, ValueExpression,
};
use trefoil_syntax::{Location, SourceFiles};
use trefoil_template::Reference;

pub use step_tree::{ProgramDescription, StepContent, StepNode};

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
pub fn tool_kind_name(kind: &ToolKind) -> &'static str {
    match kind {
        ToolKind::Local => "local tool",
        ToolKind::Http => "http tool",
        ToolKind::Mcp { .. } => "mcp tool",
        ToolKind::Python => "python tool",
    }
}

/// A command as written in the manifest, with placeholders instead of the shell's parameters.
pub fn render_command(files: &SourceFiles, flow: &FlowDefinition, call: &CommandCall) -> String {
    let mut script = call.script.to_string();
    for (index, argument) in call.arguments.iter().enumerate().rev() {
        let written = render_expr(files, flow, argument);
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
pub fn render_expr(files: &SourceFiles, flow: &FlowDefinition, expr: &ValueExpression) -> String {
    match expr {
        ValueExpression::Const(value) => short_text(&value.to_json().to_string()),
        ValueExpression::Template(text) | ValueExpression::Typed(text) => template_source_text(files, text),
        ValueExpression::Read(source) => read(flow, source),
        other => {
            let mut all = Vec::new();
            reads_of(flow, other, &mut all);
            short_text(&all.join(", "))
        }
    }
}

/// A template as written in the manifest, without YAML quotes.
pub fn template_source_text(files: &SourceFiles, text: &BoundTemplate) -> String {
    let source = source_text(files, text.origin).unwrap_or_default().trim();
    if source.is_empty() {
        let all: Vec<_> = text.template.references().iter().map(braced).collect();
        return short_text(&all.join(" "));
    }
    for quote in ['"', '\''] {
        if let Some(rest) = source.strip_prefix(quote)
            && let Some(inner) = rest.strip_suffix(quote)
        {
            return short_text(inner);
        }
    }
    short_text(source)
}

fn source_text(files: &SourceFiles, at: Location) -> Option<&str> {
    files.get(at.file)?.text().get(at.span.start as usize..at.span.end as usize)
}

fn braced(reference: &Reference) -> String {
    format!("{{{{{}}}}}", path(reference))
}

fn path(reference: &Reference) -> String {
    if reference.path.is_empty() { "this".to_owned() } else { reference.dotted_path() }
}

/// The paths that a step itself reads in its templates and conditions, without duplicates, in order.
pub fn read_paths(flow: &FlowDefinition, step: &Step) -> Vec<String> {
    let mut all = Vec::new();
    for part in evaluated_by_step(step) {
        match part {
            EvaluatedPart::Expr(expr) => reads_of(flow, expr, &mut all),
            EvaluatedPart::Cond(cond) => cond.condition.references().iter().for_each(|r| push(&mut all, path(r))),
            EvaluatedPart::Text(text) => text.template.references().iter().for_each(|r| push(&mut all, path(r))),
            EvaluatedPart::Source(source) => push_source(flow, source, &mut all),
        }
    }
    all
}

/// The paths that an expression reads.
pub fn reads_of(flow: &FlowDefinition, expr: &ValueExpression, all: &mut Vec<String>) {
    visit_expressions(expr, &mut |e| match e {
        ValueExpression::Template(text) | ValueExpression::Typed(text) => {
            text.template.references().iter().for_each(|r| push(all, path(r)));
        }
        ValueExpression::Read(source) | ValueExpression::If { source, .. } => push_source(flow, source, all),
        ValueExpression::Join { parts, .. } => parts.iter().for_each(|s| push_source(flow, s, all)),
        _ => {}
    });
}

fn push(all: &mut Vec<String>, name: String) {
    if !name.is_empty() && !all.contains(&name) {
        all.push(name);
    }
}

fn push_source(flow: &FlowDefinition, source: &Source, all: &mut Vec<String>) {
    if let Source::Compose { parts, .. } = source {
        // A tree composed of values written into it.
        parts.iter().for_each(|part| push(all, slot_name(flow, part.slot)));
    }
    push(all, read(flow, source));
}

/// A source by the name of its slot; empty if the manifest has no name for it.
fn read(flow: &FlowDefinition, source: &Source) -> String {
    match source {
        Source::Slot(id) => slot_name(flow, *id),
        Source::Member(id, path) => member_name(flow, *id, path),
        Source::Layered { top, path, .. } => member_name(flow, *top, path),
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

fn member_name(flow: &FlowDefinition, id: trefoil_ir::SlotId, path: &[Arc<str>]) -> String {
    let mut name = slot_name(flow, id);
    for segment in path {
        name.push('.');
        name.push_str(segment);
    }
    name
}

/// A slot's name in the manifest.
pub fn slot_name(flow: &FlowDefinition, id: trefoil_ir::SlotId) -> String {
    flow.slots[id].name.to_string()
}

/// A slot's name and the other paths of its value.
pub fn slot_paths(flow: &FlowDefinition, id: trefoil_ir::SlotId) -> String {
    let slot = &flow.slots[id];
    let mut paths: Vec<&str> = Vec::new();
    for path in std::iter::once(&slot.name).chain(&slot.writes) {
        if !path.is_empty() && !paths.contains(&&**path) {
            paths.push(path);
        }
    }
    paths.join(", ")
}

/// `for each item of {{plan.output}}`, `4 times`.
pub fn render_items(files: &SourceFiles, flow: &FlowDefinition, items: &FanOutItems) -> String {
    match items {
        FanOutItems::List(list) => format!("for each item of {}", render_expr(files, flow, list)),
        FanOutItems::Count(count, max) => format!("{} times, at most {max}", render_expr(files, flow, count)),
    }
}

/// Notes about a step's policies: tries, time limit, handling of failures.
pub fn policy_notes(step: &Step) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(retry) = &step.policy.retry {
        notes.push(format!("up to {} tries", retry.max_attempts));
    }
    if let Some(ms) = step.policy.timeout_ms {
        notes.push(format!("time limit {}", render_duration(ms)));
    }
    match &step.policy.on_failure {
        trefoil_ir::OnStepFailure::Fail => {}
        trefoil_ir::OnStepFailure::Skip => notes.push("on failure: skipped".to_owned()),
        trefoil_ir::OnStepFailure::Use(_) => notes.push("on failure: use default".to_owned()),
    }
    notes
}

/// Milliseconds in readable units: `250 ms`, `1.5 s`, `2 min`, `1 h 30 min`.
pub fn render_duration(ms: u64) -> String {
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
    use super::{render_duration, short_text};

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
            assert_eq!(render_duration(ms), text);
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
