//! The tree of a run as lines that fit in a terminal.

use std::collections::{HashMap, HashSet};

use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

use super::line_style::{LineStyle, dim_style};
use super::nodes::{LAST, MANY, ProgressNode, SOME, StepState};
use super::progress::RunProgress;
use super::row::{RowFrame, format_row};
use crate::terminal_text::TerminalText;
use crate::words::count_of;

/// The available space.
#[derive(Debug, Clone, Copy)]
pub struct TerminalSize {
    /// Lines.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// The purpose of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeSort {
    /// It is redrawn regularly.
    Live,
    /// It stays on the screen above a question.
    Asking,
    /// It stays on the screen after the end of the run.
    Last,
}

/// Maximum width of a label.
const LABEL: usize = 44;
/// Minimum width of a terminal for showing the cost of steps.
const PRICED: usize = 72;

/// A row of the tree, after its branch lines.
enum TreeRow {
    /// Of a node.
    Node(String, usize),
    /// The items without a row.
    Rest(String, ItemRest),
    /// The row that marks where the run was resumed.
    Resumed(String),
}

/// The items of a large fan-out, as far as a picture only counts them.
#[derive(Debug, Default)]
struct ItemRest {
    /// Whether the fan-out is in progress, in which case these are all of its items.
    is_live: bool,
    total: usize,
    done: usize,
    failed: usize,
    running: usize,
    /// How many have not started.
    never: usize,
}

/// A large fan-out.
#[derive(Debug, Default)]
struct CollapsedFanOut {
    /// The items without a row, with all that is inside them.
    hidden: HashSet<usize>,
    /// How many of these are done.
    done: usize,
    /// How many of these have failed.
    failed: usize,
}

/// The picture at `at` milliseconds into the run.
pub fn tree_lines(
    progress: &RunProgress,
    head: &str,
    at: u64,
    number: usize,
    (sort, size): (TreeSort, TerminalSize),
    look: LineStyle,
) -> Vec<TerminalText> {
    let large = if sort == TreeSort::Asking { HashMap::new() } else { collapsed(progress, sort) };
    let candidates = candidates(progress, &large);
    let rests = if sort == TreeSort::Live { large.len().min(size.rows / 4) } else { 0 };
    let taken = 2 + usize::from(progress.resumed) + rests;
    let most = if sort == TreeSort::Live { size.rows.saturating_sub(taken) } else { LAST };
    let shown = choose(progress, &candidates, most);
    let hidden = candidates.len().saturating_sub(shown.len()) + folded(progress, sort, &large);
    let room = match sort {
        TreeSort::Live if hidden > 0 => 0,
        TreeSort::Live => size.rows.saturating_sub(taken + shown.len()),
        TreeSort::Asking => 0,
        TreeSort::Last => LAST,
    };
    let expected: Vec<&String> = progress.expected.iter().take(room).collect();
    let rows = all_rows(progress, (sort, &shown, &large), expected.is_empty());
    let columns = size.columns;
    let label = widest_label(progress, &rows, &expected, look).min(LABEL.min(columns / 2));
    let money = columns >= PRICED && progress.list_nodes().any(|(_, node)| node.usage.cost_micro > 0);
    let frame = RowFrame { at, number, label, columns, money, is_still: sort == TreeSort::Last };
    let mut out = vec![look.fit_parts(&[(Style::new().bold(), head)], size.columns)];
    if hidden > 0 {
        out.push(look.fit_parts(&[(dim_style(), &format!("… {hidden} more"))], size.columns));
    }
    for row in &rows {
        out.extend(row_line(progress, row, frame, look));
    }
    for (i, name) in expected.iter().enumerate() {
        let branch = if i + 1 == expected.len() { "└─ " } else { "├─ " };
        out.push(expected_line(name, branch, sort, frame, look));
    }
    out
}

