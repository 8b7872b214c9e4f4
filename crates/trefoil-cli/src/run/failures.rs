//! Lists the failed items after the tree, whose rows show only the start of an error.

use anstyle::{AnsiColor, Style};
use trefoil_runtime::RunError;
use trefoil_syntax::{Files, Location};

use super::look::{LineLook, dim};
use super::nodes::{ProgressNode, StepState};
use super::progress::Progress;
use crate::harmless::TerminalText;
use crate::words::{cut, safe, wrap};

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
pub fn list(
    progress: &Progress,
    files: &Files,
    run: Option<&RunError>,
    columns: usize,
    look: LineLook,
) -> Vec<TerminalText> {
    let mut groups: Vec<FailureGroup<'_>> = Vec::new();
    for (_, node) in progress.nodes() {
        let Some((title, error)) = failed(progress, node) else { continue };
        if run.is_some_and(|run| run.code == error.code && run.message == error.message) {
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
    groups.iter().flat_map(|group| lines(group, files, columns, look)).collect()
}

fn failed<'p>(progress: &'p Progress, node: ProgressNode<'p>) -> Option<(&'p str, &'p RunError)> {
    let around = progress.node(node.parent?)?;
    let (error, _) = node.step.error.as_ref().filter(|_| node.is_item && node.state == StepState::Failed)?;
    Some((&around.row.title, error))
}

fn lines(group: &FailureGroup<'_>, files: &Files, columns: usize, look: LineLook) -> Vec<TerminalText> {
    let (symbol, red) = look.symbol(&StepState::Failed, 0);
    let mut names: Vec<String> = group.items.iter().take(NAMED).map(|name| cut(name, NAME, look.rest())).collect();
    let more = group.items.len().saturating_sub(names.len());
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    let at = group.error.location.and_then(|at| place(at, files)).map(|at| format!(" ({at})")).unwrap_or_default();
    let mut out = Vec::new();
    let heads = wrap(&format!("{} {}{at}", group.title, names.join(", ")), columns.saturating_sub(3));
    for (i, head) in heads.iter().enumerate() {
        let symbol = if i == 0 { symbol } else { " " };
        out.push(look.fit(&[(red, symbol), (Style::new(), " "), (Style::new(), head)], columns));
    }
    let text = format!("{}: {}", group.error.code, safe(&group.error.message.replace('\n', " ")));
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    let texts = wrap(&text, columns.saturating_sub(5)).into_iter();
    out.extend(texts.map(|line| look.styled(&[(dim(), "    "), (red, &line)])));
    out
}

/// `flow.yaml:12:9`
fn place(at: Location, files: &Files) -> Option<String> {
    let file = files.get(at.file)?;
    let position = file.position(at.span.start);
    Some(format!("{}:{}:{}", safe(file.name()), position.line, position.column))
}
