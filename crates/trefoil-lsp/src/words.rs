//! The words of the template languages with descriptions, for hover and completion.

use std::ops::Range;

use trefoil_template::Policy;
use trefoil_template::policy::{BlockSyntax, ConditionGrammar};

/// A word and its description in Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateWord {
    /// As it is written.
    pub name: &'static str,
    /// Its usage and its result.
    pub about: &'static str,
}

const fn word(name: &'static str, about: &'static str) -> TemplateWord {
    TemplateWord { name, about }
}

/// The helpers of Handlebars templates.
const HELPERS: &[TemplateWord] = &[
    word("default", "`{{default path 'text'}}`: the value, or the text if there is no value"),
    word("json", "`{{json path}}`: the value as JSON"),
    word("length", "`{{length path}}`: the number of items, properties or characters"),
    word("len", "`{{len path}}`: the number of items, properties or characters"),
    word("keys", "`{{keys path}}`: the names of an object's properties"),
    word("upper", "`{{upper path}}`: the text in upper case"),
    word("lower", "`{{lower path}}`: the text in lower case"),
    word("trim", "`{{trim path}}`: the text without leading and trailing spaces and line breaks"),
    word("first_line", "`{{first_line path}}`: the first line of a text"),
    word("lookup", "`{{lookup list index}}`: the item or property whose number or name is another value"),
    word("eq", "`(eq a b)`: whether two values are equal"),
    word("ne", "`(ne a b)`: whether two values differ"),
    word("gt", "`(gt a b)`: whether `a` is greater than `b`"),
    word("gte", "`(gte a b)`: whether `a` is greater than or equal to `b`"),
    word("lt", "`(lt a b)`: whether `a` is less than `b`"),
    word("lte", "`(lte a b)`: whether `a` is less than or equal to `b`"),
    word("and", "`(and a b)`: whether all of them are true"),
    word("or", "`(or a b)`: whether at least one of them is true"),
    word("not", "`(not a)`: whether it is false"),
];

/// Blocks and related words.
const BLOCKS: &[TemplateWord] = &[
    word("if", "`{{#if path}} ... {{/if}}`: its content, if the value exists and is not empty, zero or false"),
    word("unless", "`{{#unless path}} ... {{/unless}}`: its content, if `if` would skip it"),
    word("each", "`{{#each path}} ... {{/each}}`: its content, once for every item or property"),
    word("with", "`{{#with path}} ... {{/with}}`: its content, with names looked up in the value"),
    word("else", "the part that is used if the first part of the block is not"),
    word("this", "the item of the surrounding loop, or the value of the surrounding block"),
    word("@index", "the number of the item in the loop, from 0"),
    word("@key", "the name of the property in the loop"),
    word("@first", "whether this is the first item of the loop"),
    word("@last", "whether this is the last item of the loop"),
    word("@root", "the top level, where names are looked up outside all blocks"),
];

const FILTERS: &[TemplateWord] = &[
    word("default", "`{{ path | default('text') }}`: the value, or the text if it is missing or empty"),
    word("json_or_default", "`{{ path | json_or_default('[]') }}`: the value, or the text if it is not JSON"),
];

/// Functions and words of Python-like conditions.
const PYTHON: &[TemplateWord] = &[
    word("len", "`len(x)`: the number of items, properties or characters"),
    word("str", "`str(x)`: the value as text"),
    word("int", "`int(x)`: the value as a whole number"),
    word("float", "`float(x)`: the value as a number"),
    word("bool", "`bool(x)`: whether the value exists and is not empty, zero or false"),
    word("abs", "`abs(x)`: the absolute value"),
    word("min", "`min(a, b)`: the smallest of them"),
    word("max", "`max(a, b)`: the largest of them"),
    word("in", "`a in b`: whether a text or list contains it"),
    word("and", "`a and b`: whether both are true"),
    word("or", "`a or b`: whether at least one of them is true"),
    word("not", "`not a`: whether it is false"),
];

/// The helpers of a language.
pub fn helper_words(policy: &Policy) -> &'static [TemplateWord] {
    if policy.blocks == BlockSyntax::Handlebars { HELPERS } else { &[] }
}

