//! Guardrails and validators: pure functions on texts, one file per kind, each with a [`Verdict`].
//!
//! Three sides of a model call are looked at. The user message and what data puts into the system prompt are checked by the
//! machine, before the request has a content key; the whole answer by the driver, before the journal sees it. A cap goes by
//! what the run has spent, which only the machine knows. Validators ([`validator`]) look at the result of an iteration.

pub mod cap;
mod injection;
mod length;
mod pii;
mod schema;
pub mod validator;
mod verdict;

use std::ops::Range;
use std::sync::Arc;

use trefoil_ir::{Guard, PiiAction};
use trefoil_template::{Masked, Piece, Value};

use crate::provenance::{self, From, TextPart};
use crate::schemas::Schemas;

pub use verdict::{Ruling, Side, Verdict};

/// What replaces personal data, unless the guard says.
const HIDDEN: &str = "[hidden]";

/// A text that was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Looked<T> {
    /// The text, perhaps changed. Of no use where the last verdict is a refusal.
    pub text: T,
    /// One a guard that looks at this side, up to the first refusal.
    pub verdicts: Vec<Verdict>,
}

impl<T> Looked<T> {
    /// Why it goes no further.
    pub fn refusal(&self) -> Option<crate::error::RunError> {
        self.verdicts.last()?.refusal()
    }
}

/// What a guard found in a message: bytes of the message as it is shown, and what to call it.
struct Hit {
    bytes: Range<usize>,
    what: String,
}

/// Checks a message before it is sent: the user message, or the system prompt. Of masked text only the known parts are looked
/// at. `parts` says where the message came from; it is asked for only when something was found.
pub fn message(guards: &[Guard], of: Side, text: Value, parts: &dyn Fn() -> Vec<TextPart>) -> Looked<Value> {
    let mut looked = Looked { text, verdicts: Vec::new() };
    let mut known: Option<Vec<TextPart>> = None;
    for guard in guards {
        let mut hits = match guard {
            Guard::Injection => hits(&looked.text, injection::find),
            Guard::Pii { entities, .. } => hits(&looked.text, |text| pii::find(text, entities)),
            Guard::Length { .. } | Guard::Schema(_) | Guard::TokenCap { .. } | Guard::CostCap { .. } => continue,
        };
        let mut from = Vec::new();
        if !hits.is_empty() {
            let parts = known.get_or_insert_with(parts);
            if of == Side::Prompt {
                hits.retain(|hit| touching(parts, &hit.bytes).any(is_data));
            }
            for path in hits.iter().flat_map(|hit| touching(parts, &hit.bytes)).filter_map(placeholder) {
                if !from.contains(path) {
                    from.push(path.clone());
                }
            }
        }
        if hits.is_empty() {
            looked.verdicts.push(Verdict::passed(name(guard), of));
            continue;
        }
        let (ruling, why) = match guard {
            Guard::Pii { action, .. } => (pii::ruling(*action), pii::words(hits.iter().map(|h| &*h.what), of)),
            _ => (Ruling::Refused, injection::words(hits.first().map_or("", |hit| &hit.what), of)),
        };
        looked.verdicts.push(Verdict { from, ..Verdict::found(name(guard), of, ruling, why) });
        match guard {
            _ if ruling == Ruling::Refused => break,
            Guard::Pii { replacement, .. } if ruling == Ruling::Changed => {
                let bytes = united(hits);
                known = known.map(|parts| provenance::replaced(&parts, &bytes, replacement.len()));
                looked.text = replace(&looked.text, &bytes, replacement);
            }
            _ => {}
        }
    }
    looked
}

/// Checks an answer.
pub fn answer(guards: &[Guard], text: String, schemas: &Schemas) -> Looked<String> {
    let mut looked = Looked { text, verdicts: Vec::new() };
    let of = Side::Answer;
    for guard in guards {
        let text = &looked.text;
        let found = match guard {
            Guard::Injection => {
                injection::find(text).first().map(|(_, what)| (Ruling::Refused, injection::words(what, of), None))
            }
            Guard::Length { max_chars, refuse } => length::check(text, *max_chars, *refuse),
            Guard::Pii { entities, action, replacement } => {
                let found = pii::find(text, entities);
                let changed = || pii::redact(text, &found, replacement);
                let ruling = pii::ruling(*action);
                (!found.is_empty()).then(|| {
                    let why = pii::words(found.iter().map(|(_, what)| &**what), of);
                    (ruling, why, (ruling == Ruling::Changed).then(changed))
                })
            }
            Guard::Schema(schema) => {
                schema::check(text, *schema, schemas).err().map(|why| (Ruling::Refused, why, None))
            }
            Guard::TokenCap { .. } | Guard::CostCap { .. } => continue,
        };
        let Some((ruling, why, changed)) = found else {
            looked.verdicts.push(Verdict::passed(name(guard), of));
            continue;
        };
        looked.verdicts.push(Verdict::found(name(guard), of, ruling, why));
        if ruling == Ruling::Refused {
            break;
        }
        if let Some(changed) = changed {
            looked.text = changed;
        }
    }
    looked
}

