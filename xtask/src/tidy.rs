//! Checks the invariants of `docs/architecture.md` that Cargo and clippy cannot check.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::source_names::{CrateNames, allowed_words, find_dense, find_unsearchable};
use crate::words::{names, says, speaks_of, within};
use crate::{Outcome, circles, functions, named};

/// The workspace crates on which each crate may depend.
const LAYERS: &[(&str, &[&str])] = &[
    ("trefoil-syntax", &[]),
    ("trefoil-template", &[]),
    ("trefoil-shell", &[]),
    ("trefoil-ir", &["syntax", "template"]),
    ("trefoil-front", &["syntax", "template", "shell", "ir"]),
    ("trefoil-lint", &["syntax", "template", "ir", "front"]),
    ("trefoil-check", &["syntax", "template", "shell", "ir"]),
    ("trefoil-machine", &["syntax", "template", "ir"]),
    ("trefoil-coordinator", &["template", "ir", "machine"]),
    ("trefoil-runtime", &["syntax", "template", "ir", "machine", "coordinator"]),
    ("trefoil-store", &["template", "machine", "runtime"]),
    ("trefoil-embedded", &["template", "ir", "machine", "runtime"]),
    ("trefoil-models", &["syntax", "template", "ir", "machine", "runtime"]),
    ("trefoil-tools", &["syntax", "template", "ir", "machine", "runtime"]),
    ("trefoil-view", &["syntax", "template", "ir", "check", "machine", "runtime"]),
    (
        "trefoil-project",
        &[
            "syntax", "template", "ir", "front", "lint", "check", "machine", "runtime", "store", "models", "tools",
            "view",
        ],
    ),
    (
        "trefoil-host",
        &[
            "syntax", "template", "ir", "front", "check", "machine", "runtime", "store", "embedded", "models", "tools",
            "view", "project",
        ],
    ),
    ("trefoil-server", &["host", "ir", "lsp", "machine", "project", "runtime", "store", "syntax", "template", "view"]),
    ("trefoil-lsp", &["trefoil", "host", "project", "view", "syntax", "template", "ir", "front", "check", "models"]),
    (
        "trefoil-cli",
        &[
            "trefoil", "host", "project", "view", "store", "lsp", "server", "syntax", "template", "ir", "front",
            "check", "machine", "models", "runtime",
        ],
    ),
];

/// Crates without IO and async, and the words that indicate either.
const PURE: &[&str] = &[
    "trefoil-syntax",
    "trefoil-template",
    "trefoil-shell",
    "trefoil-ir",
    "trefoil-front",
    "trefoil-lint",
    "trefoil-check",
    "trefoil-machine",
    "trefoil-coordinator",
];
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env::",
    "std::time::",
    "std::thread",
    "tokio::",
    "async fn",
    "println!",
    "eprintln!",
];

/// Crates that must not name a dialect, except in comments.
const NAMELESS: &[&str] = &[
    "trefoil-syntax",
    "trefoil-shell",
    "trefoil-ir",
    "trefoil-check",
    "trefoil-machine",
    "trefoil-coordinator",
    "trefoil-runtime",
    "trefoil-store",
    "trefoil-embedded",
];

/// Code that accesses files. Paths from a manifest must go through the file access, so only the listed places may
/// access files, each with its reason. Tests may read anything.
const READING: &[&str] = &[
    "std::fs",
    "tokio::fs",
    "fs::read",
    "fs::read_dir",
    "fs::read_link",
    "fs::read_to_string",
    "fs::File",
    "File::open",
    ".canonicalize()",
    ".read_dir()",
    ".read_link()",
    ".symlink_metadata()",
    ".exists()",
    ".is_dir()",
];
const READERS: &[(&str, &str)] = &[
    ("crates/trefoil-project/src/file_access/", "the file access"),
    (
        "crates/trefoil-project/src/load/discovery.rs",
        "lists the names in a folder; files are read through the file access",
    ),
    (
        "crates/trefoil-project/src/fix/replacement.rs",
        "replaces files that were named, by real paths from the file access",
    ),
    ("crates/trefoil-store/src/sqlite/", "its own file, where the operator wants it"),
    ("crates/trefoil-models/src/scripted/mod.rs", "reads the script that the operator named"),
    ("crates/trefoil-cli/src/run/input.rs", "reads the input that the operator named"),
    ("crates/trefoil-cli/src/command_line/tests.rs", "a test"),
    ("crates/trefoil-cli/src/commands/", "write what the operator asked for, where it was asked for"),
    ("crates/trefoil-project/src/settings/trust.rs", "writes the list of what the user trusts"),
    ("crates/trefoil-project/src/secrets/file_lock.rs", "writes the files of the user's secrets"),
    ("crates/trefoil-project/src/private_files.rs", "makes files and folders of the user that nobody else may read"),
    ("crates/trefoil-tools/src/process/", "looks at the processes that it started"),
    ("crates/trefoil-project/src/shell", "looks whether the folder exists that a command names"),
    ("crates/trefoil-cli/src/trace/trace_file.rs", "reads the trace that the operator named"),
    ("crates/trefoil-project/src/output_file.rs", "writes the trace where the operator wants it"),
    ("tools/mutations/", "runs over manifests of its own, and is not shipped"),
    ("tools/testbed/src/postgres.rs", "makes a folder for a server, and is not shipped"),
    ("tools/untested/src/lib.rs", "looks for material that tests share, and is not shipped"),
    ("tools/fuzz-targets/", "makes folders of its own, and is not shipped"),
];

