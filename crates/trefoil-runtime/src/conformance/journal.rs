//! The conformance suite for journals.

use trefoil_template::Value;

use crate::ports::Journal;
use trefoil_machine::error::{FailureCause, RunError};
use trefoil_machine::event::{AnswerMetadata, FailedModelCall};
use trefoil_machine::guard::{CheckSubject, Verdict, VerdictRuling};
use trefoil_machine::journal::{
    ActivityMetadata, AnswerSettings, Basis, CalledRun, Cited, Entry, EntryKind, Flags, GivenPermissions,
    LostModelCall, ProgramFile, ProgramIdentity, Reserve, ResumeChanges, RunSpec, RunStart, ToolDigest, VERSION,
};
use trefoil_machine::key::{ContentKey, Key};
use trefoil_machine::private::{HiddenParts, PrivateValue};
use trefoil_machine::receipt::{AnswerReceipt, AnswerSender};
use trefoil_machine::request::{FinishReason, Usage};
use trefoil_machine::run_limits::{LimitKind, RunLimits};

/// A journal stores every kind of entry unchanged, in order, and separately for each run. It rejects gaps and repeated numbers, and
/// returns an error for unknown runs.
pub async fn check_journal(journal: &dyn Journal) -> Result<(), String> {
    let entries = one_of_each_kind();
    let (first, second) = entries.split_at(3);
    append(journal, "run-a", first).await?;
    check_entries(journal, "run-a", first).await?;
    append(journal, "run-b", &entries).await?;
    append(journal, "run-a", &[]).await?;
    append(journal, "run-a", second).await?;
    check_entries(journal, "run-a", &entries).await?;
    check_entries(journal, "run-b", &entries).await?;
    let next = entries.len() as u64;
    for (what, seq) in [("a gap", next + 1), ("a repetition", next - 1)] {
        if journal.append_entries("run-a", &[entry(seq, EntryKind::CancelRequested {})], &[]).await.is_ok() {
            return Err(format!("it takes {what} in the numbers of entries"));
        }
    }
    check_entries(journal, "run-a", &entries).await?;
    if journal.read_entries("never written", 0).await.is_ok() {
        return Err("it has a run that nobody wrote".to_owned());
    }
    let many: Vec<Entry> = (0..2_000).map(|seq| entry(seq, EntryKind::CancelRequested {})).collect();
    append(journal, "long", &many).await?;
    check_entries(journal, "long", &many).await?;
    let late = journal.read_entries("long", 1_990).await.map_err(|e| format!("reading the end: {e}"))?;
    if late.first().map(|entry| entry.seq) != Some(1_990) {
        return Err("it does not read from a number on".to_owned());
    }
    match journal.read_entries("long", 2_000).await {
        Ok(none) if none.is_empty() => Ok(()),
        _ => Err("it does not say that there are no more entries".to_owned()),
    }
}

async fn append(journal: &dyn Journal, run: &str, entries: &[Entry]) -> Result<(), String> {
    journal.append_entries(run, entries, &[]).await.map_err(|e| format!("appending to `{run}`: {e}"))
}

async fn check_entries(journal: &dyn Journal, run: &str, expected: &[Entry]) -> Result<(), String> {
    let mut found: Vec<Entry> = Vec::new();
    loop {
        let from = found.last().map_or(0, |entry| entry.seq + 1);
        let page = journal.read_entries(run, from).await.map_err(|e| format!("reading `{run}`: {e}"))?;
        if page.is_empty() {
            break;
        }
        found.extend(page);
    }
    if found.len() != expected.len() {
        return Err(format!("`{run}` has {} entries, {} were written", found.len(), expected.len()));
    }
    match found.iter().zip(expected).find(|(found, expected)| found != expected) {
        Some((found, expected)) => Err(format!("`{run}` has {found:?}, {expected:?} was written")),
        None => Ok(()),
    }
}

fn entry(seq: u64, kind: EntryKind) -> Entry {
    Entry { v: VERSION, seq, at_ms: seq * 10, kind }
}

