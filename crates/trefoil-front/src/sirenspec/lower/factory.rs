//! Factory nodes: a flow of its own for every item, and what they left as a list and as text.

use std::cell::RefCell;
use std::sync::Arc;

use trefoil_ir::{Expr, Flow, ForEach, Intake, Items, Source, Step, StepKind, StepPolicy};
use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{Style, Text};
use trefoil_template::{Policy, Reference, Template, Value};

use super::body::Body;
use super::flow::{Made, Workflow, broken};
use super::message::Carried;
use super::node::Lowered;
use super::scope::{Reading, Scope};
use super::{agent, swrm};
use crate::mend;
use crate::sirenspec::manifest::{FactoryNode, MAX_SWARM_SIZE, NodeKind, Over, Root, Size, Worker};

/// Lowers a factory node: `{output, outputs}`.
pub fn lower(
    flow: &Workflow<'_, '_>,
    made: &mut Made<'_>,
    carried: &Carried,
    at: usize,
    node: &FactoryNode<'_>,
) -> Option<Lowered> {
    let over = node.over.as_ref();
    let worker = node.worker.as_ref();
    let items = over.map(|over| items(flow, at, over));
    let body = RefCell::new(Body::new(matches!(over, Some(Over::List(_)) | None)));
    let mut scope = Scope::new(flow, Reading::Node(at));
    scope.body = Some(&body);
    // Inputs are rendered before anybody can read them as `inputs.*`.
    let rendered: Vec<(Arc<str>, Expr)> =
        node.inputs.iter().map(|e| (e.key.value.clone(), flow.input(&scope, &e.value))).collect();
    let bare = matches!(over, Some(Over::List(_))) && !body.borrow().reads_item && bare_variable(flow, node);
    body.borrow_mut().show_inputs(node.inputs.iter().map(|e| (e.key.value.clone(), flow.reader.at(e.key.content()))));
    let step = match worker? {
        Worker::Agent(name) => {
            let agent = agent::find(flow, name)?;
            let guards = flow.guards(made, agent.guardrails.as_ref());
            let user = user_message(flow, carried, at, node, &body);
            let mut call = flow.call(agent.id.value.clone(), agent.model.as_ref(), user, guards);
            call.system = agent::system(flow, &scope, agent);
            Step {
                kind: StepKind::Model(Box::new(call)),
                label: Some(agent.id.value.clone()),
                origin: flow.reader.at(name.span),
                when: None,
                out: None,
                shape: None,
                policy: StepPolicy::default(),
            }
        }
        Worker::Swrm(swarm) => {
            let members: Vec<_> = {
                let mut body = body.borrow_mut();
                swarm.members.iter().map(|m| (m.id.value.clone(), body.slots.add(m.id.value.clone()))).collect()
            };
            let kind = swrm::steps(flow, made, &scope, &members, swarm);
            crate::build::plain(kind, flow.reader.at(flow.names.nodes.get(at)?.id.span))
        }
    };
    if let Some(Over::List(list)) = over
        && !bare
        && !body.borrow().reads_item
        && (!node.inputs.is_empty() || matches!(worker, Some(Worker::Swrm(_))))
    {
        same_for_all(flow, node, list, body.borrow().reads_index);
    }
    let step = made.builder.step(step);
    let body = body.into_inner();
    let id = flow.names.nodes.get(at)?.id;
    let inner = made.builder.flow(Flow {
        name: id.value.clone(),
        sort: "instance",
        origin: flow.reader.at(id.span),
        slots: body.slots.0,
        intake: Intake {
            slot: body.intake,
            wrap: None,
            fields: Vec::new(),
            closed: false,
            tolerated: &[],
            schema: None,
            raw: None,
        },
        init: if rendered.is_empty() { Vec::new() } else { vec![(body.rendered, Expr::Object(rendered))] },
        body: step,
        output: None,
        exports: Vec::new(),
        budget: None,
    });
    let mut lowered = Lowered::new(StepKind::ForEach(Box::new(ForEach {
        items: items?,
        body: inner,
        item: body.item,
        index: body.index,
        total: body.total,
        captures: body.captures,
        concurrency: Some(node.concurrency),
        timeout_ms: Some(node.timeout_ms),
        on_failure: node.on_failure,
        failed: Value::from(""),
    })));
    lowered.policy.timeout_at = node.timeout_at.map(|at| flow.reader.at(at));
    let outputs = || Expr::Read(Source::Result);
    lowered.shape =
        Some(Expr::Object(vec![("output".into(), Expr::Lines(Box::new(outputs()))), ("outputs".into(), outputs())]));
    Some(lowered)
}

