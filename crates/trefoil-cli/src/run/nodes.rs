//! The nodes of a run's progress: as many as a picture can show, and how many others there were.
//!
//! A run may have a million items. Of the steps and items below one node that succeeded, only the last ones stay; the others are
//! *folded*: removed, and counted at that node. What has failed or is running always stays.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use trefoil_machine::event::Tally;
use trefoil_runtime::{RunError, Usage};

/// Maximum number of lines of a picture that stays on the screen.
pub const LAST: usize = 400;

/// The state of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StepState {
    /// Not started.
    Expected,
    /// Running.
    #[default]
    Running,
    /// Waiting for its next try.
    Waiting,
    /// Waiting for a person's answer.
    Asking,
    /// Succeeded.
    Done,
    /// Ended, but some of its items failed.
    Partly,
    /// Failed.
    Failed,
    /// Stopped because a step around it ended.
    Cancelled,
    /// Skipped.
    Skipped,
}

/// The items of a fan-out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Items {
    /// All items.
    pub total: u32,
    /// Items that have ended, including failed ones.
    pub ended: u32,
    /// Items that failed.
    pub failed: u32,
}

impl Items {
    /// Those of a fan-out that has ended.
    pub fn of(tally: Tally) -> Self {
        Self { total: tally.total, ended: tally.total, failed: tally.failed }
    }
}

/// A step, or an item of a fan-out.
#[derive(Default)]
pub struct ProgressNode {
    /// Its key.
    pub key: String,
    /// Its name in the tree, relative to its parent.
    pub label: String,
    /// Whether it is a model step.
    pub is_agent: bool,
    /// Its full name, for separate lines.
    pub title: String,
    /// Its state.
    pub state: StepState,
    /// The model that answers it.
    pub model: Option<String>,
    /// Its start, in milliseconds since the start of the run.
    pub started_ms: u64,
    /// Its end, in the same unit.
    pub ended_ms: Option<u64>,
    /// When its next try starts.
    pub retry_ms: Option<u64>,
    /// The number of the current or last try, from 1.
    pub tries: u32,
    /// Tokens of its own calls.
    pub usage: Usage,
    /// The state of its items, if it is a fan-out.
    pub items: Option<Items>,
    /// Its process ended, and nothing says when.
    pub cut_off: bool,
    /// The text next to it: streamed text, a reason, or the start of its result.
    pub text: String,
    /// Whether the text is provisional and may never reach the workflow.
    pub provisional: bool,
    /// Whether the text says that its call waits for a rate limit.
    pub delayed: bool,
    /// The start of its last answer.
    pub answer: String,
    /// Number of characters that had arrived of a truncated answer.
    pub arrived: usize,
    /// Its full error.
    pub error: Option<RunError>,
    /// Whether it asked a person.
    pub asked: bool,
    /// Whether it had ended before the run was resumed, or has results from an earlier run.
    pub kept: bool,
    /// Whether it made a call, or a step inside it did.
    pub called: bool,
    /// Whether a step inside it is kept.
    pub keeps: bool,
    /// Whether the call in progress should be shown as reused if its result is; conditions that are evaluated again are
    /// not.
    pub calling: bool,
    /// Whether the model call in progress is included in the number of calls.
    pub counted: bool,
    /// Whether it is permanently on the screen, above the redrawn area.
    pub told: bool,
    /// Whether it failed or was stopped, and nothing handled that: it starts again if the run is resumed.
    pub again: bool,
    /// How its command failed, if it did: the exit code, and the start of its error output.
    pub exited: Option<String>,
    /// Whether it was created for a call without a step, so that no event reports its end.
    pub alone: bool,
    /// Whether it is an item of a fan-out.
    pub item: bool,
    /// Its parent.
    pub parent: Option<usize>,
    /// Its children.
    pub children: BTreeSet<usize>,
    /// Those of its children that were removed.
    pub folded: Folded,
}

impl ProgressNode {
    pub fn end(&mut self, state: StepState, at: u64, text: String) {
        // The try that it waited for did not start.
        if self.state == StepState::Waiting {
            self.tries = self.tries.saturating_sub(1);
        }
        (self.state, self.ended_ms, self.retry_ms) = (state, Some(at), None);
        (self.text, self.provisional) = (text, false);
    }
    /// It has ended: it is kept if all that was called inside it is.
    pub fn settle(&mut self) {
        self.kept |= self.keeps && !self.called;
    }
    /// Records a result, reused from an earlier run or from a call.
    pub fn came(&mut self, reused: bool) {
        if self.calling || reused {
            self.called |= !reused;
            self.kept = !self.called;
        }
        (self.calling, self.counted) = (false, false);
    }
    /// Records the start of the next try.
    pub fn resume(&mut self) {
        (self.state, self.retry_ms, self.ended_ms) = (StepState::Running, None, None);
        (self.kept, self.told, self.delayed) = (false, false, false);
        self.text.clear();
    }
}

/// The nodes, in the order in which they started.
#[derive(Default)]
pub struct Nodes {
    all: BTreeMap<usize, ProgressNode>,
    next: usize,
    index: HashMap<String, usize>,
    /// What was folded below no node.
    top: Folded,
}

