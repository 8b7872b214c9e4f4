//! Keys that are indented too far: lines of a block text that look like keys of a mapping around it. Texts explain things
//! with such words and show YAML examples, so a finding is a guess. It is worth more at the end of a text, where a key that
//! follows it ends up, and if the value has the form that the key needs.

mod form;

use trefoil_front::names::is_path;
use trefoil_front::yaml_reader::{KeyLine, KeyOwner, TextBlock};
use trefoil_syntax::yaml::{self, YamlNode, YamlNodeKind, YamlScalar, YamlStyle};
use trefoil_syntax::{Diagnostic, FileId, Location, SourceFile};

use form::KeyForms;

/// Keys whose words are also common in prose.
const EVERYDAY: &[&str] = &["name", "description", "id", "kind", "type", "input", "output", "title", "version"];

/// The most words of a text without quotes that is taken for a value.
const MOST_WORDS: usize = 6;

/// Lines of a block text that were almost certainly meant as keys.
pub fn find_swallowed_keys(block: &TextBlock, format: &str) -> Vec<Diagnostic> {
    let Some(forms) = KeyForms::for_format(format) else { return Vec::new() };
    let mut found = Vec::new();
    for line in &block.lines {
        if let Some(owner) = &line.owner
            && is_key(block, line, owner, forms)
        {
            found.push(finding(block, line, owner));
        }
    }
    found
}

fn is_key(block: &TextBlock, line: &KeyLine, owner: &KeyOwner, forms: &KeyForms) -> bool {
    let (before, here) = block.content.split_at_checked(line.at).unwrap_or_default();
    let (first, next) = here.split_once('\n').unwrap_or((here, ""));
    let rest = first.trim().get(owner.key.len() + 1..).unwrap_or_default();
    if is_example(before) {
        return false;
    }
    like_yaml(&owner.key, rest, next)
        || titled(&owner.key, rest, before, next)
        || is_last(block, line, owner, forms, before, here)
}

fn finding(block: &TextBlock, line: &KeyLine, KeyOwner { key, beside, .. }: &KeyOwner) -> Diagnostic {
    let place = Location::new(block.file, line.span);
    let name = &block.key.value;
    let message = format!("this line is part of the text of `{name}`, not a key");
    Diagnostic::new_warning("swallowed-key", place, message)
        .with_label(Location::new(block.file, block.key.span), "the block starts here")
        .with_help(format!("align `{key}:` with `{beside}:` to make it a key"))
}

/// Whether a line that starts with a key and a colon is more likely a key than a sentence, wherever it is.
fn like_yaml(key: &str, rest: &str, next: &str) -> bool {
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return false;
    }
    let value = rest.trim();
    let begins = ["\"{{", "'{{", "{ "].iter().any(|b| value.starts_with(b)) || matches!(value, "|" | "|-" | ">" | ">-");
    let list = value.is_empty() && next.trim_start().starts_with("- ") && next.contains("input:");
    if key == "transitions" && value.is_empty() && next.trim_start().starts_with("- ") {
        return ["condition:", "target:"].iter().any(|word| next.contains(word));
    }
    if EVERYDAY.contains(&key) {
        return false;
    }
    let is_data = value.is_empty() || value.starts_with(['"', '\'', '{', '[']) || value.parse::<f64>().is_ok();
    begins || is_compound(key) && is_data || key == "examples" && list
}

/// Whether a line at the end of a block is a prompt: `prompt: News {{news}}`. A sentence continues in lower case, or ends
/// before the placeholder.
fn titled(key: &str, rest: &str, before: &str, next: &str) -> bool {
    let value = rest.trim();
    let title = value.starts_with(char::is_uppercase) && !value.contains(". ");
    key == "prompt"
        && value.contains("{{")
        && title
        && next.trim().is_empty()
        && !before.trim().is_empty()
        && !before.lines().any(is_label)
}

