//! Random events: as of a run, and in an order that no run has.

use std::sync::Arc;

use trefoil_machine::event::{AwaitedActivity, DisplayedMessage, ItemTally, ReuseOrigin};
use trefoil_machine::guard::{CheckSubject, Verdict};
use trefoil_machine::request::MessageRole;
use trefoil_machine::{AnswerReceipt, AnswerSender};
use trefoil_runtime::{Event, EventKind, Key, RunError, Usage};
use trefoil_template::Value;

/// Numbers that only depend on the first one.
pub struct Numbers(pub u64);

impl Numbers {
    /// A number below another one.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len() as u64) as usize]
    }
}

const KEYS: &[&str] = &[
    "a",
    "a@1",
    "a@2",
    "a/b",
    "a/b!2",
    "each",
    "each[0]",
    "each[1]",
    "each[1]/c",
    "each[1]/c@1[0]/d",
    "[0]",
    "[0]/e",
    "f#2/g",
    "",
    "a@1/~delay",
    "each[0]~timeout",
];

/// Some events in any order.
pub fn events(numbers: &mut Numbers, count: usize) -> Vec<Event> {
    let mut at_ms = 0;
    (0..count as u64)
        .map(|seq| {
            at_ms += numbers.below(9);
            let key = Some(Key::from(numbers.one(KEYS))).filter(|_| numbers.below(20) > 0);
            Event { run: "r".into(), seq, at_ms, key, location: None, kind: kind(numbers) }
        })
        .collect()
}

fn error(numbers: &mut Numbers) -> RunError {
    let code = numbers.one(&["TOOL_ERROR", "MODEL_ERROR", "CANCELLED", "INTERRUPTED", "TIMEOUT"]);
    let mut error = RunError::new(code, "no answer");
    error.key = Some(Key::from(numbers.one(KEYS))).filter(|_| numbers.below(2) > 0);
    error
}

fn reused(numbers: &mut Numbers) -> Option<Box<ReuseOrigin>> {
    (numbers.below(3) == 0).then(|| Box::new(ReuseOrigin { run: "r0".to_owned(), key: None, usage: None }))
}

fn usage(numbers: &mut Numbers) -> Usage {
    Usage { input_tokens: numbers.below(99), output_tokens: numbers.below(99), ..Usage::default() }
}

fn given_by(numbers: &mut Numbers) -> Option<Box<AnswerReceipt>> {
    if numbers.below(2) == 0 {
        return None;
    }
    Some(Box::new(AnswerReceipt {
        sender: AnswerSender::new(numbers.one(&["ada", "bo"]), "terminal"),
        at: numbers.below(9),
    }))
}

