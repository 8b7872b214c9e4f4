//! Environment values that come back: configuration is data that no view shows, a credential is a secret.

use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use serde_json::json as j;
use trefoil_ir::{FlowCallee, Program, StepId, StepKind, SubflowCall, ToolCall, ToolKind, ValueExpression};
use trefoil_machine::PreparedProgram;
use trefoil_runtime::ports::{CallSite, Journal, MapSecrets, MemoryJournal, ToolError, ToolHost};
use trefoil_runtime::{Entry, EventKind, ToolRequest, driver};
use trefoil_template::Value;

use crate::world::{World, block_on, json};
use testbed::Build;

const VALUE: &str = "quartz/lantern & 7741";

/// The value, as a model or a tool may return it.
fn forms(value: &str) -> Vec<String> {
    let quoted = serde_json::Value::from(value).to_string();
    let hex = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent = percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC).to_string();
    let base64 = base64::engine::general_purpose::STANDARD.encode(value);
    vec![value.to_owned(), quoted.trim_matches('"').to_owned(), hex, percent, base64]
}

/// Where in a value it is.
fn shapes(form: &str) -> Vec<Value> {
    let text = || Value::from(format!("é got {form} é"));
    let nested = j!({ "a": [{ "b/~": format!("{form}{form}") }] });
    vec![
        text(),
        vec![Value::Null, text()].into(),
        [("member", text())].into_iter().collect(),
        [(format!("name {form}"), Value::from(1))]
            .into_iter()
            .map(|(k, v)| (k.into(), v))
            .collect::<trefoil_template::ValueObject>()
            .into(),
        Value::from_json(nested.clone()),
        nested.to_string().as_str().into(),
    ]
}

/// A tool that returns the same, whatever it gets.
struct Says(Value);

#[async_trait]
impl ToolHost for Says {
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        true
    }
    async fn call_tool(&self, _at: CallSite<'_>, _request: &ToolRequest) -> Result<Value, ToolError> {
        match self.0.get("error") {
            Some(why) => Err(ToolError::Failed(why.to_text().to_string())),
            None => Ok(self.0.clone()),
        }
    }
}

fn object(b: &mut Build, members: &[(&str, &str)]) -> ValueExpression {
    ValueExpression::Object(members.iter().map(|(name, text)| ((*name).into(), b.value(text))).collect())
}

fn tool(b: &mut Build, kind: ToolKind, arguments: ValueExpression) -> StepId {
    let id = b.step("call", StepKind::Tool(Box::new(ToolCall { name: "say".into(), kind, arguments })));
    b.out(id, "call")
}

/// A call with the variable as an argument, a model that repeats what it gets, and both in the output.
fn repeats(kind: ToolKind, arguments: impl FnOnce(&mut Build) -> ValueExpression) -> Arc<Program> {
    let mut b = Build::new();
    let arguments = arguments(&mut b);
    let call = tool(&mut b, kind, arguments);
    let again = b.model("again", "{{call}}");
    let again = b.out(again, "again");
    let body = b.sequence("", &[call, again]);
    let main = b.flow("main", body, None);
    b.program(main)
}

fn world(value: Value, name: Option<&str>) -> World {
    let mut world = World::echo();
    world.ports.tools = Arc::new(Says(value));
    if let Some(name) = name {
        world.ports.secrets = Arc::new(MapSecrets::new().with_variable(name, VALUE));
    }
    world
}

/// A world in which nothing is known but a journal.
fn elsewhere(entries: &[Entry], value: Value) -> World {
    let mut world = world(value, None);
    let journal = Arc::new(MemoryJournal::new());
    block_on(journal.append_entries("r1", entries, &[])).unwrap();
    (world.ports.journal, world.journal) = (journal.clone(), journal);
    world
}

fn events(world: &World) -> String {
    serde_json::to_string(&world.events.collected_events()).unwrap()
}

fn entries(world: &World) -> String {
    serde_json::to_string(&world.journal.entries("r1")).unwrap()
}

/// The form as it is in JSON.
fn in_json(form: &str) -> String {
    serde_json::Value::from(form).to_string().trim_matches('"').to_owned()
}

