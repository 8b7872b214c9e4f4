//! Keys that are indented too far: lines of a block text that look like keys of the enclosing mapping. Texts explain
//! things with such words and show YAML examples, so a finding is a guess.

use trefoil_front::names::is_path;
use trefoil_front::read::{KeyLine, TextBlock};
use trefoil_syntax::{Diagnostic, Location};

/// Lines of a block text that were almost certainly meant as keys.
pub fn keys(block: &TextBlock) -> Vec<Diagnostic> {
    block.lines.iter().filter(|line| is_key(block, line)).map(|line| finding(block, line)).collect()
}

fn is_key(block: &TextBlock, KeyLine { at, key, outer, follows }: &KeyLine) -> bool {
    let text = &*block.text.value;
    let (before, here) = text.split_at_checked(*at).unwrap_or_default();
    let (line, next) = here.split_once('\n').unwrap_or((here, ""));
    let rest = line.trim().get(key.len() + 1..).unwrap_or_default();
    if is_example(before) || *follows {
        return false;
    }
    let of_step = || *outer && *key == "input" && of_input(rest.trim(), next);
    like_yaml(key, rest, next) || at_the_end(key, rest, next, text) || is_last(key, rest, before, next) || of_step()
}

fn finding(block: &TextBlock, KeyLine { at, key, outer, .. }: &KeyLine) -> Diagnostic {
    let place = Location::new(block.file, block.text.source(*at as u32..(at + key.len()) as u32));
    let name = &block.key.value;
    let d =
        Diagnostic::warning("swallowed-key", place, format!("this line is part of the text of `{name}`, not a key"));
    let with = if *outer { "the enclosing key" } else { &format!("`{name}:`") };
    d.label(Location::new(block.file, block.key.span), "the block starts here")
        .help(format!("align `{key}:` with {with} to make it a key"))
}

/// Whether a line that starts with a key and a colon is more likely a key than a sentence.
fn like_yaml(key: &str, rest: &str, next: &str) -> bool {
    const EVERYDAY: &[&str] = &["name", "description", "id", "kind", "type", "input", "output", "title", "version"];
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return false;
    }
    let value = rest.trim();
    let compound = key.contains(|c: char| c.is_ascii_uppercase() || c == '_');
    let begins = ["\"{{", "'{{", "{ "].iter().any(|b| value.starts_with(b)) || matches!(value, "|" | "|-" | ">" | ">-");
    let list = value.is_empty() && next.trim_start().starts_with("- ") && next.contains("input:");
    if key == "transitions" && value.is_empty() && next.trim_start().starts_with("- ") {
        return ["condition:", "target:"].iter().any(|word| next.contains(word));
    }
    let data = |v: &str| v.is_empty() || v.starts_with(['"', '\'', '{', '[']) || v.parse::<f64>().is_ok();
    !EVERYDAY.contains(&key) && (begins || compound && data(value) || key == "examples" && list)
}

/// Whether a line at the end of a block looks like a key with its value: `prompt: News {{news}}`, `skills: [a]`,
/// `stateKey: r`, `tools:` before a list of kinds. If the block has other lines with a word before a colon, it is
/// probably one of those.
fn at_the_end(key: &str, rest: &str, next: &str, block: &str) -> bool {
    let value = rest.trim();
    if value.is_empty() {
        let item = next.trim_start().strip_prefix("- ").map(|t| t.trim_start_matches(['{', ' ']));
        return matches!(key, "tools" | "spawnable") && item.is_some_and(|t| t.starts_with("kind: "));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let form = match key {
        "prompt" => {
            let quoted = value.starts_with('"') && value.ends_with('"');
            // A sentence continues in lower case, or ends before the placeholder.
            let title = value.starts_with(char::is_uppercase) && !value.contains(". ");
            value.contains("{{") && (quoted || title)
        }
        "skills" => value.strip_prefix('[').and_then(|v| v.strip_suffix(']')).is_some_and(|v| {
            !v.is_empty() && v.split(',').all(|s| !s.trim().is_empty() && s.trim().chars().all(plain))
        }),
        "stateKey" => value.chars().all(plain),
        _ => return false,
    };
    let label = |line: &&str| {
        let word = line.trim().split_once(':').map(|(word, _)| word.trim_start_matches(['-', '*', ' ']));
        word.is_some_and(|w| !w.is_empty() && w.len() <= 30 && w.split(' ').count() <= 2)
    };
    form && rest.starts_with(' ')
        && next.trim().is_empty()
        && block.trim_end().contains('\n')
        && block.lines().filter(label).count() == 1
}

/// Whether a line at the end of a text is a setting: `timeout: 30s`, `kind: llm`, `writes: output.answer`. Sentences do
/// not have such values, and lists of words with values have other lines of the same form.
fn is_last(key: &str, rest: &str, before: &str, next: &str) -> bool {
    const WORDS: &[&str] =
        &["kind", "type", "writes", "agent", "agent_id", "on_failure", "on_timeout", "stateKey", "model"];
    let value = rest.trim();
    let digits = value.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = value.parse::<f64>().is_ok() || digits.len() < value.len() && matches!(digits, "ms" | "s" | "m" | "h");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    let word = WORDS.contains(&key) && !value.ends_with('.') && value.chars().all(plain);
    let setting = !value.is_empty() && rest.starts_with(' ') && (number || word || matches!(value, "true" | "false"));
    let label = |line: &str| {
        let word = line.trim().split_once(':').map_or("", |(word, _)| word.trim_start_matches(['-', '*', ' ']));
        word.starts_with(char::is_lowercase) && word.split(' ').count() <= 2
    };
    // Only other misindented keys may follow it.
    let yaml = |line: &str| line.trim().is_empty() || line.starts_with([' ', '-']) || label(line);
    setting && !before.trim().is_empty() && !before.lines().any(label) && next.lines().all(yaml)
}

/// Whether the text after `input:` is a step's input: `{ text: "{{draft}}" }`, on one or several lines.
fn of_input(value: &str, next: &str) -> bool {
    let pair = |text: &str| {
        let Some((name, value)) = text.trim().split_once(": ") else { return false };
        is_path(name.trim()) && value.trim_start().starts_with("\"{{")
    };
    match value.strip_prefix('{') {
        Some(inner) => value.ends_with('}') && pair(inner),
        None => {
            value.is_empty() && next.lines().next().is_some_and(|line| pair(line) && line.trim_end().ends_with('"'))
        }
    }
}

/// Whether a line is part of an example in the text: in a code fence, indented further than the text around it, or
/// after a line that ends with a colon.
fn is_example(before: &str) -> bool {
    let (above, indent) = before.rsplit_once('\n').unwrap_or(("", before));
    let fences = above.lines().filter(|line| line.trim_start().starts_with("```")).count();
    let last = above.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    fences % 2 == 1 || !indent.is_empty() || last.trim_end().ends_with(':')
}
