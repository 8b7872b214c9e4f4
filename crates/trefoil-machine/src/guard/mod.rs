//! Guardrails and validators: pure functions on texts, one file for each kind, each returning a [`Verdict`].
//!
//! Three parts of a model call are checked. The machine checks the user message and data inserted in the system prompt,
//! before the request has a content key; the driver checks the whole answer before it is journaled. A limit on usage
//! depends on the usage of the run, which only the machine knows. Validators ([`validator`]) check the result of an
//! iteration.

pub mod cap;
mod injection;
mod length;
mod pii;
mod schema;
mod stored_input;
pub mod validator;
mod verdict;

use std::ops::Range;
use std::sync::Arc;

use trefoil_ir::{Guard, PiiAction, Program, StepKind};
use trefoil_template::{Masked, MaskedPiece, Value, ValueObject};

use crate::provenance::{self, OriginKind, TextPart};
use crate::schemas::ProgramSchemas;
use crate::turn_content;

pub use stored_input::StoredInput;
pub use verdict::{CheckSubject, Verdict, VerdictRuling};

/// The default replacement for personal data.
const HIDDEN: &str = "[hidden]";

/// A checked text.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedText<T> {
    /// The text, possibly changed. Must not be used if the last verdict is a rejection.
    pub text: T,
    /// One verdict for each guard that applies, up to the first rejection.
    pub verdicts: Vec<Verdict>,
}

impl<T> CheckedText<T> {
    /// The failure, if the text was rejected.
    pub fn rejection_error(&self) -> Option<crate::error::RunError> {
        self.verdicts.last()?.rejection_error()
    }
}

/// A match of a guard in a message: its span in the displayed message, and its name.
struct GuardMatch {
    bytes: Range<usize>,
    what: String,
}

/// Checks a message before it is sent: the user message, or the system prompt. In masked text, only the known parts are
/// checked. `parts` returns the origins of the message's parts; it is called only if there is a match.
pub fn check_message(
    guards: &[Guard],
    of: CheckSubject,
    text: Value,
    parts: &dyn Fn() -> Vec<TextPart>,
) -> CheckedText<Value> {
    let mut looked = CheckedText { text, verdicts: Vec::new() };
    let mut known: Option<Vec<TextPart>> = None;
    for guard in guards {
        let mut hits = match guard {
            Guard::Injection => hits(&looked.text, injection::find_injections),
            Guard::Pii { entities, .. } => hits(&looked.text, |text| pii::find_personal_data(text, entities)),
            Guard::Length { .. } | Guard::Schema(_) | Guard::TokenCap { .. } | Guard::CostCap { .. } => continue,
        };
        let mut from = Vec::new();
        if !hits.is_empty() {
            let parts = known.get_or_insert_with(parts);
            if of == CheckSubject::Prompt {
                hits.retain(|hit| overlapping_parts(parts, &hit.bytes).any(is_data));
            }
            for hit in &hits {
                for part in overlapping_parts(parts, &hit.bytes) {
                    if let Some(path) = placeholder(part)
                        && !from.contains(path)
                    {
                        from.push(path.clone());
                    }
                }
            }
        }
        if hits.is_empty() {
            looked.verdicts.push(Verdict::without_finding(guard_name(guard), of));
            continue;
        }
        let (ruling, why) = match guard {
            Guard::Pii { action, .. } => {
                (pii::action_ruling(*action), pii::personal_data_message(hits.iter().map(|h| &*h.what), of))
            }
            _ => {
                let what = match hits.first() {
                    Some(hit) => &hit.what,
                    None => "",
                };
                (VerdictRuling::Refused, injection::injection_message(what, of))
            }
        };
        looked.verdicts.push(Verdict { from, ..Verdict::with_finding(guard_name(guard), of, ruling, why) });
        match guard {
            _ if ruling == VerdictRuling::Refused => break,
            Guard::Pii { replacement, .. } if ruling == VerdictRuling::Changed => {
                let bytes = united(hits);
                if let Some(parts) = &mut known {
                    *parts = provenance::replace_parts(parts, &bytes, replacement.len());
                }
                looked.text = replace(&looked.text, &bytes, replacement);
            }
            _ => {}
        }
    }
    looked
}

/// Checks an answer.
pub fn check_answer(guards: &[Guard], text: String, schemas: &ProgramSchemas) -> CheckedText<String> {
    let mut looked = CheckedText { text, verdicts: Vec::new() };
    let of = CheckSubject::Answer;
    for guard in guards {
        if is_cap(guard) {
            continue;
        }
        let Some((ruling, why, changed)) = find_in_answer(guard, &looked.text, schemas) else {
            looked.verdicts.push(Verdict::without_finding(guard_name(guard), of));
            continue;
        };
        looked.verdicts.push(Verdict::with_finding(guard_name(guard), of, ruling, why));
        if ruling == VerdictRuling::Refused {
            break;
        }
        if let Some(changed) = changed {
            looked.text = changed;
        }
    }
    looked
}

