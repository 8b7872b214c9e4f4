//! Lists the failed items after the tree, whose rows show only the start of an error.

use anstyle::{AnsiColor, Style};
use trefoil_runtime::RunError;
use trefoil_syntax::{Location, SourceFiles};

use super::line_style::{LineStyle, dim_style};
use super::nodes::{ProgressNode, StepState};
use super::progress::RunProgress;
use crate::terminal_text::TerminalText;
use crate::words::{escape_line, fit_start, wrap_text};

/// Maximum number of items that are named for the same failure.
const NAMED: usize = 12;
/// Maximum width of an item's name.
const NAME: usize = 40;

/// Items with the same failure.
struct FailureGroup<'p> {
    /// The fan-out.
    title: &'p str,
    error: &'p RunError,
    items: Vec<&'p str>,
}

/// The lines. The failure of the run itself is reported elsewhere.
pub fn list_failures(
    progress: &RunProgress,
    files: &SourceFiles,
    run: Option<&RunError>,
    columns: usize,
    look: LineStyle,
) -> Vec<TerminalText> {
    let mut groups: Vec<FailureGroup<'_>> = Vec::new();
    for (_, node) in progress.list_nodes() {
        let Some((title, error)) = failed(progress, node) else { continue };
        if matches!(run, Some(run) if run.code == error.code && run.message == error.message) {
            continue;
        }
        let same = |group: &&mut FailureGroup<'_>| {
            let known = group.error;
            group.title == title
                && (&known.code, &known.message, known.location) == (&error.code, &error.message, error.location)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.items.push(&node.row.label),
            None => groups.push(FailureGroup { title, error, items: vec![&node.row.label] }),
        }
    }
    let mut out = Vec::new();
    for group in &groups {
        out.extend(lines(group, files, columns, look));
    }
    out
}

fn failed<'p>(progress: &'p RunProgress, node: ProgressNode<'p>) -> Option<(&'p str, &'p RunError)> {
    if !node.is_item || node.state != StepState::Failed {
        return None;
    }
    let around = progress.find_node(node.parent?)?;
    let (error, _) = node.step.error.as_ref()?;
    Some((&around.row.title, error))
}

fn lines(group: &FailureGroup<'_>, files: &SourceFiles, columns: usize, look: LineStyle) -> Vec<TerminalText> {
    let (symbol, red) = look.state_symbol(&StepState::Failed, 0);
    let mut names: Vec<String> =
        group.items.iter().take(NAMED).map(|name| fit_start(name, NAME, look.cut_mark())).collect();
    let more = group.items.len().saturating_sub(names.len());
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    let mut at = String::new();
    if let Some(location) = group.error.location
        && let Some(place) = place(location, files)
    {
        at = format!(" ({place})");
    }
    let mut out = Vec::new();
    let heads = wrap_text(&format!("{} {}{at}", group.title, names.join(", ")), columns.saturating_sub(3));
    for (i, head) in heads.iter().enumerate() {
        let symbol = if i == 0 { symbol } else { " " };
        out.push(look.fit_parts(&[(red, symbol), (Style::new(), " "), (Style::new(), head)], columns));
    }
    let text = format!("{}: {}", group.error.code, escape_line(&group.error.message.replace('\n', " ")));
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    for line in wrap_text(&text, columns.saturating_sub(5)) {
        out.push(look.style_parts(&[(dim_style(), "    "), (red, &line)]));
    }
    out
}

/// `flow.yaml:12:9`
fn place(at: Location, files: &SourceFiles) -> Option<String> {
    let file = files.get(at.file)?;
    let position = file.line_column(at.span.start);
    Some(format!("{}:{}:{}", escape_line(file.name()), position.line, position.column))
}
