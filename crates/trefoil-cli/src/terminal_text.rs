//! Text that a terminal may be sent.
//!
//! Texts of models, manifests, paths and stores may hold characters that move the cursor, change the reading direction
//! or are invisible. [`TerminalText`] is the only thing that `output` writes, and everything that makes one of such a text
//! escapes it. Colours come from constants of this program, and are added here.

use std::borrow::Cow;
use std::fmt;

use anstyle::Style;
use trefoil_syntax::diagnostic::render::{TextOptions, escape_tricky, render_text};
use trefoil_syntax::{Diagnostic, SourceFiles};

/// Escapes all such characters, for a single line.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape_tricky(text, |_| false, |c, out| out.extend(c.escape_default()))
}

/// Escapes such characters, except line breaks and tabs.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_tricky(text, |c| matches!(c, '\n' | '\t'), |c, out| out.extend(c.escape_default()))
}

/// Equivalent JSON: such characters can only be inside strings, where they can be escaped.
pub fn escape_json(value: &impl ToString) -> String {
    let text = value.to_string();
    let escape = |c: char, out: &mut String| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    };
    // Serialized strings have no control characters of ASCII, so those are the layout.
    escape_tricky(&text, |c| c.is_ascii(), escape).into_owned()
}

/// Text that a terminal may be sent: escaped text, with colours and cursor movements of this program only.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TerminalText(String);

impl TerminalText {
    /// What this program itself says, such as a cursor movement.
    pub fn from_constant(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// Text on one line.
    pub fn from_line(text: &str) -> Self {
        Self(escape_line(text).into_owned())
    }

    /// Moves the cursor up.
    pub fn cursor_up(rows: usize) -> Self {
        Self(format!("\x1b[{rows}A"))
    }

    /// Text in a style.
    pub fn with_style(style: Style, text: impl Into<Self>) -> Self {
        let text = text.into().0;
        if style.is_plain() { Self(text) } else { Self(format!("{style}{text}{style:#}")) }
    }

    /// The report of findings, with an excerpt for each.
    pub fn from_findings(all: &[Diagnostic], files: &SourceFiles, options: TextOptions) -> Self {
        Self(with_colors(&render_text(all, files, options)))
    }

    /// The format with each `{}` replaced by the next part. See [`shown!`](crate::shown).
    pub fn from_parts(format: &'static str, parts: &[&dyn TerminalPart]) -> Self {
        let mut pieces = format.split("{}");
        let mut out = Self::from_constant(pieces.next().unwrap_or_default());
        let mut parts = parts.iter();
        for piece in pieces {
            parts.next().into_iter().for_each(|part| part.add_to(&mut out));
            out.0.push_str(piece);
        }
        debug_assert!(parts.next().is_none(), "more parts than places in {format:?}");
        out
    }

    /// Adds a text.
    pub fn push(&mut self, text: impl Into<Self>) {
        self.0.push_str(&text.into().0);
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without white space at its end.
    pub fn trim_end(&self) -> Self {
        Self(self.0.trim_end().to_owned())
    }

    /// The text without empty lines and spaces around it.
    pub fn trim(&self) -> Self {
        Self(self.0.trim().to_owned())
    }

    /// The number of columns.
    pub fn column_count(&self) -> usize {
        use unicode_width::UnicodeWidthStr as _;
        self.without_colors().width()
    }

    /// The text without colours.
    pub fn without_colors(&self) -> Cow<'_, str> {
        if self.0.contains('\x1b') {
            anstream::adapter::strip_str(&self.0).to_string().into()
        } else {
            Cow::Borrowed(&self.0)
        }
    }

    /// What is sent, for `output` only: text that is taken out of here and put into another text is escaped there.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// One line after the other, without a line break at the end.
    pub fn join(lines: impl IntoIterator<Item = Self>, between: &'static str) -> Self {
        let mut out = Self::default();
        for (at, line) in lines.into_iter().enumerate() {
            out.0.push_str(if at > 0 { between } else { "" });
            out.0.push_str(&line.0);
        }
        out
    }
}

/// Escapes the text, except line breaks and tabs.
impl<T: AsRef<str>> From<T> for TerminalText {
    fn from(text: T) -> Self {
        Self(escape_lines(text.as_ref()).into_owned())
    }
}

impl From<&Self> for TerminalText {
    fn from(text: &Self) -> Self {
        text.clone()
    }
}

impl FromIterator<TerminalText> for TerminalText {
    fn from_iter<T: IntoIterator<Item = Self>>(texts: T) -> Self {
        Self::join(texts, "")
    }
}

/// A part of a line: escaped, unless it is [`TerminalText`]. That type is not [`Display`](fmt::Display), so that it cannot become
/// a part of a text that is escaped.
pub trait TerminalPart {
    /// Adds it to a line.
    fn add_to(&self, line: &mut TerminalText);
}

impl TerminalPart for TerminalText {
    fn add_to(&self, line: &mut TerminalText) {
        line.0.push_str(&self.0);
    }
}

impl TerminalPart for &TerminalText {
    fn add_to(&self, line: &mut TerminalText) {
        line.0.push_str(&self.0);
    }
}

impl<T: fmt::Display + ?Sized> TerminalPart for T {
    fn add_to(&self, line: &mut TerminalText) {
        line.0.push_str(&escape_line(&self.to_string()));
    }
}

/// A line made of a constant and parts: `shown!("{} of {}", name, styled)`. Parts that are no [`TerminalText`] are escaped.
#[macro_export]
macro_rules! shown {
    ($format:literal $(, $part:expr)* $(,)?) => {
        $crate::terminal_text::TerminalText::from_parts($format, &[$(&$part as &dyn $crate::terminal_text::TerminalPart),*])
    };
}

/// Lets the colours of the renderer of findings pass, which has removed all other escape characters, and escapes the rest.
fn with_colors(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, piece) in text.split("\x1b[").enumerate() {
        let mut color_length = 0;
        if at > 0
            && let Some(end) = piece.find(|c: char| !c.is_ascii_digit() && c != ';')
            && let Some(rest) = piece.get(end..)
            && rest.starts_with('m')
        {
            color_length = end + 1;
        }
        let (color, rest) = piece.split_at(color_length);
        match (at, color) {
            (0, _) => {}
            (_, "") => out.push_str("\\u{1b}["),
            (_, color) => out.extend(["\x1b[", color]),
        }
        out.push_str(&escape_lines(rest));
    }
    out
}

