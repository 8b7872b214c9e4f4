//! The pages of the rules: every rule has one, and its examples have the findings that it says.

use std::collections::BTreeSet;
use std::path::Path;

use trefoil_check::{Levels, Rule, RuleLevel};
use trefoil_project::load::{CheckOptions, LoadOptions};
use trefoil_syntax::{Diagnostic, FindingSeverity};
use trefoil_template::Policy;

use crate::Folder;

/// The contents of a page.
struct Page<'p> {
    /// The files of the section by name; the first one is checked.
    wrong: Vec<(String, &'p str)>,
    right: Vec<(String, &'p str)>,
    /// Why there is no example.
    without: Option<&'p str>,
}

/// Reads a page; the error says what is wrong with it.
fn page(rule: &Rule) -> Result<Page<'_>, String> {
    let text = rule.page;
    if text.lines().next() != Some(&format!("# {}", rule.name)) {
        return Err("the first line is not the rule's name".to_owned());
    }
    let summary = rule.page_summary();
    if summary.is_empty() || !summary.ends_with('.') || summary.contains('\n') {
        return Err(format!("the first paragraph is not one sentence in one line: {summary:?}"));
    }
    if section(text, "How to fix it").is_none_or(|s| s.trim().is_empty()) {
        return Err("it does not say how to fix it".to_owned());
    }
    let without =
        text.split_once("<!-- no example: ").and_then(|(_, rest)| rest.split_once(" -->")).map(|(why, _)| why);
    let blocks = |name| section(text, name).map(blocks).unwrap_or_default();
    let page = Page { wrong: blocks("Wrong"), right: blocks("Right"), without };
    match (page.without, page.wrong.is_empty(), page.right.is_empty()) {
        (None, false, false) => Ok(page),
        (Some(why), true, true) if !why.trim().is_empty() => Ok(page),
        _ => Err("it has neither both examples nor a reason why there are none".to_owned()),
    }
}

/// The text below a heading of the second level.
fn section<'p>(text: &'p str, heading: &str) -> Option<&'p str> {
    let (_, rest) = text.split_once(&format!("\n## {heading}\n"))?;
    Some(rest.split("\n## ").next().unwrap_or(rest))
}

/// The fenced blocks of a section, with the names of their files: ```` ```yaml agntz child.yaml ````.
fn blocks(section: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    let mut rest = section;
    while let Some((_, opened)) = rest.split_once("\n```") {
        let (info, body) = opened.split_once('\n').expect("a block has lines");
        let (text, after) = body.split_once("\n```").expect("a block is closed");
        let named = info.split_whitespace().skip(1).find(|word| word.contains('.'));
        let name = named.map_or_else(|| "main.yaml".to_owned(), str::to_owned);
        found.push((name, text));
        rest = after;
    }
    found
}

/// The findings about a folder with these files, with one rule turned on.
fn findings(files: &[(String, &str)], rule: &Rule) -> (Vec<(FindingSeverity, &'static str)>, String) {
    let files: Vec<(&str, String)> = files.iter().map(|(name, text)| (name.as_str(), format!("{text}\n"))).collect();
    let borrowed: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = Folder::with(&borrowed);
    let mut levels = Levels::default();
    if rule.level.is_none() {
        assert!(levels.set_level(rule.name, RuleLevel::Deny));
    }
    let checks = CheckOptions { levels, ..CheckOptions::default() };
    let options = LoadOptions { checks: Some(checks), ..LoadOptions::default() };
    let report = trefoil_project::load::check_paths(&[folder.0.join(files[0].0).display().to_string()], &options);
    (report.diagnostics.iter().map(|d| (d.severity, d.rule)).collect(), report.text())
}

#[test]
fn every_example_shows_its_rule() {
    let mut bad = Vec::new();
    for rule in trefoil_check::RULES.iter() {
        let page = match page(rule) {
            Ok(page) => page,
            Err(why) => {
                bad.push(format!("{}: {why}", rule.name));
                continue;
            }
        };
        if page.without.is_some() {
            continue;
        }
        let (wrong, text) = findings(&page.wrong, rule);
        if !wrong.iter().any(|(_, name)| *name == rule.name) {
            bad.push(format!("{}: the wrong example is not told so:\n{text}", rule.name));
        }
        let (right, text) = findings(&page.right, rule);
        if right.iter().any(|(severity, name)| *name == rule.name || *severity == FindingSeverity::Error) {
            bad.push(format!("{}: the right example is not right:\n{text}", rule.name));
        }
    }
    assert!(bad.is_empty(), "{} pages:\n\n{}", bad.len(), bad.join("\n\n"));
}

#[test]
fn the_registry_lists_exactly_what_loading_reports() {
    let mut files: Vec<_> = OWNERS.into_iter().flat_map(code_of).collect();
    // What else a project reports keeps a run from starting.
    let is_of_loading = |file: &str| file.contains("/load/") || file.ends_with("project_file.rs");
    files.extend(code_of("trefoil-project").into_iter().filter(|(file, _)| is_of_loading(file)));
    let reported: BTreeSet<&str> = files.iter().flat_map(|(_, text)| reported(text)).collect();
    let without: Vec<_> = reported.iter().filter(|name| trefoil_check::find_rule(name).is_none()).collect();
    assert!(without.is_empty() && reported.len() > 80, "no page in checker for {without:?}");
    files.extend(code_of("trefoil-check").into_iter().filter(|(file, _)| file.ends_with("suppress.rs")));
    let unknown: Vec<_> =
        loading().into_iter().filter(|rule| !files.iter().any(|(_, text)| names(text, rule))).collect();
    assert!(unknown.is_empty(), "no crate reports {unknown:?}");
    let names: BTreeSet<&str> = trefoil_check::RULES.iter().map(|r| r.name).collect();
    assert_eq!(names.len(), trefoil_check::RULES.len(), "a rule is listed twice");
}

/// The rules that reading, lowering and finders report.
fn loading() -> Vec<&'static str> {
    trefoil_check::RULES.iter().filter(|r| r.is_of_loading()).map(|r| r.name).collect()
}

