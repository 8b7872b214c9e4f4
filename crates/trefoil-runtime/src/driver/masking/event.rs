//! Masks an event. Each field is named here, so that a new one does not compile until it is decided whether it may contain
//! text from outside.

use std::sync::Arc;

use trefoil_machine::deadline::AnswerDeadline;
use trefoil_machine::error::RunError;
use trefoil_machine::event::{
    AnswerMetadata, AwaitedActivity, DisplayedMessage, EventKind, FailedModelCall, QuestionClosure,
};
use trefoil_machine::guard::Verdict;
use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::receipt::{AnswerReceipt, GivenAnswer};
use trefoil_machine::request::ModelToolCall;
use trefoil_template::Value;

use super::mask::Mask;

/// The event as it may be shown. Deltas were masked as a stream. The exact output of the run is kept for whoever takes it.
pub fn mask_event(mut kind: EventKind, mask: &Mask) -> EventKind {
    use EventKind as E;
    match &mut kind {
        E::RunStarted { flow: _, at: _, input, effective_input, answers_from: _, placeholder: _ } => {
            mask.mask_optional(input);
            mask.mask_optional(effective_input);
        }
        E::StepStarted { label: _, kind: _ } => {}
        E::ModelWaiting { agent: _, provider: _, limit: _, delay_ms: _, why } => {
            why.iter_mut().for_each(|why| mask.mask_string(why));
        }
        E::StepSkipped { label: _, reason } | E::ValidationFailed { iteration: _, reason } => mask.mask_string(reason),
        E::StepFinished { output, items: _ } => mask.mask_member(output),
        E::ItemStarted { index: _, total: _, item } => mask.mask_optional(item),
        E::ItemFinished { error } => error.iter_mut().for_each(|error| mask.mask_failure(error)),
        E::StepFailed { error, handled_as: _ } | E::RetryScheduled { attempt: _, delay_ms: _, error } => {
            mask.mask_failure(error);
        }
        E::ModelStarted { agent: _, model: _, messages, parameters, again: _ } => {
            mask.mask_member(parameters);
            messages.iter_mut().for_each(|message| mask.mask_message(message));
        }
        E::TextDelta { text: _, provisional: _ } => {}
        E::ModelFinished { answer, usage: _, duration_ms: _, answer_metadata, reused_from: _ } => {
            mask.mask_member(answer);
            mask.mask_metadata(answer_metadata);
        }
        E::ModelStopped { usage: _, partial, answer_metadata } => {
            partial.iter_mut().for_each(|partial| mask.mask_string(partial));
            mask.mask_metadata(answer_metadata);
        }
        E::EffectStarted { effect: _, detail, given_by } => {
            mask.mask_member(detail);
            mask.mask_receipt(given_by.as_deref_mut());
        }
        E::EffectFinished { value, duration_ms: _, reused_from: _, called: _, given_by } => {
            mask.mask_member(value);
            mask.mask_receipt(given_by.as_deref_mut());
        }
        E::EffectFailed { error, duration_ms: _, usage: _, partial, answer_metadata, called: _, given_by } => {
            mask.mask_receipt(given_by.as_deref_mut());
            mask.mask_failure(error);
            partial.iter_mut().for_each(|partial| mask.mask_string(partial));
            mask.mask_metadata(answer_metadata);
        }
        E::Verdict(verdict) => mask.mask_verdict(verdict),
        E::SignalWanted { label: _, prompt, accepts, choices, refused, deadline } => {
            mask.mask_string(prompt);
            mask.mask_default(deadline);
            for answer in accepts.iter_mut().chain(choices).chain(refused) {
                mask.mask_string(answer);
            }
        }
        E::Warning { message } => mask.mask_string(message),
        E::RunSuspended { waiting, wake_at: _, why } => {
            waiting.iter_mut().for_each(|waiting| mask.mask_waiting(waiting));
            why.iter_mut().for_each(|why| mask.mask_failure(why));
        }
        E::RunResumed { execution: _ } => {}
        E::RunFinished { output, error, items: _, usage: _, calls: _, duration_ms: _ } => {
            if let Some(value) = output.take() {
                let parts = mask.hidden_parts(value.exact_value());
                *output = Some(value.with_hidden(parts));
            }
            error.iter_mut().for_each(|error| mask.mask_failure(error));
        }
    }
    kind
}

