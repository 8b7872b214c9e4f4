//! The trace page: builds it, compares it with what is committed, and tests it in a real browser.
//!
//! The page is committed, so that building Trefoil needs neither node nor a browser. Where they are missing, this chore says
//! what it did not do; with `--required` that is a failure.

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
    // The lock file decides; scripts of packages do not run.
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
    browser.extend(rest);
    problems += usize::from(!done(&web, "npm", &browser)?);
    Ok(problems)
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

/// Runs a program to its end; whether it succeeded.
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
