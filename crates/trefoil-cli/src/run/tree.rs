//! The picture of a run: its tree as lines that fit a terminal.

use std::collections::HashSet;

use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

use super::look::{Look, dim};
use super::progress::{Progress, State};
use super::row::{Frame, row};

/// What a picture may fill.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Lines.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// A label gets at most so many columns.
const LABEL: usize = 44;

/// The picture at a moment, `at` milliseconds into the run.
pub fn lines(progress: &Progress, head: &str, at: u64, number: usize, size: Size, look: Look) -> Vec<String> {
    let shown = choose(progress, size.rows.saturating_sub(2));
    let hidden = progress.nodes.len() - shown.len();
    let mut rows = Vec::new();
    let visible: Vec<usize> = progress.roots.iter().copied().filter(|r| shown.contains(r)).collect();
    let room = size.rows.saturating_sub(2 + shown.len() + usize::from(hidden > 0));
    let expected: Vec<&String> = progress.expected.iter().take(if hidden > 0 { 0 } else { room }).collect();
    for (i, root) in visible.iter().enumerate() {
        walk(progress, &shown, *root, "", i + 1 == visible.len() && expected.is_empty(), &mut rows);
    }
    let width = |branch: &str, label: &str| branch.width() + label.width();
    let label = |n: usize| progress.nodes.get(n).map_or("", |n| &n.label);
    let widest = rows.iter().map(|(branch, n)| width(branch, label(*n)));
    let widest = widest.chain(expected.iter().map(|name| width("├─ ", name))).max().unwrap_or(0);
    let frame = Frame { at, number, label: widest.min(LABEL.min(size.columns / 2)), columns: size.columns };
    let mut out = vec![look.fit(&[(Style::new().bold(), head)], size.columns)];
    if hidden > 0 {
        out.push(look.fit(&[(dim(), &format!("… {hidden} more"))], size.columns));
    }
    for (branch, index) in &rows {
        if let Some(node) = progress.nodes.get(*index) {
            out.push(row(node, branch, frame, look));
        }
    }
    for (i, name) in expected.iter().enumerate() {
        let branch = if i + 1 == expected.len() { "└─ " } else { "├─ " };
        let (symbol, style) = look.symbol(&State::Expected, number);
        out.push(look.fit(&[(dim(), branch), (style, symbol), (dim(), " "), (dim(), name)], size.columns));
    }
    out
}

/// Those that fit: what is at work and what is around it, then what failed, then what ended last.
fn choose(progress: &Progress, rows: usize) -> HashSet<usize> {
    if progress.nodes.len() <= rows {
        return (0..progress.nodes.len()).collect();
    }
    let mut order: Vec<usize> = (0..progress.nodes.len()).collect();
    let rank = |i: &usize| {
        progress.nodes.get(*i).map_or((2, 0), |n| {
            let rank = match n.state {
                _ if n.ended_ms.is_none() => 0,
                State::Failed | State::Partly => 1,
                _ => 2,
            };
            (rank, n.ended_ms.unwrap_or(0))
        })
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
