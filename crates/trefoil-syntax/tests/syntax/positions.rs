//! Lines and columns of byte offsets.

use trefoil_syntax::{LineColumn, SourceFile, Span};

fn position(text: &str, offset: u32) -> (u32, u32) {
    let LineColumn { line, column } = SourceFile::new("f", text).line_column(offset);
    (line, column)
}

#[test]
fn lines_and_columns_count_characters_from_one() {
    let text = "aé😀b\r\n\nlast";
    assert_eq!(position(text, 0), (1, 1));
    assert_eq!(position(text, 1), (1, 2));
    assert_eq!(position(text, 3), (1, 3));
    assert_eq!(position(text, 7), (1, 4));
    assert_eq!(position(text, 8), (1, 5), "the carriage return stands at the end of its line");
    assert_eq!(position(text, 10), (2, 1));
    assert_eq!(position(text, 11), (3, 1));
    assert_eq!(position(text, 15), (3, 5), "the end of the text");
    assert_eq!(position(text, 99), (3, 5), "past the end");
    assert_eq!(position(text, 2), (1, 2), "inside a character");
    assert_eq!(position("", 0), (1, 1));
    assert_eq!(position("a\n", 2), (2, 1));
}

#[test]
fn a_byte_order_mark_is_no_character() {
    assert_eq!(position("\u{feff}ab", 0), (1, 1));
    assert_eq!(position("\u{feff}ab", 3), (1, 1));
    assert_eq!(position("\u{feff}ab", 4), (1, 2));
    assert_eq!(position("\u{feff}ab\nc", 6), (2, 1));
    assert_eq!(position("a\u{feff}b", 4), (1, 3), "inside the text it is one");
}

#[test]
fn positions_agree_with_counting_on_long_lines() {
    let line = "añ😀".repeat(900);
    let text = format!("\u{feff}{line}\n{line}{line}\nx");
    let file = SourceFile::new("f", text.clone());
    let (mut line, mut column) = (1, 1);
    for (i, c) in text.char_indices() {
        assert_eq!(file.line_column(i as u32), LineColumn { line, column }, "byte {i}");
        match c {
            '\n' => (line, column) = (line + 1, 1),
            '\u{feff}' => {}
            _ => column += 1,
        }
    }
    assert_eq!(file.line_column(text.len() as u32), LineColumn { line, column });
}

#[test]
fn lines_have_spans_without_their_breaks() {
    let file = SourceFile::new("f", "ab\r\n\ncd");
    assert_eq!(file.line_count(), 3);
    assert_eq!(file.line_span(1), Span::new(0, 2));
    assert_eq!(file.line_span(2), Span::new(4, 4));
    assert_eq!(file.line_span(3), Span::new(5, 7));
    assert_eq!(file.line_span(4), Span::new(7, 7));
}

#[test]
fn bytes_that_are_not_utf8_are_shown_and_remembered() {
    let file = SourceFile::from_bytes("f", b"ab\xffc".to_vec());
    assert_eq!(file.not_utf8(), Some(2));
    assert_eq!(&**file.text(), "ab\u{fffd}c");
    assert_eq!(SourceFile::from_bytes("f", b"ab".to_vec()).not_utf8(), None);
}
