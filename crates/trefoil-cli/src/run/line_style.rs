//! The style of lines: colours, and ASCII characters for terminals without Unicode.

use anstyle::{AnsiColor, Style};
use trefoil_view::run_view::StepState;
use unicode_width::UnicodeWidthStr as _;

use crate::terminal_text::TerminalText;
use crate::words::fit_start;

/// The style of lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineStyle {
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

impl LineStyle {
    /// The style for this process's locale and stderr.
    pub fn for_terminal() -> Self {
        let mut ascii = false;
        for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
            if let Ok(locale) = std::env::var(name)
                && !locale.is_empty()
            {
                ascii = !knows_unicode(&locale);
                break;
            }
        }
        Self { color: crate::output::has_colors(), ascii }
    }
    /// A step's symbol and its style.
    pub fn state_symbol(self, state: &StepState, frame: usize) -> (&'static str, Style) {
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
            StepState::Skipped => return (if self.ascii { "-" } else { "–" }, dim_style()),
            StepState::Expected => return (if self.ascii { "." } else { "·" }, dim_style()),
        };
        (if self.ascii { ascii } else { unicode }, Style::new().fg_color(Some(color.into())))
    }
    /// Formats parts with their styles, cut to a width.
    pub fn fit_parts(self, parts: &[(Style, &str)], columns: usize) -> TerminalText {
        let mut out = TerminalText::default();
        let mut left = columns.saturating_sub(1);
        for (style, text) in parts {
            let shown = fit_start(&self.replace_unsupported(text), left, self.cut_mark());
            left = left.saturating_sub(shown.width());
            if self.color && !shown.trim().is_empty() {
                out.push(TerminalText::with_style(*style, TerminalText::from_line(&shown)));
            } else {
                out.push(TerminalText::from_line(&shown));
            }
            if left == 0 {
                break;
            }
        }
        out
    }
    /// Formats parts with their styles, without a limit.
    pub fn style_parts(self, parts: &[(Style, &str)]) -> TerminalText {
        self.fit_parts(parts, usize::MAX)
    }
    /// The mark for the rest of a text that was cut.
    pub fn cut_mark(self) -> &'static str {
        if self.ascii { "..." } else { "…" }
    }
    /// Replaces characters that the terminal does not support.
    pub fn replace_unsupported(self, text: &str) -> String {
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
pub fn dim_style() -> Style {
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
        let wide = LineStyle::default().fit_parts(&[(dim_style(), "日本語日本語"), (dim_style(), "abc")], 10);
        assert!(wide.column_count() <= 9, "{wide:?}");
    }

    #[test]
    fn a_locale_without_unicode_gets_ascii() {
        assert!(!knows_unicode("C") && !knows_unicode("POSIX") && !knows_unicode("de_DE.ISO-8859-1"));
        assert!(knows_unicode("C.UTF-8") && knows_unicode("en_US.utf8"));
        let look = LineStyle { ascii: true, ..LineStyle::default() };
        let line = look.fit_parts(&[(dim_style(), "├─ "), (dim_style(), "✓ naïve…")], 40);
        assert_eq!(line.as_str(), "|- + na?ve...");
    }
}
