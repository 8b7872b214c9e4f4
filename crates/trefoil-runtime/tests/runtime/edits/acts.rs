//! Tools and commands that were moved, renamed or changed, or that failed: nothing is done twice unasked.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use testbed::Build;
use trefoil_ir::{
    CommandCall, HumanCall, MatchedOutcome, OnItemFailure, OnTimeout, Program, StepId, StepKind, ToolCall, ToolKind,
    ValueExpression,
};
use trefoil_machine::error::RunError;
use trefoil_machine::journal::RunSpec;
use trefoil_machine::{EntryKind, LimitKind, PreparedProgram, RunLimits};
use trefoil_runtime::driver::memo::{Memo, ReuseOutcome};
use trefoil_runtime::driver::{self, DriverOptions};
use trefoil_runtime::ports::{CallSite, HumanInbox, Journal, QuestionState, ToolError};
use trefoil_runtime::{HumanRequest, RunOutcome, ToolHost, ToolRequest};
use trefoil_template::Value;

use super::directed::Desk;
use crate::states::{go, machine, state};
use crate::world::block_on;

/// Whether a call of a tool changes nothing.
fn only_reads(request: &ToolRequest) -> bool {
    request.kind == ToolKind::Http && request.arguments.get("method").is_some_and(|method| *method.to_text() == *"GET")
}

/// Tools that write down their arguments, and fail if these say so.
struct Hands(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl ToolHost for Hands {
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        true
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        only_reads(request) || &*request.name == "look"
    }
    async fn call_tool(&self, _at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let said = request.arguments.get("to").map(|to| to.to_text().to_string()).unwrap_or_default();
        self.0.lock().unwrap().push(format!("{} {said}", request.name));
        match &*said {
            "refused" => Err(ToolError::Failed("refused".to_owned())),
            "lost" => Err(ToolError::Broken("no answer".to_owned())),
            said => Ok(said.into()),
        }
    }
}

struct Yes;

#[async_trait]
impl HumanInbox for Yes {
    async fn ask_question(&self, _at: CallSite<'_>, _request: &HumanRequest) -> QuestionState {
        QuestionState::Answer("yes".to_owned())
    }
}

fn desk() -> Desk {
    let mut desk = Desk::new();
    desk.world.ports.tools = Arc::new(Hands(desk.sent.clone()));
    desk.world.ports.humans = Arc::new(Yes);
    desk
}

fn tool(b: &mut Build, label: &str, to: &str) -> StepId {
    let arguments = ValueExpression::Object(vec![("to".into(), b.value(to))]);
    let call = ToolCall { name: "mail".into(), kind: ToolKind::Local, arguments };
    b.step(label, StepKind::Tool(Box::new(call)))
}

fn command(b: &mut Build, label: &str, script: &str) -> StepId {
    let call = CommandCall { script: script.into(), arguments: vec![], env: vec![], workdir: None };
    b.step(label, StepKind::Command(Box::new(call)))
}

fn made(make: impl FnOnce(&mut Build) -> StepId) -> Arc<Program> {
    let mut b = Build::new();
    let body = make(&mut b);
    let main = b.flow("main", body, None);
    b.program(main)
}

fn tools(steps: &[(&str, &str)]) -> Arc<Program> {
    made(|b| {
        let steps: Vec<StepId> = steps.iter().map(|(label, to)| tool(b, label, to)).collect();
        b.sequence("", &steps)
    })
}

fn stop(outcome: &RunOutcome) -> (&str, &str, &RunError) {
    let error = outcome.result.as_ref().expect_err("it stops");
    (&error.code, error.key.as_ref().map_or("", |key| key.as_str()), error)
}

/// Continues a run that has stopped, with these steps allowed. Returns what was sent.
fn go_on(desk: &Desk, program: &Arc<Program>, run: &str, memo: Memo) -> (Vec<String>, RunOutcome) {
    desk.sent.lock().unwrap().clear();
    let (prepared, options) = (PreparedProgram::new(program.clone()), Desk::options(run, Some(memo)));
    let outcome = block_on(driver::resume_prepared(prepared, run, desk.world.ports.clone(), options));
    (desk.sent.lock().unwrap().clone(), outcome)
}

