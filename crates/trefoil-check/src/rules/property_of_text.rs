//! Paths that continue after text, a number or a list, which have no properties.

use trefoil_ir::types::Member;
use trefoil_ir::{Lost, Source};
use trefoil_syntax::Severity;

use super::unknown_property::{each, is_answer, parts};
use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::Read;

pub(super) const RULE: Rule = Rule {
    name: "property-of-text",
    group: Group::Names,
    level: Some(Severity::Error),
    strict: Some(Severity::Error),
    page: include_str!("property_of_text.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    each(cx, |read, at, member| match member {
        Member::Never { what, .. } if *what != "an object" => {
            let (before, name) = parts(read, at)?;
            let so = if read.strict { "fails the run" } else { "is always empty" };
            let message = format!("`{before}` is {what}, so `{before}.{name}` {so}");
            let declare = read.words.and_then(|words| words.answer).filter(|_| {
                *what == "text" && !is_declared(read) && is_answer(model, read)
            });
            let help = match declare {
                Some(declare) => format!("{declare} to get an object, or remove the rest of the path"),
                None => "remove the rest of the path, or make the value an object".to_owned(),
            };
            Some((message, help, None))
        }
        _ => None,
    });
}

/// Whether the manifest declares the type of the value.
fn is_declared(read: &Read<'_>) -> bool {
    matches!(read.source, Source::Missing(_, Lost::Beyond(beyond)) if beyond.refused)
}