/// What a guard finds in an answer: its ruling, why, and the answer without it if the ruling is to change it.
fn find_in_answer(
    guard: &Guard,
    text: &str,
    schemas: &ProgramSchemas,
) -> Option<(VerdictRuling, String, Option<String>)> {
    let of = CheckSubject::Answer;
    match guard {
        Guard::Injection => {
            let found = injection::find_injections(text);
            let (_, what) = found.first()?;
            Some((VerdictRuling::Refused, injection::injection_message(what, of), None))
        }
        Guard::Length { max_chars, refuse } => length::check_length(text, *max_chars, *refuse),
        Guard::Pii { entities, action, replacement } => {
            let found = pii::find_personal_data(text, entities);
            if found.is_empty() {
                return None;
            }
            let ruling = pii::action_ruling(*action);
            let why = pii::personal_data_message(found.iter().map(|(_, what)| &**what), of);
            let is_changed = ruling == VerdictRuling::Changed;
            let changed = if is_changed { Some(pii::redact_matches(text, &found, replacement)) } else { None };
            Some((ruling, why, changed))
        }
        Guard::Schema(schema) => {
            let why = schema::check_schema(text, *schema, schemas).err()?;
            Some((VerdictRuling::Refused, why, None))
        }
        Guard::TokenCap { .. } | Guard::CostCap { .. } => None,
    }
}

/// The verdicts about an answer that every guard accepted. Journals only store that it passed.
pub fn all_passed(guards: &[Guard]) -> impl Iterator<Item = Verdict> {
    let answers = guards.iter().filter(|guard| !is_cap(guard));
    answers.map(|guard| Verdict::without_finding(guard_name(guard), CheckSubject::Answer))
}

/// Whether a guard is about usage, not about texts.
fn is_cap(guard: &Guard) -> bool {
    matches!(guard, Guard::TokenCap { .. } | Guard::CostCap { .. })
}

/// A rejected answer in displayable form: without the personal data that a guard hides.
pub fn hide_personal_data(guards: &[Guard], mut text: String) -> String {
    for guard in guards {
        if let Guard::Pii { entities, replacement, .. } = guard
            && is_concealing(guard)
        {
            let found = pii::find_personal_data(&text, entities);
            let mark = if replacement.is_empty() { HIDDEN } else { replacement };
            text = pii::redact_matches(&text, &found, mark);
        }
    }
    text
}

/// Data that no guard has checked yet in displayable form, such as the run's input: like [`hide_personal_data`], in every text and number.
pub fn hide_value(guards: &[Guard], value: Value) -> Value {
    if guards.is_empty() {
        return value;
    }
    let shown = |text: &str| hide_personal_data(guards, text.to_owned());
    match value {
        Value::Str(text) => Value::from(shown(&text)),
        Value::Number(_) => {
            let text = value.to_text();
            let hidden = shown(&text);
            if hidden == *text { value } else { Value::from(hidden) }
        }
        Value::List(items) => items.iter().map(|item| hide_value(guards, item.clone())).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (shown(key).into(), hide_value(guards, value.clone())));
            Value::from(members.collect::<ValueObject>())
        }
        other => other,
    }
}

/// The guards of a program's agents that hide what they find, each once.
pub fn concealing_guards(program: &Program) -> Vec<Guard> {
    let mut all: Vec<Guard> = Vec::new();
    for step in &program.steps {
        let StepKind::Model(call) = &step.kind else { continue };
        for guard in &call.guards {
            if is_concealing(guard) && !all.contains(guard) {
                all.push(guard.clone());
            }
        }
    }
    all
}

/// Whether a guard hides its matches, so that text must not even be shown provisionally.
pub fn is_concealing(guard: &Guard) -> bool {
    matches!(guard, Guard::Pii { action, .. } if *action != PiiAction::Flag)
}

/// Whether a guard can change an answer that it accepts.
pub fn can_change_answer(guard: &Guard) -> bool {
    match guard {
        Guard::Length { refuse, .. } => !refuse,
        Guard::Pii { action, .. } => pii::action_ruling(*action) == VerdictRuling::Changed,
        _ => false,
    }
}

