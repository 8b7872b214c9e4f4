//! The text of a run's result while it arrives, for clients that show it. Only of flows whose result is the text of the agent that
//! runs last; and only pieces that are certain to be the beginning of the result, as far as that can be known.

use trefoil_ir::{AnswerFormat, FlowCallee, OnStepFailure, Program, Source, StepKind, ValueExpression};
use trefoil_machine::key::escape_label;
use trefoil_runtime::{Event, EventKind};

/// Flows that call each other deeper than this are not looked into.
const DEEPEST: usize = 32;

/// Finds the pieces of a run's result in its events.
pub struct AnswerText {
    /// The key of the model call whose text is the result. `None`: the result comes as a whole.
    key: Option<String>,
    /// What was passed on.
    passed: String,
    /// In another try of the call: its text so far, until it is as long as what was passed on.
    again: Option<String>,
}

impl AnswerText {
    /// For the runs of a program.
    pub fn of_program(program: &Program) -> Self {
        Self { key: answering_call(program), passed: String::new(), again: None }
    }

    /// Whether the result may come in pieces.
    pub fn comes_in_pieces(&self) -> bool {
        self.key.is_some()
    }

    /// The next piece of the result, if an event brings one.
    pub fn take_piece(&mut self, event: &Event) -> Option<String> {
        let key = event.key.as_ref()?;
        if Some(key.without_try()) != self.key.as_deref() {
            return None;
        }
        match &event.kind {
            EventKind::ModelStarted { .. } if !self.passed.is_empty() => {
                self.again = Some(String::new());
                None
            }
            // What a guardrail may still change is not passed on.
            EventKind::TextDelta { text, provisional: false } => self.add_text(text),
            _ => None,
        }
    }

    fn add_text(&mut self, text: &str) -> Option<String> {
        let Some(again) = &mut self.again else {
            self.passed.push_str(text);
            return Some(text.to_owned());
        };
        again.push_str(text);
        let rest = again.strip_prefix(self.passed.as_str())?.to_owned();
        self.again = None;
        self.passed.push_str(&rest);
        if rest.is_empty() { None } else { Some(rest) }
    }

    /// What is missing after the pieces. `None`: the result does not begin with them, because the call was made again and answered
    /// otherwise.
    pub fn take_rest<'a>(&self, result: &'a str) -> Option<&'a str> {
        result.strip_prefix(self.passed.as_str())
    }
}

/// The key of the model call whose text is the result of a program.
fn answering_call(program: &Program) -> Option<String> {
    let mut key = String::new();
    let mut flow = program.entry_flow();
    for _ in 0..DEEPEST {
        // The slot that the result is read from; `None`: it is that of the body.
        let mut wanted = match &flow.output {
            None => None,
            Some(ValueExpression::Read(Source::Slot(slot))) => Some(*slot),
            Some(_) => return None,
        };
        let mut step = &program.steps[flow.body];
        let called = loop {
            if step.shape.is_some() || !matches!(step.policy.on_failure, OnStepFailure::Fail) {
                return None;
            }
            if wanted.is_some() && step.out == wanted {
                wanted = None;
            }
            if let Some(label) = &step.label {
                if !key.is_empty() {
                    key.push('/');
                }
                key.push_str(&escape_label(label));
            }
            match &step.kind {
                StepKind::Sequence(steps) => step = &program.steps[*steps.last()?],
                StepKind::Model(call) if wanted.is_none() && call.format == AnswerFormat::Text => return Some(key),
                StepKind::Call(call) if wanted.is_none() => match &call.callee {
                    FlowCallee::Flow(called) => break *called,
                    FlowCallee::Named { .. } => return None,
                },
                _ => return None,
            }
        };
        flow = &program.flows[called];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_project::Flow;

    const TWO: &str = "
id: two
kind: sequential
steps:
  - agent: { id: first, kind: llm, model: { provider: openai, name: m }, instruction: One. }
  - agent: { id: second, kind: llm, model: { provider: openai, name: m }, instruction: Two. }
";

    fn text_of(manifest: &str) -> AnswerText {
        AnswerText::of_program(&Flow::from_text("flow.yaml", manifest).unwrap().loaded_target().program)
    }

    fn event(key: &str, kind: EventKind) -> Event {
        Event { run: "r".into(), seq: 0, at_ms: 0, key: Some(key.into()), location: None, kind }
    }

    fn delta(key: &str, text: &str) -> Event {
        event(key, EventKind::TextDelta { text: text.to_owned(), provisional: false })
    }

    fn started(key: &str) -> Event {
        let kind = EventKind::ModelStarted {
            agent: "a".into(),
            model: "m".to_owned(),
            messages: Vec::new(),
            parameters: trefoil_template::Value::Null,
            again: false,
        };
        event(key, kind)
    }

    #[test]
    fn only_the_text_of_the_last_agent_is_the_result() {
        let mut text = text_of(TWO);
        assert_eq!(text.take_piece(&delta("first", "no")), None);
        assert_eq!(text.take_piece(&delta("second", "a ")).as_deref(), Some("a "));
        let held = event("second", EventKind::TextDelta { text: "x".to_owned(), provisional: true });
        assert_eq!(text.take_piece(&held), None);
        assert_eq!(text.take_rest("a b"), Some("b"));
        assert_eq!(text.take_rest("other"), None);
    }

    #[test]
    fn a_result_that_is_made_of_answers_comes_as_a_whole() {
        assert!(text_of(TWO).comes_in_pieces());
        for (what, manifest) in [
            ("an object", format!("{TWO}output:\n  text: \"{{{{second}}}}\"\n")),
            (
                "an answer with a schema",
                "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: One.\noutputSchema: { x: string }\n"
                    .to_owned(),
            ),
        ] {
            assert!(!text_of(&manifest).comes_in_pieces(), "{what}");
        }
    }

    #[test]
    fn another_try_goes_on_where_the_first_one_stopped() {
        let mut text = text_of(TWO);
        assert_eq!(text.take_piece(&started("second")), None);
        assert_eq!(text.take_piece(&delta("second", "one t")).as_deref(), Some("one t"));
        assert_eq!(text.take_piece(&started("second!2")), None);
        assert_eq!(text.take_piece(&delta("second!2", "one")), None);
        assert_eq!(text.take_piece(&delta("second!2", " two")).as_deref(), Some("wo"));
        assert_eq!(text.take_piece(&started("second!3")), None);
        assert_eq!(text.take_piece(&delta("second!3", "other")), None);
        assert_eq!(text.take_rest("other"), None);
    }
}