impl Mask {
    fn mask_string(&self, text: &mut String) {
        if let Some(masked) = self.masked_text(text) {
            *text = masked;
        }
    }

    fn mask_name(&self, text: &mut Arc<str>) {
        if let Some(masked) = self.masked_text(text) {
            *text = masked.into();
        }
    }

    fn mask_member(&self, value: &mut Value) {
        *value = self.mask_value(std::mem::take(value));
    }

    fn mask_optional(&self, value: &mut Option<Value>) {
        value.iter_mut().for_each(|value| self.mask_member(value));
    }

    /// Who gave an answer.
    fn mask_receipt(&self, receipt: Option<&mut AnswerReceipt>) {
        if let Some(AnswerReceipt { sender, at: _ }) = receipt {
            for text in sender.texts_mut() {
                self.mask_string(text);
            }
        }
    }

    /// The answer that is used after the end of the time.
    fn mask_default(&self, deadline: &mut Option<AnswerDeadline>) {
        if let Some(deadline) = deadline
            && let Some(otherwise) = &mut deadline.otherwise
        {
            self.mask_string(otherwise);
        }
    }

    fn mask_failure(&self, error: &mut RunError) {
        *error = self.mask_error(error.clone());
    }

    fn mask_message(&self, message: &mut DisplayedMessage) {
        let DisplayedMessage { role: _, content, spans, calls, answers: _ } = message;
        let shown = self.mask_text(content);
        // Masking by value moves the text, and no provenance is better than a wrong one.
        if *shown != **content {
            spans.clear();
            *content = shown.into();
        }
        for ModelToolCall { id: _, name, arguments, sealed: _ } in calls {
            self.mask_name(name);
            self.mask_member(arguments);
        }
    }

    fn mask_metadata(&self, answer_metadata: &mut AnswerMetadata) {
        let AnswerMetadata { answered_by, instead: _, before, finish: _, request_id } = answer_metadata;
        answered_by.iter_mut().chain(request_id).for_each(|text| self.mask_string(text));
        for FailedModelCall { model: _, why, usage: _ } in before {
            self.mask_string(why);
        }
    }

    /// The metadata of a result. The descriptions of tools are digests.
    pub fn mask_about(&self, about: &mut ActivityMetadata) {
        let ActivityMetadata {
            model: _,
            usage: _,
            repeatable: _,
            duration_ms: _,
            answer_metadata,
            kept: _,
            from: _,
            called: _,
            replaced: _,
            warnings,
            verdicts,
            changed_by: _,
            partial,
            sent,
            tools: _,
            given_by,
        } = about;
        self.mask_receipt(given_by.as_deref_mut());
        self.mask_metadata(answer_metadata);
        warnings.iter_mut().chain(partial).chain(sent).for_each(|text| self.mask_string(text));
        verdicts.iter_mut().flatten().for_each(|verdict| self.mask_verdict(verdict));
    }

    fn mask_verdict(&self, verdict: &mut Verdict) {
        let Verdict { by: _, of: _, ruling: _, score: _, confidence: _, why, from } = verdict;
        self.mask_string(why);
        from.iter_mut().for_each(|path| self.mask_name(path));
    }