#[cfg(test)]
mod tests {
    use trefoil_syntax::{FindingSeverity, Span};

    use super::*;

    const EVIL: &str = "a\u{1b}[2J\u{9b}31m\u{202e}b\u{61c}\u{200b}\u{e0041}";
    const SAFE: &str = "a\\u{1b}[2J\\u{9b}31m\\u{202e}b\\u{61c}\\u{200b}\\u{e0041}";

    #[test]
    fn no_name_moves_the_cursor() {
        assert_eq!(escape_line(EVIL), SAFE);
        assert_eq!((escape_line("a\n\tb"), escape_lines("a\n\tb\r")), ("a\\n\\tb".into(), "a\n\tb\\r".into()));
    }

    #[test]
    fn json_says_the_same_and_moves_nothing() {
        let value = serde_json::json!({ EVIL: [EVIL] });
        for text in [escape_json(&value), escape_json(&format_args!("{value:#}"))] {
            assert!(text.is_ascii() && !text.contains('\u{1b}'), "{text}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
    }

    #[test]
    fn whatever_becomes_text_for_a_terminal_is_escaped() {
        let bold = Style::new().bold();
        let all: [TerminalText; 6] = [
            EVIL.into(),
            EVIL.to_owned().into(),
            TerminalText::from_line(EVIL),
            TerminalText::with_style(Style::new(), EVIL),
            shown!("{}", EVIL),
            shown!("{}", shown!("{}", TerminalText::from(EVIL))),
        ];
        all.iter().for_each(|one| assert_eq!(one.as_str(), SAFE));
        assert_eq!(
            shown!("{}: {}", TerminalText::with_style(bold, EVIL), 1).as_str(),
            format!("{bold}{SAFE}{bold:#}: 1")
        );
        assert_eq!((shown!("{}", "a\nb").as_str(), TerminalText::from("a\nb").as_str()), ("a\\nb", "a\nb"));
        // What was taken out of it is text like any other.
        assert_eq!(TerminalText::from(TerminalText::with_style(bold, "a").as_str()).as_str(), "\\u{1b}[1ma\\u{1b}[0m");
    }

    #[test]
    fn only_the_colours_of_a_report_pass() {
        assert_eq!(
            with_colors("\x1b[1m\x1b[31;1merror\x1b[0m \x1b[2J\x1b]0;x\x07\x1b[m"),
            "\x1b[1m\x1b[31;1merror\x1b[0m \\u{1b}[2J\\u{1b}]0;x\\u{7}\x1b[m"
        );
        let mut files = SourceFiles::default();
        let file = files.add_file(trefoil_syntax::SourceFile::new(EVIL, format!("key: {EVIL}\n")));
        let found = Diagnostic::without_location("r", FindingSeverity::Error, Some(file), EVIL).with_help(EVIL);
        let found = Diagnostic { span: Some(Span::new(0, 8)), ..found };
        for color in [true, false] {
            let shown =
                TerminalText::from_findings(std::slice::from_ref(&found), &files, TextOptions { color, width: 100 });
            assert_eq!(shown.as_str().contains('\x1b'), color);
            let plain = shown.without_colors();
            assert!(
                !plain.contains(|c: char| c != '\n' && trefoil_syntax::diagnostic::render::is_tricky(c)),
                "{plain:?}"
            );
            assert!(!shown.as_str().contains("[2J\u{9b}") && !shown.as_str().contains("\x1b[2J"), "{shown:?}");
        }
    }
}
