//! Generates texts that match a regular expression, for patterns of the size that is common in schemas.

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};
use trefoil_ir::pattern::SplitPattern;
use trefoil_ir::solver::SplitMixRandom;

/// Maximum number of additional repetitions of an unbounded repetition.
const MORE: u32 = 4;
/// Maximum length of a text in bytes.
const LONGEST: usize = 2000;

/// A text that probably matches; `None` if the pattern is not supported (look-around of other regex dialects, for
/// example). The caller must check the text.
pub(super) fn generate_match(pattern: &str, random: &mut SplitMixRandom) -> Option<String> {
    // What a look-ahead at the start forbids is found by the caller's check.
    let hir = regex_syntax::parse(SplitPattern::from_pattern(pattern).without_lookahead()).ok()?;
    let mut out = String::new();
    write(&hir, random, &mut out);
    if out.len() <= LONGEST { Some(out) } else { None }
}

fn write(hir: &Hir, random: &mut SplitMixRandom, out: &mut String) {
    if out.len() > LONGEST {
        return;
    }
    match hir.kind() {
        // Assertions, mostly about the start and the end. The caller's check finds the cases in which they do not hold.
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => out.extend(character(class, random)),
        HirKind::Repetition(repetition) => repeat(repetition, random, out),
        HirKind::Capture(capture) => write(&capture.sub, random, out),
        HirKind::Concat(parts) => {
            for part in parts {
                write(part, random, out);
            }
        }
        HirKind::Alternation(ways) => {
            if let Some(way) = random.pick_one(ways) {
                write(way, random, out);
            }
        }
    }
}

fn repeat(repetition: &Repetition, random: &mut SplitMixRandom, out: &mut String) {
    let least = repetition.min;
    let most = repetition.max.unwrap_or(least.saturating_add(MORE)).min(least.saturating_add(MORE));
    // `.*` and the like mean that anything is allowed, so use the empty text.
    let times = if least == 0 && repetition.max.is_none() { 0 } else { random.pick_between(least.into(), most.into()) };
    for _ in 0..times {
        write(&repetition.sub, random, out);
    }
}

/// A character of a class, preferably a letter or a digit.
fn character(class: &Class, random: &mut SplitMixRandom) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|r| (r.start(), r.end())).collect(),
        Class::Bytes(class) => class.ranges().iter().map(|r| (char::from(r.start()), char::from(r.end()))).collect(),
    };
    for (first, last) in [('a', 'z'), ('0', '9'), ('A', 'Z'), (' ', '~')] {
        let mut cut = Vec::new();
        for (start, end) in &ranges {
            let (start, end) = ((*start).max(first), (*end).min(last));
            if start <= end {
                cut.push((start, end));
            }
        }
        if let Some(&(start, end)) = random.pick_one(&cut) {
            let code = random.pick_between(i64::from(u32::from(start)), i64::from(u32::from(end)));
            return char::from_u32(u32::try_from(code).ok()?);
        }
    }
    let (start, _) = ranges.first()?;
    Some(*start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_matches() {
        let patterns = [
            "^[a-z]+$",
            r"^\d{3}-\d{4}$",
            "^(yes|no|maybe)$",
            "(?i)^approved",
            r"^#[0-9a-fA-F]{6}$",
            r"\bTODO\b",
            r"^v\d+\.\d+(\.\d+)?$",
            "^[^@ ]+@[^@ ]+\\.[a-z]{2,}$",
            "a.*b",
            "^$",
            "[^a-z0-9]{2}",
            r"^\p{Lu}\p{Ll}+$",
            "[éü]",
            "x{0,3}y?z*",
        ];
        for pattern in patterns {
            let regex = regex::Regex::new(pattern).unwrap();
            for seed in 0..50 {
                let text = generate_match(pattern, &mut SplitMixRandom::new(seed)).unwrap();
                assert!(regex.is_match(&text), "{pattern}: {text:?}");
            }
        }
    }

    #[test]
    fn other_dialects_are_not_guessed_at() {
        assert_eq!(generate_match("(?=x)y", &mut SplitMixRandom::new(0)), None);
        assert_eq!(generate_match("(", &mut SplitMixRandom::new(0)), None);
        assert_eq!(
            generate_match("(((a{30}){30}){30}){30}", &mut SplitMixRandom::new(0)),
            None,
            "too long to be meant"
        );
    }
}
