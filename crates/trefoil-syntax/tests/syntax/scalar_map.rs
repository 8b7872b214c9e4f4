//! The map from decoded text to the file, compared with a record of where each character was written.

use proptest::prelude::*;
use trefoil_syntax::yaml::{YamlLimits, YamlNode, YamlStyle, YamlText, parse};
use trefoil_syntax::{FileId, LineColumn, SourceFile};

use crate::{read, slice};

/// A scalar as written, with the bytes of each character that is not whitespace.
#[derive(Debug, Default, Clone)]
struct Written {
    raw: String,
    characters: Vec<(char, std::ops::Range<usize>)>,
}

impl Written {
    /// Writes raw bytes for one character.
    fn character(&mut self, c: char, raw: &str) {
        let start = self.raw.len();
        self.raw.push_str(raw);
        if !matches!(c, ' ' | '\t' | '\n' | '\r') {
            self.characters.push((c, start..self.raw.len()));
        }
    }
    fn word(&mut self, word: &str) {
        word.chars().for_each(|c| self.character(c, c.encode_utf8(&mut [0; 4])));
    }
    fn white(&mut self, raw: &str) {
        self.raw.push_str(raw);
    }
}

/// The gap between two words.
#[derive(Debug, Clone)]
enum Gap {
    Blanks(usize),
    /// Blanks at the end of the line, blank lines each with its blanks, further indentation of the next line.
    Break {
        trailing: usize,
        blank_lines: Vec<usize>,
        further: usize,
    },
}

#[derive(Debug, Clone)]
struct Item {
    word: String,
    escape: Option<Escape>,
    gap: Gap,
}

#[derive(Debug, Clone, Copy)]
enum Escape {
    Hex,
    Short,
    Long,
    Pair,
    Newline,
    Tab,
    Backslash,
    Continuation,
}

fn gap() -> impl Strategy<Value = Gap> {
    prop_oneof![
        2 => (1usize..4).prop_map(Gap::Blanks),
        3 => (0usize..3, prop::collection::vec(0usize..3, 0..3), 0usize..4)
            .prop_map(|(trailing, blank_lines, further)| Gap::Break { trailing, blank_lines, further }),
    ]
}

fn escape() -> impl Strategy<Value = Escape> {
    use Escape::*;
    prop::sample::select(vec![Hex, Short, Long, Pair, Newline, Tab, Backslash, Continuation])
}

fn item() -> impl Strategy<Value = Item> {
    let word = prop_oneof![4 => "[a-z]{1,6}", 2 => "[aäß→😀{}.#'\"|>-]{0,3}[a-zé]", 1 => Just("{{".to_owned())];
    (word, prop::option::weighted(0.3, escape()), gap()).prop_map(|(word, escape, gap)| Item { word, escape, gap })
}

#[derive(Debug, Clone)]
struct Case {
    style: YamlStyle,
    items: Vec<Item>,
    parents: Vec<bool>,
    indent: usize,
    chomp: &'static str,
    indicator: bool,
    leading: Vec<usize>,
    crlf: bool,
    bom: bool,
    comment: bool,
    follower: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let style = prop::sample::select(vec![
        YamlStyle::Plain,
        YamlStyle::Single,
        YamlStyle::Double,
        YamlStyle::Literal,
        YamlStyle::Folded,
    ]);
    (
        (style, prop::collection::vec(item(), 1..12), prop::collection::vec(any::<bool>(), 0..4), 1usize..4),
        (prop::sample::select(vec!["", "-", "+"]), any::<bool>(), prop::collection::vec(0usize..2, 0..3)),
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
    )
        .prop_map(
            |((style, items, parents, indent), (chomp, indicator, leading), (crlf, bom, comment, follower))| Case {
                style,
                items,
                parents,
                indent,
                chomp,
                indicator,
                leading,
                crlf,
                bom,
                comment,
                follower,
            },
        )
}