/// The verdicts of an answer that every guard passed: journals keep no more of it than that.
pub fn all_passed(guards: &[Guard]) -> impl Iterator<Item = Verdict> {
    let answers = guards.iter().filter(|guard| !matches!(guard, Guard::TokenCap { .. } | Guard::CostCap { .. }));
    answers.map(|guard| Verdict::passed(name(guard), Side::Answer))
}

/// An answer that went no further, as it may be shown: without the personal data that a guard keeps from being seen.
pub fn hide(guards: &[Guard], mut text: String) -> String {
    for guard in guards.iter().filter(|guard| conceals(guard)) {
        if let Guard::Pii { entities, replacement, .. } = guard {
            let found = pii::find(&text, entities);
            let mark = if replacement.is_empty() { HIDDEN } else { replacement };
            text = pii::redact(&text, &found, mark);
        }
    }
    text
}

/// Whether a guard is there to keep what it finds from being seen: text is not even shown as provisional then.
pub fn conceals(guard: &Guard) -> bool {
    matches!(guard, Guard::Pii { action, .. } if *action != PiiAction::Flag)
}

/// Whether a guard can change or refuse an answer: the workflow sees none of its text until it is whole.
pub fn holds_back(guard: &Guard) -> bool {
    match guard {
        Guard::Injection | Guard::Length { .. } | Guard::Schema(_) => true,
        Guard::Pii { action, .. } => *action != PiiAction::Flag,
        Guard::TokenCap { warn, .. } | Guard::CostCap { warn, .. } => !warn,
    }
}

/// As manifests name it.
pub fn name(guard: &Guard) -> &'static str {
    match guard {
        Guard::Injection => "injection",
        Guard::Length { .. } => "length",
        Guard::Pii { .. } => "pii",
        Guard::Schema(_) => "schema",
        Guard::TokenCap { .. } | Guard::CostCap { .. } => "cost_cap",
    }
}

/// What is found in the known parts of a message, by the bytes of the message as it is shown.
fn hits(text: &Value, find: impl Fn(&str) -> Vec<(Range<usize>, String)>) -> Vec<Hit> {
    let mut found = Vec::new();
    let mut look = |text: &str, at: usize| {
        found.extend(find(text).into_iter().map(|(b, what)| Hit { bytes: b.start + at..b.end + at, what }));
    };
    match text {
        Value::Masked(masked) => {
            let mut at = 0;
            for piece in &masked.pieces {
                match piece {
                    Piece::Text(text) => {
                        look(text, at);
                        at += text.len();
                    }
                    hole => at += shown(hole),
                }
            }
        }
        other => look(&other.to_text(), 0),
    }
    found
}

/// Bytes of a hole as it is shown.
fn shown(hole: &Piece) -> usize {
    Masked { pieces: vec![hole.clone()] }.into_value().to_text().len()
}

/// The text with `by` for each range. Ranges are in order, apart, and in no hole.
fn replace(text: &Value, ranges: &[Range<usize>], by: &str) -> Value {
    let inside = |text: &str, at: usize| -> Arc<str> {
        let own = |r: &&Range<usize>| r.start >= at && r.end <= at + text.len();
        let own: Vec<Range<usize>> = ranges.iter().filter(own).map(|r| r.start - at..r.end - at).collect();
        if own.is_empty() { text.into() } else { pii::put(text, &own, by).into() }
    };
    match text {
        Value::Masked(masked) => {
            let mut at = 0;
            let pieces = masked.pieces.iter().map(|piece| match piece {
                Piece::Text(text) => {
                    let changed = inside(text, at);
                    at += text.len();
                    Piece::Text(changed)
                }
                hole => {
                    at += shown(hole);
                    hole.clone()
                }
            });
            Masked { pieces: pieces.collect() }.into_value()
        }
        other => Value::Str(inside(&other.to_text(), 0)),
    }
}

/// The ranges of hits in order; overlapping ones are one.
fn united(mut hits: Vec<Hit>) -> Vec<Range<usize>> {
    hits.sort_by_key(|hit| (hit.bytes.start, hit.bytes.end));
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(hits.len());
    for Hit { bytes, .. } in hits {
        match ranges.last_mut() {
            Some(last) if bytes.start < last.end => last.end = last.end.max(bytes.end),
            _ => ranges.push(bytes),
        }
    }
    ranges
}

/// The parts that some bytes are in.
fn touching<'p>(parts: &'p [TextPart], bytes: &Range<usize>) -> impl Iterator<Item = &'p TextPart> {
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
    !matches!(part.origin.from, From::Literal | From::Const)
}

/// The placeholder that a part was put in by, as written in the message itself.
fn placeholder(part: &TextPart) -> Option<&Arc<str>> {
    part.origin.via.first().map(|via| &via.path).or(part.origin.path.as_ref()).filter(|_| is_data(part))
}

#[cfg(test)]
mod tests;
