//! Model calls: fills holes, shows text as it arrives, applies output guardrails, and converts errors to those of the machine.

use std::borrow::Cow;
use std::num::NonZeroU32;

use trefoil_template::{Hole, HoleKind, Value};

use super::masking::RawOutcome;
use super::world::{At, World};
use crate::ports::{AnswerDoubt, Instead, ModelAnswer, ModelError, ModelErrorKind};
use trefoil_machine::answer as machine_answer;
use trefoil_machine::error::{Cause, RunError};
use trefoil_machine::event::{EventKind, Told};
use trefoil_machine::guard::{self, Ruling, Verdict};
use trefoil_machine::journal::About;
use trefoil_machine::key::ContentKey;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, Finish, Message, ModelRequest, Request};
use trefoil_machine::{content, said};

/// Makes the call.
pub async fn call(at: &At<'_>, request: &ModelRequest) -> RawOutcome {
    let ports = &at.world.ports;
    let mut filled = match fill(at, request) {
        Ok(filled) => filled,
        Err(error) => return Err(error).into(),
    };
    if let Cow::Owned(filled) = &mut filled
        && !ports.models.sees_holes()
    {
        for (message, original) in filled.messages.iter_mut().zip(&request.messages) {
            message.content = at.world.shown(&original.content).text();
        }
    }
    let mut stream = at.world.masking.stream();
    let mut show = |text: &str| {
        let text = stream.push(text);
        if !text.is_empty() {
            at.meter.say(&text);
            at.delta(EventKind::TextDelta { text, provisional: request.provisional });
        }
    };
    let called = ports.models.call(at.site(), &filled, &mut show);
    let answered = called.await;
    let rest = stream.finish();
    if !rest.is_empty() {
        at.meter.say(&rest);
        at.delta(EventKind::TextDelta { text: rest, provisional: request.provisional });
    }
    let answer = match answered {
        Ok(answer) => answer,
        Err(mut error) => {
            let came = error.came.take().map(|came| *came);
            // No warning about fallbacks: the error message already names all models that were called.
            return RawOutcome { warnings: Vec::new(), ..broken(at, request, model_error(error), came) };
        }
    };
    if let Some(error) = answer.finish.and_then(|finish| not_whole(finish, request)) {
        return broken(at, request, error, Some(answer));
    }
    let looked = guard::answer(&request.guards, answer.text.clone(), &at.world.prepared.schemas);
    let refusal = looked.refusal();
    let verdicts = kept(looked.verdicts);
    if let Some(refusal) = refusal {
        return RawOutcome { verdicts, ..broken(at, request, refusal, Some(answer)) };
    }
    let told = told(&answer);
    let mut warnings = instead(at, request, answer.instead.as_deref());
    warnings.extend(answer.doubts.iter().map(|doubt| doubtful(at, request, &answer, doubt)));
    let value = said::value(looked.text, answer.calls);
    // The machine reads the answer, and its failure names the request.
    let is_misfit = || machine_answer::read(&request.format, &value, &at.world.prepared.schemas).is_err();
    let sent = answer.sent.filter(|_| is_misfit());
    let usage = Some(answer.usage);
    RawOutcome { usage, warnings, verdicts, told, sent, ..RawOutcome::from(Ok(value)) }
}

/// The verdicts for the journal: an empty list if all of them passed, `None` if there are none.
fn kept(verdicts: Vec<Verdict>) -> Option<Vec<Verdict>> {
    match verdicts.iter().all(|verdict| verdict.ruling == Ruling::Passed) {
        true if verdicts.is_empty() => None,
        true => Some(Vec::new()),
        false => Some(verdicts),
    }
}

/// For an answer that guardrails changed: their settings.
pub fn changed_by(activity: &Activity, verdicts: Option<&[Verdict]>) -> Option<ContentKey> {
    let Request::Model(request) = &activity.request else { return None };
    let changed = verdicts?.iter().any(|verdict| verdict.ruling == Ruling::Changed);
    changed.then(|| content::changing_guards(&request.guards))
}

/// Checks the answer of an earlier run as an answer that has just arrived.
pub fn again(
    world: &World,
    activity: &Activity,
    value: PrivateValue,
    about: About,
) -> (Result<PrivateValue, RunError>, About) {
    let Request::Model(request) = &activity.request else { return (Ok(value), about) };
    let looked = guard::again(&request.guards, value.exact().clone(), &world.prepared.schemas);
    let refusal = looked.refusal();
    if about.changed_by.is_some() {
        // The same guardrails have changed it before.
        return (refusal.map_or(Ok(value), Err), about);
    }
    let verdicts = kept(looked.verdicts);
    let changed_by = changed_by(activity, verdicts.as_deref());
    // What is hidden in a changed answer is at other places.
    let answer = if changed_by.is_some() { world.masking.incoming(looked.text).value } else { value };
    (refusal.map_or(Ok(answer), Err), world.masking.about(About { verdicts, changed_by, ..about }))
}

