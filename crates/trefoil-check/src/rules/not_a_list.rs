//! A fan-out, or a loop in a template, over a value that is not a list.

use trefoil_ir::types::{Kind, Type};
use trefoil_ir::walk::{self, Evaluated};
use trefoil_ir::{Expr, FlowId, Items, StepKind, Text};
use trefoil_syntax::{Location, Severity};
use trefoil_template::Value;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::Model;

pub(super) const RULE: Rule = Rule {
    name: "not-a-list",
    group: Group::Types,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("not_a_list.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    let mut found: Vec<(Location, String)> = Vec::new();
    for (flow, _, step) in model.all_steps() {
        if let StepKind::ForEach(each) = &step.kind
            && let Items::List(items) = &each.items
            && let Some(what) = never_a_list(&model.types().expr(flow, items, None))
        {
            let at = place(items).unwrap_or(step.origin);
            found.push((at, format!("a fan-out needs a list, but this is {what}")));
        }
        for evaluated in walk::evaluated(step) {
            let each = &mut |text: &Text| looped(model, flow, text, &mut found);
            match evaluated {
                Evaluated::Expr(expr) => walk::texts(expr, each),
                Evaluated::Text(text) => each(text),
                Evaluated::Cond(_) | Evaluated::Source(_) => {}
            }
        }
    }
    for (at, message) in found {
        let d = cx.finding(at, message);
        cx.report(d.help("name the list itself, or make the value a list"));
    }
}

/// The kind of a value that is neither a list nor text that may contain one.
fn never_a_list(of: &Type) -> Option<&'static str> {
    let kinds = of.solid_kinds().filter(|kinds| !kinds.has(Kind::List))?;
    if !kinds.has(Kind::Text) {
        return kinds.iter().next().map(Kind::spoken);
    }
    if !kinds.is(Kind::Text) {
        return None;
    }
    let listed = |text: &str| text.contains('[');
    if let Some(choices) = of.choices() {
        let none = !choices.iter().filter_map(Value::as_str).any(listed);
        return none.then_some("text that is not a list");
    }
    let inner = of.content()?.solid_kinds()?;
    (!inner.has(Kind::List)).then_some("text that is never a list")
}

/// `{{#each}}` over a value without items.
fn looped(model: &Model<'_>, flow: FlowId, text: &Text, found: &mut Vec<(Location, String)>) {
    for i in text.template.looped() {
        let Some(reference) = text.template.references().get(i) else { continue };
        let Some(source) = text.sources.get(reference.binding.source as usize) else { continue };
        let path: Vec<&str> =
            reference.path.iter().skip(usize::from(reference.binding.skip)).map(|s| &*s.name).collect();
        let walk = model.types().source(flow, source, &path, None);
        let Some(kinds) = walk.schema.solid_kinds().filter(|_| walk.stop.is_none()) else {
            continue;
        };
        if !kinds.has(Kind::List) && !kinds.has(Kind::Object) {
            let span = text.spans.get(i).copied().unwrap_or(text.origin.span);
            let message = format!("`{}` is {kinds}, which has no items", reference.dotted());
            found.push((Location::new(text.origin.file, span), message));
        }
    }
}

fn place(items: &Expr) -> Option<Location> {
    match items {
        Expr::Typed(text) | Expr::Template(text) => {
            Some(Location::new(text.origin.file, text.spans.first().copied().unwrap_or(text.origin.span)))
        }
        _ => None,
    }
}
