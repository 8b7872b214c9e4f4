//! The area of a terminal in which a picture is redrawn. This only computes the output and writes nothing.

use super::tree::TerminalSize;
use crate::terminal_text::TerminalText;

/// Empties the rest of a line, and goes to the next one.
const EMPTY: &str = "\x1b[K\r\n";

/// The state of the area.
#[derive(Default)]
pub struct TerminalCanvas {
    /// The widths of the lines of the last picture.
    drawn: Vec<usize>,
}

impl TerminalCanvas {
    /// Replaces the last picture in a single write, which avoids flicker.
    pub fn draw_picture(&mut self, picture: &[TerminalText], size: TerminalSize) -> TerminalText {
        let mut out = TerminalText::from_constant("\x1b[?2026h\x1b[?25l");
        // A terminal that has become narrower wraps the long lines of the last picture, and rows that have scrolled out
        // cannot be changed.
        let above = rows(&self.drawn, size.columns).min(size.rows);
        if above > 0 {
            out.push(TerminalText::cursor_up(above));
        }
        out.push(TerminalText::from_constant("\r"));
        // Clear line by line: when its whole area is cleared, a terminal may keep a copy in its scrollback.
        for line in picture {
            out.push(line);
            out.push(TerminalText::from_constant(EMPTY));
        }
        let left = above.saturating_sub(picture.len());
        if left > 0 {
            out.push(std::iter::repeat_n(TerminalText::from_constant(EMPTY), left).collect::<TerminalText>());
            out.push(TerminalText::cursor_up(left));
        }
        out.push(TerminalText::from_constant("\x1b[?25h\x1b[?2026l"));
        self.drawn = picture.iter().map(TerminalText::column_count).collect();
        out
    }
    /// Leaves the last picture on the screen.
    pub fn leave_picture(&mut self) {
        self.drawn.clear();
    }
}

/// The number of rows for lines of these widths.
fn rows(widths: &[usize], columns: usize) -> usize {
    widths.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_on_a_narrower_terminal_fills_more_rows() {
        assert_eq!(rows(&[80, 0, 30], 80), 3);
        assert_eq!(rows(&[80, 0, 30], 79), 4);
        assert_eq!(rows(&[80, 0, 30], 25), 4 + 1 + 2);
    }

    #[test]
    fn a_narrower_window_leaves_no_copies_behind() {
        let wide: Vec<TerminalText> = vec!["x".repeat(99).into(); 20];
        let narrow: Vec<TerminalText> = vec!["x".repeat(59).into(); 20];
        let mut canvas = TerminalCanvas::default();
        canvas.draw_picture(&wide, TerminalSize { rows: 39, columns: 100 });
        // Each line wraps to two rows, which is more than the window: the cursor goes to its first row.
        let size = TerminalSize { rows: 39, columns: 60 };
        assert!(canvas.draw_picture(&narrow, size).as_str().contains("\x1b[39A\r"));
        let again = canvas.draw_picture(&narrow, size).as_str().to_owned();
        assert!(again.contains("\x1b[20A\r"), "{again:?}");
        assert!(!again.contains("\x1b[J") && !again.contains("\x1b[2J"), "copies in the scrollback: {again:?}");
    }

    #[test]
    fn a_picture_that_goes_leaves_empty_lines_and_the_cursor_above_them() {
        let mut canvas = TerminalCanvas::default();
        let size = TerminalSize { rows: 20, columns: 80 };
        canvas.draw_picture(&["one".into(), "two".into()], size);
        let gone = canvas.draw_picture(&[], size).as_str().to_owned();
        assert!(gone.contains("\x1b[2A\r\x1b[K\r\n\x1b[K\r\n\x1b[2A"), "{gone:?}");
    }
}
