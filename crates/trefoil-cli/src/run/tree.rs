//! The picture of a run: its tree as lines that fit a terminal.

use std::collections::HashSet;

use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

use super::look::{Look, dim};
use super::progress::{Node, Progress, State};
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
            out.push(row(node, only(progress, node), branch, frame, look));
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

/// The one step of an item, if it has no more than that.
fn only<'p>(progress: &'p Progress, node: &Node) -> Option<&'p Node> {
    let [child] = node.children.as_slice() else { return None };
    progress.nodes.get(*child).filter(|child| node.item && child.children.is_empty() && child.state != State::Skipped)
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
    if only(progress, node).is_some() {
        return;
    }
    let children: Vec<usize> = node.children.iter().copied().filter(|c| shown.contains(c)).collect();
    let indent = format!("{indent}{}", if last { "   " } else { "│  " });
    for (i, child) in children.iter().enumerate() {
        walk(progress, shown, *child, &indent, i + 1 == children.len(), rows);
    }
}

#[cfg(test)]
mod tests {
    use trefoil::runtime::event::Tally;
    use trefoil::runtime::{Event, EventKind, Key, RunError};

    use super::*;
    use crate::run::words::safe;

    fn event(at_ms: u64, key: &str, kind: EventKind) -> Event {
        Event { run: "r".into(), seq: 0, at_ms, key: Some(Key(key.into())), location: None, kind }
    }

    fn started(label: &str) -> EventKind {
        EventKind::StepStarted { label: label.to_owned(), kind: "agent" }
    }

    fn picture(events: &[Event], at: u64) -> String {
        let mut progress = Progress::default();
        progress.expected = vec!["taste".to_owned(), "sum".to_owned()];
        for event in events {
            progress.take(event);
        }
        let size = Size { rows: 30, columns: 90 };
        let lines = lines(&progress, "drinks", at, 0, size, Look { ascii: true, ..Look::default() });
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    fn fan_out() -> Vec<Event> {
        let item = |index: u32, item: &str| EventKind::ItemStarted { index, total: 3, item: Some(item.into()) };
        let error = || RunError::new("MODEL_ERROR", "no such drink");
        vec![
            event(0, "taste", started("taste")),
            event(0, "taste[0]", item(0, "tea")),
            event(0, "taste[1]", item(1, "rum\u{1b}[2J\u{9b}1m")),
            event(5, "taste[0]", EventKind::ItemFinished { error: None }),
            event(
                6,
                "taste[1]",
                EventKind::RetryScheduled { attempt: 2, delay_ms: 2000, error: RunError::new("MODEL_ERROR", "429") },
            ),
            event(2007, "taste[1]", EventKind::ItemFinished { error: Some(error()) }),
            event(2008, "taste[2]", item(2, "milk")),
        ]
    }

    #[test]
    fn a_fan_out_shows_its_items_its_retries_and_what_is_still_to_come() {
        let all = fan_out();
        assert_eq!(
            picture(&all[..5], 506),
            concat!(
                "drinks\n",
                "|- | taste                           506 ms        1/3\n",
                "|  |- + 1/3 tea                        5 ms\n",
                "|  `- ~ 2/3 rum\\u{1b}[2J\\u{9b}1m     506 ms             try 2 in 1.5 s: MODEL_ERROR: 429\n",
                "`- . sum\n",
            )
        );
    }

    #[test]
    fn what_failed_and_what_was_cancelled_are_told_apart() {
        let mut all = fan_out();
        let error = RunError::new("TIMEOUT", "timed out after 3s");
        all.push(event(3000, "taste", EventKind::StepFailed { error, handled_as: "fail" }));
        let shown = picture(&all, 3000);
        assert!(shown.contains("x taste") && shown.contains("TIMEOUT: timed out after 3s"), "{shown}");
        assert!(shown.contains("x 2/3 rum") && shown.contains("2 tries  MODEL_ERROR: no such"), "{shown}");
        assert!(shown.contains("o 3/3 milk") && shown.contains("cancelled"), "{shown}");
    }

    #[test]
    fn a_step_that_went_on_without_some_items_says_how_many() {
        let mut all = fan_out();
        let items = Some(Tally { total: 3, failed: 1 });
        all.push(event(3000, "taste[2]", EventKind::ItemFinished { error: None }));
        all.push(event(3000, "taste", EventKind::StepFinished { output: "done".into(), items }));
        let shown = picture(&all, 3000);
        assert!(shown.contains("! taste") && shown.contains("3/3  1 of 3 failed  done"), "{shown}");
    }

    #[test]
    fn names_do_not_move_the_cursor() {
        let shown = picture(&[event(0, "a", started("a\u{1b}]0;x\u{7}\u{9b}31m"))], 1);
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
        assert!(shown.contains(&*safe("a\u{1b}]0;x\u{7}")), "{shown}");
    }
}