/// The names of rules in code: in constants, and where a finding is made.
fn reported(text: &str) -> Vec<&str> {
    let made = [
        "Diagnostic::new_error(",
        "Diagnostic::new_warning(",
        "Diagnostic::new_info(",
        "reader.report_error(",
        "reader.report_warning(",
    ];
    let places = made.iter().flat_map(|made| text.split(made).skip(1));
    let constants = text.lines().filter(|line| line.contains("const ")).filter_map(|line| line.split_once(": &str = "));
    let named = places.chain(constants.map(|(_, value)| value)).filter_map(|rest| rest.trim_start().strip_prefix('"'));
    let is_name = |name: &&str| name.contains('-') && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    named.filter_map(|rest| rest.split('"').next()).filter(is_name).collect()
}

/// Whether code names a rule outside of a comment.
fn names(text: &str, rule: &str) -> bool {
    let quoted = format!("\"{rule}\"");
    text.lines().any(|line| !is_comment(line) && line.contains(&quoted))
}

/// The crates that report findings before there is a program. Each rule is named by one of them.
const OWNERS: [&str; 4] = ["trefoil-syntax", "trefoil-template", "trefoil-front", "trefoil-lint"];

/// The code of a crate by file.
fn code_of(name: &str) -> Vec<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is beside the others");
    let mut files = Vec::new();
    code(&crates.join(name).join("src"), &mut files);
    files
}

/// The code of a crate by file, without unit tests, which come last in a file.
fn code(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("sources can be listed") {
        let path = entry.expect("sources can be listed").path();
        if path.is_dir() {
            code(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).expect("sources can be read");
            let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            found.push((path.display().to_string(), text));
        }
    }
}

#[test]
fn what_a_program_shows_is_reported_by_the_checker_alone() {
    let files: Vec<_> = OWNERS.into_iter().flat_map(code_of).collect();
    assert!(files.len() > 100, "the sources are there");
    let owned: Vec<&str> = trefoil_check::RULES.iter().filter(|r| !r.is_of_loading()).map(|r| r.name).collect();
    let mut wrong = Vec::new();
    for (file, text) in &files {
        wrong.extend(
            owned.iter().filter(|rule| text.contains(&format!("\"{rule}\""))).map(|rule| format!("{file}: {rule}")),
        );
    }
    assert!(wrong.is_empty(), "rules of the checker that are named before there is a program:\n{}", wrong.join("\n"));
}

