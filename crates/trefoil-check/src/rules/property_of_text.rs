//! Paths that continue after text, a number or a list, which have no properties.

use trefoil_ir::types::Member;
use trefoil_ir::{Lost, Source};
use trefoil_syntax::Severity;

use super::unknown_property::{each, parts};
use crate::rule::{Context, Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "property-of-text",
    group: Group::Names,
    level: Some(Severity::Error),
    strict: Some(Severity::Error),
    page: include_str!("property_of_text.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    each(cx, |read, at, member| match member {
        Member::Never { what, .. } if *what != "an object" => {
            let (before, name) = parts(read, at)?;
            let so = if read.strict { "fails the run" } else { "is always empty" };
            let message = format!("`{before}` is {what}, so `{before}.{name}` {so}");
            let help = match read.source {
                Source::Missing(_, Lost::Beyond(beyond)) if !beyond.refused && *what == "text" => {
                    "remove the rest of the path, or give the agent an output schema so that it answers with an object"
                }
                _ => "remove the rest of the path, or make the value an object",
            };
            Some((message, help.to_owned(), None))
        }
        _ => None,
    });
}
