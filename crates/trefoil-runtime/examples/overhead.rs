//! What the engine itself costs, in memory: `cargo run --release -p trefoil-runtime --example overhead`.
//!
//! Steps that do nothing, model calls that answer at once, fan-outs of items that do nothing. Times are the best of several
//! rounds: by the clock, and (on Linux) on the processor, which other work on the machine disturbs less. The benches compare
//! with other engines. An argument runs only the lines that contain it.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a program that measures and prints"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use trefoil_ir::{
    AnswerFormat, FanOutItems, FlowDefinition, FlowId, ForEach, IndexVec, Intake, ModelCall, ModelChoice,
    ModelParameters, OnItemFailure, Program, ProgramParts, Slot, SlotId, Source, Step, StepId, StepKind, StepPolicy,
    ValueExpression,
};
use trefoil_machine::{Flags, Machine, PreparedProgram};
use trefoil_runtime::ports::{
    MapSecrets, MemoryJournal, NoEvents, NoHumans, NoJournal, NoTools, SeededRandom, SystemClock, echo_model,
};
use trefoil_runtime::{DriverOptions, Journal, Ports, driver};
use trefoil_syntax::{FileId, Location, Span};
use trefoil_template::Value;

const ROUNDS: u32 = 5;

fn nowhere() -> Location {
    Location::new(FileId(0), Span::new(0, 0))
}

fn step(label: &str, kind: StepKind) -> Step {
    let label = (!label.is_empty()).then(|| label.into());
    Step { kind, label, origin: nowhere(), when: None, out: None, shape: None, policy: StepPolicy::default() }
}

fn flow(name: &str, body: u32) -> FlowDefinition {
    let slot = |name: &str| Slot::new(name);
    FlowDefinition {
        name: name.into(),
        sort: "pipeline",
        origin: nowhere(),
        slots: ["input", "item", "index", "total", "result"].map(slot).into_iter().collect(),
        intake: Intake {
            slot: SlotId(0),
            wrap: None,
            fields: vec![],
            closed: false,
            tolerated: &[],
            schema: None,
            raw: None,
        },
        init: vec![],
        body: StepId(body),
        output: None,
        exports: vec![],
        budget: None,
    }
}

fn program(flows: Vec<FlowDefinition>, steps: Vec<Step>) -> Arc<PreparedProgram> {
    let parts = ProgramParts {
        name: "main".into(),
        flows: flows.into(),
        steps: steps.into(),
        schemas: IndexVec::default(),
        entry: FlowId(0),
        hash: 0,
        missing_agents: vec![],
        client_tools: vec![],
    };
    PreparedProgram::new(Arc::new(Program::new(parts).expect("the program is valid")))
}

/// A sequence of so many steps of a kind.
fn sequence(count: u32, kind: &StepKind) -> Arc<PreparedProgram> {
    let mut steps = vec![step("", StepKind::Sequence((1..=count).map(StepId).collect()))];
    for n in 1..=count {
        let mut one = step(&format!("step{n}"), kind.clone());
        one.out = Some(SlotId(4));
        steps.push(one);
    }
    program(vec![flow("main", 0)], steps)
}

fn fan_out(body: StepKind) -> Arc<PreparedProgram> {
    let each = StepKind::ForEach(Box::new(ForEach {
        items: FanOutItems::List(ValueExpression::Read(Source::Slot(SlotId(0)))),
        body: FlowId(1),
        item: Some(SlotId(1)),
        index: SlotId(2),
        total: SlotId(3),
        captures: vec![],
        concurrency: None,
        timeout_ms: None,
        on_failure: OnItemFailure::Abort,
        failed: Value::Null,
    }));
    program(vec![flow("main", 0), flow("body", 1)], vec![step("all", each), step("one", body)])
}

fn model() -> StepKind {
    StepKind::Model(Box::new(ModelCall {
        speaker: "one".into(),
        model: ModelChoice { provider: None, name: "test".into(), origin: nowhere() },
        system: None,
        examples: vec![],
        user: ValueExpression::AsText(Box::new(ValueExpression::Read(Source::Slot(SlotId(0))))),
        parameters: ModelParameters::default(),
        places: Vec::new(),
        format: AnswerFormat::Text,
        guards: vec![],
        stream: false,
    }))
}

fn compute() -> StepKind {
    StepKind::Compute(ValueExpression::Read(Source::Slot(SlotId(1))))
}

fn ports(journal: Arc<dyn Journal>) -> Ports {
    Ports {
        models: Arc::new(echo_model()),
        tools: Arc::new(NoTools),
        commands: None,
        humans: Arc::new(NoHumans),
        journal,
        clock: Arc::new(SystemClock::new()),
        random: Arc::new(SeededRandom::new(1)),
        secrets: Arc::new(MapSecrets::new()),
        events: Arc::new(NoEvents),
    }
}

/// Time that this thread has spent on a processor, where the system says so.
fn on_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

fn measure(what: &str, count: u32, mut round: impl FnMut()) {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    if !format!("{what} {count}").contains(&wanted) {
        return;
    }
    let (mut wall, mut cpu) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let (began, spent) = (Instant::now(), on_processor());
        round();
        wall = wall.min(began.elapsed());
        cpu = cpu.min(on_processor().zip(spent).map_or(Duration::MAX, |(now, before)| now - before));
    }
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let each = |d: Duration| d.as_secs_f64() * 1e6 / f64::from(count);
    print!("{what:<44} {count:>9} {:>10.2} ms {:>8.3} us each", ms(wall), each(wall));
    println!(", on the processor {:>10.2} ms {:>8.3} us each", ms(cpu), each(cpu));
}

fn start(prepared: &Arc<PreparedProgram>, input: Option<Value>) {
    let mut machine = Machine::from_prepared(prepared.clone(), Flags::default()).in_pieces();
    let mut output = machine.start_run("r", input);
    while output.more {
        output = machine.next_piece();
    }
    assert_eq!(output.commands.len(), 1, "the run has ended");
}

fn items(count: u32) -> Value {
    (0..count).map(Value::from).collect()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    for count in [1_000, 10_000] {
        let prepared = sequence(count, &compute());
        measure("machine: sequence of no-op steps", count, || start(&prepared, None));
    }
    for count in [1_000, 10_000, 100_000, 1_000_000] {
        let prepared = fan_out(compute());
        let input = items(count);
        measure("machine: fan-out of no-op items", count, || start(&prepared, Some(input.clone())));
    }
    let run = |prepared: &Arc<PreparedProgram>, input: Value, journal: Arc<dyn Journal>| {
        let options = DriverOptions { run: Some("r".to_owned()), ..DriverOptions::default() };
        let run = driver::run_prepared(prepared.clone(), Some(input), ports(journal), options);
        assert!(runtime.block_on(run).result.is_ok());
    };
    for count in [1_000, 10_000] {
        let prepared = sequence(count, &model());
        measure("driver: sequence of model calls, journaled", count, || {
            run(&prepared, "hello".into(), Arc::new(MemoryJournal::new()))
        });
    }
    for count in [1_000, 10_000, 100_000] {
        let prepared = fan_out(compute());
        measure("driver: fan-out of no-op items", count, || run(&prepared, items(count), Arc::new(NoJournal)));
    }
    for count in [1_000, 10_000, 100_000] {
        let prepared = fan_out(model());
        measure("driver: fan-out of model calls, journaled", count, || {
            run(&prepared, items(count), Arc::new(MemoryJournal::new()))
        });
    }
}