#[test]
fn a_tool_that_was_moved_or_renamed_and_changed_is_not_called_again_unasked() {
    let desk = desk();
    let before = tools(&[("send", "me")]);
    desk.run(&before, "old", None);
    let moved = made(|b| {
        let inner = tool(b, "send", "other");
        b.sequence("grp", &[inner])
    });
    for (name, after, key) in [("moved", moved, "grp/send"), ("renamed", tools(&[("post", "other")]), "post")] {
        let (sent, outcome) = desk.run(&after, name, Some(desk.memo(&before, "old")));
        let (code, at, error) = stop(&outcome);
        assert_eq!((code, at, sent.len()), ("WOULD_REPEAT", key, 0), "{error}");
        assert!(error.message.starts_with("`send` of the earlier run is gone"), "{error}");
        let label = key.rsplit('/').next().unwrap().to_owned();
        let (sent, outcome) = go_on(&desk, &after, name, desk.memo(&before, "old").allow_rerun([label]));
        assert_eq!((sent, outcome.result.is_ok()), (vec!["mail other".to_owned()], true));
    }
}

#[test]
fn only_one_new_step_can_be_the_one_that_is_gone() {
    let desk = desk();
    let before = tools(&[("send", "me")]);
    desk.run(&before, "old", None);
    let after = tools(&[("one", "a"), ("two", "b")]);
    let memo = || desk.memo(&before, "old").allow_rerun(["one".to_owned()]);
    let (sent, outcome) = desk.run(&after, "new", Some(memo()));
    assert_eq!((sent.len(), outcome.result.is_ok()), (2, true), "{outcome:?}");
    // As one that is cut off between the two goes on.
    let entries = desk.world.journal.entries("new");
    let done = entries.iter().position(|entry| matches!(&entry.kind, EntryKind::Completed { .. })).unwrap();
    let journal = Arc::new(trefoil_runtime::ports::MemoryJournal::new());
    block_on(trefoil_runtime::ports::Journal::append_entries(&*journal, "new", &entries[..=done], &[])).unwrap();
    desk.sent.lock().unwrap().clear();
    let ports = trefoil_runtime::Ports { journal, ..desk.world.ports.clone() };
    let options = Desk::options("new", Some(memo()));
    let outcome = block_on(driver::resume_prepared(PreparedProgram::new(after), "new", ports, options));
    assert!(outcome.result.is_ok(), "{outcome:?}");
    assert_eq!(*desk.sent.lock().unwrap(), ["mail b"]);
}

#[test]
fn a_new_step_next_to_the_old_ones_is_not_one_of_them() {
    let desk = desk();
    let before = tools(&[("send", "me")]);
    desk.run(&before, "old", None);
    let after = tools(&[("send", "me"), ("post", "other")]);
    assert_eq!(desk.run(&after, "new", Some(desk.memo(&before, "old"))).0, ["mail other"]);
    // What another step replaced, with permission, is not looked for in later runs.
    let renamed = tools(&[("post", "me")]);
    desk.run(&renamed, "renamed", Some(desk.memo(&before, "old")));
    let more = tools(&[("post", "me"), ("third", "x")]);
    let both = desk.memo(&renamed, "renamed").with_older(desk.memo(&before, "old"));
    assert_eq!(desk.run(&more, "more", Some(both)).0, ["mail x"]);
    let changed = tools(&[("brief", "you")]);
    desk.run(&changed, "changed", Some(desk.memo(&before, "old").allow_rerun(["brief".to_owned()])));
    let more = tools(&[("brief", "you"), ("third", "x")]);
    let both = desk.memo(&changed, "changed").with_older(desk.memo(&before, "old"));
    assert_eq!(desk.run(&more, "further", Some(both)).0, ["mail x"]);
}

/// All commands change the same world: the last one decides.
#[test]
fn a_command_that_was_renamed_and_changed_replaces_the_earlier_one() {
    let desk = desk();
    let (first, second) = (made(|b| command(b, "A", "v1")), made(|b| command(b, "B", "v2")));
    desk.run(&first, "1", None);
    let (sent, outcome) = desk.run(&second, "2", Some(desk.memo(&first, "1")));
    assert_eq!((stop(&outcome).1, sent.len()), ("B", 0));
    desk.run(&second, "2b", Some(desk.memo(&first, "1").allow_rerun(["B".to_owned()])));
    let both = || desk.memo(&second, "2b").with_older(desk.memo(&first, "1"));
    let (sent, outcome) = desk.run(&first, "3", Some(both()));
    assert_eq!((stop(&outcome).1, sent.len()), ("A", 0), "`A` is not what was run last");
    assert_eq!(desk.run(&first, "4", Some(both().allow_rerun(["A".to_owned()]))).0, ["v1"]);
}

