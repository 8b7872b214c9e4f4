//! Text that looks like a placeholder, or like part of one, but is not: `{topic}`, `${topic}`, `{{#if topic}} == x`.
//!
//! Single braces are text, and prompts often contain them, so only names of existing values count. The dialect defines
//! which names exist and its notation of tags ([`NameScope`](trefoil_front::names::NameScope)); everything else is decided
//! here.

mod find;

use trefoil_ir::types::ValueKind;
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, FileId, Location};
use trefoil_template::{BuiltinFunction, ConditionExpression, Value};

use find::{LookalikeForm, PlaceholderLookalike, find_lookalikes};

use super::FindingList;
use trefoil_front::bound_text::{BoundText, ParsedContent};
use trefoil_front::names::{TagNotation, is_path};

const RULE: &str = "not-a-placeholder";

/// The number of words before a dollar sign that may say that it is one.
const WORDS_BEFORE: usize = 3;

/// Checks the text outside the tags.
pub fn check_placeholders(text: &BoundText, found: &mut FindingList) {
    let Some(tags) = text.place.tag_notation().filter(|_| !text.is_condition()) else { return };
    dollar(text, found);
    for lookalike in find_lookalikes(&text.source.value, &|path| text.is_there(path, false)) {
        found.extend(finding(text, tags, &lookalike));
    }
}

/// The finding about a value that consists of a name without braces.
pub fn bare_name_finding(file: FileId, source: &YamlText, path: &str) -> Diagnostic {
    foreign_name_finding(file, source, path, path)
}

/// The same for a name in other notation.
pub fn foreign_name_finding(file: FileId, source: &YamlText, written: &str, path: &str) -> Diagnostic {
    let place = Location::new(file, source.span);
    let meant = format!("\"{{{{{path}}}}}\"");
    let d = Diagnostic::new_warning(RULE, place, format!("`{written}` is text here, so its value is not read"));
    // A block scalar consists of more than its text.
    match source.value.contains('\n') {
        true => d.with_help(format!("write `{{{{{path}}}}}`")),
        false => d.with_suggestion(format!("write `{meant}`"), place, meant),
    }
}

/// A value that consists of a path to an existing value. A single word is only a word. Other brackets than braces are
/// also not placeholders.
pub fn check_whole_value(text: &BoundText, found: &mut FindingList) {
    let value = text.source.value.trim();
    let path = value.strip_prefix('$').or_else(|| value.strip_prefix('<')?.strip_suffix('>')).unwrap_or(value);
    if path.contains('.') && is_path(path) && text.is_there(path, true) {
        found.push(bare_name_finding(text.at.file, &text.source, path));
    }
}

/// Checks the literals of expressions: a path in quotes is text, and a literal as the first argument of `default`
/// always has a value.
pub fn check_expression_literals(text: &BoundText, found: &mut FindingList) {
    let expressions = match &text.content {
        _ if !text.policy.reads_literals() => &[],
        ParsedContent::Template(template) => template.inner_expressions(),
        ParsedContent::Condition(condition) => std::slice::from_ref(condition.expression_tree()),
        ParsedContent::Broken { .. } => &[],
    };
    for expression in expressions {
        if let ConditionExpression::Call(BuiltinFunction::Default, arguments) = expression
            && let [ConditionExpression::Literal(value, at), ConditionExpression::Reference(_)] = arguments.as_slice()
            && let literal = value.to_text()
            && !(value.is_null() || literal.is_empty())
            && !(value.as_str().is_some() && text.is_there(&literal, true))
        {
            let place = match text.literal_location(*at) {
                Some((place, _)) => place,
                None => text.at,
            };
            let message = format!("`default` has no effect: the literal `{literal}` comes first");
            let d = Diagnostic::new_warning("redundant", place, message);
            found.push(d.with_help("write the value first, and its fallback after it"));
        }
        find_quoted_paths(text, expression, found);
    }
}

fn find_quoted_paths(text: &BoundText, expression: &ConditionExpression, found: &mut FindingList) {
    match expression {
        ConditionExpression::Literal(Value::Str(path), at) => {
            if !path.contains('.') || !is_path(path) || !text.is_there(path, true) {
                return;
            }
            let message = format!("`{path}` in quotes is text, so its value is not read");
            found.push(match text.literal_location(*at) {
                Some((place, true)) => {
                    let d = Diagnostic::new_warning(RULE, place, message);
                    d.with_suggestion("remove the quotes", place, &**path)
                }
                _ => Diagnostic::new_warning(RULE, text.at, message).with_help("remove the quotes"),
            });
        }
        ConditionExpression::Call(_, all)
        | ConditionExpression::Compare(all, _)
        | ConditionExpression::And(all)
        | ConditionExpression::Or(all) => {
            all.iter().for_each(|e| find_quoted_paths(text, e, found));
        }
        ConditionExpression::Not(inner) => find_quoted_paths(text, inner, found),
        _ => {}
    }
}

