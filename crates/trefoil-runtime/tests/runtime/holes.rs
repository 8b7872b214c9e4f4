//! Environment and secrets: names in the machine, values in the effect, `***` in output.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json as j;
use trefoil_ir::{CommandCall, StepKind, ToolCall, ToolKind, ValueExpression};
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::ports::{CommandHost, CommandOutput, MapSecrets, ToolError, ToolHost};
use trefoil_runtime::{CommandRequest, ToolRequest, driver};
use trefoil_runtime::{EntryKind, EventKind};
use trefoil_syntax::Span;
use trefoil_template::{Policy, Value};

use crate::world::{World, block_on, json};
use testbed::Build;

/// A tool that returns its arguments.
struct Echo;

#[async_trait]
impl ToolHost for Echo {
    fn offers_tool(&self, name: &str, _kind: &ToolKind) -> bool {
        name == "echo"
    }
    async fn call_tool(&self, _at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        match request.arguments.get("fail") {
            Some(Value::Str(why)) => Err(ToolError::Failed(why.to_string())),
            _ => Ok(request.arguments.clone()),
        }
    }
}

fn tool(b: &mut Build, argument: &str, text: &str) -> trefoil_ir::StepId {
    let arguments = ValueExpression::Object(vec![(argument.into(), b.value(text))]);
    let id =
        b.step("call", StepKind::Tool(Box::new(ToolCall { name: "echo".into(), kind: ToolKind::Local, arguments })));
    b.out(id, "call")
}

fn everything(world: &World) -> String {
    let entries = serde_json::to_string(&world.journal.entries("r1")).unwrap();
    let events = serde_json::to_string(&world.events.collected_events()).unwrap();
    entries + &events
}

#[test]
fn the_effect_gets_the_value_and_nobody_else_does() {
    let mut b = Build::new();
    let say = b.model("say", "key {{env.KEY}}");
    let main = b.flow("main", say, None);
    let mut world = World::model(|_, user| {
        assert_eq!(user, "key open sesame");
        Ok("fine".into())
    });
    world.ports.secrets = Arc::new(MapSecrets::new().with_variable("KEY", "open sesame"));
    world.run(&b.program(main), "x").result.unwrap();
    let shown = world.kinds().into_iter().find_map(|e| match e {
        EventKind::ModelStarted { messages, .. } => messages.last().map(|m| m.content.clone()),
        _ => None,
    });
    assert_eq!(shown.as_deref(), Some("key ***"));
    assert!(!everything(&world).contains("sesame"));
}

#[test]
fn a_secret_is_masked_by_value_in_what_comes_back() {
    for (argument, good) in [("token", true), ("fail", false)] {
        let mut b = Build::new();
        let call = tool(&mut b, argument, "{{secrets.TOKEN}}");
        let main = b.flow("main", call, None);
        let mut world = World::echo();
        world.ports.tools = Arc::new(Echo);
        world.ports.secrets = Arc::new(MapSecrets::new().with_secret("TOKEN", "tr0ub4dor"));
        let outcome = world.run(&b.program(main), "x");
        match outcome.result {
            Ok(value) => assert_eq!((good, json(&value)), (true, j!({"token": "***"}))),
            Err(error) => assert_eq!((good, error.message.as_str()), (false, "`echo` failed: ***")),
        }
        assert!(!everything(&world).contains("tr0ub4dor"));
    }
}

#[test]
fn a_condition_on_the_environment_journals_only_its_boolean() {
    let run = |value: Option<&str>| {
        let mut b = Build::new();
        let (on, off) = (b.compute("", "on"), b.compute("", "off"));
        let gate = b.branch("gate", &[("{{env.FLAG}} == \"sesame\"", on)], Some(off));
        let main = b.flow("main", gate, None);
        let mut world = World::echo();
        if let Some(value) = value {
            world.ports.secrets = Arc::new(MapSecrets::new().with_variable("FLAG", value));
        }
        let program = b.program(main);
        let result = json(&world.run(&program, "x").result.unwrap());
        let decided = world.journal.entries("r1").into_iter().find_map(|e| match e.kind {
            EntryKind::Completed { value, .. } => Some(json(value.exact_value())),
            _ => None,
        });
        (result, decided)
    };
    assert_eq!(run(Some("sesame")), (j!("on"), Some(j!(true))));
    assert_eq!(run(Some("other")), (j!("off"), Some(j!(false))));
    assert_eq!(run(None), (j!("off"), Some(j!(false))));
}