#[test]
fn a_tool_whose_outcome_is_unknown_is_not_called_again_under_another_name() {
    let desk = desk();
    let before = tools(&[("send", "lost")]);
    assert!(desk.run(&before, "old", None).1.result.is_err());
    for (after, key) in [(tools(&[("post", "other")]), "post"), (tools(&[("send", "lost")]), "send")] {
        let (sent, outcome) = desk.run(&after, key, Some(desk.memo(&before, "old")));
        assert_eq!((stop(&outcome).0, stop(&outcome).1, sent.len()), ("WOULD_REPEAT", key, 0));
    }
}

#[test]
fn a_tool_that_failed_is_called_again_as_when_the_run_is_resumed() {
    let desk = desk();
    let before = tools(&[("first", "me"), ("send", "refused")]);
    assert!(desk.run(&before, "old", None).1.result.is_err());
    assert_eq!(desk.run(&before, "fork", Some(desk.memo(&before, "old"))).0, ["mail refused"]);
    let after = tools(&[("first", "me"), ("send", "other")]);
    assert_eq!(desk.run(&after, "edited", Some(desk.memo(&before, "old"))).0, ["mail other"]);
    let renamed = tools(&[("first", "me"), ("post", "other")]);
    assert_eq!(desk.run(&renamed, "renamed", Some(desk.memo(&before, "old"))).0, ["mail other"]);
}

#[test]
fn what_would_repeat_a_tool_and_what_is_at_a_limit_are_allowed_together() {
    let desk = desk();
    let program = |to: &str| {
        made(|b| {
            let branches = [tool(b, "send", to), b.model("ask", to)];
            b.parallel("", &branches, OnItemFailure::Abort)
        })
    };
    let before = program("one");
    desk.run(&before, "old", None);
    let spec = RunSpec { limits: RunLimits::for_kind(LimitKind::Calls, 0), ..RunSpec::NONE };
    let options = DriverOptions { spec, ..Desk::options("new", Some(desk.memo(&before, "old"))) };
    let (sent, outcome) = desk.run_with(&program("two"), "new", options);
    let error = outcome.result.as_ref().unwrap_err();
    let steps: Vec<&str> = error.repeated_steps().map(|key| key.as_str()).collect();
    assert_eq!((sent.len(), &*error.code, steps.as_slice()), (0, "WOULD_REPEAT", ["send"].as_slice()));
    assert_eq!(error.raise, Some(RunLimits::for_kind(LimitKind::Calls, 2)));
}

#[test]
fn all_steps_that_stop_at_once_are_named() {
    let desk = desk();
    let three = |to: &str| {
        made(|b| {
            let steps = ["a", "b", "c"].map(|label| tool(b, label, &format!("{label}{to}")));
            b.parallel("", &steps, OnItemFailure::Abort)
        })
    };
    let before = three("");
    desk.run(&before, "old", None);
    let after = three("!");
    let (_, outcome) = desk.run(&after, "new", Some(desk.memo(&before, "old")));
    let (code, _, error) = stop(&outcome);
    let keys: Vec<&str> = error.repeated_steps().map(|key| key.as_str()).collect();
    assert_eq!((code, keys.as_slice()), ("WOULD_REPEAT", ["a", "b", "c"].as_slice()));
    assert!(error.help.as_ref().unwrap().contains("`--rerun a --rerun b --rerun c`"), "{error:?}");
    let memo = desk.memo(&before, "old").allow_rerun(["a", "b", "c"].map(str::to_owned));
    assert_eq!(go_on(&desk, &after, "new", memo).0.len(), 3);
}

#[test]
fn a_new_step_under_the_name_of_one_that_was_renamed_runs() {
    let desk = desk();
    let together = |steps: &[(&str, &str)]| {
        made(|b| {
            let steps: Vec<StepId> = steps.iter().map(|(label, to)| tool(b, label, to)).collect();
            b.parallel("", &steps, OnItemFailure::Abort)
        })
    };
    let before = together(&[("a", "me")]);
    desk.run(&before, "old", None);
    let after = together(&[("a", "new"), ("a0", "me")]);
    assert_eq!(desk.run(&after, "new", Some(desk.memo(&before, "old"))).0, ["mail new"]);
    // If every step moves by one, one of them changed.
    let before = together(&[("a", "1"), ("b", "2")]);
    desk.run(&before, "two", None);
    let after = together(&[("a", "2"), ("b", "3")]);
    let (sent, outcome) = desk.run(&after, "shift", Some(desk.memo(&before, "two")));
    assert_eq!((stop(&outcome).1, sent.len()), ("b", 0), "{outcome:?}");
}