/// What has ended below a node.
#[derive(Debug, Default)]
pub struct Folded {
    /// Those that have ended and may be folded, in that order.
    ended: VecDeque<usize>,
    /// How many children were folded.
    pub children: usize,
    /// How many of them are not permanently on the screen.
    pub untold: usize,
    /// How many rows they would need, with those below them.
    pub rows: usize,
}

impl Folded {
    /// What was folded is permanently on the screen.
    fn tell(&mut self) {
        (self.untold, self.rows) = (0, 0);
    }
}

impl Nodes {
    /// The node with this number.
    pub fn get(&self, index: usize) -> Option<&ProgressNode> {
        self.all.get(&index)
    }
    /// The same, mutable.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut ProgressNode> {
        self.all.get_mut(&index)
    }
    /// All nodes with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &ProgressNode)> {
        self.all.iter().map(|(index, node)| (*index, node))
    }
    /// All nodes.
    pub fn values(&self) -> impl Iterator<Item = &ProgressNode> {
        self.all.values()
    }
    /// All nodes, mutable.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut ProgressNode> {
        self.all.values_mut()
    }
    /// The last node that started with this key.
    pub fn with_key(&self, key: &str) -> Option<usize> {
        self.index.get(key).copied()
    }
    /// Adds a node, and returns its number.
    pub fn push(&mut self, node: ProgressNode) -> usize {
        let index = self.next;
        self.next += 1;
        if let Some(parent) = node.parent.and_then(|parent| self.all.get_mut(&parent)) {
            parent.children.insert(index);
        }
        self.index.insert(node.key.clone(), index);
        self.all.insert(index, node);
        index
    }
    /// What was folded below no node.
    pub fn top(&self) -> &Folded {
        &self.top
    }
    /// A node has ended: whether it is kept, and whether the one around it is.
    pub fn settle(&mut self, index: usize) {
        let Some(node) = self.all.get_mut(&index) else { return };
        node.settle();
        let (called, kept) = (node.called, node.kept);
        if let Some(around) = node.parent.and_then(|parent| self.all.get_mut(&parent)) {
            (around.called, around.keeps) = (around.called | called, around.keeps | kept);
        }
    }
    /// What has ended and what was folded is permanently on the screen. Returns whether any of it is new.
    pub fn tell(&mut self) -> bool {
        let mut new = self.top.untold > 0;
        self.top.tell();
        for node in self.all.values_mut() {
            new |= node.folded.untold > 0 || (!node.told && node.ended_ms.is_some());
            node.told |= node.ended_ms.is_some();
            node.folded.tell();
        }
        new
    }
    /// Folds the first of the nodes next to this one, which has just ended, if there are more than a picture can show.
    pub fn fold_beside(&mut self, index: usize) {
        let Some(parent) = self.all.get(&index).map(|node| node.parent) else { return };
        let Some(beside) = folded(&mut self.top, &mut self.all, parent) else { return };
        beside.ended.push_back(index);
        let first = if beside.ended.len() > LAST { beside.ended.pop_front() } else { None };
        if let Some(first) = first.filter(|first| self.can_be_folded(*first)) {
            self.fold(first);
        }
    }
    fn can_be_folded(&self, index: usize) -> bool {
        let mut open = vec![index];
        while let Some(node) = open.pop().and_then(|index| self.all.get(&index)) {
            let quiet = matches!(node.state, StepState::Done | StepState::Skipped | StepState::Cancelled);
            if !quiet {
                return false;
            }
            open.extend(&node.children);
        }
        true
    }
    fn fold(&mut self, index: usize) {
        let (mut open, mut rows, mut top) = (vec![index], 0, None);
        while let Some(at) = open.pop() {
            let only = self.get(at).is_some_and(|node| self.only(node).is_some());
            let Some(node) = self.all.remove(&at) else { continue };
            if self.index.get(&node.key) == Some(&at) {
                self.index.remove(&node.key);
            }
            // The only step of an item shares its row.
            rows += usize::from(!node.told && !only) + node.folded.rows;
            open.extend(&node.children);
            top = top.or(Some((node.parent, node.told)));
        }
        let Some((parent, told)) = top else { return };
        if let Some(parent) = parent.and_then(|parent| self.all.get_mut(&parent)) {
            parent.children.remove(&index);
        }
        if let Some(beside) = folded(&mut self.top, &mut self.all, parent) {
            beside.children += 1;
            beside.untold += usize::from(!told);
            beside.rows += rows;
        }
    }
    /// The only step of an item, which shares the item's row.
    pub fn only(&self, node: &ProgressNode) -> Option<&ProgressNode> {
        let child = node.children.first().filter(|_| node.children.len() == 1 && node.folded.children == 0)?;
        self.get(*child).filter(|child| node.item && child.children.is_empty() && child.state != StepState::Skipped)
    }
}

/// What was folded below a node, or below none.
fn folded<'n>(
    top: &'n mut Folded,
    all: &'n mut BTreeMap<usize, ProgressNode>,
    parent: Option<usize>,
) -> Option<&'n mut Folded> {
    match parent {
        Some(parent) => all.get_mut(&parent).map(|parent| &mut parent.folded),
        None => Some(top),
    }
}