/// The rows of the outermost nodes that are shown, and of what is below them. `is_end`: no row of an expected step comes after them.
fn all_rows(
    progress: &RunProgress,
    (sort, shown, large): (TreeSort, &HashSet<usize>, &HashMap<usize, CollapsedFanOut>),
    is_end: bool,
) -> Vec<TreeRow> {
    let mut roots = Vec::new();
    for (index, node) in progress.list_nodes() {
        if node.parent.is_none() && shown.contains(&index) {
            roots.push(index);
        }
    }
    // Also what failed before, and is tried again in another row.
    let is_past = |root: &&usize| matches!(progress.find_node(**root), Some(node) if node.kept || node.row.is_past);
    let mut resumed = if progress.resumed { Some(roots.iter().take_while(is_past).count()) } else { None };
    let mut rows = Vec::new();
    for (i, root) in roots.iter().enumerate() {
        if resumed == Some(i) {
            resumed = None;
            rows.push(TreeRow::Resumed("├─ ".to_owned()));
        }
        let last = i + 1 == roots.len() && is_end && resumed.is_none();
        walk(progress, (sort, shown, large), *root, "", last, &mut rows);
    }
    if resumed.is_some() {
        rows.push(TreeRow::Resumed(if is_end { "└─ " } else { "├─ " }.to_owned()));
    }
    rows
}

/// The width of the widest label with its branch lines.
fn widest_label(progress: &RunProgress, rows: &[TreeRow], expected: &[&String], look: LineStyle) -> usize {
    let width = |branch: &str, label: &str| branch.width() + look.replace_unsupported(label).width();
    let mut widest = 0;
    for row in rows {
        if let TreeRow::Node(branch, number) = row {
            let label = match progress.find_node(*number) {
                Some(node) => node.row.label.as_str(),
                None => "",
            };
            widest = widest.max(width(branch, label));
        }
    }
    for name in expected {
        widest = widest.max(width("├─ ", name));
    }
    widest
}

/// The line of a row.
fn row_line(progress: &RunProgress, row: &TreeRow, frame: RowFrame, look: LineStyle) -> Option<TerminalText> {
    let line = match row {
        TreeRow::Node(branch, index) => {
            let node = progress.find_node(*index)?;
            format_row(node, progress.only_step(node), branch, frame, look)
        }
        TreeRow::Resumed(branch) => {
            let (symbol, style) = look.state_symbol(&StepState::Retrying, frame.number);
            look.fit_parts(&[(dim_style(), branch), (style, symbol), (dim_style(), " resumed")], frame.columns)
        }
        TreeRow::Rest(branch, rest) => {
            let (symbol, style) =
                if rest.is_live { look.state_symbol(&StepState::Done, frame.number) } else { ("…", dim_style()) };
            let parts =
                [(dim_style(), branch.as_str()), (style, symbol), (dim_style(), " "), (dim_style(), &rest.summary())];
            look.fit_parts(&parts, frame.columns)
        }
    };
    Some(line)
}

/// The line of a step that has not started.
fn expected_line(name: &str, branch: &str, sort: TreeSort, frame: RowFrame, look: LineStyle) -> TerminalText {
    let (symbol, style) = look.state_symbol(&StepState::Expected, frame.number);
    let never = if sort == TreeSort::Last { "  did not run" } else { "" };
    let parts = [(dim_style(), branch), (style, symbol), (dim_style(), " "), (dim_style(), name), (dim_style(), never)];
    look.fit_parts(&parts, frame.columns)
}

impl ItemRest {
    /// `143 of 200 items, 3 failed, 4 in progress`; at the end: `193 items done, 4 more failed`
    fn summary(&self) -> String {
        let Self { is_live, total, done, failed, running, never } = *self;
        let mut parts = Vec::new();
        if is_live {
            parts.push(format!("{done} of {total} items"));
        } else if done > 0 {
            parts.push(format!("{} done", count_of(done as u64, "item")));
        }
        if failed > 0 {
            parts.push(format!("{failed} {}", if is_live { "failed" } else { "more failed" }));
        }
        if is_live && running > 0 {
            parts.push(format!("{running} in progress"));
        }
        if !is_live && never > 0 {
            parts.push(format!("{} not started", count_of(never as u64, "item")));
        }
        parts.join(", ")
    }
}

/// The rows that were removed, without those of finished items that the row of their fan-out counts.
fn folded(progress: &RunProgress, sort: TreeSort, large: &HashMap<usize, CollapsedFanOut>) -> usize {
    let mut rows = progress.top.rows;
    for (index, node) in progress.list_nodes() {
        let is_counted = (sort != TreeSort::Asking && node.counts.is_some()) || is_hidden(index, large);
        if !is_counted {
            rows += node.row.folded.rows;
        }
    }
    rows
}