#[test]
fn configuration_that_comes_back_is_data_and_no_view_shows_it_live_or_later() {
    let mut tried = 0;
    for form in forms(VALUE) {
        for value in shapes(&form) {
            let program = repeats(ToolKind::Local, |b| object(b, &[("q", "{{env.PLACE}}")]));
            let live = world(value.clone(), Some("PLACE"));
            let outcome = live.run(&program, "x");
            let result = outcome.result.clone().unwrap();
            // The model got the tool's value unchanged, and so does whoever takes the result.
            assert!(result.to_text().contains(&*value.to_text()), "{result:?}");
            assert!(!outcome.visible_output().unwrap().to_text().contains(&form));
            let (shown, stored) = (events(&live), entries(&live));
            assert!(!shown.contains(&in_json(&form)) && shown.contains("***"), "{form}: {shown}");
            assert!(stored.contains("$private"), "{stored}");
            // Later, in a process without the variable.
            let all = live.journal.entries("r1");
            let later = elsewhere(&all, value.clone());
            block_on(driver::retell_events(
                PreparedProgram::new(program.clone()),
                "r1",
                later.ports.clone(),
                &later.options,
            ))
            .unwrap();
            assert!(!events(&later).contains(&in_json(&form)), "{form}: {}", events(&later));
            let ended = block_on(driver::resume_run(program.clone(), "r1", later.ports.clone(), later.options.clone()));
            assert_eq!((ended.result.unwrap(), ended.hidden), (result.clone(), outcome.hidden.clone()));
            // Killed after the tool's answer, and resumed there.
            let done = all.iter().position(|entry| serde_json::to_string(entry).unwrap().contains("$private")).unwrap();
            let cut = elsewhere(&all[..=done], value.clone());
            let resumed = block_on(driver::resume_run(program.clone(), "r1", cut.ports.clone(), cut.options.clone()));
            assert_eq!(resumed.result.unwrap(), result);
            assert!(!events(&cut).contains(&in_json(&form)), "{form}: {}", events(&cut));
            tried += 1;
        }
    }
    assert_eq!(tried, 30);
}

#[test]
fn a_number_that_comes_back_is_shown_as_stars() {
    let program = repeats(ToolKind::Local, |b| object(b, &[("q", "{{env.PLACE}}")]));
    let mut live = world(Value::from_json(j!({ "id": 8_837_261_534u64 })), None);
    live.ports.secrets = Arc::new(MapSecrets::new().with_variable("PLACE", "8837261534"));
    let outcome = live.run(&program, "x");
    assert!(outcome.result.unwrap().to_text().contains("8837261534"));
    assert!(!events(&live).contains("8837261534"), "{}", events(&live));
    let later = elsewhere(&live.journal.entries("r1"), Value::Null);
    block_on(driver::retell_events(PreparedProgram::new(program), "r1", later.ports.clone(), &later.options)).unwrap();
    assert!(!events(&later).contains("8837261534"), "{}", events(&later));
}

