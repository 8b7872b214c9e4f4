//! A default that its own declaration would refuse.

use trefoil_syntax::Severity;

use super::wrong_input_type::default_fits;
use crate::rule::{Context, Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "wrong-default",
    group: Group::Types,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("wrong_default.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    for field in model.program.flows.iter().flat_map(|f| &f.intake.fields) {
        let Some(why) = default_fits(field) else { continue };
        let d = cx.finding(field.origin, format!("the default of `{}` does not fit it: {why}", field.name));
        cx.report(d.help("a run that leaves the input out fails because of it: mend the default or the declaration"));
    }
}
