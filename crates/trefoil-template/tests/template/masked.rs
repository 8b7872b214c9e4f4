//! The environment and the secret store: the machine sees only names, and the driver answers.

use std::collections::BTreeMap;
use std::sync::Mutex;

use trefoil_template::{
    Condition, EvalError, Hole, HoleKind, HoleQuestion, MissingCause, Policy, Reference, ReferenceBinding, SourceValue,
    Template, Value, ValueScope,
};

/// A state without `env` and `secrets`, and the answers given so far.
#[derive(Default)]
pub struct Machine {
    state: Value,
    answers: Mutex<BTreeMap<String, bool>>,
}

impl Machine {
    pub fn new(state: serde_json::Value) -> Self {
        Machine { state: Value::from_json(state), ..Machine::default() }
    }
}

/// The same text for the same question, with holes by name.
pub fn asked(question: &HoleQuestion) -> String {
    let HoleQuestion { expression, policy, presence, text: _, schema } = question;
    assert_eq!(*schema, None);
    serde_json::to_string(&(expression, policy.conditions, presence)).unwrap()
}

pub fn bind(reference: &Reference) -> ReferenceBinding {
    let source = match reference.path.first().map(|s| &*s.name) {
        Some("env") => 1,
        Some("secrets") => 2,
        _ => return ReferenceBinding::default(),
    };
    ReferenceBinding { source, skip: 1 }
}

impl ValueScope for Machine {
    fn source_value(&self, source: u32) -> SourceValue<'_> {
        match source {
            0 => SourceValue::Borrowed(&self.state),
            1 => SourceValue::Opaque(HoleKind::Env),
            2 => SourceValue::Opaque(HoleKind::Secret),
            _ => SourceValue::Missing(MissingCause::Key(0)),
        }
    }
    fn known_answer(&self, question: &HoleQuestion) -> Option<bool> {
        self.answers.lock().unwrap().get(&asked(question)).copied()
    }
}

fn template(policy: Policy, text: &str) -> Template {
    let mut template = Template::parse(text, &policy).unwrap();
    template.bind_references(bind);
    template
}

fn condition(policy: Policy, text: &str) -> Condition {
    let mut condition = Condition::parse(text, &policy).unwrap();
    condition.bind_references(bind);
    condition
}

fn environment(hole: &Hole) -> Result<Option<String>, String> {
    match (hole.kind, &*hole.name) {
        (HoleKind::Env, "MODE") => Ok(Some("prod".to_owned())),
        (HoleKind::Env, "N") => Ok(Some("7".to_owned())),
        (HoleKind::Env, "EMPTY") => Ok(Some(String::new())),
        (HoleKind::Secret, "KEY") => Ok(Some("s3cret-key".to_owned())),
        _ if hole.lenient || hole.default.is_some() => Ok(None),
        _ => Err(format!("{} is not set", hole.name)),
    }
}

/// Renders and fills holes as the driver does.
fn filled(policy: Policy, text: &str) -> Result<Value, String> {
    let machine = Machine::new(serde_json::json!({"a": "A", "o": {"k": 1}}));
    let value = template(policy, text).render_value(&machine).map_err(|e| e.to_string())?;
    value.fill_holes(&mut environment)
}

#[test]
fn text_keeps_its_holes_and_shows_stars() {
    let machine = Machine::new(serde_json::json!({"a": "A"}));
    let t = template(Policy::AGNTZ, "{{a}} Bearer {{secrets.KEY}} in {{env.MODE}}.");
    let value = t.render_text(&machine).unwrap();
    assert!(matches!(&value, Value::Masked(m) if m.pieces.len() == 5));
    assert_eq!(&*value.to_text(), "A Bearer *** in ***.");
    let mut shown = String::new();
    t.render_into(&machine, &mut shown).unwrap();
    assert_eq!(shown, "A Bearer *** in ***.");
    let (traced, provenance) = t.render_with_provenance(&machine).unwrap();
    assert_eq!(traced, value);
    let parts: Vec<_> = provenance
        .iter()
        .map(|p| {
            (&shown[p.output.start as usize..p.output.end as usize], t.references()[p.reference as usize].dotted_path())
        })
        .collect();
    assert_eq!(parts, [("A", "a".into()), ("***", "secrets.KEY".into()), ("***", "env.MODE".to_owned())]);
}

#[test]
fn the_driver_fills_what_the_template_left() {
    let text = |text: &str| Ok(Value::from(text));
    assert_eq!(filled(Policy::AGNTZ, "Bearer {{secrets.KEY}}"), text("Bearer s3cret-key"));
    assert_eq!(filled(Policy::AGNTZ, "{{env.MODE}}"), text("prod"));
    assert_eq!(filled(Policy::AGNTZ, "{{env.NOPE}}"), Ok(Value::Null));
    assert_eq!(filled(Policy::AGNTZ, "<{{env.NOPE}}>"), text("<>"));
    assert_eq!(filled(Policy::SIRENSPEC, "{{ env.MODE }} {{ env.NOPE | default('dev') }}"), text("prod dev"));
    assert_eq!(filled(Policy::SIRENSPEC, "{{ env.EMPTY | default('e') }}"), text("e"));
    assert_eq!(filled(Policy::SIRENSPEC, "{{ env.MODE | json_or_default('[]') }}"), text("[]"));
    assert_eq!(filled(Policy::SIRENSPEC, "{{ env.N | json_or_default('[]') }}"), text("7"));
    assert_eq!(filled(Policy::SIRENSPEC, "{{ env.NOPE }}"), Err("NOPE is not set".to_owned()));
    let extra = filled(Policy::SIRENSPEC, "{{ env.MODE.x }}").unwrap_err();
    assert!(extra.ends_with("[env]: Key 'x' not found"), "{extra}");
    let bare = filled(Policy::SIRENSPEC, "{{ secrets }}").unwrap_err();
    assert!(bare.ends_with("Missing field name after 'secrets.'"), "{bare}");
}

