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

/// A match of a guard in a message.
struct GuardMatch {
    /// Its byte range in the displayed message.
    bytes: Range<usize>,
    /// The name of the pattern that matched.
    what: String,
}

/// Checks a message before it is sent: the user message, or the system prompt. In masked text, only the known parts are
/// checked. In a system prompt, only inserted data is checked: the author's own text may say what it likes.
///
/// `find_parts` returns the origins of the message's parts; it is called only if there is a match.
pub fn check_message(
    guards: &[Guard],
    subject: CheckSubject,
    text: Value,
    find_parts: &dyn Fn() -> Vec<TextPart>,
) -> CheckedText<Value> {
    let mut checked = CheckedText { text, verdicts: Vec::new() };
    let mut known_parts: Option<Vec<TextPart>> = None;
    for guard in guards {
        let mut matches = match guard {
            Guard::Injection => find_matches(&checked.text, injection::find_injections),
            Guard::Pii { entities, .. } => find_matches(&checked.text, |text| pii::find_personal_data(text, entities)),
            Guard::Length { .. } | Guard::Schema(_) | Guard::TokenCap { .. } | Guard::CostCap { .. } => continue,
        };
        let mut placeholders = Vec::new();
        if !matches.is_empty() {
            let parts = known_parts.get_or_insert_with(find_parts);
            if subject == CheckSubject::Prompt {
                matches.retain(|found| overlapping_parts(parts, &found.bytes).any(is_data));
            }
            placeholders = inserting_placeholders(&matches, parts);
        }
        if matches.is_empty() {
            checked.verdicts.push(Verdict::without_finding(guard_name(guard), subject));
            continue;
        }
        let (ruling, why) = message_ruling(guard, subject, &matches);
        let verdict = Verdict::with_finding(guard_name(guard), subject, ruling, why);
        checked.verdicts.push(Verdict { from: placeholders, ..verdict });
        if ruling == VerdictRuling::Refused {
            break;
        }
        if ruling == VerdictRuling::Changed
            && let Guard::Pii { replacement, .. } = guard
        {
            let ranges = merge_ranges(matches);
            // The next guard sees the changed text, so the origins of its parts change with it.
            if let Some(parts) = &mut known_parts {
                *parts = provenance::replace_parts(parts, &ranges, replacement.len());
            }
            checked.text = replace_ranges(&checked.text, &ranges, replacement);
        }
    }
    checked
}

/// What a guard decides about the matches in a message, and why.
fn message_ruling(guard: &Guard, subject: CheckSubject, matches: &[GuardMatch]) -> (VerdictRuling, String) {
    if let Guard::Pii { action, .. } = guard {
        let why = pii::personal_data_message(matches.iter().map(|found| &*found.what), subject);
        return (pii::action_ruling(*action), why);
    }
    let what = match matches.first() {
        Some(found) => &found.what,
        None => "",
    };
    (VerdictRuling::Refused, injection::injection_message(what, subject))
}

/// The placeholders that inserted the matches, each once.
fn inserting_placeholders(matches: &[GuardMatch], parts: &[TextPart]) -> Vec<Arc<str>> {
    let mut placeholders = Vec::new();
    for found in matches {
        for part in overlapping_parts(parts, &found.bytes) {
            if let Some(path) = placeholder(part)
                && !placeholders.contains(path)
            {
                placeholders.push(path.clone());
            }
        }
    }
    placeholders
}

/// Checks an answer of a model with each guard in turn, up to the first rejection. Limits on usage are checked elsewhere ([`cap`]).
pub fn check_answer(guards: &[Guard], text: String, schemas: &ProgramSchemas) -> CheckedText<String> {
    let mut checked = CheckedText { text, verdicts: Vec::new() };
    let subject = CheckSubject::Answer;
    for guard in guards {
        if is_cap(guard) {
            continue;
        }
        let Some((ruling, why, changed)) = find_in_answer(guard, &checked.text, schemas) else {
            checked.verdicts.push(Verdict::without_finding(guard_name(guard), subject));
            continue;
        };
        checked.verdicts.push(Verdict::with_finding(guard_name(guard), subject, ruling, why));
        if ruling == VerdictRuling::Refused {
            break;
        }
        if let Some(changed) = changed {
            checked.text = changed;
        }
    }
    checked
}