/// An input that is the name of the list's element, and not the element.
fn bare_variable(flow: &Workflow<'_, '_>, node: &FactoryNode<'_>) -> bool {
    let mut texts = node.inputs.iter().filter_map(|e| e.value.string());
    let Some(text) = texts.find(|text| matches!(&*text.value, "item" | "$item")) else { return false };
    let place = flow.reader.at(text.content());
    let message = format!("`{}` is text, and every instance gets that word", text.value);
    let d = Diagnostic::warning("not-a-placeholder", place, message);
    flow.reader.report(match text.style {
        Style::Plain => d.suggestion("write `\"{{ item }}\"`", place, "\"{{ item }}\""),
        Style::Single | Style::Double => d.suggestion("write `{{ item }}`", place, "{{ item }}"),
        _ => d.help("write `{{ item }}`"),
    });
    true
}

/// No instance gets what it stands for. A list that is written out may be there for the number of its elements only, where
/// they are told apart by their position.
fn same_for_all(flow: &Workflow<'_, '_>, node: &FactoryNode<'_>, list: &Text, by_index: bool) {
    // Where the list is made of `item`, that is the slip; and one item is all there is to do.
    let Ok(template) = Template::parse(&list.value, &Policy::SIRENSPEC) else { return };
    let confused = template.references().iter().any(|r| r.path.first().is_some_and(|s| *s.name == *"item"));
    let single = || template.literal().and_then(json_list).is_some_and(|l| l.as_list().is_some_and(|l| l.len() < 2));
    if confused || by_index && template.literal().is_some() || single() {
        return;
    }
    let message = match by_index {
        true => "what is in the list makes no difference: nothing reads the `item` that an instance stands for",
        false => "every instance does the same work: nothing reads the `item` that it stands for",
    };
    let d = Diagnostic::warning("no-effect", flow.reader.at(list.span), message);
    flow.reader.report(match node.inputs.is_empty() {
        true => d.help("write `{{ item }}` into the prompts of its agents"),
        false => d.help("give it to them: `inputs: {task: \"{{ item }}\"}`"),
    });
}

/// The inputs as lines; without any, the item; without a list either, what led to the node (decision S9).
fn user_message(
    flow: &Workflow<'_, '_>,
    carried: &Carried,
    at: usize,
    node: &FactoryNode<'_>,
    body: &RefCell<Body>,
) -> Expr {
    if !node.inputs.is_empty() {
        return Expr::Lines(Box::new(Expr::Read(Source::Slot(body.borrow().rendered))));
    }
    let item = body.borrow().item;
    match item {
        // An item is printed as templates print it: null is a word (decision S3).
        Some(item) => Expr::Join {
            parts: vec![Source::Slot(item)],
            separator: "".into(),
            otherwise: Box::new(Expr::Const("null".into())),
        },
        None => close(flow, &mut body.borrow_mut(), flow.message(carried, at)),
    }
}

/// A message of the workflow, as its body sees it.
fn close(flow: &Workflow<'_, '_>, body: &mut Body, message: Expr) -> Expr {
    match message {
        Expr::Read(source) => Expr::Read(body.close(flow, source)),
        Expr::Join { parts, separator, otherwise } => Expr::Join {
            parts: parts.into_iter().map(|part| body.close(flow, part)).collect(),
            separator,
            otherwise: Box::new(close(flow, body, *otherwise)),
        },
        other => other,
    }
}

