//! Escapes characters in untrusted texts (from models, manifests, file names) that could move the cursor of a terminal,
//! change the text direction or be invisible: control characters, including C1, and bidirectional controls.

use std::borrow::Cow;

use trefoil_syntax::diagnostic::render::is_tricky;

/// Escapes all such characters, for a single line.
pub fn safe(text: &str) -> Cow<'_, str> {
    escaped(text, is_tricky, |c, out| out.extend(c.escape_default()))
}

/// Escapes such characters, except line breaks and tabs.
pub fn safe_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_tricky(c) && !matches!(c, '\n' | '\t'), |c, out| out.extend(c.escape_default()))
}

/// Equivalent JSON: such characters can only be inside strings, where they can be escaped.
pub fn json(value: &impl ToString) -> String {
    let text = value.to_string();
    escaped(&text, |c| is_tricky(c) && !c.is_ascii(), |c, out| out.push_str(&format!("\\u{:04x}", u32::from(c))))
        .into_owned()
}

fn escaped(text: &str, is: impl Fn(char) -> bool, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(&is) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "a\u{1b}[2J\u{9b}31m\u{202e}b\u{61c}";

    #[test]
    fn no_name_moves_the_cursor() {
        assert_eq!(safe(EVIL), "a\\u{1b}[2J\\u{9b}31m\\u{202e}b\\u{61c}");
        assert_eq!((safe("a\n\tb"), safe_lines("a\n\tb\r")), ("a\\n\\tb".into(), "a\n\tb\\r".into()));
    }

    #[test]
    fn json_says_the_same_and_moves_nothing() {
        let text = json(&serde_json::json!({ EVIL: [EVIL] }));
        assert!(text.is_ascii() && !text.contains('\u{1b}'), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), serde_json::json!({ EVIL: [EVIL] }));
    }
}
