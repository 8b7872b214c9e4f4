//! Model calls: fills holes, shows text as it arrives, applies output guardrails, and converts errors to those of the machine.

use std::borrow::Cow;
use std::num::NonZeroU32;

use trefoil_template::{Hole, HoleKind, Value};

use super::masking::RawOutcome;
use super::run_context::{ActivityContext, RunContext};
use crate::ports::{AnswerDoubt, ModelAnswer, ModelError, ModelErrorKind, SubstituteModel};
use trefoil_machine::answer as machine_answer;
use trefoil_machine::error::{FailureCause, RunError};
use trefoil_machine::event::{AnswerMetadata, EventKind};
use trefoil_machine::guard::{self, Verdict, VerdictRuling};
use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::key::ContentKey;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, FinishReason, ModelMessage, ModelRequest, Request};
use trefoil_machine::{content, turn_content};

/// Makes the call.
pub async fn call_model(at: &ActivityContext<'_>, request: &ModelRequest) -> RawOutcome {
    let ports = &at.context.ports;
    let mut filled = match fill(at, request) {
        Ok(filled) => filled,
        Err(error) => return Err(error).into(),
    };
    if let Cow::Owned(filled) = &mut filled
        && !ports.models.sees_holes()
    {
        for (message, original) in filled.messages.iter_mut().zip(&request.messages) {
            message.content = at.context.displayed_value(&original.content).text_value();
        }
    }
    let mut stream = at.context.masking.masked_stream();
    let mut show = |text: &str| {
        let text = stream.push(text);
        if !text.is_empty() {
            at.meter.report_text(&text);
            at.report_delta(EventKind::TextDelta { text, provisional: request.provisional });
        }
    };
    let called = ports.models.call_model(at.call_site(), &filled, &mut show);
    let answered = called.await;
    let rest = stream.take_rest();
    if !rest.is_empty() {
        at.meter.report_text(&rest);
        at.report_delta(EventKind::TextDelta { text: rest, provisional: request.provisional });
    }
    let answer = match answered {
        Ok(answer) => answer,
        Err(mut error) => {
            let came = error.came.take().map(|came| *came);
            // No warning about fallbacks: the error message already names all models that were called.
            return RawOutcome { warnings: Vec::new(), ..failed_outcome(at, request, model_error(error), came) };
        }
    };
    if let Some(finish) = answer.finish
        && let Some(error) = not_whole(finish, request)
    {
        return failed_outcome(at, request, error, Some(answer));
    }
    let looked = guard::check_answer(&request.guards, answer.text.clone(), &at.context.prepared.schemas);
    let refusal = looked.rejection_error();
    let verdicts = stored_verdicts(looked.verdicts);
    if let Some(refusal) = refusal {
        return RawOutcome { verdicts, ..failed_outcome(at, request, refusal, Some(answer)) };
    }
    let answer_metadata = answer_metadata(&answer);
    let mut warnings = substitute_warnings(at, request, answer.instead.as_deref());
    for doubt in &answer.doubts {
        warnings.push(doubtful(at, request, &answer, doubt));
    }
    let value = turn_content::turn_value(looked.text, answer.calls);
    // The machine reads the answer, and its failure names the request.
    let is_misfit = || machine_answer::parse_answer(&request.format, &value, &at.context.prepared.schemas).is_err();
    let sent = match answer.sent {
        Some(sent) if is_misfit() => Some(sent),
        _ => None,
    };
    let usage = Some(answer.usage);
    RawOutcome { usage, warnings, verdicts, answer_metadata, sent, ..RawOutcome::from(Ok(value)) }
}

/// The verdicts for the journal: an empty list if all of them passed, `None` if there are none.
fn stored_verdicts(verdicts: Vec<Verdict>) -> Option<Vec<Verdict>> {
    match verdicts.iter().all(|verdict| verdict.ruling == VerdictRuling::Passed) {
        true if verdicts.is_empty() => None,
        true => Some(Vec::new()),
        false => Some(verdicts),
    }
}

/// For an answer that guardrails changed: their settings.
pub fn changed_by(activity: &Activity, verdicts: Option<&[Verdict]>) -> Option<ContentKey> {
    let Request::Model(request) = &activity.request else { return None };
    let is_changed = verdicts?.iter().any(|verdict| verdict.ruling == VerdictRuling::Changed);
    if is_changed { Some(content::changing_guards(&request.guards)) } else { None }
}

/// Checks the answer of an earlier run as an answer that has just arrived.
pub fn recheck_answer(
    context: &RunContext,
    activity: &Activity,
    value: PrivateValue,
    about: ActivityMetadata,
) -> (Result<PrivateValue, RunError>, ActivityMetadata) {
    let Request::Model(request) = &activity.request else { return (Ok(value), about) };
    let looked = guard::recheck_answer(&request.guards, value.exact_value().clone(), &context.prepared.schemas);
    let refusal = looked.rejection_error();
    if about.changed_by.is_some() {
        // The same guardrails have changed it before.
        return (unless_refused(value, refusal), about);
    }
    let verdicts = stored_verdicts(looked.verdicts);
    let changed_by = changed_by(activity, verdicts.as_deref());
    // What is hidden in a changed answer is at other places.
    let answer = if changed_by.is_some() { context.masking.mask_incoming(looked.text).value } else { value };
    let about = context.masking.mask_about(ActivityMetadata { verdicts, changed_by, ..about });
    (unless_refused(answer, refusal), about)
}