/// The name of a step is no part of what it does: names that move on, or are exchanged, change nothing.
#[test]
fn an_effect_is_known_by_what_it_does_whatever_its_step_is_called() {
    let desk = desk();
    let before = tools(&[("s1", "a"), ("s2", "b")]);
    desk.run(&before, "old", None);
    let of = |steps: &[(&str, &str)], name: &str| desk.run(&tools(steps), name, Some(desk.memo(&before, "old")));
    for (name, steps) in [
        ("exchanged", [("s1", "b"), ("s2", "a")].as_slice()),
        ("moved on", &[("s2", "a"), ("s3", "b")]),
        ("the other order", &[("x", "b"), ("s1", "a")]),
    ] {
        let (sent, outcome) = of(steps, name);
        assert!(sent.is_empty() && outcome.result.is_ok(), "{name}: {sent:?} {outcome:?}");
    }
    // Two deliberate equal requests stay two.
    let (sent, outcome) = of(&[("s0", "a"), ("s1", "a"), ("s2", "b")], "one more");
    assert!(sent == ["mail a"] && outcome.result.is_ok(), "{sent:?} {outcome:?}");
    // One of them changed, and nobody says which.
    let (sent, outcome) = of(&[("s1", "b"), ("s2", "c")], "changed");
    assert_eq!((stop(&outcome).1, sent.len()), ("s2", 0));
}

/// In SirenSpec, the tool of a step has the step's name.
#[test]
fn an_effect_whose_tool_has_the_name_of_its_step_is_not_performed_again() {
    let desk = desk();
    for kind in [ToolKind::Http, ToolKind::Python, ToolKind::for_mcp_server("s"), ToolKind::Local] {
        let named = matches!(kind, ToolKind::Http | ToolKind::Python);
        let steps = |steps: &[(&str, &str)]| {
            made(|b| {
                let steps: Vec<StepId> = steps
                    .iter()
                    .map(|(label, to)| {
                        let arguments = ValueExpression::Object(vec![("to".into(), b.value(to))]);
                        let name = if named { *label } else { "mail" };
                        let call = ToolCall { name: name.into(), kind: kind.clone(), arguments };
                        b.step(label, StepKind::Tool(Box::new(call)))
                    })
                    .collect();
                b.sequence("", &steps)
            })
        };
        let run = |name: &str| format!("{name} {kind:?}");
        for to in ["me", "lost"] {
            let before = steps(&[("t", to)]);
            desk.run(&before, &run(to), None);
            for (after, stops) in [([("tt", to)], to == "lost"), ([("tt", "other")], true)] {
                let (name, memo) = (run(&format!("{to} {}", after[0].1)), desk.memo(&before, &run(to)));
                let (sent, outcome) = desk.run(&steps(&after), &name, Some(memo));
                assert_eq!(sent, Vec::<String>::new(), "{name}");
                let code = outcome.result.err().map(|error| error.code.to_string());
                assert_eq!(code.as_deref(), stops.then_some("WOULD_REPEAT"), "{name}");
            }
        }
    }
}

