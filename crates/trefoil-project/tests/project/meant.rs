//! A misspelt word of a format is one finding: what only follows from it is not reported, and everything else is.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trefoil_check::RuleLevel;
use trefoil_project::load::{LoadOptions, LoadReport, check_paths, load_target};
use trefoil_project::target::LoadTarget;
use trefoil_syntax::{Diagnostic, FindingSeverity};

use crate::Folder;

/// The findings in a file of the examples with another text.
fn with(path: &Path, text: &str) -> LoadReport {
    let overlay = Arc::new(HashMap::from([(path.canonicalize().unwrap(), Arc::from(text))]));
    check_paths(&[path.display().to_string()], &LoadOptions { overlay, ..LoadOptions::default().with_checks() })
}

fn examples(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            examples(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            all.push(path);
        }
    }
}

/// How often each message occurs.
fn counted<'d>(found: impl Iterator<Item = &'d Diagnostic>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    found.for_each(|d| *counts.entry(format!("{}: {}", d.rule, d.message)).or_default() += 1);
    counts
}

/// The lines with a key of four letters or more, and where its last letter is.
fn keys(text: &str) -> Vec<(usize, usize)> {
    let mut start = 0;
    let mut all = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let word = line.trim_start().trim_start_matches("- ");
        let at = start + line.len() - word.len();
        let length = word.bytes().take_while(|b| b.is_ascii_alphabetic() || *b == b'_').count();
        if length >= 4 && word[length..].starts_with(':') {
            all.push((number + 1, at + length - 1));
        }
        start += line.len();
    }
    all
}

/// Every how many keys of the examples are misspelt, one at a time. `TREFOIL_SLIPS=all`: each.
fn sample() -> usize {
    match std::env::var("TREFOIL_SLIPS") {
        Ok(all) if all == "all" => 1,
        _ => 8,
    }
}

const PIPELINE: &str = "id: main\nkind: sequential\ninputSchema: { topic: string }\nsteps:\n  - agent:\n      id: w\n      kind: llm\n      \
                        model: { provider: openai, name: gpt-4o }\n      instruction: I.\n      prompt: \"{{topic}}\"\n    \
                        input: { topic: \"{{topic}}\" }\n";

/// What is found in a file as it is written.
fn as_written(path: &Path, text: &str) -> LoadReport {
    let overlay = Arc::new(HashMap::from([(path.canonicalize().unwrap(), Arc::from(text))]));
    let mut options = LoadOptions { overlay, ..LoadOptions::default().with_checks() };
    options.checks.as_mut().unwrap().levels.set_level("unknown-key", RuleLevel::Allow);
    check_paths(&[path.display().to_string()], &options)
}

#[test]
fn what_another_file_cannot_do_without_is_an_error_where_it_is_misspelt() {
    let child = "id: child\nkind: llm\nmodel: { provider: openai, name: gpt-4o }\ninstruction: I.\ninputSchema: { topic: { type: string, \
                 defalt: tea } }\nprompt: \"{{topic}}\"\n";
    let parent = "id: parent\nkind: sequential\nsteps:\n  - ref: child\n";
    let folder = Folder::with(&[("child.yaml", child), ("parent.yaml", parent)]);
    let report =
        check_paths(&[folder.0.join("parent.yaml").display().to_string()], &LoadOptions::default().with_checks());
    let all: Vec<_> = report.diagnostics.iter().map(|d| (d.severity, d.rule)).collect();
    assert_eq!(all, [(FindingSeverity::Error, "unknown-key")], "{}", report.text());
}

#[test]
fn a_word_that_is_only_the_last_one_left_is_not_taken_for_a_slip() {
    let text = PIPELINE.replace("      instruction: I.\n", "      comment: \"{{and no template}}\"\n");
    let all = found(&text, &LoadOptions::default().with_checks());
    assert!(all.iter().all(|line| !line.contains("template")), "{all:#?}");
}

#[test]
fn of_two_slips_of_one_key_and_of_a_merged_one_only_one_counts() {
    let text = PIPELINE.replace("inputSchema:", "inputSchem: { other: string }\ninputSchma:");
    let all = found(&text, &LoadOptions::default().with_checks());
    assert_eq!(all.iter().filter(|line| line.contains("unknown-key")).count(), 2, "{all:#?}");
    let merged = "version: \"0.1\"\nnodes:\n  a: &b { type: agent, agent: w, writs: output.a }\n  c: { <<: *b, writes: output.c }\n\
                  agents: { w: { model: \"openai:gpt-4o\", system: hi } }\nedges: [{ from: a, to: c }]\ninput: { message: it }\n";
    let all = found(merged, &LoadOptions::default().with_checks());
    assert_eq!(all.len(), 1, "{all:#?}");
}