/// The word with this name, if the language has it. Ignores braces, `#` and `/` before the name.
pub fn find_word(policy: &Policy, condition: bool, name: &str) -> Option<TemplateWord> {
    let name = name.trim_start_matches(['#', '/', '^']);
    let blocks = match policy.blocks {
        BlockSyntax::None => &[],
        BlockSyntax::If => BLOCKS.get(..1).unwrap_or_default(),
        BlockSyntax::Handlebars => BLOCKS,
    };
    let filters = if policy.filters { FILTERS } else { &[] };
    let python = if condition && policy.conditions == ConditionGrammar::Python { PYTHON } else { &[] };
    let all = [helper_words(policy), blocks, filters, python];
    all.into_iter().flatten().find(|w| w.name == name).copied()
}

/// The usage of a word and the bytes of its arguments: `default path 'text'`, `len(x)`. Empty for words without
/// arguments.
pub fn word_usage(word: &TemplateWord) -> (String, Vec<Range<u32>>) {
    let code = word.about.split('`').nth(1).unwrap_or_default();
    let tag = code.strip_prefix("{{").and_then(|rest| rest.split("}}").next()).unwrap_or(code);
    let tag = tag.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(tag).trim();
    // A filter follows a path.
    let label = tag.rsplit("| ").next().unwrap_or(tag);
    let Some(rest) = label.trim_start_matches('#').strip_prefix(word.name) else { return (String::new(), Vec::new()) };
    let (list, between) = match rest.strip_prefix('(').and_then(|list| list.strip_suffix(')')) {
        Some(list) => (list, ", "),
        None => (rest.trim_start(), " "),
    };
    let mut at = label.len() - list.len() - usize::from(between == ", ");
    let mut arguments = Vec::new();
    for argument in list.split(between).filter(|a| !a.is_empty()) {
        arguments.push(at as u32..(at + argument.len()) as u32);
        at += argument.len() + between.len();
    }
    (label.to_owned(), arguments)
}

#[cfg(test)]
mod tests {
    use super::{BLOCKS, FILTERS, HELPERS, PYTHON, TemplateWord, find_word, word_usage};
    use trefoil_template::{Policy, Template};

    #[test]
    fn every_helper_is_one() {
        for helper in HELPERS {
            let calls = [format!("{{{{{} a}}}}", helper.name), format!("{{{{{} a b}}}}", helper.name)];
            assert!(calls.iter().any(|text| Template::parse(text, &Policy::AEGIS).is_ok()), "{}", helper.name);
        }
    }

    #[test]
    fn what_takes_arguments_says_which() {
        let shown = |all: &[TemplateWord], name: &str| {
            let (label, arguments) = word_usage(all.iter().find(|w| w.name == name).unwrap());
            let one = |r: &std::ops::Range<u32>| label[r.start as usize..r.end as usize].to_owned();
            (label.clone(), arguments.iter().map(one).collect::<Vec<_>>())
        };
        let is =
            |label: &str, arguments: &[&str]| (label.to_owned(), arguments.iter().map(|a| (*a).to_owned()).collect());
        assert_eq!(shown(HELPERS, "default"), is("default path 'text'", &["path", "'text'"]));
        assert_eq!(shown(HELPERS, "eq"), is("eq a b", &["a", "b"]));
        assert_eq!(shown(BLOCKS, "each"), is("#each path", &["path"]));
        assert_eq!(shown(FILTERS, "default"), is("default('text')", &["'text'"]));
        assert_eq!(shown(PYTHON, "min"), is("min(a, b)", &["a", "b"]));
        assert_eq!(shown(BLOCKS, "else").1, [""; 0]);
        for helper in HELPERS {
            assert!(!word_usage(helper).1.is_empty(), "{}", helper.name);
        }
    }

    #[test]
    fn a_word_is_that_of_the_language() {
        let about = |policy: &Policy, condition: bool, name: &str| find_word(policy, condition, name).map(|w| w.about);
        assert!(about(&Policy::AEGIS, false, "#each").is_some());
        assert_eq!(about(&Policy::AGNTZ, false, "#each"), None);
        assert!(about(&Policy::AGNTZ, false, "/if").is_some());
        assert!(about(&Policy::SIRENSPEC, false, "default").is_some_and(|a| a.contains('|')));
        assert_eq!(about(&Policy::SIRENSPEC, false, "len"), None, "in conditions only");
        assert!(about(&Policy::SIRENSPEC, true, "len").is_some());
    }
}
