//! `swarm_size` that cannot be a number.

use trefoil_syntax::Diagnostic;
use trefoil_template::Value;

use super::list::default_of;
use super::subject::{CheckedWorkflow, FindingList, text_outside_placeholders};
use trefoil_front::bound_text::BoundText;
use trefoil_front::names::BoundReference;
use trefoil_front::sirenspec::manifest::{FactoryItems, MAX_SWARM_SIZE, SwarmSize};
use trefoil_front::sirenspec::names::node_part::NodePart;

/// Checks every `swarm_size` that is a template.
pub fn check_swarm_sizes(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for (at, factory) in subject.factory_nodes() {
        if let Some(FactoryItems::Count(SwarmSize::Text(text))) = &factory.over
            && let Some(bound) = subject.node_text(at, NodePart::Decides("swarm_size"), text)
        {
            whole(subject, bound, found);
        }
    }
}

/// The template must be a single placeholder, and its default a number.
fn whole(subject: &CheckedWorkflow<'_>, bound: &BoundText, found: &mut FindingList) {
    let Some(template) = bound.as_template() else { return };
    // A text of digits and placeholders may result in a number.
    let words = text_outside_placeholders(&bound.source.value, template);
    if !words.trim().is_empty() && !words.trim().bytes().all(|b| b.is_ascii_digit()) {
        let message = format!("`swarm_size` must be a whole number, but `{}` cannot be one", bound.source.value.trim());
        let d = Diagnostic::new_error("bad-fan-out", bound.at, message);
        return found.push(d.with_help("write a number, or a single placeholder"));
    }
    for used in &bound.uses {
        match &used.reference.default {
            Some(default) => of_default(used, default, template.is_single(), found),
            None => of_input(subject, used, found),
        }
    }
}

fn of_default(used: &BoundReference, default: &str, single: bool, found: &mut FindingList) {
    let least = i64::from(single);
    if default.trim().parse().is_ok_and(|n: i64| (least..=i64::from(MAX_SWARM_SIZE)).contains(&n)) {
        return;
    }
    let message = format!("the default of `swarm_size` is not a number of instances: `{default}`");
    let d = Diagnostic::new_warning("bad-fan-out", used.at, message);
    found.push(d.with_help(format!("write a whole number from 1 to {MAX_SWARM_SIZE}")));
}

/// An input for a number of instances whose default is not a number.
fn of_input(subject: &CheckedWorkflow<'_>, used: &BoundReference, found: &mut FindingList) {
    let Some((field, default)) = default_of(subject, &used.reference) else { return };
    let number = match default {
        Value::Str(text) => text.trim().parse().ok(),
        other => other.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64),
    };
    if number.is_some_and(|n| (0..=i64::from(MAX_SWARM_SIZE)).contains(&n)) {
        return;
    }
    let path = used.reference.dotted_path();
    let message = format!("the default of `{path}` is not a number of instances: `{}`", default.to_text());
    let d =
        Diagnostic::new_warning("bad-fan-out", used.at, message).with_label(subject.location_of(field), "the default");
    found.push(d.with_help(format!("write a whole number from 1 to {MAX_SWARM_SIZE}")));
}