#[test]
fn helpers_pass_holes_on_or_refuse() {
    assert_eq!(filled(Policy::AEGIS, "{{default env.NOPE 'x'}}"), Ok("x".into()));
    assert_eq!(filled(Policy::AEGIS, "{{default a env.NOPE}}{{default nope env.MODE}}"), Ok("Aprod".into()));
    let refused = filled(Policy::AEGIS, "{{upper env.MODE}}").unwrap_err();
    assert!(refused.starts_with("InterpolationError in '{{ env.MODE }}' [env]: A helper cannot"), "{refused}");
}

#[test]
fn a_condition_on_a_hole_is_asked_and_then_known() {
    for (text, answer) in [
        ("{{env.MODE}} == prod", true),
        ("{{env.MODE}} == test", false),
        ("{{env.NOPE}} == null", true),
        ("{{env.NOPE}}", false),
        ("{{env.N}} >= 7 && {{a}} == A", true),
    ] {
        let machine = Machine::new(serde_json::json!({"a": "A"}));
        let condition = condition(Policy::AGNTZ, text);
        let Err(EvalError::Undecided(question)) = condition.evaluate_in(&machine) else {
            panic!("{text} is not asked")
        };
        assert!(!asked(&question).contains("prod\"") || text.contains("prod"), "no content in the key");
        let given = question.answer_with(&mut environment).unwrap();
        assert_eq!(given, answer, "{text}");
        machine.answers.lock().unwrap().insert(asked(&question), given);
        assert_eq!(condition.evaluate_in(&machine), Ok(answer), "{text}");
    }
}

#[test]
fn only_what_matters_is_asked() {
    let machine = Machine::new(serde_json::json!({"a": "A", "big": vec!["long text"; 1000]}));
    for (text, truth) in [
        ("{{a}} == B && {{env.MODE}} == prod", false),
        ("{{a}} || {{env.MODE}}", true),
        ("{{nope}} && {{env.MODE}}", false),
    ] {
        assert_eq!(condition(Policy::AGNTZ, text).evaluate_in(&machine), Ok(truth), "{text}");
    }
    let Err(EvalError::Undecided(question)) = condition(Policy::AGNTZ, "{{big}} && {{env.MODE}}").evaluate_in(&machine)
    else {
        panic!("not asked");
    };
    assert!(asked(&question).len() < 100, "known parts are not in the question: {}", asked(&question));
}

#[test]
fn blocks_ask_too() {
    let machine = Machine::new(serde_json::json!({}));
    let t = template(Policy::AGNTZ, "{{#if env.MODE == prod}}live{{/if}}{{#if env.NOPE}}never{{/if}}");
    for expected in ["", "live"] {
        let answer = expected == "live";
        machine.answers.lock().unwrap().clear();
        let mut count = 0;
        let text = loop {
            match t.render_text(&machine) {
                Ok(text) => break text,
                Err(EvalError::Undecided(question)) => {
                    count += 1;
                    let first = count == 1;
                    machine.answers.lock().unwrap().insert(asked(&question), answer && first);
                }
                Err(other) => panic!("{other}"),
            }
        };
        assert_eq!((text, count), (expected.into(), 2));
    }
    // The driver is asked about a helper that returns a boolean.
    let t = template(Policy::AEGIS, "{{#if (and (eq env.MODE 'prod') true)}}live{{/if}}{{not env.MODE}}");
    assert!(matches!(t.render_text(&machine), Err(EvalError::Undecided(_))));
}

#[test]
fn a_python_condition_that_fails_is_false_as_a_whole() {
    // A value read from the state may contain masked text: `working.token` was written from `env.X`.
    let masked = trefoil_template::Masked::from_hole(Hole::new(HoleKind::Env, "N")).into_value();
    let state: Value = [("working", [("token", masked)].into_iter().collect::<Value>())].into_iter().collect();
    for (text, answer) in [
        ("int(working.token) == 7", true),
        ("not (int(working.token) == 8)", true),
        ("not (working.token + 1 == 8)", false),
        ("not (int(working.token) > 1 < working.nothing)", false),
        ("working.token == '8' or 1 / 0", false),
        ("working.token == '7' or 1 / 0", true),
        ("1 < len(working.token) + 1 < 3", true),
        ("'7' in [working.token]", true),
        ("[working.token] == ['7']", true),
    ] {
        let condition = Condition::parse(text, &Policy::SIRENSPEC).unwrap();
        let Err(EvalError::Undecided(question)) = condition.evaluate_in(&state) else { panic!("{text} is not asked") };
        assert_eq!(question.answer_with(&mut environment), Ok(answer), "{text}: {}", asked(&question));
    }
}

#[test]
fn an_error_of_the_driver_ends_the_answer() {
    let machine = Machine::new(serde_json::json!({}));
    let Err(EvalError::Undecided(question)) = condition(Policy::AGNTZ, "{{env.MODE}} == x").evaluate_in(&machine)
    else {
        panic!("not asked");
    };
    assert_eq!(question.answer_with::<String, _>(&mut |_| Err("store is locked")), Err("store is locked"));
}