fn items(flow: &Workflow<'_, '_>, at: usize, over: &Over<'_>) -> Items {
    let mut scope = Scope::new(flow, Reading::Node(at));
    match over {
        Over::List(text) => {
            scope.decides = Some("for_each");
            let list = flow.typed(&scope, text);
            check_list(flow, text);
            Items::List(match list {
                Expr::Const(Value::Str(written)) => json_list(&written).map_or_else(broken, Expr::Const),
                other => other,
            })
        }
        Over::Count(Size::Fixed(count)) => Items::Count(Expr::Const(Value::from(*count)), MAX_SWARM_SIZE),
        Over::Count(Size::Text(text)) => {
            scope.decides = Some("swarm_size");
            check_count(flow, text);
            Items::Count(flow.typed(&scope, text), MAX_SWARM_SIZE)
        }
    }
}

/// Text that is written out, and defaults, have to be JSON lists.
fn check_list(flow: &Workflow<'_, '_>, text: &Text) {
    let Ok(template) = Template::parse(&text.value, &Policy::SIRENSPEC) else { return };
    if let Some(literal) = template.literal()
        && json_list(literal).is_none()
    {
        flow.reader.report(
            Diagnostic::error("wrong-type", flow.reader.at(text.span), "`for_each` must be a JSON list")
                .help("for example `'[\"a\", \"b\"]'`, or a placeholder such as `{{ plan.output }}`"),
        );
    }
    // What begins with a bracket may come to a list; what begins with a placeholder surely was to be that alone.
    let value = text.value.trim_start();
    let alone = template.references().len() == 1 && rest(&text.value, &template).trim().is_empty();
    if template.literal().is_none() && !alone && !value.starts_with('[') {
        let what = if value.starts_with("{{") { "one placeholder, with nothing around it" } else { "a JSON list" };
        let message = format!("`for_each` must be {what}: this comes to text that is no list");
        let d = Diagnostic::error("wrong-type", flow.reader.at(text.span), message);
        flow.reader.report(d.help("for example `{{ plan.output }}`"));
    }
    for reference in template.references().iter().filter(|r| template.is_single() && r.default.is_none()) {
        check_input_list(flow, text, reference);
    }
    for reference in template.references().iter().filter(|_| template.is_single()) {
        check_factory(flow, text, reference);
    }
    for reference in template.references().iter().filter(|_| template.is_single()) {
        if let Some(default) = &reference.default
            && json_list(default).is_none()
        {
            flow.reader.report(
                Diagnostic::warning(
                    "wrong-type",
                    flow.reader.at(text.source(reference.span.clone())),
                    format!("the default of `for_each` is not a JSON list: `{default}`"),
                )
                .help("write `'[]'` for no instance at all"),
            );
        }
    }
}

/// A number of instances is a placeholder by itself, and its default a number.
fn check_count(flow: &Workflow<'_, '_>, text: &Text) {
    let Ok(template) = Template::parse(&text.value, &Policy::SIRENSPEC) else { return };
    // A text of digits and placeholders may come to a number.
    let words = rest(&text.value, &template);
    if !words.trim().is_empty() && !words.trim().bytes().all(|b| b.is_ascii_digit()) {
        let message = format!("`swarm_size` must be a whole number, and `{}` can be none", text.value.trim());
        let d = Diagnostic::error("wrong-type", flow.reader.at(text.span), message);
        return flow.reader.report(d.help("give it a number, or a placeholder and nothing else"));
    }
    for reference in template.references() {
        let Some(default) = &reference.default else {
            check_input_count(flow, text, reference);
            continue;
        };
        let least = i64::from(template.is_single());
        if default.trim().parse().is_ok_and(|n: i64| (least..=i64::from(MAX_SWARM_SIZE)).contains(&n)) {
            continue;
        }
        let at = flow.reader.at(text.source(reference.span.clone()));
        let message = format!("the default of `swarm_size` is no number of instances: `{default}`");
        let help = format!("write a whole number from 1 to {MAX_SWARM_SIZE}");
        flow.reader.report(Diagnostic::warning("wrong-type", at, message).help(help));
    }
}

