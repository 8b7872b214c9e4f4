//! A scope with every kind of source, over data that looks like code.
//!
//! The data exists in two variants: as it is, and with its braces replaced by other characters. Results may differ only
//! in the shown text, so code that scans data again is detected.

use std::cell::RefCell;
use std::sync::Arc;

use trefoil_machine::content::QuestionContent;
use trefoil_template::{
    Hole, HoleKind, HoleQuestion, MissingCause, Policy, Reference, ReferenceBinding, SourceValue, Value, ValueScope,
    policy::StateLayout,
};

/// Added before and after all data that looks like code, so that no literal of a template equals it.
const GUARD: char = '\u{e000}';

/// Texts with a meaning if they were scanned again.
const CODE: &[&str] = &[
    "{{a}}",
    "{{ a }}",
    "{{#if a}}yes{{/if}}",
    "{{#each list}}{{this}}{{/each}}",
    "{{a",
    "}}",
    "{{{a}}}",
    "{{ plan.output }}",
    "\\{{a}}",
    "{{!-- a --}}",
    "{{env.HOME}}",
];

/// The data, and the answers so far.
pub(crate) struct World {
    state: Value,
    policy: &'static Policy,
    answers: RefCell<Vec<(QuestionContent, bool)>>,
}

impl World {
    /// Uses the data as it is.
    pub(crate) fn new(policy: &'static Policy) -> Self {
        Self { state: state(policy, &|text| text.to_owned()), policy, answers: RefCell::default() }
    }

    /// Replaces the data's braces by other characters.
    pub(crate) fn harmless(policy: &'static Policy) -> Self {
        Self { state: state(policy, &mark), policy, answers: RefCell::default() }
    }

    /// The object for `trefoil_template::state`.
    pub(crate) fn state(&self) -> &Value {
        &self.state
    }

    /// The source of a reference; its first segment selects the kind of source.
    pub(crate) fn bind(&self, reference: &Reference) -> ReferenceBinding {
        let source = match reference.path.first().map(|s| &*s.name) {
            Some("env") => 1,
            Some("secrets") => 2,
            Some("layered") => 3,
            Some("either") => 4,
            Some("missing") => 5,
            Some("unset") => 6,
            Some("outside") => 7,
            _ if self.policy.names == StateLayout::Namespaces => return ReferenceBinding { source: 8, skip: 0 },
            _ => return ReferenceBinding::default(),
        };
        ReferenceBinding { source, skip: 1 }
    }

    /// Records the answer to a question, computed like by a driver. A question must not be asked again.
    pub(crate) fn answer(&self, question: &HoleQuestion) {
        let asked = QuestionContent::from_question(question);
        let mut answers = self.answers.borrow_mut();
        assert!(answers.iter().all(|(known, _)| *known != asked), "asked again: {asked:?}");
        let answer = question.answer_with(&mut fill);
        assert_eq!(answer, question.answer_with(&mut fill), "two answers to {asked:?}");
        answers.push((asked, answer.unwrap_or(false)));
        assert!(answers.len() < 5000, "no end of questions");
    }
}

/// The environment, in which some names are set.
pub(crate) fn fill(hole: &Hole) -> Result<Option<String>, String> {
    Ok(match (hole.kind, hole.name.len() % 4) {
        (HoleKind::Env, 0) => None,
        (HoleKind::Env, 1) => Some("{{a}}".to_owned()),
        (HoleKind::Env, 2) => Some("7".to_owned()),
        (HoleKind::Env, _) => Some("[1, {\"a\": 2}]".to_owned()),
        (HoleKind::Secret, 0) => return Err("not set".to_owned()),
        (HoleKind::Secret, _) => Some("hunter2".to_owned()),
    })
}

impl ValueScope for World {
    fn source_value(&self, source: u32) -> SourceValue<'_> {
        let under = || -> Value {
            let step: Value = [("out", self.state.clone()), ("in", Value::Null)].into_iter().collect();
            [("a", step.clone()), ("list", step)].into_iter().collect()
        };
        match source {
            1 => SourceValue::Opaque(HoleKind::Env),
            2 => SourceValue::Opaque(HoleKind::Secret),
            3 => SourceValue::Layered { top: self.state.get("obj").cloned().unwrap_or_default(), under: under() },
            4 => SourceValue::Either(
                Box::new(SourceValue::Borrowed(self.state.get("obj").unwrap_or(&Value::Null))),
                Box::new(SourceValue::Opaque(HoleKind::Env)),
            ),
            5 => SourceValue::Missing(MissingCause::Key(1)),
            6 => SourceValue::Missing(MissingCause::Unset("HOME".into())),
            7 => SourceValue::Missing(MissingCause::OutsideLoop),
            _ => SourceValue::Borrowed(&self.state),
        }
    }

    fn known_answer(&self, question: &HoleQuestion) -> Option<bool> {
        let asked = QuestionContent::from_question(question);
        self.answers.borrow().iter().find(|(known, _)| *known == asked).map(|(_, answer)| *answer)
    }
}

/// Replaces braces by other characters: the same number of bytes and characters, and the same sort order.
pub(crate) fn mark(text: &str) -> String {
    text.replace('{', "|").replace('}', "~")
}

fn state(policy: &Policy, as_seen: &dyn Fn(&str) -> String) -> Value {
    let code = |at: usize| {
        let text = CODE.get(at % CODE.len()).copied().unwrap_or_default();
        Value::from(format!("{GUARD}{}{GUARD}", as_seen(text)))
    };
    let list: Value = (5..8).map(code).collect();
    let deep = (0..40).fold(code(0), |inner, _| [("a", inner)].into_iter().collect());
    let keyed = CODE.iter().map(|text| (Arc::<str>::from(format!("{GUARD}{}", as_seen(text))), Value::from(1)));
    let obj: Value = [
        ("a", code(1)),
        ("b", Value::Null),
        ("n", 3.into()),
        ("list", list.clone()),
        ("keyed", keyed.collect()),
        ("empty", Value::from("")),
    ]
    .into_iter()
    .collect();
    let root: Value = [
        ("a", code(0)),
        ("b", code(2)),
        ("list", list),
        ("obj", obj.clone()),
        ("objs", vec![obj.clone(), Value::Null, obj.clone()].into()),
        ("deep", deep),
        ("zero", 0.into()),
        ("n", 42.into()),
        ("f", 1e21.into()),
        ("big", u64::MAX.into()),
        ("t", true.into()),
        ("nil", Value::Null),
        ("s", "tëxt 世界\n  two lines ".into()),
        ("json", "[1, \"x\", null]".into()),
        ("num", " 3.5 ".into()),
        ("0", "digit".into()),
        ("a-b", "hyphen".into()),
        ("this", "this".into()),
        ("item", code(3)),
    ]
    .into_iter()
    .collect();
    if policy.names == StateLayout::Root {
        return root;
    }
    let node: Value = [("output", code(4)), ("outputs", root.get("list").cloned().into()), ("agents", obj.clone())]
        .into_iter()
        .collect();
    [
        ("inputs", root.clone()),
        ("nodes", [("plan", node.clone()), ("n", obj.clone()), ("a", node)].into_iter().collect()),
        ("env", [("HOME", code(5)), ("N", "7".into())].into_iter().collect()),
        ("item", obj),
        ("index", 0.into()),
        ("total", 3.into()),
        ("working", root.clone()),
        ("output", root),
        ("_budget", [("total_tokens", 12)].into_iter().collect()),
    ]
    .into_iter()
    .collect()
}
