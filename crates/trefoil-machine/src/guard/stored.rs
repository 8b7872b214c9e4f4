//! The input of a run as it is stored: without the personal data that every agent that reads the input redacts.

use trefoil_ir::{Expr, Flow, Guard, ModelCall, PiiAction, Program, SlotId, StepKind, walk};
use trefoil_template::Value;

use super::{Ruling, Side, Verdict, conceals, hide_value, name, pii};

/// What a run stores of its input.
#[derive(Debug, Default)]
pub struct StoredInput {
    /// The guardrails that redact the input before it is stored.
    redacts: Vec<Guard>,
    /// All guardrails of the program that hide what they find.
    hides: Vec<Guard>,
}

impl StoredInput {
    /// Analyses a program. The input is redacted if nothing reads it except prompts that all redact it in the same way; otherwise a
    /// step needs it as it is.
    pub(crate) fn of(program: &Program, hides: &[Guard]) -> Self {
        let mut stored = Self { redacts: Vec::new(), hides: hides.to_vec() };
        if !hides.is_empty()
            && let Some(flow) = program.flows.get(program.entry.index())
        {
            stored.redacts = shared_by_readers(program, flow).unwrap_or_default();
        }
        stored
    }

    /// The input to store and to run with, and the verdicts of the guardrails that changed it.
    pub fn of_run(&self, input: Value) -> (Value, Vec<Verdict>) {
        let mut found = vec![Vec::new(); self.redacts.len()];
        let input = if self.redacts.is_empty() { input } else { redacted(&self.redacts, input, &mut found) };
        let changed = self.redacts.iter().zip(found).filter(|(_, found)| !found.is_empty());
        let verdict = |(guard, found): (&Guard, Vec<String>)| {
            let why = pii::words(found.iter().map(|what| &**what), Side::Input);
            Verdict::found(name(guard), Side::Input, Ruling::Changed, why)
        };
        (input, changed.map(verdict).collect())
    }

    /// Whether the input still contains what a guardrail of the program hides.
    pub fn shows(&self, input: &Value) -> bool {
        !self.hides.is_empty() && hide_value(&self.hides, input.clone()) != *input
    }
}

/// The guardrails with which every reader of the input redacts it. `None`: something reads it without them.
fn shared_by_readers(program: &Program, flow: &Flow) -> Option<Vec<Guard>> {
    let raw = flow.intake.raw.as_ref().map(|(slot, _)| *slot);
    let is_input = |slot: &SlotId| *slot == flow.intake.slot || Some(*slot) == raw;
    let reads = |one: walk::Evaluated<'_>| {
        let mut found = false;
        one.sources(&mut |source| found |= source.slots().iter().any(is_input));
        found
    };
    if walk::evaluated_by_flow(flow).into_iter().any(reads) {
        return None;
    }
    let mut shared: Option<Vec<Guard>> = None;
    let own = walk::reachable(program, program.entry).into_iter().filter(|(of, _)| *of == program.entry);
    for (_, step) in own {
        let step = program.step(step)?;
        for one in walk::evaluated(step).into_iter().filter(|one| reads(*one)) {
            let (StepKind::Model(call), walk::Evaluated::Expr(read)) = (&step.kind, one) else { return None };
            if !std::ptr::eq(read, &call.user) || !is_verbatim(read) {
                return None;
            }
            let redacts = redacts(call);
            if shared.get_or_insert_with(|| redacts.clone()) != &redacts {
                return None;
            }
        }
    }
    shared
}

fn redacts(call: &ModelCall) -> Vec<Guard> {
    let redacts = |guard: &&Guard| matches!(guard, Guard::Pii { action: PiiAction::Redact, .. });
    // Another guard must still find what it blocks.
    let blocks = call.guards.iter().any(|guard| conceals(guard) && !redacts(&guard));
    if blocks { Vec::new() } else { call.guards.iter().filter(redacts).cloned().collect() }
}

/// Whether the expression puts whole values into the message, so that it makes no difference when they are redacted.
fn is_verbatim(expr: &Expr) -> bool {
    match expr {
        Expr::Read(_) | Expr::Const(_) => true,
        Expr::Join { otherwise, .. } => is_verbatim(otherwise),
        Expr::AsText(inner) | Expr::AsMessage(inner) | Expr::Lines(inner) => is_verbatim(inner),
        _ => false,
    }
}

/// Redacts every text and number of a value, as the guards redact a message. Adds what each of them finds.
fn redacted(guards: &[Guard], value: Value, found: &mut [Vec<String>]) -> Value {
    match value {
        Value::Str(_) | Value::Number(_) => {
            let text = value.to_text();
            let mut changed = text.to_string();
            for (guard, found) in guards.iter().zip(found) {
                if let Guard::Pii { entities, replacement, .. } = guard {
                    let hits = pii::find(&changed, entities);
                    changed = pii::redact(&changed, &hits, replacement);
                    found.extend(hits.into_iter().map(|(_, what)| what));
                }
            }
            if changed == *text { value } else { changed.into() }
        }
        Value::List(items) => items.iter().map(|item| redacted(guards, item.clone(), found)).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), redacted(guards, value.clone(), found))).collect()
        }
        other => other,
    }
}