/// What counts is not that a step has the name of an effect, but that it performs such effects.
#[test]
fn an_effect_whose_name_another_step_has_got_is_gone() {
    type Make = fn(&mut Build, &str) -> StepId;
    let call = |b: &mut Build, label: &str, (name, kind): (&str, ToolKind), arguments: &[(&str, &str)]| {
        let arguments =
            arguments.iter().map(|(name, value)| ((*name).into(), ValueExpression::Const((*value).into()))).collect();
        let call = ToolCall { name: name.into(), kind, arguments: ValueExpression::Object(arguments) };
        b.step(label, StepKind::Tool(Box::new(call)))
    };
    let effect = move |b: &mut Build, sort: &str, label: &str, to: &str| match sort {
        "command" => command(b, label, to),
        "http" => call(b, label, (label, ToolKind::Http), &[("method", "POST"), ("to", to)]),
        _ => tool(b, label, to),
    };
    let others: [(&str, Make); 4] = [
        ("a model", |b, label| b.model(label, "say")),
        ("a person", |b, label| {
            let call =
                HumanCall { prompt: b.value("Go?"), timeout_ms: None, on_timeout: OnTimeout::Fail, answer_at: None };
            b.step(label, StepKind::Human(Box::new(call)))
        }),
        ("a GET", |b, label| {
            let arguments = ValueExpression::Object(vec![
                ("method".into(), ValueExpression::Const("GET".into())),
                ("to".into(), b.value("page")),
            ]);
            let call = ToolCall { name: label.into(), kind: ToolKind::Http, arguments };
            b.step(label, StepKind::Tool(Box::new(call)))
        }),
        ("another tool", |b, label| {
            let arguments = ValueExpression::Object(vec![("to".into(), b.value("page"))]);
            let call = ToolCall { name: "look".into(), kind: ToolKind::Local, arguments };
            b.step(label, StepKind::Tool(Box::new(call)))
        }),
    ];
    for sort in ["tool", "http", "command"] {
        for (other, make) in others {
            // Completed, and with an unknown outcome.
            for to in ["me", "lost"].into_iter().filter(|to| sort != "command" || *to == "me") {
                let name = format!("{sort} {other} {to}");
                let desk = desk();
                let before = made(|b| {
                    let send = effect(b, sort, "t", to);
                    b.sequence("", &[send])
                });
                desk.run(&before, "old", None);
                let after = made(|b| {
                    let steps = [make(b, "t"), effect(b, sort, "tt", "other")];
                    b.sequence("", &steps)
                });
                let (sent, outcome) = desk.run(&after, "new", Some(desk.memo(&before, "old")));
                assert_eq!((stop(&outcome).0, stop(&outcome).1), ("WOULD_REPEAT", "tt"), "{name}: {outcome:?}");
                assert!(sent.iter().all(|sent| !sent.contains("other")), "{name}: {sent:?}");
                // The new name may have been that of something else, too.
                let before = made(|b| {
                    let steps = [effect(b, sort, "t", to), make(b, "tt")];
                    b.sequence("", &steps)
                });
                desk.run(&before, "older", None);
                let after = made(|b| {
                    let steps = [make(b, "t"), effect(b, sort, "tt", "other")];
                    b.sequence("", &steps)
                });
                let (sent, outcome) = desk.run(&after, "newer", Some(desk.memo(&before, "older")));
                assert_eq!((stop(&outcome).0, stop(&outcome).1), ("WOULD_REPEAT", "tt"), "{name}: {outcome:?}");
                assert!(sent.iter().all(|sent| !sent.contains("other")), "{name}: {sent:?}");
            }
        }
    }
}

/// A step that never ran has nothing of its own: if it was changed, its name may be that of the one that is gone.
#[test]
fn an_effect_that_takes_the_name_of_one_that_never_ran_is_not_performed_again() {
    let desk = desk();
    for sort in ["tool", "http", "command"] {
        let effect = |b: &mut Build, label: &str, to: &str| match sort {
            "tool" => tool(b, label, to),
            "command" => command(b, label, to),
            _ => {
                let arguments = ValueExpression::Object(vec![("to".into(), b.value(to))]);
                let call = ToolCall { name: label.into(), kind: ToolKind::Http, arguments };
                b.step(label, StepKind::Tool(Box::new(call)))
            }
        };
        let steps = |first: &[(&str, &str)], skipped: Option<(&str, &str)>, last: &[(&str, &str)]| {
            made(|b| {
                let mut all: Vec<StepId> = first.iter().map(|(label, to)| effect(b, label, to)).collect();
                if let Some((label, to)) = skipped {
                    let step = effect(b, label, to);
                    b.when(step, "\"a\" == \"b\"");
                    all.push(step);
                }
                all.extend(last.iter().map(|(label, to)| effect(b, label, to)));
                b.sequence("", &all)
            })
        };
        let name = |name: &str| format!("{sort} {name}");
        let before = steps(&[("a", "me")], Some(("b", "you")), &[]);
        assert_eq!(desk.run(&before, &name("old"), None).0.len(), 1);
        let memo = || desk.memo(&before, &name("old"));
        let (sent, outcome) = desk.run(&steps(&[("b", "other")], None, &[]), &name("renamed"), Some(memo()));
        assert_eq!((stop(&outcome).0, stop(&outcome).1, sent.len()), ("WOULD_REPEAT", "b", 0), "{sort}");
        let (sent, _) = desk.run(&steps(&[("b", "me")], None, &[]), &name("only renamed"), Some(memo()));
        assert_eq!(sent.len(), 0, "{sort}");
        // A step that is as it was is not another one.
        let before = steps(&[("a", "me"), ("b", "you")], None, &[]);
        desk.run(&before, &name("whole"), None);
        let entries = desk.world.journal.entries(&name("whole"));
        let done = entries.iter().position(|entry| matches!(&entry.kind, EntryKind::Completed { .. })).unwrap();
        block_on(desk.world.journal.append_entries(&name("ended"), &entries[..=done], &[])).unwrap();
        let memo = || desk.memo(&before, &name("ended"));
        let (sent, outcome) = desk.run(&steps(&[("b", "you")], None, &[]), &name("first deleted"), Some(memo()));
        assert!(outcome.result.is_ok() && sent.len() == 1, "{sort}: {outcome:?}");
        let (sent, outcome) = desk.run(&steps(&[("b", "you!")], None, &[]), &name("and changed"), Some(memo()));
        assert_eq!((stop(&outcome).1, sent.len()), ("b", 0), "{sort}");
        // Nothing is gone.
        let both = steps(&[("a", "me"), ("b", "you!")], None, &[]);
        assert_eq!(desk.run(&both, &name("changed"), Some(memo())).0.len(), 1, "{sort}");
    }
}

