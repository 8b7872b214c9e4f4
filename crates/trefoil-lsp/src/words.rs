//! The words of the template languages: what each does, for hovering and completing.

use std::ops::Range;

use trefoil_template::Policy;
use trefoil_template::policy::{Blocks, ConditionGrammar};

/// A word and what it does, in Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// As it is written.
    pub name: &'static str,
    /// How it is used, and what that gives.
    pub about: &'static str,
}

const fn word(name: &'static str, about: &'static str) -> Word {
    Word { name, about }
}

/// The helpers of templates with blocks for everything.
const HELPERS: &[Word] = &[
    word("default", "`{{default path 'text'}}`: the value, or the text where there is none"),
    word("json", "`{{json path}}`: the value as JSON"),
    word("length", "`{{length path}}`: how many items, members or characters"),
    word("len", "`{{len path}}`: how many items, members or characters"),
    word("keys", "`{{keys path}}`: the names of an object's members"),
    word("upper", "`{{upper path}}`: the text in capitals"),
    word("lower", "`{{lower path}}`: the text in small letters"),
    word("trim", "`{{trim path}}`: the text without white space at its ends"),
    word("first_line", "`{{first_line path}}`: the first line of a text"),
    word("lookup", "`{{lookup list index}}`: the member whose name or number is a value itself"),
    word("eq", "`(eq a b)`: whether two values are equal"),
    word("ne", "`(ne a b)`: whether two values differ"),
    word("gt", "`(gt a b)`: whether `a` is greater than `b`"),
    word("gte", "`(gte a b)`: whether `a` is greater than `b` or equal"),
    word("lt", "`(lt a b)`: whether `a` is less than `b`"),
    word("lte", "`(lte a b)`: whether `a` is less than `b` or equal"),
    word("and", "`(and a b)`: whether all of them hold"),
    word("or", "`(or a b)`: whether one of them holds"),
    word("not", "`(not a)`: whether it does not hold"),
];

/// Blocks and what belongs to them.
const BLOCKS: &[Word] = &[
    word("if", "`{{#if path}} ... {{/if}}`: what is in it, where the value is there and not empty, zero or false"),
    word("unless", "`{{#unless path}} ... {{/unless}}`: what is in it, where `if` would leave it out"),
    word("each", "`{{#each path}} ... {{/each}}`: what is in it, once for every item or member"),
    word("with", "`{{#with path}} ... {{/with}}`: what is in it, with names read from the value"),
    word("else", "what stands there where the block's own part does not"),
    word("this", "the item of the loop, or the value of the block, around it"),
    word("@index", "the number of the item in the loop, from 0"),
    word("@key", "the name of the member in the loop"),
    word("@first", "whether it is the first item of the loop"),
    word("@last", "whether it is the last item of the loop"),
    word("@root", "where names are read outside of every block"),
];

const FILTERS: &[Word] = &[
    word("default", "`{{ path | default('text') }}`: the text, where there is no value or an empty one"),
    word("json_or_default", "`{{ path | json_or_default('[]') }}`: the text, where the value is not JSON"),
];

/// What conditions that look like Python can call and say.
const PYTHON: &[Word] = &[
    word("len", "`len(x)`: how many items, members or characters"),
    word("str", "`str(x)`: the value as text"),
    word("int", "`int(x)`: the value as a whole number"),
    word("float", "`float(x)`: the value as a number"),
    word("bool", "`bool(x)`: whether the value is there and not empty, zero or false"),
    word("abs", "`abs(x)`: the number without its sign"),
    word("min", "`min(a, b)`: the least of them"),
    word("max", "`max(a, b)`: the greatest of them"),
    word("in", "`a in b`: whether a text or list has it"),
    word("and", "`a and b`: whether both hold"),
    word("or", "`a or b`: whether one of them holds"),
    word("not", "`not a`: whether it does not hold"),
];

/// The helpers of a language.
pub fn helpers(policy: &Policy) -> &'static [Word] {
    if policy.blocks == Blocks::Handlebars { HELPERS } else { &[] }
}

/// The word of a name where a language has it. Braces, `#` and `/` before it are no part of it.
pub fn find(policy: &Policy, condition: bool, name: &str) -> Option<Word> {
    let name = name.trim_start_matches(['#', '/', '^']);
    let blocks = match policy.blocks {
        Blocks::None => &[],
        Blocks::If => BLOCKS.get(..1).unwrap_or_default(),
        Blocks::Handlebars => BLOCKS,
    };
    let filters = if policy.filters { FILTERS } else { &[] };
    let python = if condition && policy.conditions == ConditionGrammar::Python { PYTHON } else { &[] };
    let all = [helpers(policy), blocks, filters, python];
    all.into_iter().flatten().find(|w| w.name == name).copied()
}

/// How a word is used, and the bytes of its arguments there: `default path 'text'`, `len(x)`. Words that take none have none.
pub fn usage(word: &Word) -> (String, Vec<Range<u32>>) {
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
    use super::{BLOCKS, FILTERS, HELPERS, PYTHON, Word, find, usage};
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
        let shown = |all: &[Word], name: &str| {
            let (label, arguments) = usage(all.iter().find(|w| w.name == name).unwrap());
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
            assert!(!usage(helper).1.is_empty(), "{}", helper.name);
        }
    }

    #[test]
    fn a_word_is_that_of_the_language() {
        let about = |policy: &Policy, condition: bool, name: &str| find(policy, condition, name).map(|w| w.about);
        assert!(about(&Policy::AEGIS, false, "#each").is_some());
        assert_eq!(about(&Policy::AGNTZ, false, "#each"), None);
        assert!(about(&Policy::AGNTZ, false, "/if").is_some());
        assert!(about(&Policy::SIRENSPEC, false, "default").is_some_and(|a| a.contains('|')));
        assert_eq!(about(&Policy::SIRENSPEC, false, "len"), None, "in conditions only");
        assert!(about(&Policy::SIRENSPEC, true, "len").is_some());
    }
}