    /// What a run waits for.
    pub fn mask_waiting(&self, waiting: &mut AwaitedActivity) {
        let AwaitedActivity {
            key: _,
            step: _,
            sort: _,
            run: _,
            prompt,
            call,
            accepts,
            choices,
            deadline,
            why,
            calls: _,
            settled,
        } = waiting;
        self.mask_default(deadline);
        for text in prompt.iter_mut().chain(accepts).chain(choices) {
            self.mask_string(text);
        }
        self.mask_optional(call);
        why.iter_mut().for_each(|why| self.mask_failure(why));
        if let Some(QuestionClosure::Answered(GivenAnswer { text, receipt })) = settled {
            self.mask_string(text);
            self.mask_receipt(receipt.as_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use trefoil_machine::event::EventKind as E;
    use trefoil_machine::guard::CheckSubject;
    use trefoil_machine::key::Key;
    use trefoil_machine::receipt::AnswerSender;
    use trefoil_machine::request::MessageRole;

    use super::super::mask::KnownValues;
    use super::*;

    const TOKEN: &str = "hunter22";

    fn receipt() -> AnswerReceipt {
        AnswerReceipt { sender: AnswerSender::new(TOKEN, TOKEN), at: 0 }
    }

    fn shown(kind: EventKind) -> String {
        let mut known = KnownValues::default();
        known.remember_value(TOKEN, None);
        let kind = mask_event(kind, &known.prepared_mask());
        serde_json::to_string(&kind).unwrap()
    }

    #[test]
    fn no_text_from_outside_is_shown_with_a_value() {
        let value = || -> Value { [("q", Value::from(vec![TOKEN.into()]))].into_iter().collect() };
        let error = || RunError::new("TOOL_ERROR", format!("got {TOKEN}"));
        let metadata = || AnswerMetadata {
            answered_by: Some(TOKEN.to_owned()),
            before: vec![FailedModelCall { model: "m".to_owned(), why: TOKEN.to_owned(), usage: None }],
            request_id: Some(TOKEN.to_owned()),
            ..AnswerMetadata::default()
        };
        let call = ModelToolCall { id: "1".into(), name: "look".into(), arguments: value(), sealed: None };
        let message = DisplayedMessage {
            role: MessageRole::Assistant,
            content: TOKEN.into(),
            spans: Vec::new(),
            calls: vec![call],
            answers: None,
        };
        let deadline = || Some(AnswerDeadline { answer_by: 0, otherwise: Some(TOKEN.to_owned()) });
        let waiting = AwaitedActivity {
            key: Key("k".into()),
            step: "s".to_owned(),
            sort: "human",
            run: None,
            prompt: Some(TOKEN.to_owned()),
            call: Some(value()),
            accepts: vec![TOKEN.to_owned()],
            choices: vec![TOKEN.to_owned()],
            deadline: deadline(),
            why: Some(Box::new(error())),
            calls: Vec::new(),
            settled: Some(QuestionClosure::Answered(GivenAnswer { text: TOKEN.to_owned(), receipt: Some(receipt()) })),
        };
        let given_by = || Some(Box::new(receipt()));
        let verdict = Verdict {
            why: TOKEN.to_owned(),
            from: vec![TOKEN.into()],
            ..Verdict::without_finding("pii", CheckSubject::Input)
        };
        let all = [
            E::RunStarted {
                flow: "f".to_owned(),
                at: 0,
                input: Some(value()),
                effective_input: Some(value()),
                answers_from: None,
                placeholder: false,
            },
            E::ModelStarted {
                agent: "a".into(),
                model: "m".to_owned(),
                messages: vec![message],
                parameters: value(),
                again: false,
            },
            E::ModelStopped {
                usage: Default::default(),
                partial: Some(TOKEN.to_owned()),
                answer_metadata: Box::new(metadata()),
            },
            E::EffectFailed {
                error: error(),
                duration_ms: 0,
                usage: None,
                partial: Some(TOKEN.to_owned()),
                answer_metadata: Box::new(metadata()),
                called: None,
                given_by: given_by(),
            },
            E::EffectStarted { effect: "tool", detail: value(), given_by: given_by() },
            E::EffectFinished { value: value(), duration_ms: 0, reused_from: None, called: None, given_by: given_by() },
            E::Verdict(verdict),
            E::SignalWanted {
                label: "s".to_owned(),
                prompt: TOKEN.to_owned(),
                accepts: vec![TOKEN.to_owned()],
                choices: vec![TOKEN.to_owned()],
                refused: Some(TOKEN.to_owned()),
                deadline: deadline(),
            },
            E::RunSuspended { waiting: vec![waiting], wake_at: None, why: Some(error()) },
        ];
        for kind in all {
            let shown = shown(kind);
            assert!(shown.contains("***") && !shown.contains(TOKEN), "{shown}");
        }
    }
}
