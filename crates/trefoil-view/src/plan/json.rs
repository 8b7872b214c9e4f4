//! Plans as JSON. The names are part of the interface: they change only with a note in the changelog.

use serde_json::{Map, Value, json};

use super::{CallBound, Plan, PlanLocation, PlanProof, PlanStep};

/// `{name, kind, file, line, input, takes_text, steps, output, models, calls, cost, limits, obstacles, proofs, cut}`.
pub(super) fn plan_json(plan: &Plan) -> Value {
    let mut inputs = Vec::new();
    for input in &plan.inputs {
        inputs.push(json!({
            "name": input.name,
            "schema": input.schema.to_json(),
            "required": input.required,
            "default": input.default.as_ref().map(trefoil_template::Value::to_json),
        }));
    }
    let mut calls = Map::new();
    for (name, most) in plan.calls.named_bounds() {
        calls.insert(name.to_owned(), bound(most));
    }
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
    all.insert("calls".into(), Value::Object(calls));
    all.insert("cost".into(), plan.money.as_ref().map(super::PlanCost::to_json).into());
    all.insert("limits".into(), plan.limits.clone().into());
    all.insert("obstacles".into(), obstacles(plan));
    all.insert("proofs".into(), plan.proofs.iter().map(proof).collect());
    all.insert("cut".into(), plan.cut.into());
    Value::Object(all)
}

fn obstacles(plan: &Plan) -> Value {
    let mut obstacles: Vec<Value> = Vec::new();
    for obstacle in &plan.obstacles {
        let mut members = Map::new();
        members.insert("message".into(), obstacle.what.as_str().into());
        members.insert("help".into(), obstacle.help.clone().into());
        insert_location(&obstacle.place, &mut members);
        obstacles.push(Value::Object(members));
    }
    Value::Array(obstacles)
}

fn proof(proof: &PlanProof) -> Value {
    let mut unseen = Vec::new();
    for (what, at) in &proof.unseen {
        let mut members = Map::new();
        members.insert("what".into(), what.as_str().into());
        insert_location(at, &mut members);
        unseen.push(Value::Object(members));
    }
    json!({"kind": proof.kind, "proved": proof.proved, "not_seen": unseen})
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
