//! Paths that continue after text, a number or a list, which have no properties.

use trefoil_ir::types::TypeMember;
use trefoil_ir::{BindingFault, Source};
use trefoil_syntax::FindingSeverity;

use super::unknown_property::{PropertyFault, check_stopped_paths, is_answer, split_path};
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::ValueRead;

pub(super) const RULE: Rule = Rule {
    name: "property-of-text",
    group: RuleGroup::Names,
    level: Some(FindingSeverity::Error),
    strict: Some(FindingSeverity::Error),
    page: include_str!("property_of_text.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    check_stopped_paths(cx, |read, at, member| match member {
        TypeMember::Never { what, .. } if *what != "an object" => {
            let (before, name) = split_path(read, at)?;
            let so = if read.strict { "fails the run" } else { "is always empty" };
            let message = format!("`{before}` is {what}, so `{before}.{name}` {so}");
            let is_undeclared_text = *what == "text" && !is_declared(read) && is_answer(model, read);
            let help = if is_undeclared_text
                && let Some(words) = read.words
                && let Some(declare) = words.answer
            {
                format!("{declare} to get an object, or remove the rest of the path")
            } else {
                "remove the rest of the path, or make the value an object".to_owned()
            };
            Some(PropertyFault { message, help, intended: None })
        }
        _ => None,
    });
}

/// Whether the manifest declares the type of the value.
fn is_declared(read: &ValueRead<'_>) -> bool {
    matches!(read.source, Source::Missing(_, BindingFault::Beyond(beyond)) if beyond.refused)
}