/// Whether a large fan-out only counts a node.
fn is_hidden(index: usize, large: &HashMap<usize, CollapsedFanOut>) -> bool {
    large.values().any(|fan_out| fan_out.hidden.contains(&index))
}

/// The large fan-outs, each with the items that have no row: those that are done, and what is beyond [`SOME`] that failed or are in
/// progress.
fn collapsed(progress: &RunProgress, sort: TreeSort) -> HashMap<usize, CollapsedFanOut> {
    let mut all = HashMap::new();
    for (index, node) in progress.list_nodes() {
        let mut items = Vec::new();
        for child in &node.children {
            if let Some(item) = progress.find_node(*child)
                && item.is_item
                && !item.row.is_permanent
            {
                items.push((*child, item));
            }
        }
        if items.len() <= MANY {
            continue;
        }
        let (mut done, mut failed, mut running) = (Vec::new(), Vec::new(), Vec::new());
        for (number, item) in items {
            match item.display_state() {
                StepState::Done => done.push(number),
                StepState::Failed => failed.push(number),
                _ => {}
            }
            if item.ended_ms.is_none() {
                running.push(number);
            }
        }
        // The last failures are news; at the end, the first ones are a beginning.
        match sort {
            TreeSort::Live => failed.truncate(failed.len().saturating_sub(SOME)),
            _ => drop(failed.drain(..failed.len().min(SOME))),
        }
        running.drain(..running.len().min(SOME));
        let mut fan_out = CollapsedFanOut { done: done.len(), failed: failed.len(), ..CollapsedFanOut::default() };
        let mut open = done;
        open.extend(failed);
        if sort == TreeSort::Live {
            open.extend(running);
        }
        while let Some(next) = open.pop() {
            fan_out.hidden.insert(next);
            if let Some(node) = progress.find_node(next) {
                open.extend(&node.step.children);
            }
        }
        all.insert(index, fan_out);
    }
    all
}

/// The nodes with their own row: not those that are already above, are only counted, or share the row of their item.
fn candidates(progress: &RunProgress, large: &HashMap<usize, CollapsedFanOut>) -> Vec<usize> {
    let shares_row = |node: &ProgressNode<'_>| match progress.find_parent(node) {
        Some(parent) => progress.only_step(parent).is_some(),
        None => false,
    };
    let mut candidates = Vec::new();
    for (index, node) in progress.list_nodes() {
        if !node.row.is_permanent && !shares_row(&node) && !is_hidden(index, large) {
            candidates.push(index);
        }
    }
    candidates
}

/// The nodes that fit: running steps and their ancestors first, then failed ones, then the most recently ended ones.
fn choose(progress: &RunProgress, candidates: &[usize], rows: usize) -> HashSet<usize> {
    let mut order = candidates.to_vec();
    if order.len() <= rows {
        return order.into_iter().collect();
    }
    let rank = |index: usize| {
        let Some(node) = progress.find_node(index) else { return (2, 0) };
        let rank = match node.display_state() {
            _ if node.ended_ms.is_none() => 0,
            StepState::Failed | StepState::Partly => 1,
            _ => 2,
        };
        (rank, node.ended_ms.unwrap_or(0))
    };
    order.sort_by_key(|index| {
        let (rank, ended) = rank(*index);
        (rank, std::cmp::Reverse(ended), std::cmp::Reverse(*index))
    });
    let mut shown = HashSet::new();
    for index in order {
        let mut chain = Vec::new();
        let mut at = Some(index);
        while let Some(i) = at
            && !shown.contains(&i)
        {
            chain.push(i);
            at = progress.find_node(i).and_then(|node| node.parent);
        }
        if shown.len() + chain.len() > rows.saturating_sub(1) {
            break;
        }
        shown.extend(chain);
    }
    shown
}

