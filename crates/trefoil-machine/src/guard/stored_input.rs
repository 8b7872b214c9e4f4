//! The input of a run as it is stored: without the personal data that every agent that reads the input redacts.

use trefoil_ir::{FlowDefinition, Guard, ModelCall, PiiAction, Program, SlotId, StepKind, ValueExpression, walk};
use trefoil_template::Value;

use super::{CheckSubject, Verdict, VerdictRuling, pii};

/// What a run stores of its input.
#[derive(Debug, Default)]
pub struct StoredInput {
    /// The guardrails that redact the input before it is stored, or why the input is stored as it is.
    redacts: Option<Result<Vec<Guard>, String>>,
    /// All guardrails of the program that hide what they find.
    hides: Vec<Guard>,
}

impl StoredInput {
    /// Analyses a program. The input is redacted if nothing reads it except prompts that all redact it in the same way; otherwise a
    /// step needs it as it is. `hides`: all guardrails of the program that hide what they find.
    pub(crate) fn for_program(program: &Program, hides: &[Guard]) -> Self {
        if hides.is_empty() {
            return Self::default();
        }
        Self { redacts: Some(shared_by_readers(program, program.entry_flow())), hides: hides.to_vec() }
    }

    /// The input to store and to run with, and what the guardrails found in it.
    pub fn of_run(&self, input: Value) -> (Value, Vec<Verdict>) {
        match &self.redacts {
            None => (input, Vec::new()),
            Some(Ok(guards)) => {
                let mut found_by_guard = vec![Vec::new(); guards.len()];
                let input = redact_value(guards, input, &mut found_by_guard);
                let mut verdicts = Vec::new();
                for found in found_by_guard {
                    if !found.is_empty() {
                        verdicts.push(verdict(VerdictRuling::Changed, &found, "it is stored redacted"));
                    }
                }
                (input, verdicts)
            }
            Some(Err(reason)) => {
                let mut found_by_guard = vec![Vec::new(); self.hides.len()];
                redact_value(&self.hides, input.clone(), &mut found_by_guard);
                let found = found_by_guard.concat();
                if found.is_empty() {
                    return (input, Vec::new());
                }
                let stored = format!("it is stored as it is, because {reason}");
                (input, vec![verdict(VerdictRuling::Flagged, &found, &stored)])
            }
        }
    }
}

fn verdict(ruling: VerdictRuling, found: &[String], stored: &str) -> Verdict {
    let what = pii::personal_data_message(found.iter().map(|what| &**what), CheckSubject::Input);
    Verdict::with_finding("pii", CheckSubject::Input, ruling, format!("{what}; {stored}"))
}

/// The guardrails with which every reader of the input redacts it, or why there are none.
fn shared_by_readers(program: &Program, flow: &FlowDefinition) -> Result<Vec<Guard>, String> {
    let raw = flow.intake.raw.as_ref().map(|(slot, _)| *slot);
    let is_input = |slot: &SlotId| *slot == flow.intake.slot || Some(*slot) == raw;
    let reads = |part: walk::EvaluatedPart<'_>| {
        let mut found = false;
        part.visit_sources(&mut |source| found |= source.slot_ids().iter().any(is_input));
        found
    };
    let as_it_is = |name: &str| format!("`{name}` reads it as it is");
    if walk::evaluated_by_flow(flow).into_iter().any(reads) {
        return Err(format!("the result of {}", as_it_is(&flow.name)));
    }
    let mut shared: Option<(&str, Vec<Guard>)> = None;
    for (of, step) in walk::reachable_steps(program, program.entry) {
        if of != program.entry {
            continue;
        }
        let step = &program.steps[step];
        let name = step.label.as_deref().unwrap_or(&flow.name);
        for part in walk::evaluated_by_step(step) {
            if !reads(part) {
                continue;
            }
            let (StepKind::Model(call), walk::EvaluatedPart::Expr(read)) = (&step.kind, part) else {
                return Err(as_it_is(name));
            };
            let redacts = redacts(call, name)?;
            if !std::ptr::eq(read, &call.user) || !is_verbatim(read) {
                return Err(format!("`{name}` puts it into a longer text, and its guardrails check the whole text"));
            }
            match &shared {
                None => shared = Some((name, redacts)),
                Some((other, known)) if *known != redacts => {
                    return Err(format!("`{other}` and `{name}` do not redact it in the same way"));
                }
                Some(_) => {}
            }
        }
    }
    match shared {
        Some((_, redacts)) => Ok(redacts),
        None => Ok(Vec::new()),
    }
}

/// The guardrails of an agent that redact its message.
fn redacts(call: &ModelCall, name: &str) -> Result<Vec<Guard>, String> {
    let mut all = Vec::new();
    for guard in &call.guards {
        match guard {
            Guard::Pii { action: PiiAction::Block, .. } => {
                return Err(format!("a guardrail of `{name}` must find there what it blocks"));
            }
            Guard::Pii { action: PiiAction::Redact, entities, replacement } => {
                // It would be redacted again at every reading.
                if !pii::find_personal_data(replacement, entities).is_empty() {
                    return Err(format!("the replacement text of `{name}` contains such data itself"));
                }
                all.push(guard.clone());
            }
            _ => {}
        }
    }
    if all.is_empty() { Err(format!("`{name}` reads it as it is")) } else { Ok(all) }
}

/// Whether the expression puts whole values into the message, so that it makes no difference when they are redacted.
fn is_verbatim(expr: &ValueExpression) -> bool {
    match expr {
        ValueExpression::Read(_) | ValueExpression::Const(_) => true,
        ValueExpression::Join { otherwise, .. } => is_verbatim(otherwise),
        ValueExpression::AsText(inner) | ValueExpression::AsMessage(inner) | ValueExpression::Lines(inner) => {
            is_verbatim(inner)
        }
        _ => false,
    }
}

/// Redacts every text and number of a value, as the guards redact a message. Adds what each of them finds.
fn redact_value(guards: &[Guard], value: Value, found: &mut [Vec<String>]) -> Value {
    match value {
        Value::Str(_) | Value::Number(_) => {
            let text = value.to_text();
            let mut changed = text.to_string();
            for (guard, found) in guards.iter().zip(found) {
                if let Guard::Pii { entities, replacement, .. } = guard {
                    let hits = pii::find_personal_data(&changed, entities);
                    changed = pii::redact_matches(&changed, &hits, replacement);
                    for (_, what) in hits {
                        found.push(what);
                    }
                }
            }
            if changed == *text { value } else { changed.into() }
        }
        Value::List(items) => items.iter().map(|item| redact_value(guards, item.clone(), found)).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), redact_value(guards, value.clone(), found))).collect()
        }
        other => other,
    }
}