#[test]
fn unset_is_empty_where_the_dialect_is_lenient_and_an_error_where_it_is_strict() {
    let run = |policy: Policy| {
        let mut b = Build { policy, ..Build::new() };
        let say = b.model("say", "<{{ env.NAME }}>");
        let main = b.flow("main", say, None);
        World::echo().run(&b.program(main), "x").result
    };
    assert_eq!(json(&run(Policy::AGNTZ).unwrap()), j!("<>"));
    let error = run(Policy::SIRENSPEC).unwrap_err();
    assert_eq!(error.code, "INTERPOLATION_ERROR");
    assert_eq!(error.message, "InterpolationError in '{{ env.NAME }}' [env]: Environment variable 'NAME' is not set");
}

#[test]
fn a_path_that_does_not_resolve_fails_its_step_in_the_exact_words() {
    let mut b = Build { policy: Policy::SIRENSPEC, ..Build::new() };
    let say = b.model("say", "{{ plan.output }}");
    let main = b.flow("main", say, None);
    let error = World::echo().run(&b.program(main), "x").result.unwrap_err();
    assert_eq!(error.code, "INTERPOLATION_ERROR");
    assert_eq!(error.message, "InterpolationError in '{{ plan.output }}' [plan]: Key 'output' not found");
}

#[test]
fn an_unset_variable_fails_its_step_before_the_call_at_its_place() {
    let mut b = Build { policy: Policy::SIRENSPEC, ..Build::new() };
    let say = b.model("say", "Region {{ env.REGION }}, mode {{ env.MODE }}.");
    let spans = match &mut b.at(say).kind {
        StepKind::Model(call) => match &mut call.user {
            ValueExpression::Template(text) => {
                text.spans = text.template.references().iter().map(|r| Span::new(r.span.start, r.span.end)).collect();
                text.spans.clone()
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let main = b.flow("main", say, None);
    let mut world = World::model(|key, _| panic!("{key} was called"));
    world.ports.secrets = Arc::new(MapSecrets::new().with_variable("REGION", "north"));
    let outcome = world.run(&b.program(main), "x");
    let error = outcome.result.unwrap_err();
    assert_eq!((error.code.as_str(), outcome.calls), ("INTERPOLATION_ERROR", 0));
    assert_eq!(error.interpolation.as_ref().unwrap().expression, "env.MODE");
    assert_eq!(error.location.map(|at| at.span), spans.get(1).copied());
    assert!(
        !world.kinds().iter().any(|e| matches!(e, EventKind::ModelStarted { .. } | EventKind::EffectStarted { .. }))
    );
    let kept = everything(&world);
    assert!(!kept.contains("north"), "{kept}");
}

#[test]
fn an_unset_variable_fails_a_value_that_nobody_sends_anywhere() {
    let run = |policy: Policy, set: bool| {
        let mut b = Build { policy, ..Build::new() };
        let alone = b.value("{{ env.NAME }}");
        let within = b.value("<{{ env.NAME }}>");
        let both = ValueExpression::Object(vec![("alone".into(), alone), ("within".into(), within)]);
        let inputs = b.step("inputs", StepKind::Compute(both));
        let main = b.flow("main", inputs, None);
        let mut world = World::echo();
        if set {
            world.ports.secrets = Arc::new(MapSecrets::new().with_variable("NAME", "ada"));
        }
        let outcome = world.run(&b.program(main), "x").result;
        let shown = world.kinds().into_iter().find_map(|e| match e {
            EventKind::StepFinished { output, .. } => Some(json(&output)),
            _ => None,
        });
        (outcome.map(|v| json(&v)), shown)
    };
    assert_eq!(run(Policy::SIRENSPEC, false).0.unwrap_err().code, "INTERPOLATION_ERROR");
    let stars = j!({"alone": "***", "within": "<***>"});
    let exact = j!({"alone": "ada", "within": "<ada>"});
    assert_eq!(run(Policy::SIRENSPEC, true), (Ok(exact.clone()), Some(stars.clone())));
    assert_eq!(run(Policy::AGNTZ, true), (Ok(exact), Some(stars)));
    // `***` would suggest that there is a value to hide.
    let nothing = j!({"alone": null, "within": "<>"});
    assert_eq!(run(Policy::AGNTZ, false), (Ok(nothing.clone()), Some(nothing)));
}

struct Slow;

#[async_trait]
impl ToolHost for Slow {
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        true
    }
    async fn call_tool(&self, _at: CallSite<'_>, _request: &ToolRequest) -> Result<Value, ToolError> {
        std::future::pending().await
    }
}

#[test]
fn a_tool_that_outlives_its_time_limit_fails_with_the_code_of_tools() {
    let mut b = Build::new();
    let call = tool(&mut b, "q", "x");
    b.at(call).policy.timeout_ms = Some(1_500);
    let main = b.flow("main", call, None);
    let mut world = World::echo();
    world.ports.tools = Arc::new(Slow);
    let error = world.run(&b.program(main), "x").result.unwrap_err();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("TOOL_TIMEOUT", "timed out after 1.5s"));
}

struct Shell;

#[async_trait]
impl CommandHost for Shell {
    async fn run_command(&self, _at: CallSite<'_>, request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        let arguments: Vec<String> = request.arguments.iter().map(|a| a.to_text().to_string()).collect();
        Ok(CommandOutput { exit_code: 3, stdout: arguments.join(","), stderr: "oh".into() })
    }
}

#[test]
fn commands_run_only_where_they_are_allowed_and_a_failing_one_is_a_result() {
    let mut b = Build::new();
    let arguments = vec![b.value("{{input}}"), b.value("{{env.KEY}}")];
    let call = CommandCall { script: "echo \"${1}\"".into(), arguments, env: vec![], workdir: None };
    let run = b.step("run", StepKind::Command(Box::new(call)));
    let main = b.flow("main", run, None);
    let program = b.program(main);
    let mut world = World::echo();
    world.ports.secrets = Arc::new(MapSecrets::new().with_variable("KEY", "v"));
    assert_eq!(world.run(&program, "x").result.unwrap_err().code, "REFUSED");
    let mut world = World::echo();
    world.ports.secrets = Arc::new(MapSecrets::new().with_variable("KEY", "v"));
    world.ports.commands = Some(Arc::new(Shell));
    let result = json(&world.run(&program, "x; rm -rf /").result.unwrap());
    assert_eq!(result, j!({"status": "failed", "exit_code": 3, "stdout": "x; rm -rf /,v", "stderr": "oh"}));
}

#[test]
fn a_question_is_shown_as_written_without_the_values_it_compares() {
    let shown = |make: &dyn Fn(&mut Build) -> trefoil_ir::StepId| {
        let mut b = Build::new();
        let first = b.compute("a", "{{input}}");
        let asks = make(&mut b);
        let body = b.sequence("", &[first, asks]);
        let main = b.flow("main", body, None);
        let mut world = World::echo();
        world.ports.secrets = Arc::new(MapSecrets::new().with_variable("REGION", "oslo-north"));
        world.run(&b.program(main), "oslo-north").result.unwrap();
        let detail = world.kinds().into_iter().find_map(|e| match e {
            EventKind::EffectStarted { effect: "decide", detail, .. } => Some(json(&detail)),
            _ => None,
        });
        detail.unwrap()
    };
    let gate = |b: &mut Build| {
        let on = b.compute("", "on");
        b.branch("gate", &[("{{a}} == {{env.REGION}}", on)], None)
    };
    assert_eq!(shown(&gate), j!("{{a}} == {{env.REGION}}"));
    let block = |b: &mut Build| {
        b.policy = Policy::AEGIS;
        b.compute("text", "{{#if env.REGION}}{{a}}{{/if}}")
    };
    assert_eq!(shown(&block), j!("env.REGION"));
}

#[test]
fn a_secret_enters_no_prompt() {
    let mut b = Build::new();
    let say = b.model("say", "key {{secrets.KEY}}");
    let main = b.flow("main", say, None);
    let mut world = World::model(|_, user| panic!("asked {user}"));
    world.ports.secrets = Arc::new(MapSecrets::new().with_secret("KEY", "open sesame"));
    let error = world.run(&b.program(main), "x").result.unwrap_err();
    assert_eq!(error.code, "SECRET_IN_PROMPT");
}

#[test]
fn what_another_process_used_is_masked_after_a_resume() {
    let mut b = Build::new();
    let steps = [tool(&mut b, "key", "{{secrets.KEY}}"), b.model("b", "next")];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let with_key = |answer: &'static str| {
        let mut world = World::model(move |_, _| Ok(answer.to_owned()));
        world.ports.tools = Arc::new(Echo);
        world.ports.secrets = Arc::new(MapSecrets::new().with_secret("KEY", "sesame-42"));
        world
    };
    let first = with_key("one");
    first.run(&program, "x").result.unwrap();
    let entries = first.journal.entries("r1");
    let cut = entries.iter().position(|e| matches!(e.kind, EntryKind::Completed { .. })).unwrap() + 1;
    // The key was used before the cut, and only an answer after the cut contains it.
    let second = with_key("it was sesame-42");
    block_on(second.ports.journal.append_entries("r1", &entries[..cut], &[])).unwrap();
    let resumed = driver::resume_run(program, "r1", second.ports.clone(), second.options.clone());
    block_on(resumed).result.unwrap();
    let events = serde_json::to_string(&second.events.collected_events()).unwrap();
    assert!(!events.contains("sesame-42"), "{events}");
}
