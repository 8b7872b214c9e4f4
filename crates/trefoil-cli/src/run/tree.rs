//! The picture of a run: its tree as lines that fit a terminal.

use std::collections::HashSet;

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::progress::{Node, Progress, State};

/// How lines look.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// With colours.
    pub color: bool,
}

/// What a picture may fill.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Lines.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// A label gets at most so many columns.
const LABEL: usize = 44;

/// The picture at a moment, `at` milliseconds into the run.
pub fn lines(progress: &Progress, head: &str, at: u64, frame: usize, size: Size, look: Look) -> Vec<String> {
    let shown = choose(progress, size.rows.saturating_sub(2));
    let hidden = progress.nodes.len() - shown.len();
    let mut rows = Vec::new();
    let visible: Vec<usize> = progress.roots.iter().copied().filter(|r| shown.contains(r)).collect();
    for (i, root) in visible.iter().enumerate() {
        walk(progress, &shown, *root, "", i + 1 == visible.len(), &mut rows);
    }
    let label_width = rows.iter().map(|(branch, n)| branch.width() + label(progress, *n).width()).max().unwrap_or(0);
    let label_width = label_width.min(LABEL.min(size.columns / 2));
    let mut out = vec![fit(&[(Style::new().bold(), head)], size.columns, look)];
    if hidden > 0 {
        out.push(fit(&[(dim(), &format!("… {hidden} more"))], size.columns, look));
    }
    for (branch, index) in &rows {
        if let Some(node) = progress.nodes.get(*index) {
            out.push(row(node, branch, at, frame, label_width, size.columns, look));
        }
    }
    out
}

/// `4 calls, 171 tokens, 1.2 s`
pub fn total(calls: u64, tokens: u64, ms: u64) -> String {
    let calls = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
    format!("{calls}, {} tokens, {}", grouped(tokens), time(ms))
}

/// `1,234`
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `12 ms`, `1.2 s`, `2:05 min`
pub fn time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => format!("{}:{:02} min", ms / 60_000, ms % 60_000 / 1000),
    }
}

/// Those that fit: what is at work and what is around it, then what ended last.
fn choose(progress: &Progress, rows: usize) -> HashSet<usize> {
    if progress.nodes.len() <= rows {
        return (0..progress.nodes.len()).collect();
    }
    let mut order: Vec<usize> = (0..progress.nodes.len()).collect();
    let rank = |i: &usize| {
        progress.nodes.get(*i).map_or((1, 0), |n| (u8::from(n.ended_ms.is_some()), n.ended_ms.unwrap_or(0)))
    };
    order.sort_by_key(|i| (rank(i).0, std::cmp::Reverse(rank(i).1), std::cmp::Reverse(*i)));
    let mut shown = HashSet::new();
    for index in order {
        let mut chain = Vec::new();
        let mut at = Some(index);
        while let Some(i) = at.filter(|i| !shown.contains(i)) {
            chain.push(i);
            at = progress.nodes.get(i).and_then(|n| n.parent);
        }
        if shown.len() + chain.len() > rows.saturating_sub(1) {
            break;
        }
        shown.extend(chain);
    }
    shown
}

fn walk(
    progress: &Progress,
    shown: &HashSet<usize>,
    index: usize,
    indent: &str,
    last: bool,
    rows: &mut Vec<(String, usize)>,
) {
    // Deep trees come from deep manifests, and their depth is limited there.
    let Some(node) = progress.nodes.get(index) else { return };
    rows.push((format!("{indent}{}", if last { "└─ " } else { "├─ " }), index));
    let children: Vec<usize> = node.children.iter().copied().filter(|c| shown.contains(c)).collect();
    let indent = format!("{indent}{}", if last { "   " } else { "│  " });
    for (i, child) in children.iter().enumerate() {
        walk(progress, shown, *child, &indent, i + 1 == children.len(), rows);
    }
}

fn label(progress: &Progress, index: usize) -> &str {
    progress.nodes.get(index).map_or("", |n| &n.label)
}

fn row(node: &Node, branch: &str, at: u64, frame: usize, label_width: usize, columns: usize, look: Look) -> String {
    let green = Style::new().fg_color(Some(AnsiColor::Green.into()));
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
    let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
    let spinner = SPINNER.get(frame % SPINNER.len()).copied().unwrap_or("·");
    let (style, symbol) = match node.state {
        State::Running => (cyan, spinner),
        State::Waiting => (yellow, "↻"),
        State::Asking => (yellow, "?"),
        State::Done => (green, "✓"),
        State::Failed => (red, "✗"),
        State::Skipped => (dim(), "–"),
    };
    let name = pad(&node.label, label_width.saturating_sub(branch.width()));
    let took = match node.state {
        State::Skipped => String::new(),
        _ => time(node.ended_ms.unwrap_or(at).saturating_sub(node.started_ms)),
    };
    let tokens = if node.tokens > 0 { format!("{} tok", grouped(node.tokens)) } else { String::new() };
    let figures = format!("  {took:>9}  {tokens:>9}  ");
    let name_style = if node.state == State::Skipped { dim() } else { Style::new() };
    let text_style = match node.state {
        State::Failed => red,
        State::Running => Style::new(),
        _ => dim(),
    };
    // Of text that is still coming, its end; of anything else, its beginning.
    let room = columns.saturating_sub(label_width + 2 + figures.width() + 1);
    let text: String = node.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = if node.state == State::Running { tail(&text, room) } else { text };
    fit(
        &[
            (dim(), branch),
            (style, symbol),
            (name_style, " "),
            (name_style, &name),
            (dim(), &figures),
            (text_style, &text),
        ],
        columns,
        look,
    )
}

fn dim() -> Style {
    Style::new().dimmed()
}

fn pad(text: &str, width: usize) -> String {
    let cut = cut(text, width);
    let missing = width.saturating_sub(cut.width());
    cut + &" ".repeat(missing)
}

/// The beginning of a text that fits.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out + "…"
}

/// The end of a text that fits.
fn tail(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let kept = text.chars().rev().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= width
    });
    let kept: Vec<char> = kept.collect();
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

/// Parts with their styles, cut to a width.
fn fit(parts: &[(Style, &str)], columns: usize, look: Look) -> String {
    let mut out = String::new();
    let mut left = columns.saturating_sub(1);
    for (style, text) in parts {
        let shown = cut(text, left);
        left = left.saturating_sub(shown.width());
        if look.color && !shown.trim().is_empty() {
            out.push_str(&format!("{style}{shown}{style:#}"));
        } else {
            out.push_str(&shown);
        }
        if left == 0 {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        assert_eq!(total(1, 1_234_567, 125_000), "1 call, 1,234,567 tokens, 2:05 min");
        assert_eq!(total(0, 999, 999), "0 calls, 999 tokens, 999 ms");
    }

    #[test]
    fn lines_fit_whatever_is_in_them() {
        let look = Look { color: false };
        let wide = fit(&[(dim(), "日本語日本語"), (dim(), "abc")], 10, look);
        assert!(wide.width() <= 9, "{wide}");
        assert_eq!(tail("abcdef", 4), "…def");
        assert_eq!(cut("abcdef", 4), "abc…");
    }
}
