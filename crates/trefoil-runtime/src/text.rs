//! Small things about texts that several parts need: cutting for messages, code fences around answers.

/// At most `max` characters, with `...` where something was cut.
pub fn shorten(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
    }
}

/// The inside of the one code fence around a text; the text itself, trimmed, where there is none.
pub fn strip_fence(text: &str) -> &str {
    let trimmed = text.trim();
    let Some(rest) = trimmed.strip_prefix("```") else { return trimmed };
    // The rest of the opening line names a language, if anything.
    let Some((language, inside)) = rest.split_once('\n') else { return trimmed };
    if language.contains('`') {
        return trimmed;
    }
    match inside.rfind("```") {
        Some(end) if inside.get(end..).is_some_and(|tail| tail.trim() == "```") => {
            inside.get(..end).unwrap_or_default().trim()
        }
        _ => trimmed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fence_is_taken_off_and_nothing_else() {
        assert_eq!(strip_fence("```json\n{\"a\": 1}\n```\n"), "{\"a\": 1}");
        assert_eq!(strip_fence("```\n[1]\n```"), "[1]");
        assert_eq!(strip_fence(" {} "), "{}");
        assert_eq!(strip_fence("```json\n{}\n``` and more"), "```json\n{}\n``` and more");
        assert_eq!(strip_fence("``` {} ```"), "``` {} ```");
        assert_eq!(strip_fence("```\n```"), "");
    }

    #[test]
    fn shortening_counts_characters() {
        assert_eq!(shorten("äöü", 3), "äöü");
        assert_eq!(shorten("äöüx", 3), "äöü...");
    }
}