/// An input that stands for a number of instances, and its default is none.
fn check_input_count(flow: &Workflow<'_, '_>, text: &Text, reference: &Reference) {
    let [root, name] = reference.path.as_slice() else { return };
    let field = flow.manifest.input.iter().find(|f| *root.name == *"inputs" && f.name.value == name.name);
    let Some((field, default)) = field.and_then(|f| Some((f, f.default.as_ref()?))) else { return };
    let number = match default {
        Value::Str(text) => text.trim().parse().ok(),
        other => other.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64),
    };
    if number.is_some_and(|n| (0..=i64::from(MAX_SWARM_SIZE)).contains(&n)) {
        return;
    }
    let at = flow.reader.at(text.source(reference.span.clone()));
    let message = format!("`{}` is no number of instances by its default: `{}`", reference.dotted(), default.to_text());
    let d = Diagnostic::warning("wrong-type", at, message).label(flow.reader.at(field.span), "the default");
    flow.reader.report(d.help(format!("write a whole number from 1 to {MAX_SWARM_SIZE}")));
}

/// An input that stands for a list, and its default is none.
fn check_input_list(flow: &Workflow<'_, '_>, text: &Text, reference: &Reference) {
    let [root, name] = reference.path.as_slice() else { return };
    let field = flow.manifest.input.iter().find(|f| *root.name == *"inputs" && f.name.value == name.name);
    let Some((field, Value::Str(default))) = field.and_then(|f| Some((f, f.default.as_ref()?))) else { return };
    if json_list(default).is_some() {
        return;
    }
    let at = flow.reader.at(text.source(reference.span.clone()));
    let message = format!("`{}` is no JSON list by its default, so a run without that input fails", reference.dotted());
    let d = Diagnostic::warning("wrong-type", at, message).label(flow.reader.at(field.span), "the default");
    flow.reader.report(d.help("write the default as a list, or as the text of one: `'[\"a\", \"b\"]'`"));
}

/// The text of another factory, which is all its instances' texts in one (decision S5), in the place of its list.
fn check_factory(flow: &Workflow<'_, '_>, text: &Text, reference: &Reference) {
    let [.., output] = reference.path.as_slice() else { return };
    let names = flow.names;
    let Some((at, taken)) = names.node_at(&reference.path).filter(|_| *output.name == *"output") else { return };
    let Some(NodeKind::Factory(other)) = flow.manifest.nodes.get(at).map(|n| &n.kind) else { return };
    let look = names.look(Root::Working, &reference.path);
    let written = look.seeded || look.writes.iter().any(|w| names.provides(*w, &reference.path));
    if taken + 1 != reference.path.len() || written || matches!(other.over, Some(Over::Count(Size::Fixed(1)))) {
        return;
    }
    let place = flow.reader.at(text.source(reference.span.clone()));
    let id = names.nodes.get(at).map_or("", |n| &*n.id.value);
    let message = format!("`{id}.output` joins the results of all instances of `{id}` as text; it is not a list");
    let d = Diagnostic::warning("wrong-type", place, message).help(format!("the list is `{{{{ {id}.outputs }}}}`"));
    flow.reader.report(mend::rewritten(d, mend::segment(reference, place, taken), "outputs", false));
}

/// What stands beside the placeholders of a text.
fn rest(text: &str, template: &Template) -> String {
    let mut rest = String::new();
    let mut at = 0;
    for reference in template.references() {
        let (start, end) = (reference.span.start as usize, reference.span.end as usize);
        let open = text.get(..start).and_then(|t| t.rfind("{{")).unwrap_or(start);
        rest.push_str(text.get(at..open).unwrap_or_default());
        at = text.get(end..).and_then(|t| t.find("}}")).map_or(end, |close| end + close + 2);
    }
    rest.push_str(text.get(at..).unwrap_or_default());
    rest
}

fn json_list(text: &str) -> Option<Value> {
    let json: serde_json::Value = serde_json::from_str(text.trim()).ok()?;
    json.is_array().then(|| Value::from_json(json))
}
