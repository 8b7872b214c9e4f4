//! A row of the tree: the state of a step or an item, its usage and its text.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr as _;

use super::line_style::{LineStyle, dim_style};
use super::nodes::{ProgressNode, StepState};
use crate::terminal_text::TerminalText;
use crate::words::{fit_end, format_cost, format_time, group_digits, pad_text, received_length};

/// The time and layout of a row.
#[derive(Debug, Clone, Copy)]
pub struct RowFrame {
    /// Milliseconds since the run began.
    pub at: u64,
    /// The number of the frame, for animation.
    pub number: usize,
    /// The width of the branch and label together.
    pub label: usize,
    /// The width of the terminal.
    pub columns: usize,
    /// Whether some steps have a cost, so that there is a column for it.
    pub money: bool,
    /// Whether the picture stays as it is, so that nothing turns in it.
    pub is_still: bool,
}

/// Formats the row of a node after its branch lines. `only` is the single step of an item, which shares its row.
pub fn format_row(
    node: ProgressNode<'_>,
    only: Option<ProgressNode<'_>>,
    branch: &str,
    frame: RowFrame,
    look: LineStyle,
) -> TerminalText {
    let label = look.replace_unsupported(&node.row.label);
    let node = only.unwrap_or(node);
    let state = node.display_state();
    let (mut symbol, style) = look.state_symbol(&state, frame.number);
    if frame.is_still && state == StepState::Running {
        symbol = look.cut_mark();
    }
    let style = if node.kept { dim_style() } else { style };
    let name = pad_text(&label, frame.label.saturating_sub(branch.width()), look.cut_mark());
    let mut figures = figures(node, frame);
    let quiet = node.kept
        || matches!(state, StepState::Skipped | StepState::Expected | StepState::Retrying)
        || state.is_stopped();
    let name_style = if quiet { dim_style() } else { Style::new() };
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    let text_style = match state {
        _ if node.kept => dim_style(),
        StepState::Failed => red,
        StepState::Partly => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
        StepState::Running if !node.row.provisional => Style::new(),
        _ => dim_style(),
    };
    let mut model = match &node.model {
        Some(model) => format!("{model}  "),
        None => String::new(),
    };
    let text: String = text(node, frame.at).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = look.replace_unsupported(&text);
    let room = |figures: &str, model: &str| {
        frame.columns.saturating_sub(frame.label + 2 + figures.width() + model.width() + 1)
    };
    // An error is more important than the model's name, and than figures that are elsewhere, too.
    if matches!(state, StepState::Failed | StepState::Retrying) && text.width() > room(&figures, &model) {
        model.clear();
        if text.width() > room(&figures, "") {
            figures = format!("  {:>9}  ", format_duration(node, frame));
        }
    }
    // Shows the end of streamed text, but the start of other text.
    let text = if state == StepState::Running { fit_end(&text, room(&figures, &model), look.cut_mark()) } else { text };
    look.fit_parts(
        &[
            (dim_style(), branch),
            (style, symbol),
            (name_style, " "),
            (name_style, &name),
            (dim_style(), &figures),
            (dim_style(), &model),
            (text_style, &text),
        ],
        frame.columns,
    )
}

/// What a fan-out over an empty list says.
pub const NO_ITEMS: &str = "0 items";

fn figures(node: ProgressNode<'_>, frame: RowFrame) -> String {
    let took = format_duration(node, frame);
    let amount = match (node.counts, used(node)) {
        (Some(items), _) if items.total == 0 => NO_ITEMS.to_owned(),
        (Some(items), _) => format!("{}/{}", items.ended, items.total),
        (None, Some(used)) => format!("{used} tok"),
        (None, None) => String::new(),
    };
    if !frame.money {
        return format!("  {took:>9}  {amount:>9}  ");
    }
    let spent = node.usage.cost_micro > 0 || node.usage.unpriced_calls > 0;
    let cost = if spent { format_cost(&node.usage) } else { String::new() };
    format!("  {took:>9}  {amount:>9}  {cost:>9}  ")
}

fn format_duration(node: ProgressNode<'_>, frame: RowFrame) -> String {
    match node.state {
        // Nothing says when the process ended.
        StepState::Skipped | StepState::Expected | StepState::Interrupted => String::new(),
        _ => format_time(node.ended_ms.unwrap_or(frame.at).saturating_sub(node.started_ms)),
    }
}

fn used(node: ProgressNode<'_>) -> Option<String> {
    match (node.usage.total_tokens(), node.usage.is_known()) {
        (0, true) => None,
        (0, false) => Some("?".to_owned()),
        (n, known) => Some(format!("{}{}", group_digits(n), if known { "" } else { "+?" })),
    }
}

fn text(node: ProgressNode<'_>, at: u64) -> String {
    let (text, begun) = (node.state_text(), node.started_tries());
    match (node.state, node.retry_ms) {
        (StepState::Retrying, Some(retry)) => {
            format!("try {begun} in {}: {text}", format_time(retry.saturating_sub(at)))
        }
        (StepState::Running, _) if node.row.arrived > 0 => format!("{}  {text}", received_length(node.row.arrived)),
        (StepState::Running, _) if begun > 1 => format!("try {begun}  {text}"),
        (StepState::Running, _) if text.is_empty() => match node.counts {
            Some(items) if items.failed > 0 => format!("{} failed", items.failed),
            _ => String::new(),
        },
        _ if node.kept => format!("kept  {text}"),
        _ if begun > 1 => format!("{begun} tries  {text}"),
        _ => text.to_owned(),
    }
}
