//! The trace page and the page of the server: builds them, compares them with the committed ones, and tests them in a real browser.
//!
//! The pages are committed, so that building Trefoil needs neither node nor a browser. If they are missing, this command
//! reports what it skipped; with `--required`, that is a failure.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Outcome;

/// `cargo xtask browser [--required] [--traces DIR]`.
pub fn run(root: &Path, args: &[&str]) -> Outcome {
    let (required, rest): (Vec<&str>, Vec<&str>) = args.iter().partition(|a| **a == "--required");
    let required = !required.is_empty();
    match rest.as_slice() {
        [] | ["--traces", _] => {}
        _ => return Err("usage: cargo xtask browser [--required] [--traces DIR]".to_owned()),
    }
    let web = root.join("web");
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    if !there("node") || !there("npm") {
        return skip("node with npm", "the page was neither built nor tested", required);
    }
    // Installs exactly the locked versions, without running scripts of packages.
    let mut problems =
        usize::from(!done(&web, "npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"])?);
    if problems > 0 {
        return skip("what web/package-lock.json names", "the page was neither built nor tested", required);
    }
    for script in ["types", "check", "unit"] {
        problems += usize::from(!done(&web, "npm", &["run", "--silent", script])?);
    }
    if !there(&chromium) {
        return Ok(problems + skip(&chromium, "the page was not opened in a browser", required)?);
    }
    let mut browser = vec!["run", "--silent", "browser", "--"];
    let recorded = std::env::temp_dir().join(format!("trefoil-traces-{}", std::process::id()));
    let traces = recorded.to_string_lossy();
    if rest.is_empty() {
        problems += record(root, &recorded)?;
        browser.extend(["--traces", &traces]);
    }
    browser.extend(rest);
    problems += usize::from(!done(&web, "npm", &browser)?);
    let _ = std::fs::remove_dir_all(&recorded);
    problems += usize::from(!test_server(root, &web)?);
    Ok(problems)
}

/// Runs whose traces the page must show: the answers (the embedded model, or a script in `web/test/runs`), and the
/// example.
const RUNS: &[(&str, &str, &str)] = &[
    ("embedded", "examples/agntz#short-article", "topic=bees"),
    ("embedded", "examples/aegis/refine-loop.yaml", "topic=bees"),
    ("embedded", "examples/sirenspec/grade-essays.yaml", r#"message=[{"title": "Bees", "text": "They hum."}]"#),
    ("refused", "examples/sirenspec/brainstorm.yaml", "message=bees"),
    ("refused", "examples/sirenspec/resilient.yaml", "message=bees"),
    ("refused", "examples/agntz#short-article", "topic=bees"),
    ("cut", "examples/aegis/refine-loop.yaml", "topic=bees"),
    ("timeout", "examples/sirenspec/panel.yaml", "message=bees"),
];

/// Records the traces; returns how many are missing.
fn record(root: &Path, dir: &Path) -> Outcome {
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut problems = 0;
    for (index, (answers, target, input)) in RUNS.iter().enumerate() {
        let model = match *answers {
            "embedded" => "embedded".to_owned(),
            script => format!("scripted=web/test/runs/{script}.yaml"),
        };
        let trace = dir.join(format!("{index}.json"));
        // Most of these runs fail on purpose.
        let status = Command::new(env!("CARGO"))
            .args(["run", "--quiet", "--locked", "--bin", "trefoil", "--", "run", target, "--quiet"])
            .args(["--model", &model, "--input", input, "--trace"])
            .arg(&trace)
            .current_dir(root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if status.is_err() || !trace.is_file() {
            println!("`{target}` with {model} left no trace");
            problems += 1;
        }
    }
    Ok(problems)
}

/// Tests the page of a server that runs in a process of its own. Returns whether it succeeded.
fn test_server(root: &Path, web: &Path) -> Result<bool, String> {
    if !done(root, env!("CARGO"), &["build", "--quiet", "--locked", "--bin", "trefoil"])? {
        return Ok(false);
    }
    // Cargo puts both programs into the same folder.
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let program = own.with_file_name(format!("trefoil{}", std::env::consts::EXE_SUFFIX));
    println!("npm run server");
    let mut command = Command::new("npm");
    command.args(["run", "--silent", "server"]).env("TREFOIL", program).current_dir(web).stdin(Stdio::null());
    Ok(command.status().map_err(|e| format!("npm: {e}"))?.success())
}

fn skip(what: &str, so: &str, required: bool) -> Outcome {
    println!("skipped: there is no {what}, so that {so}");
    Ok(usize::from(required))
}

/// Whether a program can be started.
fn there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a program to its end; returns whether it succeeded.
fn done(dir: &Path, program: &str, args: &[&str]) -> Result<bool, String> {
    println!("{program} {}", args.join(" "));
    let status = Command::new(program)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .status()
        .map_err(|e| format!("{program}: {e}"))?;
    if !status.success() {
        println!("{program} {}: {status}", args.join(" "));
    }
    Ok(status.success())
}
