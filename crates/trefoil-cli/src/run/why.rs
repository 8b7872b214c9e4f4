//! Explains why steps were repeated, and formats differences between texts.

use anstyle::{AnsiColor, Effects, Style};
use trefoil::runs::{ActivityDecision, ChangeReason, DiffPart, ReuseDecision, TextReason, WordDiff};
use trefoil_runtime::Usage;
use unicode_width::UnicodeWidthStr as _;

use crate::harmless::TerminalText;
use crate::shown;
use crate::words::{grouped, money, safe};

/// Number of words shown around a change.
pub const CONTEXT: usize = 4;
/// Number of characters shown at each end of a change.
const ENDS: usize = 60;

/// One line for each step, with its reasons below each other.
pub fn explained(lines: &[ActivityDecision], color: bool) -> Vec<TerminalText> {
    let name = |line: &ActivityDecision| match &line.was {
        Some(was) => format!("{} (was {})", safe(line.key.as_str()), safe(was.as_str())),
        None => safe(line.key.as_str()).into_owned(),
    };
    let width = lines.iter().filter(|line| !line.reasons.is_empty()).map(|line| name(line).width()).max();
    let width = width.unwrap_or(0);
    let mut all = Vec::new();
    for line in lines.iter().filter(|line| !is_same_call(line, lines)) {
        let key = name(line);
        let head = format!("{:>6}  {key}", line.fate.name());
        let mut notes: Vec<TerminalText> = line.reasons.iter().map(|one| reason(one, color)).collect();
        if let ReuseDecision::Kept { was: Some(was), .. } = &line.fate {
            notes.push(shown!("it was renamed from `{}`", was.as_str()));
        }
        if line.fate == ReuseDecision::Later {
            let also: TerminalText = notes.iter().map(|note| shown!("; {}", note)).collect();
            all.push(shown!("{}: depends on the new results{}", head, also));
            continue;
        }
        let mut notes = notes.into_iter();
        let pad = " ".repeat(width.saturating_sub(key.width()));
        all.push(notes.next().map_or_else(|| TerminalText::line(&head), |note| shown!("{}{}  {}", head, pad, note)));
        all.extend(notes.map(|note| shown!("{}{}", " ".repeat(width.max(key.width()) + 10), note)));
        all.extend(explained(&line.called, color).into_iter().map(|line| shown!("    {}", line)));
    }
    all
}

/// Whether this is a retry, which is the same call, with the same decision as the first try.
fn is_same_call(line: &ActivityDecision, lines: &[ActivityDecision]) -> bool {
    let step = line.key.without_try();
    let first = lines.iter().find(|first| first.key.as_str() == step);
    step != line.key.as_str() && first.is_some_and(|first| first.fate.name() == line.fate.name())
}

/// Formats a reason with the changed words.
pub fn reason(reason: &ChangeReason, color: bool) -> TerminalText {
    let words = TerminalText::line(&reason.to_string());
    match reason {
        ChangeReason::Text(TextReason { diff, .. }) => shown!("{}: {}", words, in_line(diff, color)),
        _ => words,
    }
}

/// Formats the changes of a text on one line, with some words around them.
pub fn in_line(diff: &WordDiff, color: bool) -> TerminalText {
    diff.parts(Some(CONTEXT)).iter().map(|part| shown_part(part, color)).collect()
}

/// Formats a part of a text on one line.
fn shown_part(part: &DiffPart, color: bool) -> TerminalText {
    // A trailing space is not part of the marked text.
    let marked = |text: &str, mark: &dyn Fn(&str) -> TerminalText| {
        let text = middle_cut(text).replace('\n', "⏎");
        let word = text.trim_end();
        match word.is_empty() {
            true => mark(&text),
            false => shown!("{}{}", mark(word), text.get(word.len()..).unwrap_or_default()),
        }
    };
    let styled = |style: Style, text: &str| marked(text, &|word| TerminalText::styled(style, TerminalText::line(word)));
    match part {
        DiffPart::Same(text) => TerminalText::line(&text.replace('\n', "⏎")),
        DiffPart::Cut => TerminalText::constant("..."),
        DiffPart::Removed(text) if color => styled(AnsiColor::Red.on_default().effects(Effects::STRIKETHROUGH), text),
        DiffPart::Added(text) if color => styled(AnsiColor::Green.on_default().effects(Effects::UNDERLINE), text),
        DiffPart::Removed(text) => marked(text, &|word| shown!("[-{}-]", word)),
        DiffPart::Added(text) => marked(text, &|word| shown!("{+{}+}", word)),
    }
}

/// Cuts the middle of a long text.
pub fn middle_cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= ENDS * 2 + 3 {
        return text.to_owned();
    }
    let head: String = text.chars().take(ENDS).collect();
    let tail: String = text.chars().skip(count - ENDS).collect();
    format!("{head}...{tail}")
}

/// What the reused results saved: `13 tokens, $0.0012`; `None` if there was no model call.
pub fn saved<'l>(lines: impl IntoIterator<Item = &'l ActivityDecision>) -> Option<String> {
    let mut all = Usage::default();
    let mut calls = 0u64;
    for line in lines.into_iter().flat_map(ActivityDecision::and_called) {
        if let ReuseDecision::Kept { saved: Some(usage), .. } = &line.fate {
            all.add(*usage);
            calls += 1;
        }
    }
    (calls > 0).then(|| {
        let tokens = if all.is_known() { grouped(all.total()) } else { format!("{}+?", grouped(all.total())) };
        format!("{tokens} tokens, {}", money(&all))
    })
}
