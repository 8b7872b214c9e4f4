//! Specific edits, and which activities are then repeated or reused.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use testbed::Build;
use trefoil_ir::{CommandCall, Guard, OnItemFailure, PiiAction, PiiEntity, Program, StepId, StepKind};
use trefoil_machine::journal::{Basis, RunSpec};
use trefoil_machine::{EntryKind, PreparedProgram, PrivateValue, RunLimits};
use trefoil_runtime::driver::memo::{Memo, read_memo};
use trefoil_runtime::driver::{self, DriverOptions};
use trefoil_runtime::ports::{CallSite, CommandHost, CommandOutput, ToolError};
use trefoil_runtime::{CommandRequest, RunOutcome};

use crate::world::{World, block_on};

/// Runs of one journal, and the scripts and prompts that were sent.
pub struct Desk {
    pub world: World,
    pub sent: Arc<Mutex<Vec<String>>>,
}

struct Shell(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl CommandHost for Shell {
    async fn run_command(&self, _at: CallSite<'_>, request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        let mut sent = self.0.lock().unwrap();
        sent.push(request.script.to_string());
        Ok(CommandOutput { exit_code: 0, stdout: format!("{} {}", request.script, sent.len()), stderr: String::new() })
    }
}

impl Desk {
    pub fn new() -> Self {
        let sent: Arc<Mutex<Vec<String>>> = Arc::default();
        let own = sent.clone();
        let mut world = World::model(move |_, user| {
            own.lock().unwrap().push(user.to_owned());
            if user.contains("broken") { Err(crate::world::status(400)) } else { Ok(format!("said {user}")) }
        });
        world.ports.commands = Some(Arc::new(Shell(sent.clone())));
        Self { world, sent }
    }

    pub fn options(run: &str, memo: Option<Memo>) -> DriverOptions {
        DriverOptions { seed: Some(7), run: Some(run.to_owned()), memo, ..DriverOptions::default() }
    }

    /// The requests that were sent, and the outcome.
    pub fn run(&self, program: &Arc<Program>, run: &str, memo: Option<Memo>) -> (Vec<String>, RunOutcome) {
        self.run_with(program, run, Self::options(run, memo))
    }

    /// The same, with other options.
    pub fn run_with(&self, program: &Arc<Program>, run: &str, options: DriverOptions) -> (Vec<String>, RunOutcome) {
        self.sent.lock().unwrap().clear();
        let (prepared, ports) = (PreparedProgram::new(program.clone()), self.world.ports.clone());
        let outcome = block_on(driver::run_prepared(prepared, Some("in".into()), ports, options));
        let verified =
            block_on(driver::verify_journal(PreparedProgram::new(program.clone()), run, &*self.world.journal)).unwrap();
        assert_eq!(verified.differences, []);
        (self.sent.lock().unwrap().clone(), outcome)
    }

    pub fn memo(&self, program: &Arc<Program>, run: &str) -> Memo {
        let (prepared, options) = (PreparedProgram::new(program.clone()), DriverOptions::default());
        block_on(read_memo(prepared, run, self.world.ports.clone(), &options)).unwrap()
    }
}

fn commands(scripts: &[(&str, &str)]) -> Arc<Program> {
    let mut b = Build::new();
    let step = |b: &mut Build, (label, script): (&str, &str)| {
        let call = CommandCall { script: script.into(), arguments: vec![], env: vec![], workdir: None };
        b.step(label, StepKind::Command(Box::new(call)))
    };
    let steps: Vec<StepId> = scripts.iter().map(|one| step(&mut b, *one)).collect();
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    b.program(main)
}

fn prompts(prompts: &[(&str, &str)]) -> Arc<Program> {
    let mut b = Build::new();
    let steps: Vec<StepId> = prompts.iter().map(|(label, prompt)| b.model(label, prompt)).collect();
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    b.program(main)
}

/// One step whose answer is `said in`, with this guardrail.
fn guarded(guard: Guard) -> Arc<Program> {
    let mut b = Build::new();
    let say = b.model("say", "mail ann@example.org");
    if let StepKind::Model(call) = &mut b.at(say).kind {
        call.guards = vec![guard];
    }
    let main = b.flow("main", say, None);
    b.program(main)
}

#[test]
fn a_changed_guardrail_checks_the_stored_answer_and_asks_again_only_for_what_it_did_not_keep() {
    let length = |max_chars, refuse| Guard::Length { max_chars, refuse };
    let pii = |action, replacement: &str| Guard::Pii {
        entities: vec![PiiEntity::Email],
        action,
        replacement: replacement.into(),
    };
    let caps = Guard::TokenCap { max_tokens: 1_000_000, warn: true };
    let whole = "said mail ann@example.org";
    // The guardrail then, the one now; whether the model is asked again, and the result now.
    let table = [
        (length(100, true), length(90, true), false, Ok(whole)),
        (length(100, true), length(5, true), false, Err("GUARDRAIL_VIOLATION")),
        (length(100, true), length(9, false), false, Ok("said mail...")),
        (length(100, false), length(9, false), false, Ok("said mail...")),
        (length(9, false), length(9, false), false, Ok("said mail...")),
        (length(9, false), length(100, false), true, Ok(whole)),
        (length(9, false), Guard::Injection, true, Ok(whole)),
        (Guard::Injection, length(9, false), false, Ok("said mail...")),
        (caps.clone(), length(9, false), false, Ok("said mail...")),
        // It changes the prompt, too.
        (pii(PiiAction::Flag, ""), pii(PiiAction::Redact, "[gone]"), true, Ok("said mail [gone]")),
    ];
    for (at, (then, now, asks, expected)) in table.into_iter().enumerate() {
        let desk = Desk::new();
        let before = guarded(then.clone());
        assert_eq!(desk.run(&before, "old", None).0.len(), 1, "{then:?}");
        let (sent, outcome) = desk.run(&guarded(now.clone()), "new", Some(desk.memo(&before, "old")));
        let result = outcome.result.map(|value| value.to_text().to_string()).map_err(|error| error.code.to_string());
        assert_eq!(
            (sent.len() == 1, result),
            (asks, expected.map(str::to_owned).map_err(str::to_owned)),
            "{at}: {then:?} {now:?}"
        );
    }
}

#[test]
fn of_two_equal_commands_the_one_that_changed_runs_and_the_other_keeps_its_own_result() {
    let desk = Desk::new();
    let before = commands(&[("a", "same"), ("b", "same")]);
    assert_eq!(desk.run(&before, "old", None).0, ["same", "same"]);
    for (after, changed) in [([("a", "other"), ("b", "same")], "a"), ([("a", "same"), ("b", "other")], "b")] {
        let after = commands(&after);
        let (sent, outcome) = desk.run(&after, &format!("no-{changed}"), Some(desk.memo(&before, "old")));
        let error = outcome.result.unwrap_err();
        assert_eq!((&*error.code, error.key.clone().unwrap().as_str()), ("WOULD_REPEAT", changed));
        assert_eq!(sent, Vec::<String>::new());
        let memo = desk.memo(&before, "old").allow_rerun([changed.to_owned()]);
        assert_eq!(desk.run(&after, &format!("yes-{changed}"), Some(memo)).0, ["other"]);
    }
}

#[test]
fn a_command_that_becomes_equal_to_a_later_one_does_not_take_its_result() {
    let desk = Desk::new();
    let before = commands(&[("a", "first"), ("b", "second")]);
    desk.run(&before, "old", None);
    let after = commands(&[("a", "second"), ("b", "second")]);
    let memo = desk.memo(&before, "old").allow_rerun(["a".to_owned()]);
    let (sent, outcome) = desk.run(&after, "new", Some(memo));
    assert!(outcome.result.is_ok(), "{outcome:?}");
    assert_eq!(sent, ["second"], "`b` is as it was, and is not run again");
}

#[test]
fn whoever_says_that_a_command_may_run_again_goes_on_with_the_run_that_stopped_for_it() {
    let desk = Desk::new();
    let before = commands(&[("a", "first")]);
    desk.run(&before, "old", None);
    let after = commands(&[("new", "before"), ("a", "second")]);
    let (sent, outcome) = desk.run(&after, "stopped", Some(desk.memo(&before, "old")));
    assert_eq!((sent.as_slice(), outcome.continues), (["before".to_owned()].as_slice(), true));
    let ended = desk.world.journal.entries("stopped").pop().unwrap();
    assert!(outcome.suspended, "{outcome:?}");
    let EntryKind::Suspended { wake_at: None, why: Some(why), .. } = ended.kind else { panic!("{ended:?}") };
    assert_eq!((&*why.code, why.key.clone().unwrap().as_str()), ("WOULD_REPEAT", "a"));
    desk.sent.lock().unwrap().clear();
    let memo = desk.memo(&before, "old").allow_rerun(["a".to_owned()]);
    let (prepared, options) = (PreparedProgram::new(after.clone()), Desk::options("stopped", Some(memo)));
    let outcome = block_on(driver::resume_prepared(prepared, "stopped", desk.world.ports.clone(), options));
    assert!(outcome.result.is_ok(), "{outcome:?}");
    assert_eq!(*desk.sent.lock().unwrap(), ["second"], "what ran before it stopped is not run again");
}

#[test]
fn a_wait_that_is_over_is_not_waited_for_again_unless_it_changed() {
    let desk = Desk::new();
    let wait = |ms| {
        let mut b = Build::new();
        let steps = [b.wait("wait", ms), b.model("after", "go")];
        let body = b.sequence("", &steps);
        let main = b.flow("main", body, None);
        b.program(main)
    };
    let before = wait(60_000);
    assert_eq!(desk.run(&before, "old", None).1.duration_ms, 60_000);
    assert_eq!(desk.run(&before, "same", Some(desk.memo(&before, "old"))).1.duration_ms, 0);
    let (sent, outcome) = desk.run(&wait(1_000), "other", Some(desk.memo(&before, "old")));
    assert_eq!((sent, outcome.duration_ms), (vec![], 1_000));
}

#[test]
fn an_edit_that_is_taken_back_finds_the_results_from_before_it() {
    let desk = Desk::new();
    let first = prompts(&[("one", "say one"), ("two", "two after {{one}}"), ("three", "three after {{two}}")]);
    desk.run(&first, "1", None);
    // The run fails before it reaches the other steps.
    let second = prompts(&[("one", "broken"), ("two", "two after {{one}}"), ("three", "three after {{two}}")]);
    let (sent, outcome) = desk.run(&second, "2", Some(desk.memo(&first, "1")));
    assert_eq!((sent.as_slice(), outcome.result.is_err()), (["broken".to_owned()].as_slice(), true));
    let both = desk.memo(&second, "2").with_older(desk.memo(&first, "1"));
    assert_eq!(desk.run(&first, "3", Some(both)).0, Vec::<String>::new());
    // The newest run comes first, and a result that it reused from another run counts once.
    let copied = prompts(&[("one", "say one"), ("copy", "say one"), ("two", "two after {{one}}")]);
    let all = desk.memo(&first, "3").with_older(desk.memo(&second, "2")).with_older(desk.memo(&first, "1"));
    assert_eq!(desk.run(&copied, "4", Some(all)).0, ["say one"], "two ask, and there is one answer");
}

/// The last command at a place determines the state of the world.
#[test]
fn a_command_that_another_run_has_done_otherwise_since_is_not_taken_for_done() {
    let desk = Desk::new();
    let (first, second) = (commands(&[("a", "first")]), commands(&[("a", "second")]));
    desk.run(&first, "1", None);
    desk.run(&second, "2", Some(desk.memo(&first, "1").allow_rerun(["a".to_owned()])));
    let both = || desk.memo(&second, "2").with_older(desk.memo(&first, "1"));
    assert_eq!(desk.run(&first, "3", Some(both())).1.result.unwrap_err().code, "WOULD_REPEAT");
    assert_eq!(desk.run(&first, "4", Some(both().allow_rerun(["a".to_owned()]))).0, ["first"]);
}

#[test]
fn a_step_that_is_gone_or_renamed_leaves_its_result_and_one_that_stays_does_not() {
    let desk = Desk::new();
    let before = prompts(&[("one", "same"), ("two", "other")]);
    desk.run(&before, "old", None);
    for (after, sent) in [
        (prompts(&[("uno", "same"), ("two", "other")]), 0),
        (prompts(&[("two", "same")]), 0),
        (prompts(&[("new", "same"), ("one", "same")]), 1),
    ] {
        let name = format!("{sent}-{}", after.steps.len());
        assert_eq!(desk.run(&after, &name, Some(desk.memo(&before, "old"))).0.len(), sent, "{name}");
    }
}

/// Parallel branches, and a step after them.
fn branches(prompts: &[(&str, &str)]) -> Arc<Program> {
    let mut b = Build::new();
    let branches: Vec<StepId> = prompts.iter().map(|(label, prompt)| b.model(label, prompt)).collect();
    let parallel = b.parallel("", &branches, OnItemFailure::Abort);
    let last = b.model("last", "last");
    let body = b.sequence("", &[parallel, last]);
    let main = b.flow("main", body, None);
    b.program(main)
}

#[test]
fn what_is_kept_does_not_count_for_limits_and_what_would_pass_one_is_not_sent() {
    let desk = Desk::new();
    let before = branches(&[("a", "a"), ("b", "b"), ("c", "c")]);
    desk.run(&before, "old", None);
    let run = |after: &Arc<Program>, run: &str, max_calls: u64| {
        desk.sent.lock().unwrap().clear();
        let memo = Some(desk.memo(&before, "old"));
        let spec = RunSpec { limits: RunLimits { calls: Some(max_calls), ..RunLimits::NONE }, ..RunSpec::NONE };
        let options = DriverOptions { spec, basis: Some(Basis::default()), ..Desk::options(run, memo) };
        let (prepared, ports) = (PreparedProgram::new(after.clone()), desk.world.ports.clone());
        let outcome = block_on(driver::run_prepared(prepared, Some("in".into()), ports, options));
        (desk.sent.lock().unwrap().clone(), outcome)
    };
    let one = branches(&[("a", "a"), ("b", "other"), ("c", "c")]);
    let (sent, outcome) = run(&one, "one", 1);
    assert_eq!((sent, outcome.calls), (vec!["other".to_owned()], 1));
    assert!(outcome.result.is_ok(), "{outcome:?}");

    let two = branches(&[("a", "a"), ("b", "other"), ("c", "another")]);
    let (sent, outcome) = run(&two, "two", 1);
    let error = outcome.result.as_ref().unwrap_err();
    assert_eq!((&*error.code, outcome.continues, outcome.calls, sent), ("BUDGET_EXCEEDED", true, 0, vec![]));
    let verified =
        block_on(driver::verify_journal(PreparedProgram::new(two.clone()), "two", &*desk.world.journal)).unwrap();
    assert!(verified.matches_program() && !verified.ended, "{verified:?}");
    // The run continues with a higher limit, and with the results that it reuses.
    let EntryKind::Started(started) = desk.world.journal.entries("two").remove(0).kind else { panic!() };
    assert_eq!(started.basis.as_ref().unwrap().limits.calls, Some(1));
    let go_on = |max_calls: Option<u64>| {
        let spec = RunSpec { limits: RunLimits { calls: max_calls, ..RunLimits::NONE }, ..RunSpec::NONE };
        let basis = started.basis.as_deref().cloned();
        let options = DriverOptions { basis, spec, ..Desk::options("two", Some(desk.memo(&before, "old"))) };
        block_on(driver::resume_prepared(PreparedProgram::new(two.clone()), "two", desk.world.ports.clone(), options))
    };
    assert_eq!(go_on(None).result.unwrap_err().code, "BUDGET_EXCEEDED");
    assert!(desk.sent.lock().unwrap().is_empty());
    let outcome = go_on(Some(2));
    assert!(outcome.result.is_ok(), "{outcome:?}");
    let mut sent = desk.sent.lock().unwrap().clone();
    sent.sort();
    assert_eq!(sent, ["another", "other"]);
}

#[test]
fn a_program_sees_the_id_of_the_run_whose_results_it_keeps() {
    let desk = Desk::new();
    let named = |second: &str| {
        let mut b = Build::new();
        let steps = [b.model("one", "in {{run}}"), b.model("two", second)];
        let body = b.sequence("", &steps);
        let main = b.flow("main", body, None);
        b.program(main)
    };
    let before = named("two");
    assert_eq!(desk.run(&before, "old", None).0, ["in old", "two"]);
    let based = |memo: Memo| {
        let basis = Basis { run: "old".to_owned(), execution: Some("old".to_owned()), ..Basis::default() };
        DriverOptions { basis: Some(basis), ..Desk::options("new", Some(memo)) }
    };
    let after = named("then {{run}}");
    assert_eq!(desk.run_with(&after, "new", based(desk.memo(&before, "old"))).0, ["then old"]);
    let entries = desk.world.journal.entries("new");
    let EntryKind::Started(started) = &entries[0].kind else { panic!("{entries:?}") };
    assert_eq!((&*started.run, started.execution_id()), ("new", "old"));
    // Without a run before it, or with its answers only, a run has its own id.
    assert_eq!(desk.run(&after, "other", Some(desk.memo(&before, "old"))).0, ["in other", "then other"]);
}

/// A journal that was tampered with.
#[test]
fn a_journal_that_says_otherwise_is_found_out() {
    use trefoil_machine::DifferenceKind;
    use trefoil_runtime::ports::{Journal as _, MemoryJournal};
    let desk = Desk::new();
    let before = prompts(&[("one", "say one"), ("two", "two after {{one}}")]);
    desk.run(&before, "old", None);
    let after = prompts(&[("one", "say one"), ("two", "two well after {{one}}")]);
    desk.run(&after, "new", Some(desk.memo(&before, "old")));
    let what = |change: &dyn Fn(&str, &mut EntryKind)| {
        let journal = MemoryJournal::new();
        for run in ["old", "new"] {
            let mut entries = desk.world.journal.entries(run);
            entries.iter_mut().for_each(|entry| change(run, &mut entry.kind));
            block_on(journal.append_entries(run, &entries, &[])).unwrap();
        }
        let verified = block_on(driver::verify_journal(PreparedProgram::new(after.clone()), "new", &journal)).unwrap();
        verified.differences.iter().map(|difference| difference.what).collect::<Vec<_>>()
    };
    let answer = |of: &'static str, key: &'static str| {
        move |run: &str, kind: &mut EntryKind| {
            if let EntryKind::Completed { key: known, value, .. } = kind
                && run == of
                && known.as_str() == key
            {
                *value = PrivateValue::without_hidden("forged");
            }
        }
    };
    assert_eq!(what(&|_, _| ()), []);
    assert_eq!(what(&answer("new", "two")), [DifferenceKind::End]);
    assert_eq!(what(&answer("new", "one")), [DifferenceKind::Citation, DifferenceKind::Content]);
    assert_eq!(what(&answer("old", "one")), [DifferenceKind::Citation]);
    assert_eq!(
        what(&|run, kind| if let EntryKind::Finished { output, .. } = kind
            && run == "new"
        {
            *output = None
        }),
        [DifferenceKind::End]
    );
}