fn unless_refused(answer: PrivateValue, refusal: Option<RunError>) -> Result<PrivateValue, RunError> {
    match refusal {
        Some(refusal) => Err(refusal),
        None => Ok(answer),
    }
}

/// A call without an answer for the workflow. The received text is kept for watchers, with the text hidden that guardrails redact.
fn failed_outcome(
    at: &ActivityContext<'_>,
    request: &ModelRequest,
    error: RunError,
    came: Option<ModelAnswer>,
) -> RawOutcome {
    let Some(came) = came else { return Err(error).into() };
    let (answer_metadata, warnings) =
        (answer_metadata(&came), substitute_warnings(at, request, came.instead.as_deref()));
    // Before it is cut: a part of a secret may not be recognised.
    let shown = at.context.masking.mask_text(&guard::hide_personal_data(&request.guards, came.text));
    let mut error = error.with_answer(&shown);
    if error.sent.is_none() {
        error.sent = came.sent;
    }
    let partial = if shown.is_empty() { None } else { Some(shown) };
    RawOutcome { partial, answer_metadata, usage: Some(came.usage), warnings, ..RawOutcome::from(Err(error)) }
}

/// What to say where another model answered than the one that was asked.
fn substitute_warnings(
    at: &ActivityContext<'_>,
    request: &ModelRequest,
    instead: Option<&SubstituteModel>,
) -> Vec<String> {
    let Some(instead) = instead else { return Vec::new() };
    let asked = at.context.ports.models.label(request);
    vec![format!("`{}` answered instead of `{asked}`: {}", instead.by, instead.failure_reasons())]
}

/// What to say of an answer of which it is not certain that it is all.
fn doubtful(at: &ActivityContext<'_>, request: &ModelRequest, answer: &ModelAnswer, doubt: &AnswerDoubt) -> String {
    let model = match &answer.instead {
        Some(instead) => instead.by.clone(),
        None => at.context.ports.models.label(request),
    };
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

fn answer_metadata(answer: &ModelAnswer) -> AnswerMetadata {
    let AnswerMetadata { instead, before, .. } = match &answer.instead {
        Some(instead) => substitute_metadata(instead),
        None => AnswerMetadata::default(),
    };
    let (answered_by, request_id) = (answer.model.clone(), answer.request_id.clone());
    AnswerMetadata { answered_by, instead, before, finish: answer.finish, request_id }
}

/// The model that was called instead of the requested one, and those before it.
pub fn substitute_metadata(instead: &SubstituteModel) -> AnswerMetadata {
    AnswerMetadata { instead: Some(instead.by.clone()), before: instead.before.clone(), ..AnswerMetadata::default() }
}

/// An incomplete answer is a failed call, with a code of its own.
fn not_whole(finish: FinishReason, request: &ModelRequest) -> Option<RunError> {
    let who = &request.speaker;
    Some(match finish {
        FinishReason::Stop | FinishReason::Tools => return None,
        FinishReason::Length => {
            let limit = match request.parameters.max_tokens {
                Some(limit) => format!("its limit of {limit} tokens"),
                None => "the model's limit of tokens".to_owned(),
            };
            RunError::new("ANSWER_TRUNCATED", format!("the answer of `{who}` was cut off at {limit}"))
        }
        FinishReason::Refused => RunError::new("ANSWER_REFUSED", format!("the model of `{who}` refused to answer")),
        FinishReason::Filtered => {
            let message = format!("the provider's content filter held back the answer of `{who}`");
            RunError::new("ANSWER_FILTERED", message)
        }
    })
}

fn fill<'r>(at: &ActivityContext<'_>, request: &'r ModelRequest) -> Result<Cow<'r, ModelRequest>, RunError> {
    let has_masked_options = matches!(&request.parameters.provider_options, Some(options) if options.is_masked());
    if !has_masked_options && !request.messages.iter().any(|message| message.content.is_masked()) {
        return Ok(Cow::Borrowed(request));
    }
    let fill = |value: &Value| {
        value.fill_holes(&mut |hole: &Hole| match hole.kind {
            HoleKind::Env => at.context.masking.fill_prompt(hole),
            // The checker reports this too. Without the checker, the run fails here, before anything is sent.
            HoleKind::Secret => Err(secret(&hole.name)),
        })
    };
    let mut filled = request.clone();
    for ModelMessage { content, .. } in &mut filled.messages {
        *content = fill(content)?.text_value();
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
        ModelErrorKind::Status(status) => {
            RunError::new("MODEL_ERROR", error.message).with_cause(FailureCause::Status(status))
        }
        ModelErrorKind::Network => RunError::new("MODEL_ERROR", error.message).with_cause(FailureCause::Network),
        ModelErrorKind::Timeout => RunError::new("TIMEOUT", error.message).with_cause(FailureCause::Timeout),
        ModelErrorKind::Credit | ModelErrorKind::Protocol | ModelErrorKind::Setup => {
            RunError::new("MODEL_ERROR", error.message)
        }
    };
    failed.help = error.help;
    failed.sent = error.sent;
    failed.retry_after_ms = error.retry_after_ms.and_then(|ms| NonZeroU32::new(u32::try_from(ms).unwrap_or(u32::MAX)));
    failed
}