fn walk(
    progress: &RunProgress,
    (sort, shown, large): (TreeSort, &HashSet<usize>, &HashMap<usize, CollapsedFanOut>),
    index: usize,
    indent: &str,
    last: bool,
    rows: &mut Vec<TreeRow>,
) {
    // The depth is limited, because the depth of manifests is.
    let Some(node) = progress.find_node(index) else { return };
    rows.push(TreeRow::Node(format!("{indent}{}", if last { "└─ " } else { "├─ " }), index));
    if progress.only_step(node).is_some() {
        return;
    }
    let children: Vec<usize> = node.children.iter().copied().filter(|c| shown.contains(c)).collect();
    let rest = rest(progress, node, large.get(&index), sort);
    let indent = format!("{indent}{}", if last { "   " } else { "│  " });
    for (i, child) in children.iter().enumerate() {
        walk(progress, (sort, shown, large), *child, &indent, i + 1 == children.len() && rest.is_none(), rows);
    }
    if let Some(rest) = rest {
        rows.push(TreeRow::Rest(format!("{indent}└─ "), rest));
    }
}

/// What is only counted of the items of a fan-out.
fn rest(
    progress: &RunProgress,
    node: ProgressNode<'_>,
    large: Option<&CollapsedFanOut>,
    sort: TreeSort,
) -> Option<ItemRest> {
    if sort == TreeSort::Live {
        let counts = node.counts?;
        if large.is_none() || node.ended_ms.is_some() {
            return None;
        }
        let (total, failed) = (counts.total as usize, counts.failed as usize);
        let done = (counts.ended as usize).saturating_sub(failed);
        let running = list_items(progress, node).filter(|item| item.ended_ms.is_none()).count();
        return Some(ItemRest { is_live: true, total, done, failed, running, never: 0 });
    }
    let (mut done, failed) = match large {
        Some(fan_out) => (fan_out.done, fan_out.failed),
        None => (0, 0),
    };
    // Only items that succeeded were removed from a fan-out.
    // The items of a fan-out that was continued after a failure are below its first row.
    let ended = match node.counts {
        Some(counts) => counts.ended as usize,
        None => 0,
    };
    let mut known = list_items(progress, node).count();
    let mut total = 0;
    if sort == TreeSort::Last
        && let Some(counts) = node.counts
    {
        done += node.row.folded.not_permanent;
        known += node.row.folded.children;
        total = counts.total as usize;
    }
    let never = total.saturating_sub(known.max(ended));
    if done + failed + never == 0 {
        return None;
    }
    Some(ItemRest { total, done, failed, never, ..ItemRest::default() })
}

/// The items of a fan-out that have a node.
fn list_items<'p>(progress: &'p RunProgress, node: ProgressNode<'p>) -> impl Iterator<Item = ProgressNode<'p>> {
    node.step.children.iter().filter_map(|child| progress.find_node(*child)).filter(|child| child.is_item)
}

#[cfg(test)]
mod tests {
    use trefoil_machine::event::ItemTally;
    use trefoil_runtime::{Event, EventKind, Key, RunError};

    use super::*;
    use crate::words::escape_line;

    fn event(at_ms: u64, key: &str, kind: EventKind) -> Event {
        Event { run: "r".into(), seq: 0, at_ms, key: Some(Key(key.into())), location: None, kind }
    }

    fn started(label: &str) -> EventKind {
        EventKind::StepStarted { label: label.into(), kind: "agent" }
    }

    fn picture(events: &[Event], at: u64) -> String {
        drawn(events, at, TreeSort::Live)
    }

    fn drawn(events: &[Event], at: u64, sort: TreeSort) -> String {
        let mut progress = RunProgress::default();
        progress.expected = vec!["taste".to_owned(), "sum".to_owned()];
        for event in events {
            progress.apply_event(event);
        }
        let size = TerminalSize { rows: 30, columns: 90 };
        let lines =
            tree_lines(&progress, "drinks", at, 0, (sort, size), LineStyle { ascii: true, ..LineStyle::default() });
        lines.iter().map(|line| format!("{}\n", line.trim_end().as_str())).collect()
    }

    fn joined(lines: Vec<TerminalText>) -> String {
        TerminalText::join(lines, "\n").as_str().to_owned()
    }

