//! Plans as text.

use std::fmt::Write as _;

use trefoil_machine::text::shorten_text;
use trefoil_syntax::diagnostic::render::clean_line;

use super::{CallBound, Plan, PlanLocation, PlanStep};

/// Maximum number of characters of a default.
const DEFAULT: usize = 200;

/// The plan as text.
pub(super) fn plan_text(plan: &Plan) -> String {
    let mut out = String::new();
    line(&mut out, &format!("{} ({}){}", plan.name, plan.sort, location_suffix(&plan.place)));
    if !plan.inputs.is_empty() {
        out.push_str("\ninput\n");
        for input in &plan.inputs {
            let kind = schema(&input.schema.to_json());
            let tail = match (&input.default, input.required) {
                (Some(default), _) => format!(" = {}", shorten_text(&default.to_json().to_string(), DEFAULT)),
                (None, true) => ", required".to_owned(),
                (None, false) if kind.ends_with("null") => String::new(),
                (None, false) => " or null".to_owned(),
            };
            line(&mut out, &format!("  {}: {kind}{tail}", input.name));
        }
    } else if plan.takes_text {
        out.push_str("\ninput\n  text\n");
    }
    out.push_str("\nsteps\n");
    steps(&plan.steps, "", &mut out);
    if !plan.output.is_empty() {
        out.push_str("\noutput\n");
        line(&mut out, &format!("  from {}", plan.output.join(", ")));
    }
    out.push_str("\ncalls at most\n");
    for (name, bound) in plan.calls.named_bounds() {
        if !bound.is_zero() || name == "model" {
            line(&mut out, &format!("  {name}: {bound}"));
        }
        if name == "model" {
            models(&plan.models, &mut out);
        }
    }
    for limit in &plan.limits {
        line(&mut out, &format!("  limit: {limit}"));
    }
    let all = plan.calls.named_bounds();
    if all.iter().any(|(_, b)| b.endless) {
        out.push_str("  unbounded: a flow calls itself\n");
    } else if all.iter().any(|(_, b)| b.fixed_number().is_none()) {
        out.push_str("  unbounded: depends on list length at run time\n");
    }
    if let Some(money) = &plan.money {
        out.push_str("\ncost\n");
        for text in money.render_lines() {
            line(&mut out, &format!("  {text}"));
        }
    }
    if plan.cut {
        out.push_str("\nonly the first steps are shown\n");
    }
    if !plan.obstacles.is_empty() {
        out.push_str("\ndoes not run\n");
        for obstacle in &plan.obstacles {
            line(&mut out, &format!("  {}{}", obstacle.what, location_suffix(&obstacle.place)));
            if let Some(help) = &obstacle.help {
                line(&mut out, &format!("    {help}"));
            }
        }
    }
    if !plan.proofs.is_empty() {
        out.push_str("\nproved\n");
        for proof in &plan.proofs {
            line(&mut out, &format!("  {}", proof.render_line()));
        }
    }
    out
}

/// A line of the plan. A name may contain any characters, but must not move the cursor or start a new line.
fn line(out: &mut String, text: &str) {
    out.push_str(&clean_line(text));
    out.push('\n');
}

/// The models, below the number of all model calls, with aligned numbers.
fn models(all: &[(String, CallBound)], out: &mut String) {
    let widest = all.iter().map(|(model, _)| model.chars().count()).max().unwrap_or(0);
    for (model, bound) in all {
        line(out, &format!("    {model:<widest$}  {bound}"));
    }
}

fn location_suffix(place: &Option<PlanLocation>) -> String {
    match place {
        Some(place) => format!("  {}:{}", place.file, place.line),
        None => String::new(),
    }
}

fn steps(all: &[PlanStep], prefix: &str, out: &mut String) {
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
        if step.at_most != CallBound::from_number(1) {
            let _ = write!(head, "  ×{}", step.at_most);
        }
        line(out, &head);
        let inner = format!("{indent}{}", " ".repeat(number.len() + 2));
        for note in &step.notes {
            line(out, &format!("{inner}{note}"));
        }
        if !step.reads.is_empty() {
            line(out, &format!("{inner}reads {}", step.reads.join(", ")));
        }
        if let Some(writes) = &step.writes {
            line(out, &format!("{inner}writes {writes}"));
        }
        steps(&step.steps, &number, out);
    }
}

/// A schema in one or two words.
fn schema(schema: &serde_json::Value) -> String {
    if let Some(serde_json::Value::Array(all)) = schema.get("enum") {
        return all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ");
    }
    match schema.get("type") {
        Some(serde_json::Value::String(name)) => name.clone(),
        Some(serde_json::Value::Array(all)) => all.iter().filter_map(|t| t.as_str()).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}
