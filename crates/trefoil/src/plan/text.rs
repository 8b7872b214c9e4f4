//! Plans for people.

use std::fmt::Write as _;

use super::{Bound, Place, Plan, Step};

/// The plan as text.
pub(super) fn text(plan: &Plan) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} ({}){}", plan.name, plan.sort, at(&plan.place));
    if !plan.inputs.is_empty() {
        out.push_str("\ninput\n");
        for input in &plan.inputs {
            let sort = schema(&input.schema.to_json());
            let tail = match (&input.default, input.required) {
                (Some(default), _) => format!(" = {}", default.to_json()),
                (None, true) => ", required".to_owned(),
                (None, false) if sort.ends_with("null") => String::new(),
                (None, false) => " or null".to_owned(),
            };
            let _ = writeln!(out, "  {}: {sort}{tail}", input.name);
        }
    } else if plan.takes_text {
        out.push_str("\ninput\n  text\n");
    }
    out.push_str("\nsteps\n");
    steps(&plan.steps, "", &mut out);
    if !plan.output.is_empty() {
        let _ = writeln!(out, "\noutput\n  from {}", plan.output.join(", "));
    }
    out.push_str("\ncalls at most\n");
    for (name, bound) in plan.calls.each() {
        if !bound.is_zero() || name == "model" {
            let _ = writeln!(out, "  {name}: {bound}");
        }
    }
    for (model, bound) in &plan.models {
        let _ = writeln!(out, "    {model}: {bound}");
    }
    for limit in &plan.limits {
        let _ = writeln!(out, "  limit: {limit}");
    }
    let all = plan.calls.each();
    if all.iter().any(|(_, b)| b.endless) {
        out.push_str("  there is no bound: a flow calls itself\n");
    } else if all.iter().any(|(_, b)| b.number().is_none()) {
        out.push_str("  there is no bound: it depends on how long a list turns out to be\n");
    }
    if plan.cut {
        out.push_str("\nthere are more steps than are shown here\n");
    }
    if !plan.obstacles.is_empty() {
        out.push_str("\ndoes not run\n");
        for obstacle in &plan.obstacles {
            let _ = writeln!(out, "  {}{}", obstacle.what, at(&obstacle.place));
        }
    }
    out
}

fn at(place: &Option<Place>) -> String {
    place.as_ref().map(|p| format!("  {}:{}", p.file, p.line)).unwrap_or_default()
}

fn steps(all: &[Step], prefix: &str, out: &mut String) {
    for (index, step) in all.iter().enumerate() {
        let number = if prefix.is_empty() { format!("{}", index + 1) } else { format!("{prefix}.{}", index + 1) };
        let indent = "  ".repeat(number.matches('.').count() + 1);
        let mut head = format!("{indent}{number}  {}", step.name);
        if step.name != step.sort {
            let _ = write!(head, "  [{}]", step.sort);
        }
        if let Some(model) = &step.model {
            let _ = write!(head, "  {model}");
        }
        if step.at_most != Bound::known(1) {
            let _ = write!(head, "  ×{}", step.at_most);
        }
        let _ = writeln!(out, "{head}");
        let inner = format!("{indent}{}", " ".repeat(number.len() + 2));
        for note in &step.notes {
            let _ = writeln!(out, "{inner}{note}");
        }
        if !step.reads.is_empty() {
            let _ = writeln!(out, "{inner}reads {}", step.reads.join(", "));
        }
        if let Some(writes) = &step.writes {
            let _ = writeln!(out, "{inner}writes {writes}");
        }
        steps(&step.steps, &number, out);
    }
}

/// A schema in a word or two.
fn schema(schema: &serde_json::Value) -> String {
    if let Some(all) = schema.get("enum").and_then(|e| e.as_array()) {
        return all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ");
    }
    match schema.get("type") {
        Some(serde_json::Value::String(name)) => name.clone(),
        Some(serde_json::Value::Array(all)) => all.iter().filter_map(|t| t.as_str()).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}
