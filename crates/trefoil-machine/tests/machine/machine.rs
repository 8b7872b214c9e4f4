//! Drives the machine: every activity is answered by a pure function of its key and request, in any order.

use std::sync::Arc;

use testbed::Run;
use trefoil_ir::Program;
use trefoil_machine::content::{QuestionContent, canonical_json};
use trefoil_machine::{
    Activity, Entry, FailureCause, Flags, Key, Machine, MessageRole, ModelRequest, ModelToolCall, PreparedProgram,
    Request, RunError, RunSpec, Usage,
};
use trefoil_template::{HoleQuestion, Value};

pub const FLAGS: Flags = Flags {
    seed: 11,
    spec: RunSpec::NONE,
    prices: Vec::new(),
    windows: Vec::new(),
    fallbacks: Vec::new(),
    reuses: false,
    input_verdicts: Vec::new(),
};

pub fn start(program: &Arc<Program>) -> Run {
    Run::start(&PreparedProgram::new(program.clone()), Some(Value::from("in")), FLAGS)
}

/// Starts a run with provenance.
pub fn start_watched(program: &Arc<Program>) -> Run {
    Run::start_watched(&PreparedProgram::new(program.clone()), Some(Value::from("in")), FLAGS)
}

/// Resumes from a journal cut at some entry.
pub fn resume(program: &Arc<Program>, entries: &[Entry]) -> Result<Run, RunError> {
    let resumed = Machine::replay_journal(PreparedProgram::new(program.clone()), entries)?;
    assert_eq!(resumed.next_seq as usize, entries.len());
    Ok(Run::resume(resumed, entries))
}

/// Completes an activity one millisecond later.
pub fn complete(run: &mut Run, key: &Key, result: Result<Value, RunError>, usage: Option<Usage>) {
    run.now_ms += 1;
    run.complete(key, result, usage);
}

/// The activities that can be completed; time limits only if there is nothing else.
fn choices(run: &Run) -> Vec<&Activity> {
    let work: Vec<&Activity> = run.pending.iter().filter(|a| !limit(a.key.as_str())).collect();
    if work.is_empty() { run.pending.iter().collect() } else { work }
}

/// Completes everything, in the order given by `choose`, with [`answer`].
pub fn finish(mut run: Run, mut choose: impl FnMut(usize) -> usize) -> Run {
    while run.result.is_none() {
        let choices = choices(&run);
        let activity = choices[choose(choices.len()) % choices.len()].clone();
        let (result, usage) = answer(&activity);
        complete(&mut run, &activity.key, result, usage);
    }
    run
}

/// Whether it is a time limit.
fn limit(key: &str) -> bool {
    ["~timeout", "~limit", "~budget"].iter().any(|mark| key.contains(mark))
}

fn asked(question: &HoleQuestion) -> String {
    String::from_utf8(canonical_json(&QuestionContent::from_question(question))).unwrap()
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// A model's turn in a conversation: in the first turns it calls some of its tools, some of them incorrectly.
fn turn(key: &str, request: &ModelRequest) -> Value {
    let before = request.messages.iter().filter(|m| m.role == MessageRole::Assistant).count() as u64;
    let seed = hash(key.rsplit_once('@').map_or(key, |(talk, _)| talk));
    let last = request.messages.last().map(|m| m.content.canonical_text()).unwrap_or_default();
    if before >= seed % 4 {
        return format!("talker:{}", hash(&last) % 97).into();
    }
    calls(request, before, |at| hash(&format!("{seed} {before} {at}")))
}

/// Calls of some of the tools, some of them incorrect.
pub fn calls(request: &ModelRequest, before: u64, luck: impl Fn(usize) -> u64) -> Value {
    let calls = request.tools.iter().enumerate().filter_map(|(at, tool)| {
        let luck = luck(at);
        let name = if luck % 11 == 5 { "stranger" } else { &*tool.name };
        let input = if luck % 7 == 3 { Value::from(1) } else { Value::from(format!("in {before}.{at}")) };
        let arguments: Value = [("input", input)].into_iter().collect();
        (!luck.is_multiple_of(3)).then(|| ModelToolCall::new(format!("c{at}"), name, arguments))
    });
    trefoil_machine::turn_content::turn_value(format!("turn {before}"), calls.collect())
}

/// The answer to an activity, a pure function of it.
pub fn answer(activity: &Activity) -> (Result<Value, RunError>, Option<Usage>) {
    let key = activity.key.as_str();
    let result = match &activity.request {
        Request::Model(request) => {
            let speaker = &*request.speaker;
            let user = request.messages.last().map(|m| m.content.canonical_text()).unwrap_or_default();
            let last = key.rsplit('/').next().unwrap_or_default();
            let failed = |status| Err(RunError::new("MODEL_ERROR", "no").with_cause(FailureCause::Status(status)));
            match speaker {
                "bad" => failed(500),
                "talker" => Ok(turn(key, request)),
                "flaky" if !last.contains('!') => failed(429),
                "judge" if key.contains("#1/") => Ok("{\"score\": 0.1, \"reasoning\": \"thin\"}".into()),
                "judge" => Ok("```json\n{\"score\": 0.9}\n```".into()),
                "looping" if key.contains("@2") => Ok("stop".into()),
                "state" if last.ends_with("@1") && hash(key).is_multiple_of(2) => Ok("back".into()),
                "list" => Ok("[1, \"two\", null]".into()),
                other => Ok(format!("{other}:{}", hash(&user) % 97).into()),
            }
        }
        Request::Tool(request) => Ok([("tool", request.arguments.clone())].into_iter().collect()),
        Request::Describe(wanted) => Ok(wanted.iter().map(|_| Value::List(Vec::new().into())).collect()),
        Request::Command(_) => {
            let members: [(&str, Value); 3] =
                [("exit_code", 0.into()), ("stdout", "out".into()), ("stderr", "".into())];
            Ok(members.into_iter().collect())
        }
        // If only some answers are accepted, the first one is not.
        Request::Human(human) if human.refused.is_some() => Ok("sure".into()),
        Request::Human(_) => Ok("yes".into()),
        Request::Timer { .. } => Ok(Value::Null),
        Request::Decide(question) => Ok(hash(&asked(question)).is_multiple_of(2).into()),
    };
    let model = matches!(activity.request, Request::Model(_));
    (result, model.then_some(Usage { input_tokens: 3, output_tokens: 1, ..Usage::default() }))
}