fn kind(numbers: &mut Numbers) -> EventKind {
    match numbers.below(24) {
        0 => EventKind::RunStarted {
            flow: "main".to_owned(),
            at: 1_700_000_000_000,
            input: Some("x".into()),
            effective_input: None,
            answers_from: None,
            placeholder: false,
        },
        1..=4 => {
            EventKind::StepStarted { label: numbers.one(&["a", "b"]).into(), kind: numbers.one(&["agent", "parallel"]) }
        }
        5 => EventKind::StepSkipped { label: "s".to_owned(), reason: "`x` is 3".to_owned() },
        6 | 7 => {
            let items = (numbers.below(3) == 0).then(|| ItemTally { total: 9, failed: numbers.below(3) as u32 });
            EventKind::StepFinished { output: numbers.one(&["one", "two", ""]).into(), items }
        }
        8 => {
            let handled_as = numbers.one(&["fail", "skip", "cancel", "told", "fallback"]);
            EventKind::StepFailed { error: error(numbers), handled_as }
        }
        9 => EventKind::ItemStarted { index: numbers.below(3) as u32, total: 3, item: Some("tea".into()) },
        10 => EventKind::ItemFinished { error: (numbers.below(2) == 0).then(|| error(numbers)) },
        11 | 12 => EventKind::ModelStarted {
            agent: "a".into(),
            model: "openai:m".to_owned(),
            messages: vec![DisplayedMessage {
                role: MessageRole::User,
                content: "Say it".into(),
                spans: Vec::new(),
                calls: Vec::new(),
                answers: None,
            }],
            parameters: Value::Null,
            again: numbers.below(4) == 0,
        },
        13 => EventKind::ModelFinished {
            answer: numbers.one(&["yes", ""]).into(),
            usage: usage(numbers),
            duration_ms: 3,
            answer_metadata: Box::default(),
            reused_from: reused(numbers),
        },
        14 => EventKind::ModelStopped {
            usage: usage(numbers),
            partial: Some("ye".to_owned()),
            answer_metadata: Box::default(),
        },
        15 => {
            let detail = Value::parse(r#"{"name": "pay", "arguments": {"cents": 5}}"#).unwrap();
            let effect = numbers.one(&["tool", "command", "decide", "timer"]);
            EventKind::EffectStarted { effect, detail, given_by: given_by(numbers) }
        }
        16 => EventKind::EffectFinished {
            value: "done".into(),
            duration_ms: 4,
            reused_from: reused(numbers),
            called: None,
            given_by: given_by(numbers),
        },
        17 => EventKind::EffectFailed {
            error: error(numbers),
            duration_ms: 2,
            usage: None,
            partial: None,
            answer_metadata: Box::default(),
            called: None,
            given_by: given_by(numbers),
        },
        18 => EventKind::RetryScheduled { attempt: 2 + numbers.below(2) as u32, delay_ms: 5, error: error(numbers) },
        19 => EventKind::ValidationFailed { iteration: 1, reason: "too short".to_owned() },
        20 => EventKind::Verdict(Verdict::without_finding("injection", CheckSubject::Input)),
        21 => EventKind::SignalWanted {
            label: "ask".to_owned(),
            prompt: "Go on?".to_owned(),
            accepts: Vec::new(),
            choices: Vec::new(),
            refused: None,
            deadline: None,
        },
        22 => EventKind::Warning { message: "odd".to_owned() },
        _ => ends(numbers),
    }
}

fn ends(numbers: &mut Numbers) -> EventKind {
    match numbers.below(3) {
        0 => {
            let one = |key: &str| AwaitedActivity {
                key: key.into(),
                step: "ask".to_owned(),
                sort: "human",
                ..AwaitedActivity::default()
            };
            let waiting = vec![one(numbers.one(KEYS)), one(numbers.one(KEYS))];
            EventKind::RunSuspended { waiting, wake_at: None, why: (numbers.below(3) == 0).then(|| error(numbers)) }
        }
        1 => EventKind::RunResumed { execution: 2 },
        _ => EventKind::RunFinished {
            output: None,
            error: (numbers.below(2) == 0).then(|| error(numbers)),
            items: None,
            usage: usage(numbers),
            calls: 3,
            duration_ms: 99,
        },
    }
}

/// The events of a run with a fan-out: seven for each item.
pub fn fan_out(items: u32) -> impl Iterator<Item = Event> {
    let event = |seq: u64, key: Arc<str>, kind| Event {
        run: "r".into(),
        seq,
        at_ms: seq,
        key: Some(key.into()),
        location: None,
        kind,
    };
    let first = event(0, "each".into(), EventKind::StepStarted { label: "each".into(), kind: "for_each" });
    std::iter::once(first).chain((0..items).flat_map(move |index| {
        let (item, step): (Arc<str>, Arc<str>) = (format!("each[{index}]").into(), format!("each[{index}]/sip").into());
        let text = || Value::from(format!("the text of item {index}, which is not the same as that of another one"));
        let messages = vec![DisplayedMessage {
            role: MessageRole::User,
            content: format!("Say something about {index}, in a sentence or two, please").into(),
            spans: Vec::new(),
            calls: Vec::new(),
            answers: None,
        }];
        let (agent, model) = ("sip".into(), "openai:m".to_owned());
        let (usage, answer_metadata) =
            (Usage { input_tokens: 9, output_tokens: 9, ..Usage::default() }, Box::default());
        let kinds = [
            (item.clone(), EventKind::ItemStarted { index, total: items, item: Some(text()) }),
            (step.clone(), EventKind::StepStarted { label: "sip".into(), kind: "agent" }),
            (step.clone(), EventKind::ModelStarted { agent, model, messages, parameters: Value::Null, again: false }),
            (step.clone(), EventKind::TextDelta { text: "the".to_owned(), provisional: false }),
            (
                step.clone(),
                EventKind::ModelFinished { answer: text(), usage, duration_ms: 2, answer_metadata, reused_from: None },
            ),
            (step, EventKind::StepFinished { output: text(), items: None }),
            (item, EventKind::ItemFinished { error: None }),
        ];
        let first = 1 + 7 * u64::from(index);
        kinds.into_iter().zip(first..).map(move |((key, kind), seq)| event(seq, key, kind))
    }))
}
