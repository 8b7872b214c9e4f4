//! Makes every class of mistakes and checks the result.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trefoil_project::load::{LoadOptions, check_paths};
use trefoil_syntax::diagnostic::Fix;
use trefoil_syntax::{FindingSeverity, SourceFiles};

use crate::classes::{CLASSES, Class};
use crate::edit::{Mutation, line_of};
use crate::manifest::Manifest;

/// The size of a run.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Selects the places.
    pub seed: u64,
    /// Maximum number of places for one class in one file.
    pub per_file: usize,
    /// Maximum number of places for one class.
    pub per_class: usize,
}

/// The results of one class.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub class: &'static str,
    /// Number of mistakes made.
    pub tries: usize,
    /// Mistakes with a finding that the correct file does not have.
    pub found: usize,
    /// Mistakes that are reported on one of their lines.
    pub placed: usize,
    /// Mistakes with a suggested change.
    pub offered: usize,
    /// Mistakes whose change leaves no new findings.
    pub mended: usize,
    /// Mistakes that were not found, or not on their lines.
    pub misses: Vec<Miss>,
}

/// A missed mistake.
#[derive(Debug)]
pub struct Miss {
    /// The manifest.
    pub path: PathBuf,
    /// The line of the mistake.
    pub line: usize,
    /// The text of that line.
    pub text: String,
    /// Findings on other lines.
    pub elsewhere: Vec<String>,
}

/// The results of all classes.
#[derive(Debug)]
pub struct Outcome {
    /// One row for each class.
    pub rows: Vec<Row>,
    /// Number of mutated manifests.
    pub manifests: usize,
}

struct Finding {
    what: (&'static str, FindingSeverity, String),
    lines: Vec<usize>,
    fix: Option<Box<Fix>>,
}

/// Makes the mistakes, checks, and counts.
pub fn run(folders: &[(&'static str, PathBuf)], limits: &Limits) -> Outcome {
    let mut sound = Vec::new();
    for (dialect, folder) in folders {
        for path in yaml_files(folder) {
            let Some(manifest) = Manifest::read(dialect, &path) else { continue };
            let found = findings(&path, None);
            if !found.iter().any(|f| f.what.1 == FindingSeverity::Error) {
                sound.push((manifest, found));
            }
        }
    }
    let rows = CLASSES.iter().map(|class| row(class, &sound, limits)).collect();
    Outcome { rows, manifests: sound.len() }
}

fn row(class: &Class, sound: &[(Manifest, Vec<Finding>)], limits: &Limits) -> Row {
    let mut tries: Vec<(&Manifest, &[Finding], Mutation)> = Vec::new();
    for (at, (manifest, before)) in sound.iter().enumerate() {
        if class.dialects.contains(&manifest.dialect) {
            let mut random = Random(limits.seed ^ (at as u64) << 32 ^ class.name.len() as u64);
            let picked = random.pick((class.seed)(manifest), limits.per_file);
            tries.extend(picked.into_iter().map(|m| (manifest, &**before, m)));
        }
    }
    let tries = Random(limits.seed).pick(tries, limits.per_class);
    let mut row =
        Row { class: class.name, tries: tries.len(), found: 0, placed: 0, offered: 0, mended: 0, misses: Vec::new() };
    for (manifest, before, mutation) in tries {
        one(manifest, before, &mutation, &mut row);
    }
    row
}

fn one(manifest: &Manifest, before: &[Finding], mutation: &Mutation, row: &mut Row) {
    let after = new(findings(&manifest.path, Some(&mutation.text)), before);
    row.found += usize::from(!after.is_empty());
    let here: Vec<&Finding> = after.iter().filter(|f| f.lines.iter().any(|l| mutation.lines.contains(l))).collect();
    if here.is_empty() {
        let line = mutation.lines.first().copied().unwrap_or(1);
        row.misses.push(Miss {
            path: manifest.path.clone(),
            line,
            text: mutation.text.lines().nth(line - 1).unwrap_or_default().trim().to_owned(),
            elsewhere: after.iter().map(|f| format!("{:?} {}", f.lines, f.what.0)).collect(),
        });
        return;
    }
    row.placed += 1;
    let fixes: Vec<&Fix> = here.iter().filter_map(|f| f.fix.as_deref()).collect();
    row.offered += usize::from(!fixes.is_empty());
    let mends = |fix: &&Fix| {
        apply(&mutation.text, fix).is_some_and(|text| new(findings(&manifest.path, Some(&text)), before).is_empty())
    };
    row.mended += usize::from(fixes.iter().any(mends));
}

fn apply(text: &str, fix: &Fix) -> Option<String> {
    let mut edits: Vec<_> = fix.edits.iter().collect();
    edits.sort_by_key(|e| std::cmp::Reverse(e.location.span.start));
    let mut text = text.to_owned();
    for edit in edits {
        let span = edit.location.span.start as usize..edit.location.span.end as usize;
        text.get(span.clone())?;
        text.replace_range(span, &edit.text);
    }
    Some(text)
}

/// The new findings. Places are not compared, because they move with the text.
fn new(after: Vec<Finding>, before: &[Finding]) -> Vec<Finding> {
    let mut known: HashMap<_, usize> = HashMap::new();
    for finding in before {
        *known.entry(&finding.what).or_default() += 1;
    }
    let fresh = |f: &Finding| match known.get_mut(&f.what) {
        Some(left @ 1..) => {
            *left -= 1;
            false
        }
        _ => true,
    };
    let mut fresh = fresh;
    after.into_iter().filter(|f| fresh(f)).collect()
}

fn findings(path: &Path, text: Option<&str>) -> Vec<Finding> {
    let overlay: HashMap<PathBuf, Arc<str>> = text.map(|t| (path.to_owned(), Arc::from(t))).into_iter().collect();
    let options = LoadOptions { overlay: Arc::new(overlay), ..LoadOptions::default() }.with_checks();
    let report = check_paths(&[path.display().to_string()], &options);
    let own = path.display().to_string();
    let files: &SourceFiles = &report.files;
    let mut found = Vec::new();
    for d in report.diagnostics {
        let line = |file, start: u32| {
            let file = files.get(file).filter(|f| f.name() == own)?;
            Some(line_of(file.text(), start as usize))
        };
        let main = d.file.zip(d.span).and_then(|(file, span)| line(file, span.start));
        let labels = d.labels.iter().filter_map(|l| line(l.location.file, l.location.span.start));
        let lines = main.into_iter().chain(labels).collect();
        found.push(Finding { what: (d.rule, d.severity, d.message), lines, fix: d.fix });
    }
    found
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => files.extend(yaml_files(&path)),
            path if path.extension().is_some_and(|e| e == "yaml") => files.extend(path.canonicalize()),
            _ => {}
        }
    }
    files.sort();
    files
}

/// A pseudo-random number generator (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn pick<T>(&mut self, mut all: Vec<T>, most: usize) -> Vec<T> {
        while all.len() > most {
            let at = usize::try_from(self.next() % all.len() as u64).unwrap_or(0);
            all.swap_remove(at);
        }
        all
    }
}
