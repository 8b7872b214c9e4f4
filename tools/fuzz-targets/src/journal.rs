//! Parses journal entries and resumes a run from them.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use testbed::Run;
use trefoil_machine::{Flags, Machine, PreparedProgram};
use trefoil_runtime::Entry;

use crate::machine::{Answers, Choices, play};
use crate::manifest::{self, Bundle, Folder};
use crate::{Shape, Target};

pub(crate) const TARGET: Target = Target {
    name: "journal",
    about: "decoding gives entries that encode to the same, a journal resumes or is refused, and what resumes ends",
    seeds,
    words: WORDS,
    shape: Shape::JsonLines,
    weight: 24,
    run,
};

const WORDS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "18446744073709551615",
    "1e999",
    "\"\"",
    "\"x\"",
    "[]",
    "{}",
    "[1, [2], {\"a\": 3}]",
    "\"started\"",
    "\"scheduled\"",
    "\"completed\"",
    "\"failed\"",
    "\"cancel_requested\"",
    "\"finished\"",
    "\"model\"",
    "\"timer\"",
    "\"human\"",
    "\"decide\"",
    "\"{\\\"approved\\\": true}\"",
    "\"00000000000000000000000000000000\"",
    "{\"code\": \"X\", \"message\": \"m\"}",
    "{\"status\": 429}",
    "\"network\"",
    "{\"input_tokens\": 18446744073709551615, \"output_tokens\": 1}",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "{\"kind\":\"cancel_requested\",\"v\":1,\"seq\":3,\"at_ms\":5}\n",
    "\n",
    "{",
    "}",
    ",",
    "[",
];

/// The programs of the journals; the first line of an input is the program's index.
static PROGRAMS: LazyLock<Vec<Arc<PreparedProgram>>> = LazyLock::new(|| {
    let all = manifest::AGNTZ.iter().chain(manifest::AEGIS).chain(manifest::SIRENSPEC);
    all.filter_map(|seed| {
        let folder = Folder::read(&Bundle::split(seed.as_bytes()).files, manifest::front("agntz"));
        let program = Arc::new(folder.lower(0).0?.program);
        trefoil_ir::walk::refused_steps(&program).is_empty().then(|| PreparedProgram::new(program))
    })
    .collect()
});

fn seeds() -> Vec<Cow<'static, str>> {
    let mut all = Vec::new();
    for (at, prepared) in PROGRAMS.iter().enumerate() {
        for seed in [3, 1 << 20, 77777] {
            let mut answers = Answers::new(&prepared.program, Choices::new(seed));
            let input = answers.input(&prepared.program);
            let mut run = Run::start(prepared, input, Flags { seed, ..Flags::default() });
            play(&mut run, &mut answers, 12);
            let lines = run.entries.iter().filter_map(|entry| serde_json::to_string(entry).ok());
            let lines: Vec<String> = [at.to_string()].into_iter().chain(lines).collect();
            if lines.len() > 4 {
                // Complete, and as a crash would leave it.
                all.push(lines.join("\n").into());
                all.push(lines.get(..lines.len() * 2 / 3).unwrap_or_default().join("\n").into());
            }
        }
    }
    all
}

fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let which = lines.next().and_then(|line| line.trim().parse::<usize>().ok()).unwrap_or(0);
    let entries: Vec<Entry> = lines.filter_map(decode).collect();
    let Some(prepared) = PROGRAMS.get(which % PROGRAMS.len().max(1)) else { return };
    let first = Machine::replay_journal(prepared.clone(), &entries);
    let resumed = match first {
        Err(error) => {
            assert!(!error.code.is_empty() && !error.message.is_empty(), "{error:?}");
            return;
        }
        Ok(resumed) => resumed,
    };
    let seed = entries.iter().fold(bytes.len() as u64, |all, entry| all.rotate_left(5) ^ entry.at_ms);
    let mut answers = Answers::new(&prepared.program, Choices::new(seed));
    play(&mut Run::resume(resumed, &entries), &mut answers, 60);
}

/// Parses a line as an entry. Writing it again must give an equivalent line.
fn decode(line: &str) -> Option<Entry> {
    let entry: Entry = serde_json::from_str(line).ok()?;
    let Ok(again) = serde_json::to_string(&entry) else { unreachable!("{entry:?} cannot be written") };
    match serde_json::from_str::<Entry>(&again) {
        Ok(back) => assert_eq!(back, entry, "{line}"),
        Err(why) => unreachable!("{again} cannot be read again: {why}"),
    }
    Some(entry)
}
