//! The fenced blocks of a page.

use std::ops::Range;

/// A fenced block. In a list, it is indented.
pub struct Block {
    /// The first word after the fence.
    pub kind: String,
    /// The word after it: the name of a file.
    pub file: String,
    /// The place of its body in the page.
    pub at: Range<usize>,
    /// The indentation of its lines.
    pub indent: String,
}

/// The blocks of a page, in order.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let (mut at, mut open): (usize, Option<(String, String, usize)>) = (0, None);
    for line in page.split_inclusive('\n') {
        let inner = line.trim_start_matches(' ');
        let indent = " ".repeat(line.len() - inner.len());
        match (inner.strip_prefix("```"), &open) {
            (Some(info), None) => {
                let mut words = info.split_whitespace().map(str::to_owned);
                let mut word = || words.next().unwrap_or_default();
                open = Some((word(), word(), at + line.len()));
            }
            (Some(_), Some(_)) => {
                let (kind, file, start) = open.take().unwrap();
                found.push(Block { kind, file, at: start..at, indent });
            }
            (None, _) => {}
        }
        at += line.len();
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

impl Block {
    /// Its body without the indentation.
    pub fn body(&self, page: &str) -> String {
        let lines = page[self.at.clone()].split_inclusive('\n');
        lines.map(|line| line.strip_prefix(&*self.indent).unwrap_or(line)).collect()
    }

    /// Another body as it is written in the page.
    pub fn indented(&self, body: &str) -> String {
        let line = |line: &str| if line == "\n" { line.to_owned() } else { format!("{}{line}", self.indent) };
        body.split_inclusive('\n').map(line).collect()
    }
}

/// A command of a transcript, or none for what a command in progress prints next, and the output below it.
pub struct Shown {
    pub command: Option<String>,
    pub output: String,
}

/// The commands of a transcript.
pub fn transcript(body: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for line in body.split_inclusive('\n') {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => {
                all.push(Shown { command: Some(command.trim_end().to_owned()), output: String::new() });
            }
            (None, Some(last)) => last.output.push_str(line),
            (None, None) => all.push(Shown { command: None, output: line.to_owned() }),
        }
    }
    all
}

/// The commands of a block that shows no output: one on each line, without comments.
pub fn commands(body: &str) -> Vec<String> {
    let lines = body.lines().map(|line| line.split("  #").next().unwrap().trim());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Applies a diff without line numbers: each group of `-` lines is in the text once, and the `+` lines after it replace it.
pub fn edited(text: &str, diff: &str) -> String {
    let mut text = text.to_owned();
    let (mut old, mut new) = (String::new(), String::new());
    let apply = |text: &mut String, old: &mut String, new: &mut String| {
        if !old.is_empty() {
            assert_eq!(text.matches(&**old).count(), 1, "in\n{text}\nonce:\n{old}");
            *text = text.replace(&**old, new);
        }
        old.clear();
        new.clear();
    };
    for line in diff.split_inclusive('\n') {
        match line.split_at(1) {
            // Unchanged lines are in both.
            (" ", rest) => (old, new) = (old + rest, new + rest),
            ("-", rest) => old.push_str(rest),
            ("+", rest) => new.push_str(rest),
            _ => apply(&mut text, &mut old, &mut new),
        }
    }
    apply(&mut text, &mut old, &mut new);
    text
}