impl Case {
    /// The document, and the positions of the scalar's characters in it.
    fn write(&self) -> Written {
        let eol = if self.crlf { "\r\n" } else { "\n" };
        let mut w = Written::default();
        if self.bom {
            w.white("\u{feff}");
        }
        if self.comment {
            w.white("# a | comment > \"é\"");
            w.white(eol);
            w.white(eol);
        }
        let mut column = 0;
        for list in &self.parents {
            // A parent on a separate line, its child indented further.
            w.white(if *list { "-" } else { "k:" });
            w.white(eol);
            column += self.indent;
            w.white(&" ".repeat(column));
        }
        w.white("v: ");
        let indent = column + self.indent;
        match self.style {
            YamlStyle::Literal | YamlStyle::Folded => self.block(&mut w, indent, column, eol),
            _ => self.flow(&mut w, indent, eol),
        }
        if self.follower && self.parents.first() != Some(&true) {
            w.white(eol);
            w.white("# tail");
            w.white(eol);
            w.white("zz: 1");
            w.white(eol);
        }
        w
    }
    fn block(&self, w: &mut Written, indent: usize, column: usize, eol: &str) {
        w.white(if self.style == YamlStyle::Literal { "|" } else { ">" });
        if self.indicator {
            w.white(&(indent - column).to_string());
        }
        w.white(self.chomp);
        if self.comment {
            w.white("  # | not text");
        }
        w.white(eol);
        for blanks in &self.leading {
            w.white(&" ".repeat((*blanks).min(indent)));
            w.white(eol);
        }
        w.white(&" ".repeat(indent));
        if self.indicator {
            w.white("  ");
        }
        for (i, item) in self.items.iter().enumerate() {
            w.word(&item.word);
            if i + 1 == self.items.len() {
                break;
            }
            match &item.gap {
                Gap::Blanks(n) => w.white(&" ".repeat(*n)),
                Gap::Break { trailing, blank_lines, further } => {
                    w.white(&" ".repeat(*trailing));
                    w.white(eol);
                    for blanks in blank_lines {
                        w.white(&" ".repeat(indent + blanks));
                        w.white(eol);
                    }
                    w.white(&" ".repeat(indent + further));
                }
            }
        }
        w.white(eol);
        if self.chomp == "+" {
            w.white(eol);
        }
    }
    fn flow(&self, w: &mut Written, indent: usize, eol: &str) {
        let (quote, plain) = match self.style {
            YamlStyle::Single => ("'", false),
            YamlStyle::Double => ("\"", false),
            _ => ("", true),
        };
        w.white(quote);
        if !plain {
            w.white(&" ".repeat(self.leading.len()));
        }
        for (i, item) in self.items.iter().enumerate() {
            // A plain scalar contains no indicators.
            let word: String = item.word.chars().filter(|c| !plain || c.is_alphanumeric() || *c == '→').collect();
            for c in word.chars() {
                match (self.style, c) {
                    (YamlStyle::Single, '\'') => w.character(c, "''"),
                    (YamlStyle::Double, '"') => w.character(c, "\\\""),
                    _ => w.character(c, c.encode_utf8(&mut [0; 4])),
                }
            }
            if let (YamlStyle::Double, Some(escape)) = (self.style, item.escape) {
                match escape {
                    Escape::Hex => w.character('é', "\\xe9"),
                    Escape::Short => w.character('→', "\\u2192"),
                    Escape::Long => w.character('😀', "\\U0001F600"),
                    Escape::Pair => w.character('😀', "\\uD83D\\uDE00"),
                    Escape::Newline => w.character('\n', "\\n"),
                    Escape::Tab => w.character('\t', "\\t"),
                    Escape::Backslash => w.character('\\', "\\\\"),
                    Escape::Continuation => {
                        w.white("  \\");
                        w.white(eol);
                        w.white(&" ".repeat(indent));
                    }
                }
            }
            if i + 1 == self.items.len() {
                break;
            }
            match &item.gap {
                Gap::Blanks(n) => w.white(&" ".repeat(*n)),
                Gap::Break { trailing, blank_lines, further } => {
                    w.white(&" ".repeat(*trailing));
                    w.white(eol);
                    for blanks in blank_lines {
                        w.white(&" ".repeat(*blanks));
                        w.white(eol);
                    }
                    w.white(&" ".repeat(indent + further));
                }
            }
        }
        w.white(quote);
    }
}