fn found(text: &str, options: &LoadOptions) -> Vec<String> {
    let folder = Folder::with(&[("main.yaml", text)]);
    let report = check_paths(&[folder.0.join("main.yaml").display().to_string()], options);
    report.diagnostics.iter().map(|d| format!("{:?} {}: {}", d.severity, d.rule, d.message)).collect()
}

#[test]
fn several_mistakes_are_found_at_once_and_those_inside_a_misspelt_key_too() {
    let text = PIPELINE
        .replace("steps:", "stps:")
        .replace("llm", "lm")
        .replace("prompt:", "promt:")
        .replace("{{topic}}\" }", "{{topc}}\" }");
    let all = found(&text, &LoadOptions::default().with_checks());
    expect_test::expect![[r#"
        Error unknown-key: an agent has no key `stps`, and lacks `steps`
        Error unknown-value: `kind` cannot be `lm`
        Warning unknown-key: an agent has no key `promt`
        Error unresolved-name: `topc` is not defined here"#]]
    .assert_eq(&all.join("\n"));
}

#[test]
fn what_follows_from_a_finding_that_is_hidden_is_reported() {
    let text = PIPELINE.replace("inputSchema:", "inputSchem:");
    let rules = |options: &LoadOptions, text: &str| -> Vec<String> {
        let all = found(text, options).into_iter();
        all.map(|line| line.split([' ', ':']).nth(1).unwrap().to_owned()).collect()
    };
    let mut options = LoadOptions::default().with_checks();
    assert_eq!(rules(&options, &text), ["unknown-key"]);
    options.checks.as_mut().unwrap().levels.set_level("unknown-key", RuleLevel::Allow);
    let hidden = rules(&options, &text);
    assert!(!hidden.is_empty() && !hidden.contains(&"unknown-key".to_owned()), "{hidden:?}");
    let comment = text.replace("inputSchem:", "# trefoil: allow unknown-key\ninputSchem:");
    assert_eq!(rules(&LoadOptions::default().with_checks(), &comment), hidden);
}

#[test]
fn what_runs_is_what_is_written() {
    let text = PIPELINE.replace("prompt:", "promt:");
    let folder = Folder::with(&[("main.yaml", &text)]);
    let target = LoadTarget::parse(&folder.0.join("main.yaml").display().to_string());
    let loaded = load_target(&target, &LoadOptions::default().with_checks())
        .unwrap_or_else(|report| panic!("{}", report.text()));
    assert!(loaded.diagnostics.iter().all(|d| d.severity < FindingSeverity::Error) && !loaded.diagnostics.is_empty());
    let plan = format!("{:?}", loaded.program);
    assert_eq!(plan, format!("{:?}", Folder::with(&[("main.yaml", &text)]).load("/main.yaml").program));
}

#[test]
fn a_word_that_does_not_fit_was_not_meant() {
    // A list is no instruction.
    let text = PIPELINE.replace("instruction: I.", "instruction: I.\n      promp: [a, b]");
    let all = found(&text, &LoadOptions::default().with_checks());
    assert_eq!(all.iter().filter(|line| line.contains("wrong-type")).count(), 0, "{all:#?}");
}

/// A misspelt target is one finding: what the run would do without the transition is not reported.
#[test]
fn a_misspelt_target_is_all_that_is_found() {
    let judge = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: j, version: '1' }\nspec:\n  runtime: { model: smart }\n  \
                 task: { instruction: Judge., prompt_template: \"{{instruction}} {{input}}\" }\n";
    let aegis = |target: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1' }}\nspec:\n  initial_state: DRAFT\n  states:\n    DRAFT: {{ kind: Agent, agent: j, input: \"x {{{{WEIGHING.output.why}}}}\", transitions: [ {{ condition: always, target: {target} }} ] }}\n    WEIGHING: {{ kind: Agent, agent: j, input: \"{{{{DRAFT.output}}}}\", transitions: [ {{ condition: score_above, threshold: 0.7, target: END }}, {{ condition: always, target: DRAFT }} ] }}\n    END: {{ kind: System, command: ls }}\n"
        )
    };
    let siren = |node: &str| {
        format!(
            "version: \"0.1\"\nagents: {{ a: {{ model: \"openai:m\", system: x }}, b: {{ model: \"openai:m\", system: \"{{{{ first.output }}}}\" }} }}\nnodes: {{ first: {{ agent: a, writes: working.f }}, second: {{ agent: b, writes: output.s }} }}\nedges: [ {{ from: {node}, to: second }} ]\ninput: {{ message: hi }}\n"
        )
    };
    for (sound, wrong) in [(aegis("WEIGHING"), aegis("WEIGHNIG")), (siren("first"), siren("frist"))] {
        let found = |text: &str| {
            let folder = Folder::with(&[("j.yaml", judge), ("main.yaml", text)]);
            let report =
                check_paths(&[folder.0.join("main.yaml").display().to_string()], &LoadOptions::default().with_checks());
            report.diagnostics.iter().map(|d| d.rule).collect::<Vec<_>>()
        };
        let before = found(&sound);
        let after = found(&wrong);
        assert_eq!([&["unknown-reference"], &*before].concat().len(), after.len(), "{before:?} {after:?}");
        assert!(after.contains(&"unknown-reference"), "{after:?}");
    }
}