#[test]
fn a_rule_of_loading_is_named_by_its_owner_alone() {
    let crates = OWNERS.map(|name| (name, code_of(name)));
    let mut wrong = Vec::new();
    for rule in loading() {
        let owners = crates.iter().filter(|(_, files)| files.iter().any(|(_, text)| names(text, rule)));
        let owners: Vec<&str> = owners.map(|(name, _)| *name).collect();
        wrong.extend((owners.len() > 1).then(|| format!("{rule}: {owners:?}")));
    }
    assert!(wrong.is_empty(), "rules that two crates name:\n{}", wrong.join("\n"));
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[test]
fn the_checker_reports_its_own_rules_alone() {
    let mut files = Vec::new();
    code(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../trefoil-check/src/rules"), &mut files);
    // A rule's findings get the rule's name automatically, so none may be created by hand.
    let by_hand = ["Diagnostic::new(", "Diagnostic::error(", "Diagnostic::warning(", "Diagnostic::info("];
    let wrong: Vec<_> = files.iter().filter(|(_, text)| by_hand.iter().any(|made| text.contains(made))).collect();
    assert!(wrong.is_empty(), "{:#?}", wrong.iter().map(|(file, _)| file).collect::<Vec<_>>());
}

#[test]
fn the_checker_speaks_no_language_of_its_own() {
    let mut files = Vec::new();
    code(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../trefoil-check/src"), &mut files);
    let words = [Policy::AGNTZ, Policy::AEGIS, Policy::SIRENSPEC].map(|policy| policy.words);
    let spelt = words.iter().flat_map(|w| {
        let of_states =
            w.transitions.map(|t| [t.condition_line(t.always), format!("`{}`", t.success), format!("`{}`", t.failure)]);
        let of_loops = w.until.map(|until| format!("`{until}`"));
        of_states.into_iter().flatten().chain(of_loops).chain([format!("`{}`", w.kept)])
    });
    let spelt: BTreeSet<String> = spelt.collect();
    let says =
        |text: &str| spelt.iter().find(|word| text.lines().any(|l| !is_comment(l) && l.contains(&***word))).cloned();
    let wrong: Vec<_> = files.iter().filter_map(|(file, text)| Some((file, says(text)?))).collect();
    assert!(wrong.is_empty(), "words of one dialect; `Facts::words` has those of the manifest: {wrong:#?}");
}

#[test]
fn what_is_said_about_a_rule_holds_for_what_was_split_from_it() {
    let wholes = |rule: &'static trefoil_check::Rule| {
        trefoil_check::rules::split_from(rule.name).iter().map(move |whole| (rule, *whole))
    };
    for (part, whole) in trefoil_check::RULES.iter().flat_map(|rule| wholes(rule)) {
        assert!(trefoil_check::find_rule(whole).is_some(), "{whole} is a rule");
        let mut levels = Levels::default();
        assert!(levels.set_level(whole, RuleLevel::Deny));
        let finding = Diagnostic::without_location(part.name, FindingSeverity::Warning, None, "found");
        assert!(levels.is_requested(&finding), "{} follows {whole}", part.name);
        assert!(levels.set_level(part.name, RuleLevel::Warn));
        assert!(!levels.is_requested(&finding), "its own level counts first");
    }
}

#[test]
fn a_finding_that_moved_to_another_rule_answers_to_its_old_name() {
    let flow = |line: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: flow\n  output_schema: {{ type: object, properties: {{ a: {{ type: string }} }} }}\n  output_template:\n    a: \"{{{{A.output}}}}\"\n    {line}\nspec:\n  states:\n    - {{ name: A, kind: System, command: echo hi }}\n"
        )
    };
    let spec = |line: &str| {
        format!(
            "version: \"0.1\"\ninput: {{ user: {{ name: Ann }} }}\nagents:\n  w:\n    model: \"openai:gpt-4o-mini\"\n    system: |\n      {line}\nnodes:\n  w: {{ agent: w, writes: output.text }}\n"
        )
    };
    let cases = [
        (
            "unresolved-name",
            "unknown-property",
            flow("a: \"{{workflow.agent_id}}\"").replace("    a: \"{{A.output}}\"\n", ""),
        ),
        ("schema-mismatch", "unknown-property", flow("b: x")),
        ("unresolved-name", "unknown-property", spec("{{ inputs.user.nmae }}")),
        ("unresolved-name", "wrong-default", spec("{{ inputs.user.nmae }}")),
        ("unresolved-name", "unknown-property", spec("{{ working.x | default('-') }}")),
        ("unresolved-name", "property-of-text", spec("{{ working.x | default('-') }}")),
    ];
    for (rule, old, text) in &cases {
        let named = trefoil_check::find_rule(rule).expect("it is a rule");
        let (found, shown) = findings(&[("main.yaml".to_owned(), text)], named);
        assert!(
            found.iter().any(|(severity, name)| name == rule && *severity < FindingSeverity::Error),
            "{text}\n{shown}"
        );
        let allowed = format!("# trefoil: allow-file {old}\n{text}");
        let (found, shown) = findings(&[("main.yaml".to_owned(), &allowed)], named);
        assert!(found.iter().all(|(_, name)| name != rule && *name != "unused-suppression"), "{old}\n{shown}");
    }
}

#[test]
fn samples_of_settings_in_the_documents_can_be_copied() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = std::fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path());
    let mut samples = 0;
    for page in pages.filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let text = std::fs::read_to_string(&page).unwrap();
        for sample in text.split("```toml\n").skip(1) {
            let sample = sample.split("```").next().unwrap();
            let read = sample.parse::<toml::Table>();
            assert!(read.is_ok(), "{}: {}\n{sample}", page.display(), read.unwrap_err());
            // A setting behind a `#` would be a comment.
            let hidden = sample.lines().find(|line| line.split_once('#').is_some_and(|(_, said)| said.contains(" = ")));
            assert!(hidden.is_none(), "{}: {hidden:?}", page.display());
            samples += 1;
        }
    }
    assert!(samples > 5, "{samples}");
}