// reason: a list, one entry for each kind
fn one_of_each_kind() -> Vec<Entry> {
    let key = |text: &str| Key(text.into());
    let given_by =
        || Some(Box::new(AnswerReceipt { sender: AnswerSender::new("ada", "terminal"), at: 1_735_689_600_000 }));
    let about = ActivityMetadata {
        called: Some("r1".to_owned()),
        repeatable: true,
        model: Some("openai:gpt-5.4".to_owned()),
        usage: Some(Usage { input_tokens: 7, output_tokens: 3, cached_tokens: 1, ..Usage::default() }),
        duration_ms: Some(1_200),
        answer_metadata: AnswerMetadata {
            answered_by: Some("gpt-5.4-2026-03-01".to_owned()),
            instead: Some("openai:gpt-5.4".to_owned()),
            before: vec![FailedModelCall {
                model: "anthropic:claude".to_owned(),
                why: "no answer".to_owned(),
                usage: Some(Usage::for_unknown_call()),
            }],
            finish: Some(FinishReason::Stop),
            request_id: Some("req_1".to_owned()),
        },
        replaced: vec!["secrets.TOKEN".to_owned()],
        warnings: vec!["an email address".to_owned()],
        tools: vec![ToolDigest { place: "files".to_owned(), tool: "read".to_owned(), digest: "0f".to_owned() }],
        verdicts: Some(vec![Verdict {
            score: Some(0.5),
            from: vec!["input.mail".into()],
            ..Verdict::with_finding("pii", CheckSubject::Answer, VerdictRuling::Changed, "personal data".to_owned())
        }]),
        changed_by: None,
        partial: Some("so far".to_owned()),
        sent: Some("POST somewhere".to_owned()),
        kept: Some(3),
        from: Some(Box::new(Cited {
            run: "r0".to_owned(),
            key: Some(key("main/old")),
            content: ContentKey([6; 32]),
            used: None,
        })),
        given_by: given_by(),
    };
    let tricky: Value = [
        ("text", Value::from("line\nbreak, quote \" and \u{1f340}\u{0}")),
        ("big", Value::from(u64::MAX)),
        ("small", Value::from(i64::MIN)),
        ("float", Value::from(0.1)),
        ("list", Value::from(vec![Value::Null, true.into(), Value::from("")])),
    ]
    .into_iter()
    .collect();
    let private = PrivateValue::new(
        tricky.clone(),
        HiddenParts::search_value(
            &tricky,
            &|text| std::iter::once(0..text.len()).filter(|all| !all.is_empty()).collect(),
            &|_| true,
        ),
    );
    let mut error = RunError::new("MODEL_ERROR", "status 429").with_cause(FailureCause::Status(429)).with_help("wait");
    error.key = Some(key("a/b@2[0]#1!3"));
    error.retry_after_ms = std::num::NonZeroU32::new(1_000);
    let kinds = [
        EntryKind::Started(Box::new(RunStart {
            run: "run".to_owned(),
            at: 1_735_689_600_000,
            program: ProgramIdentity {
                fingerprint: "0f".repeat(32),
                semantics: 1,
                engine: "0.1.0".to_owned(),
                flow: "main".to_owned(),
                sources: vec![ProgramFile { path: "a b/main.yaml".to_owned(), sha256: "f0".repeat(32) }],
                bundle: Some("0e".repeat(32)),
            },
            input: Some(private.clone()),
            warnings: vec!["short".to_owned()],
            flags: Flags {
                seed: u64::MAX,
                spec: RunSpec { limits: RunLimits::for_kind(LimitKind::Calls, 1), ..RunSpec::NONE },
                ..Flags::default()
            },
            answers: "manifest".to_owned(),
            models: vec![("writer".to_owned(), "openai:gpt-5.4".to_owned())],
            permissions: GivenPermissions { commands: true, hosts: vec!["h".to_owned()], no_config: true },
            basis: Some(Box::new(Basis {
                execution: Some("first".to_owned()),
                run: "r0".to_owned(),
                answers: false,
                from: Some("draft".to_owned()),
                only: Some("draft".to_owned()),
                also_from: vec!["call/review".to_owned()],
                all: true,
                failed: true,
                forked: true,
                rerun: vec!["send".to_owned()],
                limits: RunLimits::for_kind(LimitKind::Calls, 5),
            })),
        })),
        EntryKind::Scheduled {
            key: key("a/b"),
            sort: "model".into(),
            content: ContentKey([7; 32]),
            due_ms: None,
            again: false,
        },
        EntryKind::Scheduled {
            key: key("a/c~timeout"),
            sort: "timer".into(),
            content: ContentKey([8; 32]),
            due_ms: Some(86_400_000),
            again: false,
        },
        EntryKind::Scheduled {
            key: key("a/b!2"),
            sort: "model".into(),
            content: ContentKey([9; 32]),
            due_ms: None,
            again: true,
        },
        EntryKind::Completed { key: key("a/b"), value: private.clone(), about: Box::new(about.clone()) },
        EntryKind::Completed { key: key("a/d"), value: PrivateValue::without_hidden(tricky), about: Box::default() },
        EntryKind::Completed {
            key: key("a/c~timeout"),
            value: PrivateValue::without_hidden(Value::Null),
            about: Box::default(),
        },
        EntryKind::Failed { key: key("a/d"), error: error.clone(), about: Box::new(about) },
        EntryKind::Resumed { engine: "0.1.0".to_owned(), execution: 1, lost: Vec::new(), changes: Box::default() },
        EntryKind::Resumed {
            engine: "0.1.0".to_owned(),
            execution: 2,
            lost: vec![LostModelCall {
                key: key("a/b"),
                usage: Usage::for_unknown_call(),
                partial: Some("so far".to_owned()),
            }],
            changes: Box::new(ResumeChanges {
                spec: RunSpec {
                    limits: RunLimits::from_fn(|_| Some(1_000_000)),
                    reserve: Some(Reserve::Bound),
                    cost_budget: None,
                },
                windows: vec![("openai:gpt-5.4".to_owned(), 400_000)],
                models: Some(AnswerSettings { answers: "embedded".to_owned(), ..AnswerSettings::default() }),
                rerun: vec!["b".to_owned()],
                permissions: GivenPermissions { commands: false, hosts: vec!["h:80".to_owned()], no_config: false },
            }),
        },
        EntryKind::Reopened {
            engine: "0.1.0".to_owned(),
            execution: 3,
            at: 1_735_689_600_000,
            again: vec![key("a/d!2"), key("a/d~delay")],
            changes: Box::default(),
        },
        EntryKind::Restarted { key: key("a/b"), given_by: None },
        EntryKind::Restarted { key: key("a/b"), given_by: given_by() },
        EntryKind::Suspended { wake_at: None, called: Vec::new(), why: None },
        EntryKind::Suspended { wake_at: None, called: Vec::new(), why: Some(Box::new(error.clone())) },
        EntryKind::Suspended {
            wake_at: Some(1_735_689_600_000),
            called: vec![CalledRun { key: "main/ship".into(), run: "r2".to_owned() }],
            why: None,
        },
        EntryKind::CancelRequested {},
        EntryKind::Finished { output: Some(private), error: None, items: None, warnings: vec!["replaced".to_owned()] },
        EntryKind::Finished { output: None, error: Some(error), items: None, warnings: Vec::new() },
    ];
    (0..).zip(kinds).map(|(seq, kind)| entry(seq, kind)).collect()
}
