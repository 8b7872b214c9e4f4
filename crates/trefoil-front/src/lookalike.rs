//! Text that looks like a placeholder and is none: `{draft.output}`, `${draft.output}`, `{% if draft.output %}`.
//!
//! Single braces are text (decision C5), and prompts are full of them; so only what names something that is there counts.
//! What is there each dialect says itself ([`Resolve::is_there`]).

use std::ops::Range;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;

use crate::Reader;
use crate::learn::Resolve;

/// How placeholders of other systems begin and end; the first that fits counts.
const BRACKETS: [(&str, &str); 7] =
    [("{%", "%}"), ("{ {", "} }"), ("${", "}"), ("#{", "}"), ("<%=", "%>"), ("[[", "]]"), ("{", "}")];

/// Looks at the text beside the placeholders.
pub fn check(reader: &Reader<'_>, text: &Text, resolve: &dyn Resolve) {
    let value = &*text.value;
    let mut at = 0;
    while let Some(start) = value.get(at..).and_then(|rest| rest.find(['{', '$', '#', '<', '['])) {
        let open = at + start;
        let rest = value.get(open..).unwrap_or_default();
        at = if rest.starts_with("{{") {
            // A placeholder, or one that was escaped.
            rest.find("}}").map_or(value.len(), |close| open + close + 2)
        } else {
            let found = BRACKETS.iter().find_map(|(left, right)| one(reader, text, resolve, open, (left, right)));
            found.unwrap_or(open + 1)
        };
    }
}

/// One that begins here: reports it and gives its end.
fn one(reader: &Reader<'_>, text: &Text, resolve: &dyn Resolve, open: usize, of: (&str, &str)) -> Option<usize> {
    let (left, right) = of;
    let inner = text.value.get(open..)?.strip_prefix(left)?;
    let inner = inner.get(..inner.find(right)?)?;
    let mut end = open + left.len() + inner.len() + right.len();
    // `{ path }}`: one brace was forgotten.
    let half = right == "}" && text.value.get(end..).is_some_and(|t| t.starts_with('}'));
    end += usize::from(half);
    let alone = left == "{" && !half;
    let path = match left {
        "{%" => inner.split_whitespace().find(|word| resolve.is_there(word, false)),
        _ => Some(inner.trim()).filter(|word| resolve.is_there(word, alone)),
    }?;
    report(reader, text, open..end, path, left == "{%", resolve);
    Some(end)
}

fn report(reader: &Reader<'_>, text: &Text, span: Range<usize>, path: &str, block: bool, resolve: &dyn Resolve) {
    let whole = text.value.get(span.clone()).unwrap_or_default();
    let message = format!("`{whole}` is text, and `{path}` is not read: a placeholder has two braces on both sides");
    let place = reader.at(text.source(span.start as u32..span.end as u32));
    let d = Diagnostic::warning("not-a-placeholder", place, message);
    let straight = (place.span.end - place.span.start) as usize == span.len();
    let meant = format!("{{{{{path}}}}}");
    reader.report(match block {
        true => d.help(resolve.blocks()),
        false if straight => d.suggestion(format!("write `{meant}`"), place, meant),
        false => d.help(format!("write `{meant}`")),
    });
}