    fn asked() -> EventKind {
        let (agent, model) = ("a".into(), "m".to_owned());
        let parameters = trefoil_template::Value::Null;
        EventKind::ModelStarted { agent, model, messages: Vec::new(), parameters, again: true }
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
            event(2006, "taste[1]", asked()),
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
    fn the_reason_of_a_failure_is_cut_last() {
        let name = "check-the-answer-against-all-of-the-sources";
        let failed = |usage: trefoil_runtime::Usage| {
            let error = RunError::new("MODEL_ERROR", "`openai` answered with 404: the model `m` does not exist");
            let mut progress = RunProgress::default();
            progress.apply_event(&event(0, name, started(name)));
            progress.apply_event(&event(1, name, asked()));
            let failed = EventKind::EffectFailed {
                error: error.clone(),
                partial: None,
                usage: Some(usage),
                duration_ms: 5,
                answer_metadata: Default::default(),
                called: None,
                given_by: None,
            };
            progress.apply_event(&event(4, name, failed));
            progress.apply_event(&event(5, name, EventKind::StepFailed { error, handled_as: "skip" }));
            let size = TerminalSize { rows: 30, columns: 100 };
            joined(tree_lines(
                &progress,
                "w",
                5,
                0,
                (TreeSort::Last, size),
                LineStyle { ascii: true, ..LineStyle::default() },
            ))
        };
        let priced = trefoil_runtime::Usage { output_tokens: 1_000, cost_micro: 12_000, ..Default::default() };
        for usage in [trefoil_runtime::Usage::default(), priced] {
            let row = failed(usage);
            assert!(row.contains("  5 ms  MODEL_ERROR: `openai` answered with"), "{row}");
        }
    }

    #[test]
    fn a_step_that_went_on_without_some_items_says_how_many() {
        let mut all = fan_out();
        let items = Some(ItemTally { total: 3, failed: 1 });
        all.push(event(3000, "taste[2]", EventKind::ItemFinished { error: None }));
        all.push(event(3000, "taste", EventKind::StepFinished { output: "done".into(), items }));
        let shown = picture(&all, 3000);
        assert!(shown.contains("! taste") && shown.contains("3/3  1 of 3 failed  done"), "{shown}");
    }

    #[test]
    fn a_call_that_waits_for_a_limit_says_so_until_it_begins() {
        let waiting = || EventKind::ModelWaiting {
            agent: "taste".to_owned(),
            provider: "openai".to_owned(),
            limit: "requests_per_minute",
            delay_ms: Some(39_200),
            why: None,
        };
        let delta = || EventKind::TextDelta { text: "so far".to_owned(), provisional: false };
        let mut all = vec![event(0, "taste", started("taste")), event(1, "taste", waiting())];
        let shown = picture(&all, 2);
        assert!(shown.contains("| taste") && shown.contains("waiting for `[limits.openai]`, about 40 s"), "{shown}");
        all.push(event(40_000, "taste", asked()));
        assert!(!picture(&all, 40_001).contains("waiting"));
        // The fallback model of a call in progress.
        all.extend([event(40_002, "taste", waiting()), event(80_000, "taste", delta())]);
        let shown = picture(&all, 80_001);
        assert!(!shown.contains("waiting") && shown.contains("so far"), "{shown}");
    }

    #[test]
    fn a_try_that_never_began_is_not_counted() {
        let mut all = fan_out();
        all.truncate(5);
        let error = RunError::new("TIMEOUT", "timed out after 3s");
        all.push(event(1000, "taste", EventKind::StepFailed { error, handled_as: "fail" }));
        let shown = picture(&all, 1000);
        assert!(shown.contains("cancelled") && !shown.contains("tries"), "{shown}");
    }

    #[test]
    fn at_the_end_many_items_that_went_well_are_one_line() {
        let mut all = vec![event(0, "taste", started("taste"))];
        for index in 0..30 {
            let key = format!("taste[{index}]");
            all.push(event(0, &key, EventKind::ItemStarted { index, total: 30, item: Some("tea".into()) }));
            let error = (index == 7).then(|| RunError::new("MODEL_ERROR", "no such drink"));
            all.push(event(1, &key, EventKind::ItemFinished { error }));
        }
        let items = Some(ItemTally { total: 30, failed: 1 });
        all.push(event(2, "taste", EventKind::StepFinished { output: "done".into(), items }));
        let shown = drawn(&all, 2, TreeSort::Last);
        assert!(shown.contains("|  |- x 8/30 tea") && shown.contains("|  `- ... 29 items done\n"), "{shown}");
        assert!(!shown.contains("7/30 tea") && shown.ends_with("`- . sum  did not run\n"), "{shown}");
        let shown = drawn(&all[..10], 2, TreeSort::Last);
        assert!(shown.contains("|  `- ... 25 items not started\n"), "{shown}");
    }

    /// A fan-out in progress: of 200 items, 147 have ended, every tenth of them failed, and 15 more have started.
    fn large() -> Vec<Event> {
        let mut all = vec![event(0, "taste", started("taste"))];
        for index in 0..162 {
            let key = format!("taste[{index}]");
            all.push(event(0, &key, EventKind::ItemStarted { index, total: 200, item: Some("tea".into()) }));
            let error = (index % 10 == 0).then(|| RunError::new("MODEL_ERROR", "no such drink"));
            all.extend((index < 147).then(|| event(1, &key, EventKind::ItemFinished { error })));
        }
        all
    }

    #[test]
    fn of_many_items_a_live_picture_counts_those_that_are_done() {
        let mut all = large();
        let shown = drawn(&all, 2, TreeSort::Live);
        assert!(shown.contains("|  `- + 132 of 200 items, 15 failed, 15 in progress\n"), "{shown}");
        let (failed, running) = (shown.matches("|- x ").count(), shown.matches("|- | ").count());
        // The row of the fan-out is in progress, too.
        assert_eq!((failed, running), (SOME, SOME + 1), "{shown}");
        assert!(shown.contains("x 141/200") && !shown.contains("x 1/200 "), "the last failures: {shown}");
        assert!(!shown.contains("more") && shown.lines().count() <= 30, "{shown}");
        let items = Some(ItemTally { total: 200, failed: 15 });
        all.push(event(2, "taste", EventKind::StepFinished { output: "done".into(), items }));
        let shown = drawn(&all, 2, TreeSort::Last);
        assert_eq!(shown.matches("|- x ").count(), SOME, "{shown}");
        assert!(shown.contains("|  `- ... 132 items done, 5 more failed, 38 items not started\n"), "{shown}");
    }

    #[test]
    fn of_many_items_only_those_are_kept_that_a_picture_can_show() {
        const ITEMS: u32 = 3_000;
        let mut progress = RunProgress::default();
        progress.apply_event(&event(0, "taste", started("taste")));
        for index in 0..ITEMS {
            let (item, step) = (format!("taste[{index}]"), format!("taste[{index}]/sip"));
            progress.apply_event(&event(1, &item, EventKind::ItemStarted { index, total: ITEMS, item: None }));
            progress.apply_event(&event(1, &step, started("sip")));
            progress.apply_event(&event(2, &step, EventKind::StepFinished { output: "good".into(), items: None }));
            let error = [7, 1_500].contains(&index).then(|| RunError::new("MODEL_ERROR", "no such drink"));
            let about = progress.apply_event(&event(2, &item, EventKind::ItemFinished { error }));
            assert!(about.is_some_and(|index| progress.find_node(index).is_some()), "it can be shown now");
            assert!(progress.list_nodes().count() <= 2 * LAST + 10);
        }
        let size = TerminalSize { rows: 10, columns: 90 };
        let look = LineStyle { ascii: true, ..LineStyle::default() };
        let shown = |progress: &RunProgress, sort| {
            let lines = tree_lines(progress, "drinks", 2, 0, (sort, size), look);
            TerminalText::join(lines, "\n").without_colors().into_owned()
        };
        // A row for each item and one for the fan-out, of which some are shown.
        let live = shown(&progress, TreeSort::Live);
        assert!(live.lines().count() <= 9, "{live}");
        assert!(live.contains("`- + 2998 of 3000 items, 2 failed") && !live.contains("more"), "{live}");
        let items = Some(ItemTally { total: ITEMS, failed: 2 });
        progress.apply_event(&event(3, "taste", EventKind::StepFinished { output: "done".into(), items }));
        let last = shown(&progress, TreeSort::Last);
        assert!(last.contains("8/3000") && last.contains("1501/3000"), "failures stay: {last}");
        assert!(
            last.contains("... 2998 items done") && !last.contains("more") && !last.contains("not started"),
            "{last}"
        );
        // Once it is on the screen, it is not told again.
        assert!(progress.mark_shown() && !progress.mark_shown());
        let after = shown(&progress, TreeSort::Last);
        assert!(!after.contains("items done") && !after.contains("more"), "{after}");
    }

    #[test]
    fn what_was_kept_is_counted_even_if_it_is_no_longer_known() {
        let mut progress = RunProgress::default();
        for pass in 1..=1_000 {
            let key = format!("@{pass}/draft");
            progress.apply_event(&event(pass, &key, started("draft")));
            progress.apply_event(&event(pass, &key, EventKind::StepFinished { output: "text".into(), items: None }));
        }
        progress.caught_up();
        assert_eq!((progress.kept_count(), progress.kept_steps().count()), (1_000, LAST));
    }

    #[test]
    fn what_stays_above_a_question_is_not_drawn_again_below_it() {
        let mut progress = RunProgress::default();
        progress.apply_event(&event(0, "draft", started("draft")));
        progress.apply_event(&event(5, "draft", EventKind::StepFinished { output: "text".into(), items: None }));
        progress.apply_event(&event(5, "approve", started("approve")));
        let size = TerminalSize { rows: 30, columns: 90 };
        let picture = |progress: &RunProgress| {
            joined(tree_lines(progress, "w", 5, 0, (TreeSort::Live, size), LineStyle::default()))
        };
        assert!(picture(&progress).contains("draft"));
        assert!(progress.mark_shown() && !progress.mark_shown());
        let after = picture(&progress);
        assert!(!after.contains("draft") && after.contains("approve") && !after.contains("more"), "{after}");
    }

    #[test]
    fn a_run_that_is_resumed_shows_what_was_kept_and_where_it_goes_on() {
        let mut progress = RunProgress::default();
        progress.apply_event(&event(0, "draft", started("draft")));
        progress.apply_event(&event(5, "draft", EventKind::StepFinished { output: "text".into(), items: None }));
        progress.apply_event(&event(5, "approve", started("approve")));
        progress.caught_up();
        progress.expected = vec!["publish".to_owned()];
        let size = TerminalSize { rows: 30, columns: 90 };
        let look = LineStyle { ascii: true, ..LineStyle::default() };
        let shown = |progress: &RunProgress| joined(tree_lines(progress, "w", 5, 0, (TreeSort::Last, size), look));
        let picture = shown(&progress);
        let rows: Vec<&str> = picture.lines().skip(1).collect();
        assert!(rows[0].starts_with("|- + draft ") && rows[0].ends_with(" kept  text"), "{picture}");
        assert!(rows[1] == "|- ~ resumed" && rows[2].starts_with("|- ... approve "), "{picture}");
        // Shown above the question, and not again below it.
        assert!(progress.mark_shown() && !progress.mark_shown());
        assert!(!shown(&progress).contains("resumed"), "{}", shown(&progress));
        progress.apply_event(&event(9, "approve", EventKind::StepFinished { output: "yes".into(), items: None }));
        assert!(!shown(&progress).contains("kept"), "what has ended since was not kept");
    }

    #[test]
    fn what_failed_before_a_run_was_resumed_is_above_the_row_that_says_so() {
        let mut progress = RunProgress::default();
        progress.apply_event(&event(0, "draft", started("draft")));
        let failed = |key: &str| {
            event(5, key, EventKind::StepFailed { error: RunError::new("MODEL_ERROR", "down"), handled_as: "fail" })
        };
        progress.apply_event(&failed("draft"));
        progress.apply_event(&event(6, "other", started("other")));
        progress.caught_up();
        progress.apply_event(&event(7, "draft", started("draft")));
        let size = TerminalSize { rows: 30, columns: 90 };
        let look = LineStyle { ascii: true, ..LineStyle::default() };
        let picture = joined(tree_lines(&progress, "w", 9, 0, (TreeSort::Last, size), look));
        let rows: Vec<&str> = picture.lines().skip(1).collect();
        assert!(rows[0].starts_with("|- x draft ") && rows[1] == "|- ~ resumed", "{picture}");
        // What is in progress in a picture that stays does not turn.
        assert!(rows[2].starts_with("|- ... other ") && rows[3].starts_with("`- ... draft "), "{picture}");
    }

    #[test]
    fn names_do_not_move_the_cursor() {
        let shown = picture(&[event(0, "a", started("a\u{1b}]0;x\u{7}\u{9b}31m"))], 1);
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
        assert!(shown.contains(&*escape_line("a\u{1b}]0;x\u{7}")), "{shown}");
    }
}