/// The value of the last `v` in a tree.
fn value(node: &YamlNode) -> Option<&YamlText> {
    match node.as_mapping() {
        Some(mapping) => match mapping.get("v") {
            Some(entry) => entry.value.as_scalar().map(|(_, text)| text),
            None => value(&mapping.entries.first()?.value),
        },
        None => value(node.as_sequence()?.first()?),
    }
}

/// Line and column by counting.
fn counted(text: &str, offset: usize) -> LineColumn {
    let before = text[..offset].strip_prefix('\u{feff}').unwrap_or(&text[..offset]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    LineColumn { line: line as u32, column: column as u32 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_character_maps_to_where_it_was_written(case in case()) {
        let written = case.write();
        let file = SourceFile::new("f", written.raw.clone());
        let parsed = parse(FileId(0), &file, &YamlLimits::default());
        prop_assert_eq!(&parsed.diagnostics, &[], "{}", written.raw);
        let root = parsed.root.unwrap();
        let text = value(&root).unwrap();
        let decoded: Vec<(usize, char)> =
            text.value.char_indices().filter(|(_, c)| !matches!(c, ' ' | '\t' | '\n' | '\r')).collect();
        prop_assert_eq!(
            decoded.iter().map(|(_, c)| *c).collect::<String>(),
            written.characters.iter().map(|(c, _)| *c).collect::<String>()
        );
        for ((at, c), (_, bytes)) in decoded.into_iter().zip(&written.characters) {
            let found = text.source_span(at as u32..(at + c.len_utf8()) as u32);
            prop_assert_eq!(found.start as usize..found.end as usize, bytes.clone(), "{:?} in\n{}", c, &written.raw);
            prop_assert_eq!(text.source_offset(at as u32), found.start);
            prop_assert_eq!(file.line_column(found.start), counted(&written.raw, bytes.start));
        }
        // Whitespace must be somewhere between its neighbours.
        let mut last = text.span.start;
        for (at, c) in text.value.char_indices() {
            let found = text.source_span(at as u32..(at + c.len_utf8()) as u32);
            prop_assert!(last <= found.start && found.start <= found.end, "{:?} {:?}", c, found);
            prop_assert!(found.end as usize <= written.raw.len());
            last = found.end;
        }
    }
}

fn text_of(text: &str) -> YamlText {
    let (_, parsed) = read(text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    value(&parsed.root.unwrap()).unwrap().clone()
}

/// The raw bytes of each decoded character.
fn characters(text: &str) -> Vec<(char, String)> {
    let t = text_of(text);
    let of = |(i, c): (usize, char)| (c, slice(text, t.source_span(i as u32..(i + c.len_utf8()) as u32)).to_owned());
    t.value.char_indices().map(of).collect()
}

#[test]
fn a_block_is_found_behind_a_comment_with_what_is_no_text() {
    let file = SourceFile::new("a.yaml", "--- #\u{7}\u{85}\n>\nx\n");
    let parsed = parse(FileId(0), &file, &YamlLimits::default());
    let root = parsed.root.unwrap();
    let text = root.as_string().unwrap();
    assert_eq!((&*text.value, text.source_span(0..1)), ("x\n", trefoil_syntax::Span::new(11, 12)));

    let file = SourceFile::new("b.yaml", "\u{feff}\u{feff}\u{feff}|\nx\n");
    let parsed = parse(FileId(0), &file, &YamlLimits::default());
    let root = parsed.root.unwrap();
    assert_eq!(root.as_string().unwrap().source_span(0..1), trefoil_syntax::Span::new(11, 12));
}

#[test]
fn white_space_maps_to_what_it_was_written_as() {
    let pairs = |text: &str| -> Vec<(char, String)> {
        characters(text).into_iter().filter(|(c, _)| c.is_whitespace()).collect()
    };
    let expect = |text: &str, expected: &[(char, &str)]| {
        let expected: Vec<(char, String)> = expected.iter().map(|(c, s)| (*c, (*s).to_owned())).collect();
        assert_eq!(pairs(text), expected, "{text:?}");
    };
    expect("v: a b\n", &[(' ', " ")]);
    expect("v: a  \n  b\n", &[(' ', "\n")]);
    expect("v: a\r\n  b\r\n\r\n  c", &[(' ', "\r\n"), ('\n', "\r\n")]);
    expect("v: \"a\\n\\tb \\\n  c\"\n", &[('\n', "\\n"), ('\t', "\\t"), (' ', " ")]);
    expect("v: 'a\n\n\n b'\n", &[('\n', "\n"), ('\n', "\n")]);
    expect("v: |\n  a\n    b\n", &[('\n', "\n"), (' ', " "), (' ', " "), ('\n', "\n")]);
    expect("v: |\r\n  a\r\n  b\r\n", &[('\n', "\r\n"), ('\n', "\r\n")]);
    expect("v: >\n  a\n  b\n", &[(' ', "\n"), ('\n', "\n")]);
    expect("v: >+\n  a\n\n  b\n\n", &[('\n', "\n"), ('\n', "\n"), ('\n', "\n")]);
}

#[test]
fn a_line_break_that_stays_is_the_one_that_made_it() {
    let offsets = |text: &str| -> Vec<u32> {
        let t = text_of(text);
        t.value.char_indices().filter(|(_, c)| *c == '\n').map(|(i, _)| t.source_offset(i as u32)).collect()
    };
    // Where lines fold, the first break becomes a space or is removed, and each further one is kept.
    assert_eq!(offsets("v: >\n  a\n\n  b\n"), [9, 13]);
    assert_eq!(offsets("v: 'a\n\n\n  b'\n"), [6, 7]);
    // Around lines with further indentation, all breaks are kept.
    assert_eq!(offsets("v: >\n  a\n\n    b\n\n  c\n"), [8, 9, 15, 16, 20]);
    assert_eq!(offsets("v: |\n\n  a\n\n  b\n"), [5, 9, 10, 14]);
    assert_eq!(offsets("v: \"a\\\n\n  b\"\n"), [7]);
}

#[test]
fn a_range_ends_where_its_last_character_ends() {
    let source = |text: &str, part: &str| {
        let t = text_of(text);
        let start = t.value.find(part).unwrap_or_else(|| panic!("{part:?} in {:?}", t.value)) as u32;
        slice(text, t.source_span(start..start + part.len() as u32)).to_owned()
    };
    assert_eq!(source("v: |\n  one {{ a }}\n  two\n", "{{ a }}"), "{{ a }}");
    assert_eq!(source("v: |\n  one\n  two\n", "one\n"), "one\n");
    assert_eq!(source("v: |\n  one\n  two\n", "one\ntwo"), "one\n  two");
    assert_eq!(source("v: \"x\\u0041\\u0042y\"\n", "AB"), "\\u0041\\u0042");
    assert_eq!(source("v: 'it''s'\n", "t's"), "t''s");
    assert_eq!(source("v: >-\n  a {{\n  b }}\n", "{{ b }}"), "{{\n  b }}");
    assert_eq!(source("v: \"a \\\n   b\"\n", "a b"), "a \\\n   b");
}

#[test]
fn the_ends_of_a_text_are_places_too() {
    for (text, start, end) in [
        ("v: ab\n", 3, 5),
        ("v: 'ab'\n", 4, 6),
        ("v: \"a\\x62\"\n", 4, 9),
        ("v: |\n  ab\n  c\n", 7, 14),
        ("v: |-\n\n  ab\n", 6, 11),
        ("v: ''\n", 4, 4),
        ("v: \"\"\n", 4, 4),
    ] {
        let t = text_of(text);
        let length = t.value.len() as u32;
        assert_eq!((t.source_offset(0), t.source_offset(length)), (start, end), "{text:?}");
        assert_eq!(t.source_offset(length + 10), end, "{text:?}");
        assert_eq!((t.content_span().start, t.content_span().end), (start, end), "{text:?}");
        assert!(t.source_span(length..length + 5).is_empty());
    }
}
