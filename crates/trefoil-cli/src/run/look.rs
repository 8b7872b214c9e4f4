//! The style of lines: colours, and ASCII characters for terminals without Unicode.

use anstyle::{AnsiColor, Style};
use trefoil_view::run_view::StepState;
use unicode_width::UnicodeWidthStr as _;

use crate::harmless::TerminalText;
use crate::words::cut;

/// The style of lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineLook {
    /// With colours.
    pub color: bool,
    /// Use only ASCII characters.
    pub ascii: bool,
}

/// What the marks and the times of a run mean, for the help of commands that show one.
pub const MARKS: &str = "Marks: ✓ done; ! done, but something in it failed; ✗ failed; ⊘ stopped; – skipped; ↻ waits for its next try, \
                         or resumed; ? waits for a person; · has not started; … in progress. In a list of events, the time \
                         before the mark is since the start of the run, and the time after the name is how long the step took.";

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const TURNING: [&str; 4] = ["|", "/", "-", "\\"];

impl LineLook {
    /// The style for this process's locale and stderr.
    pub fn of_terminal() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        Self { color: crate::output::colored(), ascii: locale.is_some_and(|l| !knows_unicode(&l)) }
    }
    /// A step's symbol and its style.
    pub fn symbol(self, state: &StepState, frame: usize) -> (&'static str, Style) {
        let (unicode, ascii, color) = match state {
            StepState::Running => {
                let turning = TURNING.get(frame % TURNING.len()).copied().unwrap_or("*");
                let spinner = SPINNER.get(frame % SPINNER.len()).copied().unwrap_or("·");
                (spinner, turning, AnsiColor::Cyan)
            }
            StepState::Retrying => ("↻", "~", AnsiColor::Yellow),
            StepState::Asking | StepState::Waiting => ("?", "?", AnsiColor::Yellow),
            StepState::Done => ("✓", "+", AnsiColor::Green),
            StepState::Partly => ("!", "!", AnsiColor::Yellow),
            StepState::Failed => ("✗", "x", AnsiColor::Red),
            StepState::Cancelled | StepState::Stopped | StepState::Interrupted => ("⊘", "o", AnsiColor::Yellow),
            StepState::Skipped => return (if self.ascii { "-" } else { "–" }, dim()),
            StepState::Expected => return (if self.ascii { "." } else { "·" }, dim()),
        };
        (if self.ascii { ascii } else { unicode }, Style::new().fg_color(Some(color.into())))
    }
    /// Formats parts with their styles, cut to a width.
    pub fn fit(self, parts: &[(Style, &str)], columns: usize) -> TerminalText {
        let mut out = TerminalText::default();
        let mut left = columns.saturating_sub(1);
        for (style, text) in parts {
            let shown = cut(&self.letters(text), left, self.rest());
            left = left.saturating_sub(shown.width());
            if self.color && !shown.trim().is_empty() {
                out.push(TerminalText::styled(*style, TerminalText::line(&shown)));
            } else {
                out.push(TerminalText::line(&shown));
            }
            if left == 0 {
                break;
            }
        }
        out
    }
    /// Formats parts with their styles, without a limit.
    pub fn styled(self, parts: &[(Style, &str)]) -> TerminalText {
        self.fit(parts, usize::MAX)
    }
    /// The mark for the rest of a text that was cut.
    pub fn rest(self) -> &'static str {
        if self.ascii { "..." } else { "…" }
    }
    /// Replaces characters that the terminal does not support.
    pub fn letters(self, text: &str) -> String {
        if !self.ascii || text.is_ascii() {
            return text.to_owned();
        }
        let letter = |c: char| match c {
            c if c.is_ascii() => c,
            '·' | '—' | '–' | '─' => '-',
            '│' => '|',
            '├' => '|',
            '└' => '`',
            '✓' => '+',
            '✗' => 'x',
            '↻' => '~',
            '⊘' => 'o',
            _ => '?',
        };
        text.replace('…', "...").chars().map(letter).collect()
    }
}

/// The style of less important text.
pub fn dim() -> Style {
    Style::new().dimmed()
}

fn knows_unicode(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_whatever_is_in_them() {
        let wide = LineLook::default().fit(&[(dim(), "日本語日本語"), (dim(), "abc")], 10);
        assert!(wide.width() <= 9, "{wide:?}");
    }

    #[test]
    fn a_locale_without_unicode_gets_ascii() {
        assert!(!knows_unicode("C") && !knows_unicode("POSIX") && !knows_unicode("de_DE.ISO-8859-1"));
        assert!(knows_unicode("C.UTF-8") && knows_unicode("en_US.utf8"));
        let look = LineLook { ascii: true, ..LineLook::default() };
        let line = look.fit(&[(dim(), "├─ "), (dim(), "✓ naïve…")], 40);
        assert_eq!(line.as_str(), "|- + na?ve...");
    }
}