/// Checks the value of an earlier model call again, under the guards of a run that reuses it.
pub fn recheck_answer(guards: &[Guard], value: Value, schemas: &ProgramSchemas) -> CheckedText<Value> {
    let (text, calls) = turn_content::parse_tool_calls(&value).unwrap_or((value, Vec::new()));
    let CheckedText { text, verdicts } = check_answer(guards, text.to_text().to_string(), schemas);
    CheckedText { text: turn_content::turn_value(text, calls), verdicts }
}

/// Whether a guard can change or reject an answer, so that the workflow gets no text before the answer is complete.
pub fn holds_back(guard: &Guard) -> bool {
    match guard {
        Guard::Injection | Guard::Length { .. } | Guard::Schema(_) => true,
        Guard::Pii { action, .. } => *action != PiiAction::Flag,
        Guard::TokenCap { warn, .. } | Guard::CostCap { warn, .. } => !warn,
    }
}

/// Its name in manifests.
pub fn guard_name(guard: &Guard) -> &'static str {
    match guard {
        Guard::Injection => "injection",
        Guard::Length { .. } => "length",
        Guard::Pii { .. } => "pii",
        Guard::Schema(_) => "schema",
        Guard::TokenCap { .. } | Guard::CostCap { .. } => "cost_cap",
    }
}

/// The matches in the known parts of a message, with their spans in the displayed message.
fn hits(text: &Value, find: impl Fn(&str) -> Vec<(Range<usize>, String)>) -> Vec<GuardMatch> {
    let mut found = Vec::new();
    let mut look = |text: &str, at: usize| {
        for (bytes, what) in find(text) {
            found.push(GuardMatch { bytes: bytes.start + at..bytes.end + at, what });
        }
    };
    match text {
        Value::Masked(masked) => {
            let mut at = 0;
            for piece in &masked.pieces {
                match piece {
                    MaskedPiece::Text(text) => {
                        look(text, at);
                        at += text.len();
                    }
                    hole => at += hole_display_len(hole),
                }
            }
        }
        other => look(&other.to_text(), 0),
    }
    found
}

/// The length in bytes of a displayed hole.
fn hole_display_len(hole: &MaskedPiece) -> usize {
    Masked { pieces: vec![hole.clone()] }.into_value().to_text().len()
}

/// The text with each range replaced by `by`. The ranges are in order, do not overlap, and contain no hole.
fn replace(text: &Value, ranges: &[Range<usize>], by: &str) -> Value {
    let inside = |text: &str, at: usize| -> Arc<str> {
        let mut inner: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            if range.start >= at && range.end <= at + text.len() {
                inner.push(range.start - at..range.end - at);
            }
        }
        if inner.is_empty() { text.into() } else { pii::replace_ranges(text, &inner, by).into() }
    };
    match text {
        Value::Masked(masked) => {
            let mut at = 0;
            let mut pieces = Vec::with_capacity(masked.pieces.len());
            for piece in &masked.pieces {
                match piece {
                    MaskedPiece::Text(text) => {
                        pieces.push(MaskedPiece::Text(inside(text, at)));
                        at += text.len();
                    }
                    hole => {
                        pieces.push(hole.clone());
                        at += hole_display_len(hole);
                    }
                }
            }
            Masked { pieces }.into_value()
        }
        other => Value::Str(inside(&other.to_text(), 0)),
    }
}

/// The ranges of matches in order; overlapping ones are merged.
fn united(mut hits: Vec<GuardMatch>) -> Vec<Range<usize>> {
    hits.sort_by_key(|hit| (hit.bytes.start, hit.bytes.end));
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(hits.len());
    for GuardMatch { bytes, .. } in hits {
        match ranges.last_mut() {
            Some(last) if bytes.start < last.end => last.end = last.end.max(bytes.end),
            _ => ranges.push(bytes),
        }
    }
    ranges
}

/// The parts that overlap with some bytes.
fn overlapping_parts<'p>(parts: &'p [TextPart], bytes: &Range<usize>) -> impl Iterator<Item = &'p TextPart> {
    let bytes = bytes.clone();
    let mut at = 0;
    parts.iter().filter(move |part| {
        let start = at;
        at += part.len as usize;
        start < bytes.end && bytes.start < at
    })
}

/// Whether a part is not the author's own text.
fn is_data(part: &TextPart) -> bool {
    !matches!(part.origin.from, OriginKind::Literal | OriginKind::Const)
}

/// The placeholder in the message itself that inserted a part, as written.
fn placeholder(part: &TextPart) -> Option<&Arc<str>> {
    if !is_data(part) {
        return None;
    }
    match part.origin.via.first() {
        Some(via) => Some(&via.path),
        None => part.origin.path.as_ref(),
    }
}

#[cfg(test)]
mod tests;
