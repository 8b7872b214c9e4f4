//! Whether what a command printed is what its page shows. Ids, times, dates and sizes may be others; `...` stands for any lines.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

static ID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b[0-9a-f]{16}\b").unwrap());
static OTHERS: LazyLock<[(Regex, &str); 5]> = LazyLock::new(|| {
    [
        (r"\b[0-9a-f]{16}\b", "ID"),
        (r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d+)?Z?)?", "DATE"),
        (r"\b\d\d:\d\d(:\d\dZ?)?\b", "CLOCK"),
        (r"\b\d+(\.\d+)? ?(ms|s|min|kB|KB|MB)\b", "FIGURE"),
        (r" +", " "),
    ]
    .map(|(pattern, name)| (Regex::new(pattern).unwrap(), name))
});

fn general(line: &str) -> String {
    let line =
        OTHERS.iter().fold(line.to_owned(), |line, (pattern, name)| pattern.replace_all(&line, *name).into_owned());
    line.trim_end().to_owned()
}

/// Whether the lines match. If so, the ids that the page shows, each with the real one, are added to `ids`.
pub fn alike(shown: &str, real: &str, ids: &mut HashMap<String, String>) -> bool {
    let lines = |text: &str| text.trim_end().lines().map(str::to_owned).collect::<Vec<_>>();
    let (shown, real) = (lines(shown), lines(real));
    let Some(pairs) = pairs(&shown, &real) else { return false };
    for (shown, real) in pairs {
        let of = |line: &str| ID.find_iter(line).map(|id| id.as_str().to_owned()).collect::<Vec<_>>();
        ids.extend(of(&shown).into_iter().zip(of(&real)));
    }
    true
}

/// The real output with the ids that the page shows, in the order in which they appear; they are added to `ids`.
pub fn with_shown_ids(shown: &str, real: &str, ids: &mut HashMap<String, String>) -> String {
    let of = |text: &str| {
        let mut all: Vec<String> = ID.find_iter(text).map(|id| id.as_str().to_owned()).collect();
        all.dedup();
        all
    };
    let known: Vec<String> = ids.values().cloned().collect();
    let (old, new): (Vec<String>, Vec<String>) = (of(shown), of(real));
    let fresh =
        |all: Vec<String>, known: &[String]| all.into_iter().filter(|id| !known.contains(id)).collect::<Vec<_>>();
    let shown: Vec<String> = ids.keys().cloned().collect();
    ids.extend(fresh(old, &shown).into_iter().zip(fresh(new, &known)));
    ids.iter().fold(real.to_owned(), |text, (shown, real)| text.replace(real, shown))
}

fn pairs(shown: &[String], real: &[String]) -> Option<Vec<(String, String)>> {
    match shown.split_first() {
        None => real.is_empty().then(Vec::new),
        Some((first, rest)) if first.trim() == "..." => {
            (0..=real.len()).find_map(|skipped| pairs(rest, real.get(skipped..)?))
        }
        Some((first, rest)) => {
            let (other, others) = real.split_first()?;
            if general(first) != general(other) {
                return None;
            }
            let mut all = pairs(rest, others)?;
            all.push((first.clone(), other.clone()));
            Some(all)
        }
    }
}

#[test]
fn only_what_differs_between_runs_may_differ() {
    let mut ids = HashMap::new();
    let shown = "run e15602c7d340c9e4\n...\n✓ plan   44 ms, 29 tokens\n";
    assert!(alike(shown, "run 0123456789abcdef\na\nb\n✓ plan  1.2 s, 29 tokens\n\n", &mut ids));
    assert_eq!(ids["e15602c7d340c9e4"], "0123456789abcdef");
    for other in ["run 0123456789abcdef\n✓ plan  1.2 s, 30 tokens\n", "✓ plan  44 ms, 29 tokens\n", ""] {
        assert!(!alike(shown, other, &mut ids), "{other}");
    }
}
