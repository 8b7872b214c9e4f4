//! Validation and conversion of inputs.

use expect_test::expect;
use serde_json::json as j;
use trefoil_ir::{FlowInputField, Intake, SlotId};
use trefoil_runtime::RunError;
use trefoil_template::Value;

use crate::world::{World, block_on, json};
use testbed::build::{Build, intake, nowhere};

fn field(name: &str, schema: serde_json::Value, default: Option<Value>, nullable: bool) -> FlowInputField {
    FlowInputField {
        usual: None,
        name: name.into(),
        schema: Value::from_json(schema),
        default,
        nullable,
        optional: false,
        origin: nowhere(),
    }
}

/// Runs a flow that returns its input (and its raw input).
fn run(
    make: impl FnOnce(&mut Build) -> Intake,
    input: Option<serde_json::Value>,
) -> Result<serde_json::Value, RunError> {
    let mut b = Build::new();
    let body = b.compute("", "{{input}}");
    let intake = make(&mut b);
    let raw = b.slot("raw");
    let output = if intake.raw.is_some() { "{{raw}}" } else { "{{input}}" };
    let main = b.flow("main", body, Some(output));
    b.flow_mut(main).intake = intake;
    let _ = raw;
    let world = World::echo();
    let input = input.map(Value::from_json);
    let program = b.program(main);
    let outcome = block_on(trefoil_runtime::driver::run(program, input, world.ports.clone(), world.options.clone()));
    outcome.result.map(|v| json(&v))
}

fn declared() -> Intake {
    let fields = vec![
        field("text", j!({"type": "string"}), None, false),
        field("lang", j!({"type": "string", "enum": ["en", "de"]}), Some("en".into()), true),
        field("note", j!({"type": "string"}), None, true),
    ];
    Intake { fields, closed: true, ..intake() }
}

#[test]
fn missing_properties_take_their_default_or_null() {
    let got = run(|_| declared(), Some(j!({"text": "t"}))).unwrap();
    assert_eq!(got, j!({"text": "t", "lang": "en", "note": null}));
    // Null is a value where it is allowed. The default applies only to missing inputs.
    assert_eq!(run(|_| declared(), Some(j!({"text": "t", "lang": null}))).unwrap()["lang"], j!(null));
}

#[test]
fn a_wrong_input_names_the_property() {
    let said = |input| {
        let error = run(|_| declared(), input).unwrap_err();
        assert_eq!(error.code, "INPUT_INVALID");
        (error.message.clone(), error.help.clone())
    };
    expect!["pipeline `main` needs the input property `text`"].assert_eq(&said(None).0);
    expect!["the input of pipeline `main` must be an object, not text"].assert_eq(&said(Some(j!("x"))).0);
    let (message, _) = said(Some(j!({"text": 3})));
    expect![[r#"input property `text` of pipeline `main` does not match its schema: 3 is not of type "string""#]]
        .assert_eq(&message);
    // A long value does not hide what is wrong with it.
    let (message, _) = said(Some(j!({"text": vec!["word"; 500]})));
    assert!(message.ends_with(r#"... is not of type "string""#), "{message}");
    let (message, help) = said(Some(j!({"txt": "x"})));
    expect!["pipeline `main` has no input property `txt`"].assert_eq(&message);
    assert_eq!(help.as_deref(), Some("did you mean `text`?"));
    assert!(said(Some(j!({"text": "x", "lang": "fr"}))).0.contains("`lang`"));
}

#[test]
fn text_is_wrapped_and_no_input_gives_no_key() {
    let wrap = |_: &mut Build| Intake { wrap: Some("message".into()), ..intake() };
    assert_eq!(run(wrap, Some(j!("hi"))).unwrap(), j!({"message": "hi"}));
    assert_eq!(run(wrap, Some(j!({"a": 1}))).unwrap(), j!({"a": 1}));
    assert_eq!(run(wrap, None).unwrap(), j!({}));
}

#[test]
fn the_raw_input_is_kept_beside() {
    let raw = |b: &mut Build| -> Intake {
        let slot: SlotId = b.slot("raw");
        Intake { raw: Some((slot, Some("userQuery".into()))), ..intake() }
    };
    assert_eq!(run(raw, Some(j!("hi"))).unwrap(), j!("hi"));
    assert_eq!(run(raw, Some(j!({"a": 1}))).unwrap(), j!({"a": 1}));
    assert_eq!(run(raw, Some(j!({"userQuery": "q"}))).unwrap(), j!("q"));
    assert_eq!(run(raw, None).unwrap(), j!(null));
}

#[test]
fn a_schema_of_the_whole_input_is_checked() {
    let whole =
        |b: &mut Build| Intake { schema: Some(b.schema(j!({"type": "object", "required": ["a"]}))), ..intake() };
    assert!(run(whole, Some(j!({"a": 1}))).is_ok());
    assert_eq!(run(whole, Some(j!({}))).unwrap_err().code, "INPUT_INVALID");
}