type Position = (&'static str, ToolKind, fn(&mut Build) -> ValueExpression);

/// Each with the variable that it uses.
fn positions() -> Vec<Position> {
    fn header(b: &mut Build, name: &str) -> ValueExpression {
        let headers = object(b, &[(name, "Bearer {{env.PLACE}}")]);
        ValueExpression::Object(vec![("url".into(), b.value("https://h/")), ("headers".into(), headers)])
    }
    fn body(b: &mut Build, name: &str) -> ValueExpression {
        let body = object(b, &[(name, "{{env.PLACE}}")]);
        ValueExpression::Object(vec![("url".into(), b.value("https://h/")), ("body".into(), body)])
    }
    vec![
        ("SERVICE_TOKEN", ToolKind::Local, |b| object(b, &[("q", "{{env.SERVICE_TOKEN}}")])),
        ("db_password", ToolKind::Local, |b| object(b, &[("q", "{{env.db_password}}")])),
        ("MAPS_API_KEY", ToolKind::Http, |b| object(b, &[("url", "https://h/{{env.MAPS_API_KEY}}")])),
        ("PLACE", ToolKind::Http, |b| header(b, "Authorization")),
        ("PLACE", ToolKind::Http, |b| header(b, "x-api-key")),
        ("PLACE", ToolKind::Http, |b| header(b, "Cookie")),
        ("PLACE", ToolKind::Http, |b| header(b, "X-Vendor-Auth")),
        ("PLACE", ToolKind::Http, |b| header(b, "Proxy-Authorization")),
        ("PLACE", ToolKind::Http, |b| object(b, &[("url", "https://u:{{env.PLACE}}@h/")])),
        ("PLACE", ToolKind::Http, |b| object(b, &[("url", "https://h/?q=1&access_token={{env.PLACE}}")])),
        ("PLACE", ToolKind::Http, |b| body(b, "password")),
        ("PLACE", ToolKind::Http, |b| body(b, "clientSecret")),
        ("PLACE", ToolKind::Http, |b| {
            let auth = object(b, &[("type", "oauth2_client_credentials"), ("client_secret", "{{env.PLACE}}")]);
            ValueExpression::Object(vec![("auth".into(), auth)])
        }),
    ]
}

/// The ways by which a variable reaches the result.
fn ways(name: &str) -> Vec<(&'static str, Arc<Program>)> {
    let hole = format!("{{{{env.{name}}}}}");
    let text = format!("in {hole}");
    let one = |output: &str| {
        let mut b = Build::new();
        let say = b.model("say", "x");
        let main = b.flow("main", say, Some(output));
        b.program(main)
    };
    let nested = |outer: Option<&str>, depth: usize| {
        let mut b = Build::new();
        let say = b.model("say", "x");
        let mut inner = b.flow("inner0", say, Some(&text));
        for n in 1..=depth {
            let call = SubflowCall { callee: FlowCallee::Flow(inner), input: None, exports: None, span: None };
            let step = b.step(&format!("inner{n}"), StepKind::Call(Box::new(call)));
            let step = b.out(step, &format!("inner{n}"));
            let output = outer.filter(|_| n == depth).map(|text| text.replace("LAST", &format!("inner{n}")));
            inner = b.flow(&format!("flow{n}"), step, output.as_deref());
        }
        b.program(inner)
    };
    let computed = |b: &mut Build| {
        let value = ValueExpression::Object(vec![
            ("r".into(), b.value(&hole)),
            ("all".into(), ValueExpression::List(vec![b.value(&text)])),
        ]);
        b.step("made", StepKind::Compute(value))
    };
    let mut b = Build::new();
    let step = computed(&mut b);
    let main = b.flow("main", step, None);
    vec![
        ("direct", one(&hole)),
        ("in text", one(&text)),
        ("nested", nested(Some("{{LAST}}"), 1)),
        ("nested in text", nested(Some("so {{LAST}}"), 2)),
        ("default outputs", nested(None, 3)),
        ("members", b.program(main)),
    ]
}

#[test]
fn a_variable_in_the_result_is_there_as_it_is_and_no_view_shows_it() {
    let mut tried = 0;
    // Also a value that is too short to be recognised by itself.
    for value in [VALUE, "eu"] {
        for (way, program) in ways("PLACE") {
            let mut live = World::echo();
            live.ports.secrets = Arc::new(MapSecrets::new().with_variable("PLACE", value));
            let outcome = live.run(&program, "x");
            let result = outcome.result.clone().unwrap();
            assert!(result.to_text().contains(value) && !result.to_text().contains("***"), "{way}: {result:?}");
            assert!(
                !outcome.visible_output().unwrap().to_text().contains(value),
                "{way}: {:?}",
                outcome.visible_output()
            );
            let ended = live.kinds().into_iter().filter(|kind| matches!(kind, EventKind::RunFinished { .. }));
            let ended = serde_json::to_string(&ended.collect::<Vec<_>>()).unwrap();
            assert!(ended.contains("***") && !ended.contains(value), "{way}: {ended}");
            // Whoever takes it later, without the variable, gets the same.
            let later = elsewhere(&live.journal.entries("r1"), Value::Null);
            let again = block_on(driver::resume_run(program, "r1", later.ports.clone(), later.options.clone()));
            assert_eq!((json(&again.result.unwrap()), again.hidden), (json(&result), outcome.hidden), "{way}");
            let ended = later.kinds().into_iter().filter(|kind| matches!(kind, EventKind::RunFinished { .. }));
            let ended = serde_json::to_string(&ended.collect::<Vec<_>>()).unwrap();
            assert!(ended.contains("***") && !ended.contains(value), "{way}: {ended}");
            tried += 1;
        }
    }
    assert_eq!(tried, 12);
}

#[test]
fn a_credential_in_the_result_fails_the_run_if_nobody_has_checked_the_program() {
    for (way, program) in ways("SERVICE_TOKEN") {
        let mut world = World::echo();
        world.ports.secrets = Arc::new(MapSecrets::new().with_variable("SERVICE_TOKEN", VALUE));
        let error = world.run(&program, "x").result.unwrap_err();
        assert_eq!(error.code, "SECRET_IN_RESULT", "{way}");
        assert!(!entries(&world).contains("quartz"), "{way}");
    }
}

#[test]
fn short_values_are_named_once_at_the_start() {
    let program = repeats(ToolKind::Local, |b| object(b, &[("q", "{{env.PLACE}} {{env.MODE}} {{env.UNSET}}")]));
    let mut live = world("in eu, fast".into(), None);
    live.ports.secrets = Arc::new(MapSecrets::new().with_variable("PLACE", "eu").with_variable("MODE", "fast"));
    live.run(&program, "x");
    let warnings = |world: &World| {
        let kinds = world.kinds().into_iter();
        kinds.filter_map(|kind| if let EventKind::Warning { message } = kind { Some(message) } else { None }).collect()
    };
    let said: Vec<String> = warnings(&live);
    expect_test::expect![[r#"
        values with fewer than 6 characters are shown if a model or a tool repeats them: `env.MODE`, `env.PLACE`"#]]
    .assert_eq(&said.join("\n"));
    assert!(events(&live).contains("in eu, fast"));
    let all = live.journal.entries("r1");
    let cut = elsewhere(&all[..all.len() - 2], Value::Null);
    block_on(driver::resume_run(program, "r1", cut.ports.clone(), cut.options.clone()));
    assert_eq!(warnings(&cut), said);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn a_credential_is_a_secret_wherever_it_is_sent_from_and_whatever_returns_it() {
        let mut tried = 0;
        for (name, kind, arguments) in positions() {
            for form in forms(VALUE) {
                let errors = [Value::from_json(j!({ "error": format!("no: {form}") }))];
                for value in shapes(&form).into_iter().chain(errors) {
                    let program = repeats(kind.clone(), arguments);
                    let live = world(value.clone(), Some(name));
                    let outcome = live.run(&program, "x");
                    for text in [events(&live), entries(&live), format!("{outcome:?}")] {
                        assert!(!text.contains(&in_json(&form)), "{name}, {form}: {text}");
                    }
                    let warned = live.kinds().iter().any(|kind| match kind {
                        EventKind::Warning { message } => message.contains(&format!("`env.{name}`")),
                        _ => false,
                    });
                    assert_eq!(warned, outcome.result.is_ok(), "{name}: {}", events(&live));
                    // The warning is in the journal, also if the result was replaced before a kill.
                    let all = live.journal.entries("r1");
                    let done =
                        all.iter().position(|entry| serde_json::to_string(entry).unwrap().contains("\"replaced\""));
                    for cut in done.into_iter().map(|done| done + 1).chain([all.len()]) {
                        let later = elsewhere(&all[..cut], value.clone());
                        block_on(driver::resume_run(program.clone(), "r1", later.ports.clone(), later.options.clone()));
                        assert_eq!(events(&later).contains(&format!("`env.{name}`")), warned, "{}", events(&later));
                    }
                    tried += 1;
                }
            }
        }
        assert_eq!(tried, 13 * 5 * 7);
    }
}
