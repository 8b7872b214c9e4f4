//! Small text functions: shortening for messages, removing code fences around answers.

use trefoil_template::json_text;

/// At most `max` characters, with `...` if something was removed.
pub fn shorten_text(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
    }
}

/// The first line of a script with so many positional parameters, in at most 100 characters; with `…` if there is more.
/// Parameters are shown as placeholders, which they are in a manifest.
pub fn script_line(script: &str, parameters: usize) -> String {
    let parameter = |script: String, n: usize| script.replace(&format!("\"${{{n}}}\""), "{{…}}");
    let script = (1..=parameters).fold(script.to_owned(), parameter);
    let mut lines = script.trim().lines();
    let (first, more) = (lines.next().unwrap_or_default(), lines.next().is_some());
    let cut: String = first.chars().take(100).collect();
    if more || cut.len() < first.len() { format!("{cut}…") } else { cut }
}

/// `90s`, `0.5s`.
pub fn format_seconds(ms: u64) -> String {
    format!("{}s", trefoil_template::Value::from(ms as f64 / 1000.0).to_text())
}

/// The inside of a code fence around the whole text; without one, the trimmed text.
pub fn strip_fence(text: &str) -> &str {
    let trimmed = json_text(text);
    let Some(rest) = trimmed.strip_prefix("```") else { return trimmed };
    // The rest of the opening line may name a language.
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

/// The values without duplicates.
pub fn join_distinct(seen: impl IntoIterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for value in seen {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all.join(", ")
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
        assert_eq!(shorten_text("äöü", 3), "äöü");
        assert_eq!(shorten_text("äöüx", 3), "äöü...");
    }
}
