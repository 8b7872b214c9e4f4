//! Maps each decoded character of a scalar to its bytes in the source.

use trefoil_syntax::yaml::{YamlStyle, YamlText};

use crate::tree::{SEEDS, WORDS, read, text, walk};
use crate::{Shape, Target, fixed};

pub(crate) const TARGET: Target = Target {
    name: "scalar-map",
    about: "every decoded character maps to the bytes that stand for it, in the order of the file",
    seeds: || fixed(SEEDS),
    words: WORDS,
    shape: Shape::Bytes,
    weight: 1,
    run,
};

fn run(bytes: &[u8]) {
    let (files, parsed) = read(bytes);
    let text = text(&files);
    if let Some(root) = &parsed.root {
        walk(root, 0, &mut |_, _| {}, &mut |scalar| check(scalar, text));
    }
}

fn check(scalar: &YamlText, text: &str) {
    let mut last = 0;
    for (at, c) in scalar.value.char_indices() {
        let found = scalar.source_span(at as u32..(at + c.len_utf8()) as u32);
        assert!(last <= found.start && found.start <= found.end, "{c:?} lies before its neighbour");
        assert_eq!(scalar.source_offset(at as u32), found.start);
        last = found.end;
        let raw = text.get(found.start as usize..found.end as usize);
        let raw = raw.unwrap_or_else(|| unreachable!("{found:?} of {c:?} is not in the file"));
        match (c, scalar.style) {
            (' ' | '\t' | '\n' | '\r', _) => assert!(is_white(raw) || raw.starts_with('\\'), "{c:?} from {raw:?}"),
            ('\'', YamlStyle::Single) => assert_eq!(raw, "''"),
            (c, YamlStyle::Double) if raw.starts_with('\\') => assert!(stands_for(raw, c), "{c:?} from {raw:?}"),
            (c, _) => assert!(raw.chars().eq([c]), "{c:?} from {raw:?}"),
        }
    }
    let length = scalar.value.len() as u32;
    assert_eq!(scalar.source_offset(length), scalar.content_span().end);
    // The range of a text consists of those of its characters.
    let whole = scalar.source_span(0..length);
    assert!(last <= whole.end || length == 0);
}

fn is_white(raw: &str) -> bool {
    raw.chars().all(|c| matches!(c, ' ' | '\t' | '\n' | '\r'))
}

/// Whether an escape stands for a character. For escapes without digits, only their form is checked.
fn stands_for(raw: &str, c: char) -> bool {
    let code = |escape: &str| u32::from_str_radix(escape.strip_prefix(['x', 'u', 'U'])?, 16).ok();
    let Some(escape) = raw.strip_prefix('\\') else { return false };
    match escape.split_once('\\').filter(|(high, _)| !high.is_empty()) {
        // A surrogate pair.
        Some((high, low)) => {
            let units = [code(high), code(low)].map(|unit| unit.unwrap_or(0) as u16);
            char::decode_utf16(units).eq([Ok(c)])
        }
        None => code(escape).map_or(escape.chars().count() == 1, |code| code == c as u32),
    }
}
