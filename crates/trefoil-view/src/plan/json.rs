//! Plans as JSON. The names are part of the interface: they change only with a note in the changelog.

use serde_json::{Map, Value, json};

use super::{CallBound, Plan, PlanLocation, PlanStep};

/// `{name, kind, file, line, input, takes_text, steps, output, models, calls, cost, limits, obstacles, proofs, cut}`.
pub(super) fn plan_json(plan: &Plan) -> Value {
    let inputs: Vec<Value> = plan
        .inputs
        .iter()
        .map(|i| {
            json!({
                "name": i.name,
                "schema": i.schema.to_json(),
                "required": i.required,
                "default": i.default.as_ref().map(trefoil_template::Value::to_json),
            })
        })
        .collect();
    let mut all = Map::new();
    all.insert("name".into(), plan.name.as_str().into());
    all.insert("kind".into(), plan.sort.into());
    insert_location(&plan.place, &mut all);
    all.insert("input".into(), inputs.into());
    all.insert("takes_text".into(), plan.takes_text.into());
    all.insert("steps".into(), plan.steps.iter().map(step).collect());
    all.insert("output".into(), plan.output.clone().into());
    let models = plan.models.iter().map(|(name, calls)| json!({"model": name, "calls": bound(calls)}));
    all.insert("models".into(), models.collect());
    let calls = plan.calls.named_bounds().into_iter().map(|(name, calls)| (name.to_owned(), bound(calls)));
    all.insert("calls".into(), Value::Object(calls.collect()));
    all.insert("cost".into(), plan.money.as_ref().map(super::PlanCost::to_json).into());
    all.insert("limits".into(), plan.limits.clone().into());
    let obstacles = plan.obstacles.iter().map(|o| {
        let mut one = Map::new();
        one.insert("message".into(), o.what.as_str().into());
        one.insert("help".into(), o.help.clone().into());
        insert_location(&o.place, &mut one);
        Value::Object(one)
    });
    all.insert("obstacles".into(), obstacles.collect());
    let proofs = plan.proofs.iter().map(|proof| {
        let unseen = proof.unseen.iter().map(|(what, at)| {
            let mut one = Map::new();
            one.insert("what".into(), what.as_str().into());
            insert_location(at, &mut one);
            Value::Object(one)
        });
        json!({"kind": proof.kind, "proved": proof.proved, "not_seen": unseen.collect::<Vec<_>>()})
    });
    all.insert("proofs".into(), proofs.collect());
    all.insert("cut".into(), plan.cut.into());
    Value::Object(all)
}

fn step(step: &PlanStep) -> Value {
    let mut all = Map::new();
    all.insert("name".into(), step.name.as_str().into());
    all.insert("kind".into(), step.sort.into());
    insert_location(&step.place, &mut all);
    all.insert("notes".into(), step.notes.clone().into());
    all.insert("model".into(), step.model.clone().into());
    all.insert("reads".into(), step.reads.clone().into());
    all.insert("writes".into(), step.writes.clone().into());
    all.insert("at_most".into(), bound(&step.at_most));
    all.insert("steps".into(), step.steps.iter().map(self::step).collect());
    Value::Object(all)
}

/// `{"at_most": number or null, "text": ...}`: null if it depends on the length of a list.
fn bound(bound: &CallBound) -> Value {
    json!({"at_most": bound.fixed_number(), "text": bound.to_string()})
}

fn insert_location(place: &Option<PlanLocation>, into: &mut Map<String, Value>) {
    into.insert("file".into(), place.as_ref().map(|p| p.file.clone()).into());
    into.insert("line".into(), place.as_ref().map(|p| p.line).into());
}