/// What a guard finds in an answer: its ruling, the reason, and the changed answer if the ruling is `Changed`. `None`: nothing.
fn find_in_answer(
    guard: &Guard,
    text: &str,
    schemas: &ProgramSchemas,
) -> Option<(VerdictRuling, String, Option<String>)> {
    let subject = CheckSubject::Answer;
    match guard {
        Guard::Injection => {
            let found = injection::find_injections(text);
            let (_, what) = found.first()?;
            Some((VerdictRuling::Refused, injection::injection_message(what, subject), None))
        }
        Guard::Length { max_chars, refuse } => length::check_length(text, *max_chars, *refuse),
        Guard::Pii { entities, action, replacement } => {
            let found = pii::find_personal_data(text, entities);
            if found.is_empty() {
                return None;
            }
            let ruling = pii::action_ruling(*action);
            let why = pii::personal_data_message(found.iter().map(|(_, what)| &**what), subject);
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

/// The verdicts about an answer that every guard accepted. Journals do not store them, only that the answer passed.
pub fn all_passed(guards: &[Guard]) -> impl Iterator<Item = Verdict> {
    let answer_guards = guards.iter().filter(|guard| !is_cap(guard));
    answer_guards.map(|guard| Verdict::without_finding(guard_name(guard), CheckSubject::Answer))
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
    let hide = |text: &str| hide_personal_data(guards, text.to_owned());
    match value {
        Value::Str(text) => Value::from(hide(&text)),
        Value::Number(_) => {
            let text = value.to_text();
            let hidden = hide(&text);
            if hidden == *text { value } else { Value::from(hidden) }
        }
        Value::List(items) => items.iter().map(|item| hide_value(guards, item.clone())).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (hide(key).into(), hide_value(guards, value.clone())));
            Value::from(members.collect::<ValueObject>())
        }
        other => other,
    }
}

/// The guards of a program's agents that hide what they find, each once.
pub fn concealing_guards(program: &Program) -> Vec<Guard> {
    let mut concealing: Vec<Guard> = Vec::new();
    for step in &program.steps {
        let StepKind::Model(call) = &step.kind else { continue };
        for guard in &call.guards {
            if is_concealing(guard) && !concealing.contains(guard) {
                concealing.push(guard.clone());
            }
        }
    }
    concealing
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
fn find_matches(message: &Value, find: impl Fn(&str) -> Vec<(Range<usize>, String)>) -> Vec<GuardMatch> {
    let mut matches = Vec::new();
    let mut search = |text: &str, start: usize| {
        for (bytes, what) in find(text) {
            matches.push(GuardMatch { bytes: bytes.start + start..bytes.end + start, what });
        }
    };
    match message {
        Value::Masked(masked) => {
            let mut start = 0;
            for piece in &masked.pieces {
                match piece {
                    MaskedPiece::Text(text) => {
                        search(text, start);
                        start += text.len();
                    }
                    hole => start += hole_display_len(hole),
                }
            }
        }
        other => search(&other.to_text(), 0),
    }
    matches
}

/// The length in bytes of a displayed hole.
fn hole_display_len(hole: &MaskedPiece) -> usize {
    Masked { pieces: vec![hole.clone()] }.into_value().to_text().len()
}

/// The message with each range of the displayed message replaced. The ranges are in order, do not overlap, and contain no hole.
fn replace_ranges(message: &Value, ranges: &[Range<usize>], replacement: &str) -> Value {
    // `start`: where this piece of text starts in the displayed message.
    let replace_in_piece = |text: &str, start: usize| -> Arc<str> {
        let mut ranges_in_piece: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            if range.start >= start && range.end <= start + text.len() {
                ranges_in_piece.push(range.start - start..range.end - start);
            }
        }
        if ranges_in_piece.is_empty() {
            return text.into();
        }
        pii::replace_ranges(text, &ranges_in_piece, replacement).into()
    };
    match message {
        Value::Masked(masked) => {
            let mut start = 0;
            let mut pieces = Vec::with_capacity(masked.pieces.len());
            for piece in &masked.pieces {
                match piece {
                    MaskedPiece::Text(text) => {
                        pieces.push(MaskedPiece::Text(replace_in_piece(text, start)));
                        start += text.len();
                    }
                    hole => {
                        pieces.push(hole.clone());
                        start += hole_display_len(hole);
                    }
                }
            }
            Masked { pieces }.into_value()
        }
        other => Value::Str(replace_in_piece(&other.to_text(), 0)),
    }
}

/// The ranges of matches in order; overlapping ones are merged.
fn merge_ranges(mut matches: Vec<GuardMatch>) -> Vec<Range<usize>> {
    matches.sort_by_key(|found| (found.bytes.start, found.bytes.end));
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(matches.len());
    for GuardMatch { bytes, .. } in matches {
        match ranges.last_mut() {
            Some(last) if bytes.start < last.end => last.end = last.end.max(bytes.end),
            _ => ranges.push(bytes),
        }
    }
    ranges
}

/// The parts that overlap with a byte range of the displayed message.
fn overlapping_parts<'p>(parts: &'p [TextPart], bytes: &Range<usize>) -> impl Iterator<Item = &'p TextPart> {
    let bytes = bytes.clone();
    let mut end = 0;
    parts.iter().filter(move |part| {
        let start = end;
        end += part.len as usize;
        start < bytes.end && bytes.start < end
    })
}

/// Whether a part is not the author's own text.
fn is_data(part: &TextPart) -> bool {
    !matches!(part.origin.from, OriginKind::Literal | OriginKind::Const)
}

/// The placeholder in the message that inserted a part, as written. Data that came through several templates counts as inserted
/// by the outermost one.
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