/// Code that parses JSON. What comes from outside is read by the one reader, so only the listed places may parse JSON
/// themselves, each with its reason.
const PARSING: &[&str] = &[
    "serde_json::from_str",
    "serde_json::from_slice",
    "serde_json::from_reader",
    "serde_json::Deserializer::from_str",
    "serde_json::Deserializer::from_slice",
    "serde_json::Deserializer::from_reader",
];
const PARSERS: &[(&str, &str)] = &[
    ("crates/trefoil-template/src/value/foreign_json.rs", "the reader"),
    ("crates/trefoil-machine/src/answer/pieces.rs", "finds where JSON in prose ends"),
    ("crates/trefoil-store/src/", "reads what it wrote"),
    ("crates/trefoil-project/src/bundle.rs", "reads what it wrote"),
    ("crates/trefoil-project/src/secrets/vault.rs", "reads what it wrote"),
    ("crates/trefoil-view/src/trace/page/tests.rs", "tests"),
    ("tools/", "not shipped"),
];

/// Longer files need `reason:` in their first lines.
const LONG: usize = 800;

/// Checks every source file and prints the problems.
pub fn run(root: &Path) -> Outcome {
    let mut problems = Vec::new();
    layers(root, &mut problems)?;
    let dialects = dialects(root)?;
    described(root, &mut problems)?;
    for name in folders(&root.join("crates"))? {
        cycles(root, &name, &mut problems)?;
    }
    never_run(root, &mut problems)?;
    let glossary = root.join("docs/glossary.md");
    let glossary = std::fs::read_to_string(&glossary).map_err(|e| format!("{}: {e}", glossary.display()))?;
    let names_by_crate = read_names(root)?;
    problems.extend(find_unsearchable(&names_by_crate, &allowed_words(&glossary)));
    problems.extend(find_dense(&names_by_crate));
    let mut sizes = Vec::new();
    let mut files = sources(&root.join("crates"))?;
    files.extend(sources(&root.join("tools"))?);
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let in_src = name.contains("/src/");
        if in_src {
            sizes.push(text.lines().count());
        }
        if !text.starts_with("//!") {
            problems.push(format!("{name}:1: does not open with a `//!` that says what it is for"));
        }
        if file.with_extension("").is_dir() {
            problems.push(format!("{name}: a module with a folder is `mod.rs` in that folder"));
        }
        if text.lines().count() > LONG && !text.lines().take(12).any(|l| l.contains("reason:")) {
            problems.push(format!("{name}: over {LONG} lines, and the first lines give no `reason:`"));
        }
        for (line, function, length) in if in_src { functions::long(&text) } else { Vec::new() } {
            problems.push(format!(
                "{name}:{line}: `{function}` has {length} lines, and no comment above it gives a `reason:`"
            ));
        }
        let code = if in_src { production(&text) } else { Vec::new() };
        for (line, content) in code {
            if PURE.iter().any(|c| within(&name, &format!("crates/{c}")))
                && let Some(word) = IMPURE.iter().find(|w| says(content, w))
            {
                problems.push(format!("{name}:{line}: `{word}` in a crate without IO"));
            }
            if let Some(word) = READING.iter().find(|w| says(content, w))
                && !READERS.iter().any(|(place, _)| within(&name, place))
            {
                problems
                    .push(format!("{name}:{line}: `{word}` past the file access (`trefoil-project/src/file_access`)"));
            }
            if let Some(word) = PARSING.iter().find(|w| says(content, w))
                && !PARSERS.iter().any(|(place, _)| within(&name, place))
            {
                problems.push(format!("{name}:{line}: `{word}` instead of `read_json` (`trefoil-template`)"));
            }
            if NAMELESS.iter().any(|c| within(&name, &format!("crates/{c}")))
                && let Some(word) = dialects.iter().find(|w| speaks_of(content, w))
            {
                problems.push(format!("{name}:{line}: `{word}` in a crate that knows no dialect"));
            }
        }
    }
    sizes.sort_unstable();
    println!(
        "tidy: {} source files, median {} lines, longest {}",
        sizes.len(),
        sizes.get(sizes.len() / 2).unwrap_or(&0),
        sizes.last().unwrap_or(&0)
    );
    for problem in &problems {
        println!("{problem}");
    }
    Ok(problems.len())
}

