//! `for_each` that is not a list: a text, a default of another type, or the joined text of another factory.

use trefoil_syntax::Diagnostic;
use trefoil_template::{Reference, Value};

use super::subject::{CheckedWorkflow, FindingList, text_outside_placeholders};
use trefoil_front::bound_text::BoundText;
use trefoil_front::names::BoundReference;
use trefoil_front::sirenspec::manifest::{FactoryItems, NodeKind, StateTree, SwarmSize};
use trefoil_front::sirenspec::names::node_part::NodePart;
use trefoil_front::sirenspec::names::types::written_list;
use trefoil_front::sirenspec::names::workflow_names::segment_names;
use trefoil_front::spelling_fixes;

/// Checks the list of every factory.
pub fn check_lists(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for (at, factory) in subject.factory_nodes() {
        if let Some(FactoryItems::List(text)) = &factory.over
            && let Some(bound) = subject.node_text(at, NodePart::Decides("for_each"), text)
        {
            whole(bound, found);
            if !matches!(bound.as_template(), Some(template) if template.is_single()) {
                continue;
            }
            for used in &bound.uses {
                match &used.reference.default {
                    Some(default) => of_default(used, default, found),
                    None => of_input(subject, used, found),
                }
                of_factory(subject, used, found);
            }
        }
    }
}

/// A literal text must be a JSON list.
fn whole(bound: &BoundText, found: &mut FindingList) {
    let Some(template) = bound.as_template() else { return };
    let (at, value) = (bound.at, bound.source.value.trim_start());
    if let Some(literal) = template.literal_text() {
        if written_list(literal).is_none() {
            let d = Diagnostic::new_error("bad-fan-out", at, "`for_each` must be a JSON list");
            found.push(d.with_help("for example `'[\"a\", \"b\"]'`, or a placeholder such as `{{ plan.output }}`"));
        }
        return;
    }
    // A text that starts with a bracket may become a list; one that is a single placeholder should be a list.
    let alone =
        template.references().len() == 1 && text_outside_placeholders(&bound.source.value, template).trim().is_empty();
    if !alone && !value.starts_with('[') {
        let what = if value.starts_with("{{") { "one placeholder, with nothing around it" } else { "a JSON list" };
        let message = format!("`for_each` must be {what}: this text is not a list");
        found.push(Diagnostic::new_error("bad-fan-out", at, message).with_help("for example `{{ plan.output }}`"));
    }
}

fn of_default(used: &BoundReference, default: &str, found: &mut FindingList) {
    if written_list(default).is_none() {
        let message = format!("the default of `for_each` is not a JSON list: `{default}`");
        let d = Diagnostic::new_warning("bad-fan-out", used.at, message);
        found.push(d.with_help("write `'[]'` for no instances"));
    }
}

/// An input for a list whose default is not a list.
fn of_input(subject: &CheckedWorkflow<'_>, used: &BoundReference, found: &mut FindingList) {
    let Some((field, Value::Str(default))) = default_of(subject, &used.reference) else { return };
    if written_list(default).is_some() {
        return;
    }
    let path = used.reference.dotted_path();
    let message = format!("the default of `{path}` is not a JSON list, so a run without this input fails");
    let d =
        Diagnostic::new_warning("bad-fan-out", used.at, message).with_label(subject.location_of(field), "the default");
    found.push(d.with_help("write the default as a list, or as the text of one: `'[\"a\", \"b\"]'`"));
}

/// The place and the value of the default of the input field that a reference reads, if it has one.
pub fn default_of<'s>(
    subject: &CheckedWorkflow<'s>,
    reference: &Reference,
) -> Option<(trefoil_syntax::Span, &'s Value)> {
    let [root, name] = reference.path.as_slice() else { return None };
    let field = subject.manifest.input.iter().find(|f| *root.name == *"inputs" && f.name.value == name.name)?;
    Some((field.span, field.default.as_ref()?))
}

/// The joined text of all instances of another factory, used as a list.
fn of_factory(subject: &CheckedWorkflow<'_>, used: &BoundReference, found: &mut FindingList) {
    let path = segment_names(&used.reference.path);
    let known = subject.known;
    let Some((at, taken)) = known.node_at(&path) else { return };
    if !matches!(path.get(taken..), Some([word]) if **word == *"output") {
        return;
    }
    let Some(node) = subject.manifest.nodes.get(at) else { return };
    let NodeKind::Factory(other) = &node.kind else { return };
    let look = known.look_up_path(StateTree::Working, &path);
    let written = look.seeded || look.writes.iter().any(|w| known.provides_value(*w, &path));
    if written || matches!(other.over, Some(FactoryItems::Count(SwarmSize::Fixed(1)))) {
        return;
    }
    let id = known.node_id(at);
    let message = format!("`{id}.output` joins the results of all instances of `{id}` as text; it is not a list");
    let d = Diagnostic::new_warning("bad-fan-out", used.at, message)
        .with_help(format!("write `{{{{ {id}.outputs }}}}` for the list"));
    let segment = used.segment_location(taken);
    found.push(spelling_fixes::fix_path(d, segment, "outputs", false));
}
