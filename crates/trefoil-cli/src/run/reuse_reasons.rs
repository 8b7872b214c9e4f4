//! Explains why steps were repeated, and formats differences between texts.

use anstyle::{AnsiColor, Effects, Style};
use trefoil::runs::{ActivityDecision, ChangeReason, ReuseDecision, TextReason, WordDiff};
use trefoil_runtime::Usage;
use trefoil_view::diff::MarkedKind;
use unicode_width::UnicodeWidthStr as _;

use crate::shown;
use crate::terminal_text::TerminalText;
use crate::words::{escape_line, format_cost, group_digits};

/// One line for each step, with its reasons below each other.
pub fn explain_decisions(lines: &[ActivityDecision], color: bool) -> Vec<TerminalText> {
    let name = |line: &ActivityDecision| match &line.was {
        Some(was) => format!("{} (was {})", escape_line(line.key.as_str()), escape_line(was.as_str())),
        None => escape_line(line.key.as_str()).into_owned(),
    };
    let mut width = 0;
    for line in lines {
        if !line.reasons.is_empty() {
            width = width.max(name(line).width());
        }
    }
    let mut all = Vec::new();
    for line in lines {
        if is_same_call(line, lines) {
            continue;
        }
        let key = name(line);
        let head = format!("{:>6}  {key}", line.fate.name());
        let mut notes = Vec::new();
        for reason in &line.reasons {
            notes.push(format_reason(reason, color));
        }
        if let ReuseDecision::Kept { was: Some(was), .. } = &line.fate {
            notes.push(shown!("it was renamed from `{}`", was.as_str()));
        }
        if line.fate == ReuseDecision::Later {
            let mut also = TerminalText::default();
            for note in &notes {
                also.push(shown!("; {}", note));
            }
            all.push(shown!("{}: depends on the new results{}", head, also));
            continue;
        }
        let mut notes = notes.into_iter();
        let pad = " ".repeat(width.saturating_sub(key.width()));
        match notes.next() {
            Some(note) => all.push(shown!("{}{}  {}", head, pad, note)),
            None => all.push(TerminalText::from_line(&head)),
        }
        for note in notes {
            all.push(shown!("{}{}", " ".repeat(width.max(key.width()) + 10), note));
        }
        for called in explain_decisions(&line.called, color) {
            all.push(shown!("    {}", called));
        }
    }
    all
}

/// Whether this is a retry, which is the same call, with the same decision as the first try.
fn is_same_call(line: &ActivityDecision, lines: &[ActivityDecision]) -> bool {
    let step = line.key.without_try();
    let first = lines.iter().find(|first| first.key.as_str() == step);
    step != line.key.as_str() && matches!(first, Some(first) if first.fate.name() == line.fate.name())
}

/// Formats a reason with the changed words.
pub fn format_reason(reason: &ChangeReason, color: bool) -> TerminalText {
    let words = TerminalText::from_line(&reason.to_string());
    match reason {
        ChangeReason::Text(TextReason { diff, .. }) => shown!("{}: {}", words, diff_line(diff, color)),
        _ => words,
    }
}

/// Formats the changes of a text on one line, with some words around them.
pub fn diff_line(diff: &WordDiff, color: bool) -> TerminalText {
    let line = |text: &str| text.replace('\n', "⏎");
    diff.marked_words(false, &line).iter().map(|(kind, text)| format_marked_words(*kind, text, color)).collect()
}

/// Formats words of one kind.
pub fn format_marked_words(kind: MarkedKind, text: &str, color: bool) -> TerminalText {
    let styled = |style: Style| TerminalText::with_style(style, TerminalText::from_line(text));
    match kind {
        MarkedKind::Same => TerminalText::from_line(text),
        MarkedKind::Removed if color => styled(AnsiColor::Red.on_default().effects(Effects::STRIKETHROUGH)),
        MarkedKind::Added if color => styled(AnsiColor::Green.on_default().effects(Effects::UNDERLINE)),
        MarkedKind::Removed => shown!("[-{}-]", text),
        MarkedKind::Added => shown!("{+{}+}", text),
    }
}

/// What the reused results saved: `13 tokens, $0.0012`; `None` if there was no model call.
pub fn format_savings<'l>(lines: impl IntoIterator<Item = &'l ActivityDecision>) -> Option<String> {
    let mut all = Usage::default();
    let mut calls = 0u64;
    for line in lines {
        for line in line.and_called() {
            if let ReuseDecision::Kept { saved: Some(usage), .. } = &line.fate {
                all.add_usage(*usage);
                calls += 1;
            }
        }
    }
    if calls == 0 {
        return None;
    }
    let tokens = if all.is_known() {
        group_digits(all.total_tokens())
    } else {
        format!("{}+?", group_digits(all.total_tokens()))
    };
    Some(format!("{tokens} tokens, {}", format_cost(&all)))
}

/// The same after what was reused: ` (saved 120 tokens, $0.0123)`.
pub fn savings_note(lines: &[ActivityDecision]) -> String {
    match format_savings(lines) {
        Some(saved) => format!(" (saved {saved})"),
        None => String::new(),
    }
}

/// How many results were kept, with those in called runs.
pub fn count_kept(lines: &[ActivityDecision]) -> usize {
    let mut kept = 0;
    for line in lines {
        kept += line.and_called().filter(|line| line.fate.is_kept()).count();
    }
    kept
}