/// Whether only keys follow to the end of the text, and the value has a form that this key needs. Prose does not end like
/// that, and lists of words with values have other lines of the same form.
fn is_last(block: &TextBlock, line: &KeyLine, owner: &KeyOwner, forms: &KeyForms, before: &str, here: &str) -> bool {
    let is_inner = |text: &str| text.trim().is_empty() || text.starts_with([' ', '-']);
    // The lines of this key and its value.
    let mut snippet = String::new();
    let mut has_ended = false;
    let mut at = line.at;
    for (number, text) in here.split_inclusive('\n').enumerate() {
        has_ended |= number > 0 && !is_inner(text);
        if !has_ended {
            snippet.push_str(text);
        } else if !is_inner(text) && !block.lines.iter().any(|line| line.at == at && line.owner.is_some()) {
            return false;
        }
        at += text.len();
    }
    if before.trim().is_empty() {
        return false;
    }
    let parsed = yaml::parse(FileId(0), &SourceFile::new("", snippet.as_str()), &yaml::YamlLimits::default());
    let (Some(root), []) = (&parsed.root, parsed.diagnostics.as_slice()) else { return false };
    let Some(entry) = root.as_mapping().and_then(|mapping| mapping.get(&owner.key)) else { return false };
    forms.allows_value(&owner.key, &entry.value) && is_worth(owner, forms, &entry.value, before)
}

/// Whether a value is more likely that of a key than a part of a text.
fn is_worth(owner: &KeyOwner, forms: &KeyForms, value: &YamlNode, before: &str) -> bool {
    let (key, labels) = (&*owner.key, before.lines().any(is_label));
    let text = match &*value.kind {
        YamlNodeKind::Sequence(items) => return items.iter().all(is_tidy),
        YamlNodeKind::Mapping(_) => return is_tidy(value),
        YamlNodeKind::Scalar(YamlScalar::Null, _) => return false,
        YamlNodeKind::Scalar(YamlScalar::Str, text) => text,
        YamlNodeKind::Scalar(..) => return is_compound(key) || !labels,
    };
    let quoted = matches!(text.style, YamlStyle::Single | YamlStyle::Double);
    let one = is_plain_word(&text.value);
    match text.style {
        YamlStyle::Literal | YamlStyle::Folded => true,
        _ if forms.has_listed_word(key, &text.value) => is_compound(key) || !labels,
        _ if is_compound(key) => quoted || one || key.contains('_') && is_short(&text.value),
        _ if owner.needed => quoted || one || !labels,
        _ => !labels && !EVERYDAY.contains(&key) && (quoted || one || is_short(&text.value)),
    }
}

/// Whether a value has no text in the form of prose: words without quotes that have spaces between them.
fn is_tidy(value: &YamlNode) -> bool {
    match &*value.kind {
        YamlNodeKind::Sequence(items) => items.iter().all(is_tidy),
        YamlNodeKind::Mapping(mapping) => mapping.entries.iter().all(|entry| {
            entry.key.style == YamlStyle::Plain
                && is_path(&entry.key.value)
                && (entry.value.as_string().is_some() || is_tidy(&entry.value))
        }),
        YamlNodeKind::Scalar(YamlScalar::Str, text) => text.style != YamlStyle::Plain || is_plain_word(&text.value),
        YamlNodeKind::Scalar(..) => true,
    }
}

/// Whether a text is a few words that are not a sentence.
fn is_short(text: &str) -> bool {
    let ended = text.ends_with(['.', '!', '?', ':', ';', ',']) || text.contains(". ") || text.contains("{{");
    text.split_whitespace().count() <= MOST_WORDS && !ended
}

/// Whether a text is one word: a name, a path, a time.
fn is_plain_word(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/' | '@' | '*');
    !text.is_empty() && text.chars().all(plain) && !text.ends_with(['.', ':'])
}

fn is_compound(key: &str) -> bool {
    key.contains(|c: char| c.is_ascii_uppercase() || c == '_')
}

/// Whether a line is a word or two with a colon, in lower case.
fn is_label(line: &str) -> bool {
    let Some((word, _)) = line.trim().split_once(':') else { return false };
    let word = word.trim_start_matches(['-', '*', ' ']);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '/');
    word.starts_with(char::is_lowercase) && word.split(' ').count() <= 2 && word.chars().all(plain)
}

/// Whether a line is part of an example in the text: in a code fence, indented further than the text around it, or
/// after a line that ends with a colon.
fn is_example(before: &str) -> bool {
    let (above, indent) = before.rsplit_once('\n').unwrap_or(("", before));
    let mut is_in_fence = false;
    let mut last = "";
    for line in above.lines() {
        is_in_fence ^= line.trim_start().starts_with("```");
        if !line.trim().is_empty() {
            last = line;
        }
    }
    is_in_fence || !indent.is_empty() || last.trim_end().ends_with(':')
}