/// A call without an answer for the workflow. The received text is kept for watchers, with the text hidden that guardrails redact.
fn broken(at: &At<'_>, request: &ModelRequest, error: RunError, came: Option<ModelAnswer>) -> RawOutcome {
    let Some(came) = came else { return Err(error).into() };
    let (told, warnings) = (told(&came), instead(at, request, came.instead.as_deref()));
    // Before it is cut: a part of a secret may not be recognised.
    let shown = at.world.masking.text(&guard::hide(&request.guards, came.text));
    let mut error = error.answered(&shown);
    if error.sent.is_none() {
        error.sent = came.sent;
    }
    let partial = Some(shown).filter(|text| !text.is_empty());
    RawOutcome { partial, told, usage: Some(came.usage), warnings, ..RawOutcome::from(Err(error)) }
}

/// What to say where another model answered than the one that was asked.
fn instead(at: &At<'_>, request: &ModelRequest, instead: Option<&Instead>) -> Vec<String> {
    let said = |instead: &Instead| {
        let asked = at.world.ports.models.label(request);
        format!("`{}` answered instead of `{asked}`: {}", instead.by, instead.why())
    };
    instead.map(said).into_iter().collect()
}

/// What to say of an answer of which it is not certain that it is all.
fn doubtful(at: &At<'_>, request: &ModelRequest, answer: &ModelAnswer, doubt: &AnswerDoubt) -> String {
    let asked = || at.world.ports.models.label(request);
    let model = answer.instead.as_ref().map_or_else(asked, |instead| instead.by.clone());
    match doubt {
        AnswerDoubt::UnknownFinish(word) => format!(
            "`{model}` ended its answer with the unknown finish reason `{word}`, so the answer may be incomplete"
        ),
        AnswerDoubt::MissingFinish => {
            format!("`{model}` ended its answer without a finish reason, so the answer may be incomplete")
        }
        AnswerDoubt::LeftOut(part) => format!("`{model}` sent {part}, which is not in the answer"),
        AnswerDoubt::Replaced => format!(
            "`{model}` sent another text at the end of its answer than in the pieces before; the text at the end is used"
        ),
    }
}

fn told(answer: &ModelAnswer) -> Told {
    let Told { instead, before, .. } = answer.instead.as_deref().map(called).unwrap_or_default();
    let (answered_by, request_id) = (answer.model.clone(), answer.request_id.clone());
    Told { answered_by, instead, before, finish: answer.finish, request_id }
}

/// The model that was called instead of the requested one, and those before it.
pub fn called(instead: &Instead) -> Told {
    Told { instead: Some(instead.by.clone()), before: instead.before.clone(), ..Told::default() }
}

/// An incomplete answer is a failed call, with a code of its own.
fn not_whole(finish: Finish, request: &ModelRequest) -> Option<RunError> {
    let who = &request.speaker;
    Some(match finish {
        Finish::Stop | Finish::Tools => return None,
        Finish::Length => {
            let limit = match request.parameters.max_tokens {
                Some(limit) => format!("its limit of {limit} tokens"),
                None => "the model's limit of tokens".to_owned(),
            };
            RunError::new("ANSWER_TRUNCATED", format!("the answer of `{who}` was cut off at {limit}"))
        }
        Finish::Refused => RunError::new("ANSWER_REFUSED", format!("the model of `{who}` refused to answer")),
        Finish::Filtered => {
            let message = format!("the provider's content filter held back the answer of `{who}`");
            RunError::new("ANSWER_FILTERED", message)
        }
    })
}

fn fill<'r>(at: &At<'_>, request: &'r ModelRequest) -> Result<Cow<'r, ModelRequest>, RunError> {
    let options = request.parameters.provider_options.as_ref();
    if !request.messages.iter().map(|m| &m.content).chain(options).any(Value::is_masked) {
        return Ok(Cow::Borrowed(request));
    }
    let fill = |value: &Value| {
        value.fill(&mut |hole: &Hole| match hole.kind {
            HoleKind::Env => at.world.masking.fill_prompt(hole),
            // The checker reports this too. Without the checker, the run fails here, before anything is sent.
            HoleKind::Secret => Err(secret(&hole.name)),
        })
    };
    let mut filled = request.clone();
    for Message { content, .. } in &mut filled.messages {
        *content = fill(content)?.text();
    }
    if let Some(options) = &mut filled.parameters.provider_options {
        *options = fill(options)?;
    }
    Ok(Cow::Owned(filled))
}

fn secret(name: &str) -> RunError {
    RunError::new("SECRET_IN_PROMPT", format!("the secret `{name}` would be sent to the model"))
}

fn model_error(error: ModelError) -> RunError {
    let mut failed = match error.kind {
        ModelErrorKind::Status(status) => RunError::new("MODEL_ERROR", error.message).cause(Cause::Status(status)),
        ModelErrorKind::Network => RunError::new("MODEL_ERROR", error.message).cause(Cause::Network),
        ModelErrorKind::Timeout => RunError::new("TIMEOUT", error.message).cause(Cause::Timeout),
        ModelErrorKind::Credit | ModelErrorKind::Protocol | ModelErrorKind::Setup => {
            RunError::new("MODEL_ERROR", error.message)
        }
    };
    failed.help = error.help;
    failed.sent = error.sent;
    failed.retry_after_ms = error.retry_after_ms.and_then(|ms| NonZeroU32::new(u32::try_from(ms).unwrap_or(u32::MAX)));
    failed
}