/// What is safe to repeat does not stand for what is not.
#[test]
fn a_request_that_only_reads_neither_hides_an_effect_nor_takes_its_place() {
    let desk = desk();
    let steps = |steps: &[(&str, &str, &str)]| {
        made(|b| {
            let mut all = Vec::new();
            for (label, method, to) in steps {
                let arguments = ValueExpression::Object(vec![
                    ("method".into(), ValueExpression::Const((*method).into())),
                    ("to".into(), b.value(to)),
                ]);
                let call = ToolCall { name: (*label).into(), kind: ToolKind::Http, arguments };
                all.push(b.step(label, StepKind::Tool(Box::new(call))));
            }
            b.sequence("", &all)
        })
    };
    let before = steps(&[("read", "GET", "page"), ("send", "POST", "me")]);
    desk.run(&before, "old", None);
    for (name, after) in [
        ("both gone", steps(&[("post", "POST", "other")])),
        ("a new one that reads comes first", steps(&[("look", "GET", "more"), ("post", "POST", "other")])),
        ("its name is that of one that reads", steps(&[("send", "GET", "me"), ("read", "POST", "other")])),
    ] {
        let (sent, outcome) = desk.run(&after, name, Some(desk.memo(&before, "old")));
        assert_eq!(stop(&outcome).0, "WOULD_REPEAT", "{name}");
        assert!(sent.iter().all(|sent| !sent.contains("other")), "{name}: {sent:?}");
    }
}

fn question(accepts: &[&str]) -> Arc<Program> {
    made(|b| {
        let call = HumanCall { prompt: b.value("Go?"), timeout_ms: None, on_timeout: OnTimeout::Fail, answer_at: None };
        let ask = b.step("ASK", StepKind::Human(Box::new(call)));
        let (ask, end) = (b.out(ask, "ASK"), b.mark("END"));
        let to_end =
            accepts.iter().map(|word| go(b, MatchedOutcome::Success, &format!("{{{{ASK}}}} == {word:?}"), 1)).collect();
        b.step("", StepKind::StateMachine(machine(vec![state("ASK", ask, to_end), state("END", end, vec![])])))
    })
}

#[test]
fn an_answer_is_kept_as_long_as_the_same_answers_are_accepted() {
    let desk = desk();
    let before = question(&["yes", "no"]);
    desk.run(&before, "old", None);
    for (accepts, kept) in [(["no", "yes"].as_slice(), true), (&["no"], false), (&["yes", "no", "later"], false)] {
        let memo = desk.memo(&before, "old");
        let decisions = memo.reuse_decisions();
        let name = accepts.join("-");
        let options = DriverOptions { memo: Some(memo), ..Desk::options(&name, None) };
        desk.run_with(&question(accepts), &name, options);
        let is_kept = matches!(decisions.lock().unwrap()[0].is, ReuseOutcome::Kept { .. });
        assert_eq!(is_kept, kept, "{accepts:?}");
    }
}