/// Two files of one name: what follows from either of them is not reported at their callers.
#[test]
fn nothing_follows_from_one_of_several_files_with_a_name() {
    let baker = |n: u8| {
        format!(
            "id: baker\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninputSchema: {{ flour{n}: string }}\ninstruction: I.\nprompt: \"{{{{flour{n}}}}}\"\noutputSchema: {{ loaf{n}: string }}\n"
        )
    };
    let shop = "id: shop\nkind: sequential\nsteps: [ { ref: baker, input: { flour2: rye } } ]\noutput: { loaf: \"{{baker.loaf2}}\" }\n";
    let folder = Folder::with(&[("b1.yaml", &baker(1)), ("b2.yaml", &baker(2)), ("shop.yaml", shop)]);
    let report = check_paths(&[folder.0.display().to_string()], &LoadOptions::default().with_checks());
    let rules: Vec<&str> = report.diagnostics.iter().map(|d| d.rule).collect();
    assert_eq!(rules, ["duplicate-id", "ambiguous-reference"], "{}", report.text());

    let child = |n: u8| {
        format!(
            "version: \"0.1\"\nagents: {{ a: {{ model: \"openai:m\", system: \"{{{{ inputs.flour{n} }}}}\" }} }}\nnodes: {{ n: {{ agent: a, writes: output.loaf{n} }} }}\ninput: {{ message: hi, flour{n}: rye }}\n"
        )
    };
    let main = "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: \"{{ c.output.loaf2 }}\" } }\nnodes: { c: { type: workflow, ref: baker, inputs: { flour2: rye } }, n: { agent: a, writes: output.x } }\nedges: [ { from: c, to: n } ]\ninput: { message: hi }\n";
    let folder = Folder::with(&[("one/baker.yaml", &child(1)), ("two/baker.yaml", &child(2)), ("main.yaml", main)]);
    let report =
        check_paths(&[folder.0.join("main.yaml").display().to_string()], &LoadOptions::default().with_checks());
    let rules: Vec<&str> = report.diagnostics.iter().map(|d| d.rule).collect();
    assert_eq!(rules, ["ambiguous-reference"], "{}", report.text());
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn a_misspelt_key_of_an_example_is_all_that_is_found() {
        let mut all = Vec::new();
        examples(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"), &mut all);
        let mut tried = 0;
        for (number, path) in all.into_iter().enumerate() {
            let text = std::fs::read_to_string(&path).unwrap();
            let before = counted(with(&path, &text).diagnostics.iter());
            for (line, letter) in keys(&text).into_iter().skip(number % sample()).step_by(sample()) {
                let mut slip = text.clone();
                slip.remove(letter);
                let report = with(&path, &slip);
                // A name that the user has chosen is declared with another spelling then, which is another mistake.
                let known = |d: &&Diagnostic| {
                    d.rule != "unknown-key" || before.contains_key(&format!("{}: {}", d.rule, d.message))
                };
                let (own, more): (Vec<_>, Vec<_>) = report.diagnostics.iter().partition(|d| !known(d));
                let [own] = own.as_slice() else { continue };
                if own.fix.as_ref().is_none_or(|fix| fix.edits[0].location.span.start as usize > letter) {
                    continue;
                }
                tried += 1;
                let more = counted(more.into_iter());
                let known =
                    more.iter().all(|(message, times)| before.get(message).is_some_and(|before| times <= before));
                assert!(known, "{}:{line}\n{}", path.display(), report.text());
            }
        }
        assert!(tried > 400 / sample(), "{tried}");
    }

    #[test]
    fn a_file_with_a_misspelt_key_that_cannot_run_has_an_error() {
        let mut all = Vec::new();
        examples(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"), &mut all);
        let mut errors = 0;
        for (number, path) in all.into_iter().enumerate() {
            let text = std::fs::read_to_string(&path).unwrap();
            for (line, letter) in keys(&text).into_iter().skip(number % sample()).step_by(sample()) {
                let mut slip = text.clone();
                slip.remove(letter);
                if as_written(&path, &slip).has_errors() {
                    errors += 1;
                    assert!(with(&path, &slip).has_errors(), "{}:{line}", path.display());
                }
            }
        }
        assert!(errors > 100 / sample(), "{errors}");
    }
}