fn finding(text: &BoundText, tags: &TagNotation, found: &PlaceholderLookalike<'_>) -> Option<Diagnostic> {
    let whole = text.source.value.get(found.range.clone())?;
    let place = text.place_of(found.range.start as u32..found.range.end as u32);
    let warning = |message: String| Diagnostic::new_warning(RULE, place, message);
    // Only if the file spells the text as decoded.
    let straight = (place.span.end - place.span.start) as usize == whole.len();
    let mended = |d: Diagnostic, meant: String| match straight {
        true => d.with_suggestion(format!("write `{meant}`"), place, meant),
        false => d.with_help(format!("write `{meant}`")),
    };
    match found.form {
        LookalikeForm::Placeholder(inner) => {
            let path = inner.split('|').next().unwrap_or(inner).trim();
            // Only a language without blocks has filters; in the others, a `$` may belong to a shell.
            if tags.comparison.is_some() && (inner != path || whole.starts_with('$') && !whole.starts_with("${")) {
                return None;
            }
            let alone = whole.starts_with('{') && !whole.starts_with("{ {") && !whole.ends_with("}}");
            if alone && !text.is_there(path, true) {
                return None;
            }
            let message =
                format!("`{whole}` is text, so `{path}` is not read: a placeholder has two braces on both sides");
            let meant = match text.place.whole_path(path) {
                Some(whole) => inner.replacen(path, &whole, 1),
                None => inner.to_owned(),
            };
            Some(mended(warning(message), format!("{{{{{0}{meant}{0}}}}}", tags.space)))
        }
        LookalikeForm::Brace => {
            let d = warning("this `}` is text: a placeholder ends with two braces".to_owned());
            Some(if straight { d.with_suggestion("remove it", place, "") } else { d })
        }
        LookalikeForm::Statement(path) => {
            Some(warning(format!("`{whole}` is text, so `{path}` is not read")).with_help(tags.statements))
        }
        LookalikeForm::BlockStart | LookalikeForm::BlockEnd if tags.comparison.is_none() => None,
        // A language with blocks in this notation also has other words in such braces: `{:else}`.
        LookalikeForm::BlockStart | LookalikeForm::BlockEnd if text.source.value.contains("{:") => None,
        LookalikeForm::BlockStart | LookalikeForm::BlockEnd => {
            let d = warning(format!("`{whole}` is text: a tag has two braces on both sides"));
            Some(match found.form {
                LookalikeForm::BlockEnd => mended(d, "{{/if}}".to_owned()),
                _ => d.with_help("write `{{#if path}}`"),
            })
        }
        LookalikeForm::Comment => {
            let d = warning("this comment is text: it is not removed".to_owned());
            Some(if straight { d.with_suggestion("remove it", place, "") } else { d.with_help("remove it") })
        }
        LookalikeForm::Comparison => Some(
            warning(format!("`{whole}` after the tag is text, so nothing is compared")).with_help(tags.comparison?),
        ),
    }
}

/// A placeholder in the notation of other systems, `${{path}}`. Next to other text and before an amount, the sign is a
/// currency sign, unless the path certainly names something else.
fn dollar(text: &BoundText, found: &mut FindingList) {
    let value = &*text.source.value;
    if !value.contains('$') {
        return;
    }
    for (at, _) in value.match_indices("${{") {
        let rest = value.get(at + 3..).unwrap_or_default();
        let Some(end) = rest.find("}}") else { return };
        let inner = rest.get(..end).unwrap_or_default();
        let path = inner.split('|').next().unwrap_or(inner).trim();
        let sure = path == "inputs.message" || path.starts_with("env.") || path.starts_with("secrets.");
        let before = value.get(..at).unwrap_or_default();
        let of_money = || before.split_whitespace().rev().take(WORDS_BEFORE).any(is_amount);
        let last = path.rsplit('.').next().unwrap_or_default();
        let amount = || is_amount(last) || is_number(text, path) || of_money();
        if !is_path(path) || !sure && amount() {
            continue;
        }
        let place = text.place_of(at as u32..at as u32 + 1);
        let d = Diagnostic::new_warning(RULE, place, "the `$` is not part of the placeholder: it stays in the text");
        found.push(d.with_suggestion("remove the `$`", place, ""));
    }
}

/// Whether the value of a path is declared as a number.
fn is_number(text: &BoundText, path: &str) -> bool {
    for used in &text.uses {
        if used.reference.dotted_path() == path
            && let Some(entry) = used.bound.last()
        {
            return entry.schema.is_kind(ValueKind::Number);
        }
    }
    false
}

/// Whether a name is that of an amount of money, judging by its words.
fn is_amount(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "price", "prices", "cost", "costs", "amount", "amounts", "total", "totals", "sum", "budget", "fee", "fees",
        "value", "balance", "usd", "dollar", "dollars", "salary", "wage", "income", "revenue", "profit", "loss",
        "rent", "tax", "tip", "refund", "discount", "charge", "charges", "payment", "paid", "spent", "bill", "deposit",
        "savings", "saving", "bid", "offer", "quote", "rate", "limit", "cap", "max", "min", "maximum", "minimum", "n",
        "count", "number", "money",
    ];
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c.is_uppercase() || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.iter().any(|word| WORDS.contains(&&**word))
}