/// The names in a folder, in order.
fn folders(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// The names in the sources of each crate.
pub fn read_names(root: &Path) -> Result<BTreeMap<String, CrateNames>, String> {
    let mut crates = BTreeMap::new();
    for name in folders(&root.join("crates"))? {
        let mut names = CrateNames::default();
        for file in sources(&root.join("crates").join(&name).join("src"))? {
            let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            let path = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            if path.ends_with("/tests.rs") || path.contains("/tests/") {
                continue;
            }
            let lines = production(&text).into_iter().filter(|(_, line)| !line.trim().is_empty()).count();
            names.add_file(&path, &text, lines)?;
        }
        crates.insert(name, names);
    }
    Ok(crates)
}

/// Modules of a crate that need each other.
fn cycles(root: &Path, name: &str, problems: &mut Vec<String>) -> Result<(), String> {
    let src = root.join("crates").join(name).join("src");
    let mut code = Vec::new();
    for file in sources(&src)? {
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let lines: Vec<&str> = production(&text).into_iter().map(|(_, line)| line).collect();
        code.push((file.strip_prefix(&src).unwrap_or(&file).display().to_string(), lines.join("\n")));
    }
    let circles = circles::of(&code).into_iter();
    problems
        .extend(circles.map(|circle| format!("crates/{name}: modules that need each other: {}", circle.join(", "))));
    Ok(())
}

/// Tests in a library whose manifest says that it has none, so that nothing builds it for them: they would never run.
fn never_run(root: &Path, problems: &mut Vec<String>) -> Result<(), String> {
    for folder in ["crates", "tools"] {
        for name in folders(&root.join(folder))? {
            let path = root.join(folder).join(&name);
            let manifest = path.join("Cargo.toml");
            let manifest = std::fs::read_to_string(&manifest).map_err(|e| format!("{}: {e}", manifest.display()))?;
            if !manifest.lines().any(|line| line == "test = false") {
                continue;
            }
            for file in sources(&path.join("src"))? {
                let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
                if text.contains("#[test]") {
                    problems
                        .push(format!("{}: its tests never run: `test = false` in {folder}/{name}", file.display()));
                }
            }
        }
    }
    Ok(())
}

/// The dialects; each has a schema.
fn dialects(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("crates/trefoil-front/schemas");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let names =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json").map(str::to_owned));
    let names: Vec<String> = names.collect();
    if names.is_empty() { Err(format!("no schemas in {}", folder.display())) } else { Ok(names) }
}

/// Everything that the pages about the code name must exist.
fn described(root: &Path, problems: &mut Vec<String>) -> Result<(), String> {
    let listed = std::process::Command::new("git").args(["ls-files"]).current_dir(root).output();
    let listed = listed.map_err(|e| format!("git ls-files: {e}"))?;
    let files: Vec<String> = String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect();
    let code: String = files
        .iter()
        .filter(|file| file.ends_with(".rs"))
        .filter_map(|file| std::fs::read_to_string(root.join(file)).ok())
        .collect();
    let known = names(&code).collect();
    let about_code = |file: &&String| {
        matches!(&***file, "docs/architecture.md" | "docs/glossary.md") || within(file, "docs/decisions")
    };
    for page in files.iter().filter(about_code) {
        let text = std::fs::read_to_string(root.join(page)).map_err(|e| format!("{page}: {e}"))?;
        let missing = named::missing(&text, &files, &known);
        problems.extend(missing.iter().map(|name| format!("{page}: `{name}` does not exist")));
    }
    Ok(())
}

fn layers(root: &Path, problems: &mut Vec<String>) -> Result<(), String> {
    for (name, allowed) in LAYERS {
        let path = root.join("crates").join(name).join("Cargo.toml");
        let manifest = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("").split("\n[").next().unwrap_or("");
        for line in dependencies.lines() {
            let Some(dependency) = line.split(['.', ' ', '=']).next().filter(|d| d.starts_with("trefoil")) else {
                continue;
            };
            let short = dependency.strip_prefix("trefoil-").unwrap_or(dependency);
            if !allowed.contains(&short) {
                problems.push(format!(
                    "crates/{name}/Cargo.toml: depends on `{dependency}`, against the direction of the data"
                ));
            }
        }
    }
    Ok(())
}

/// The lines that are neither comments nor tests, with their numbers. Test modules are always at the end of a file.
fn production(text: &str) -> Vec<(usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| !line.trim_start().starts_with("#[cfg(test)]"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(n, line)| (n + 1, line.split(" // ").next().unwrap_or(line)))
        .collect()
}

fn sources(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let mut out = Vec::new();
    let mut stack = vec![dir.to_owned()];
    while let Some(dir) = stack.pop() {
        for entry in std::fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                stack.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    out.sort();
    Ok(out)
}
