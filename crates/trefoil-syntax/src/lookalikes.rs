//! Names that look equal but are not: letters of other scripts, and characters that cannot be seen.
//!
//! Covers what keyboards, word processors and chats put into names by accident, not everything that Unicode calls confusable.

use crate::diagnostic::render::is_tricky;

/// Letters that look like Latin ones: the sort, the letters, the Latin letters in the same order.
const LETTERS: [(&str, &str, &str); 2] = [
    (
        "a Cyrillic letter",
        "\u{430}\u{4bb}\u{501}\u{435}\u{456}\u{458}\u{43e}\u{51b}\u{455}\u{51d}\u{445}\u{443}\u{440}\u{441}\u{410}\u{412}\u{415}\u{41a}\
         \u{41c}\u{41d}\u{41e}\u{420}\u{421}\u{422}\u{425}\u{406}\u{408}\u{405}",
        "ahdeijoqswxypcABEKMHOPCTXIJS",
    ),
    (
        "a Greek letter",
        "\u{3b1}\u{3b9}\u{3ba}\u{3bd}\u{3bf}\u{3c1}\u{3c5}\u{391}\u{392}\u{395}\u{396}\u{397}\u{399}\u{39a}\u{39c}\u{39d}\u{39f}\u{3a1}\
         \u{3a4}\u{3a5}\u{3a7}",
        "aikvopuABEZHIKMNOPTYX",
    ),
];

/// What a character is taken for.
enum CharacterLookalike {
    /// For this character, because of the named sort.
    Like(char, &'static str),
    /// It is not seen.
    Unseen(&'static str),
}

fn find_lookalike(c: char) -> Option<CharacterLookalike> {
    Some(match c {
        _ if c.is_ascii() => return None,
        '\u{ff01}'..='\u{ff5e}' => {
            CharacterLookalike::Like(char::from_u32(u32::from(c) - 0xfee0)?, "a full-width character")
        }
        '\u{2010}'..='\u{2015}' | '\u{2212}' => CharacterLookalike::Like('-', "a dash"),
        _ if is_tricky(c) => CharacterLookalike::Unseen("which is invisible"),
        _ if c.is_whitespace() => CharacterLookalike::Unseen("a space that is not the one of the keyboard"),
        _ => {
            let latin = |(sort, letters, latin): &(&'static str, &str, &str)| {
                let at = letters.chars().position(|letter| letter == c)?;
                Some(CharacterLookalike::Like(latin.chars().nth(at)?, sort))
            };
            return LETTERS.iter().find_map(latin);
        }
    })
}

/// The characters of a name as they look, in lower case: equal for names that look equal.
pub fn seen_letters(name: &str) -> impl Iterator<Item = char> {
    let seen = name.chars().filter_map(|c| match find_lookalike(c) {
        None => Some(c),
        Some(CharacterLookalike::Like(as_if, _)) => Some(as_if),
        Some(CharacterLookalike::Unseen(_)) => None,
    });
    seen.flat_map(char::to_lowercase)
}

/// The character of a name that is not what it looks like, as advice has it, if the name and another one look equal.
pub fn strange_character(name: &str, other: &str) -> Option<String> {
    if name == other || name.is_ascii() && other.is_ascii() || !seen_letters(name).eq(seen_letters(other)) {
        return None;
    }
    for c in name.chars() {
        if other.contains(c) {
            continue;
        }
        let number = format!("`U+{:04X}`", u32::from(c));
        match find_lookalike(c) {
            None => {}
            Some(CharacterLookalike::Like(as_if, sort)) => {
                return Some(format!("{number}, {sort} that looks like `{as_if}`"));
            }
            Some(CharacterLookalike::Unseen(sort)) => return Some(format!("{number}, {sort}")),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_letter_has_the_one_that_it_looks_like() {
        for (sort, letters, latin) in LETTERS {
            assert_eq!(letters.chars().count(), latin.len(), "{sort}");
        }
    }

    #[test]
    fn the_character_is_named_in_the_name_that_has_it() {
        for (name, other, named) in [
            ("r\u{435}cipe", "recipe", Some("`U+0435`, a Cyrillic letter that looks like `e`")),
            ("recipe", "r\u{435}cipe", None),
            ("rec\u{200b}ipe", "recipe", Some("`U+200B`, which is invisible")),
            ("a\u{2011}b", "a-b", Some("`U+2011`, a dash that looks like `-`")),
            ("\u{a0}model", "model", Some("`U+00A0`, a space that is not the one of the keyboard")),
            ("\u{ff4d}odel", "model", Some("`U+FF4D`, a full-width character that looks like `m`")),
            ("\u{39f}k", "Ok", Some("`U+039F`, a Greek letter that looks like `O`")),
            ("Model", "model", None),
            ("r\u{435}cip", "recipe", None),
            ("\u{fc}ber", "uber", None),
        ] {
            assert_eq!(strange_character(name, other).as_deref(), named, "{name:?} {other:?}");
        }
    }
}
