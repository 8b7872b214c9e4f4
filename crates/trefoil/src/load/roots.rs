//! Which manifest a target means.

use std::collections::BTreeSet;
use std::path::Path;

use trefoil_front::Lowered;
use trefoil_ir::schema::pattern_bytes;
use trefoil_ir::{Facts, Program};
use trefoil_syntax::{Diagnostic, Diagnostics, FileId, Severity, suggest};
use trefoil_template::limits::PATTERNS_BYTES;

use super::lower::{Attempt, Folder, folder_of, nothing_in};
use super::read::{Loader, about_shape};
use super::{Target, rules};
use crate::door;

/// The manifest that was meant, lowered.
pub(super) struct MeantEntry {
    /// The program and what it needs.
    pub lowered: Lowered,
    /// What lowering learned about names.
    pub facts: Facts,
    /// Whether everything that can be found was looked for.
    pub proved: bool,
    /// Its file.
    pub file: FileId,
    /// Its dialect.
    pub dialect: &'static str,
    /// Environment files.
    pub env_files: Vec<door::Named>,
}

/// Finds and lowers the manifest that a target means; what is wrong goes to `found`.
pub(super) fn entry(loader: &mut Loader, target: &Target, found: &mut Diagnostics) -> Option<MeantEntry> {
    if loader.options.door.is_folder(&target.path) {
        let folder = Folder::whole(loader, &target.path, &[]);
        // What is run may need nothing of it; if it does, that is an error of its own.
        found.extend(folder.unseen.iter().map(|d| Diagnostic { severity: Severity::Warning, ..d.clone() }));
        return match &target.id {
            Some(id) => by_id(loader, &folder, id, found),
            None => only_root(loader, &folder, found),
        };
    }
    let manifest = loader.manifest(&target.path);
    if manifest.unreadable {
        found.extend(manifest.diagnostics.iter().cloned());
        return None;
    }
    let (root, named) = (folder_of(&target.path), std::slice::from_ref(&target.path));
    let mut folder = Folder::around(loader, &root, named);
    let mut alone = folder.document(manifest.file).map(|i| folder.lower(i));
    if alone.as_ref().is_some_and(|attempt| folder.lacks(attempt)) {
        folder = Folder::read(loader, &root, named);
        alone = None;
    }
    found.extend(folder.limits().cloned());
    let Some(index) = folder.document(manifest.file) else {
        found.extend(manifest.diagnostics.iter().cloned());
        found.extend(about_shape(&manifest, loader.files(), true));
        return None;
    };
    if let Some(id) = &target.id
        && !ids(&folder, index).contains(id)
    {
        found.push(unknown_id(loader, &folder, &target.path, id, &[index]));
        return None;
    }
    let attempt = alone.unwrap_or_else(|| folder.lower(index));
    lowered(loader, &folder, index, attempt, found)
}

fn lowered(
    loader: &mut Loader,
    folder: &Folder,
    index: usize,
    attempt: Attempt,
    found: &mut Diagnostics,
) -> Option<MeantEntry> {
    let document = folder.project.documents.get(index)?;
    let attempt = attempt.proved(loader, document.file);
    let proved = attempt.is_proved();
    found.extend(attempt.findings);
    let lowered = attempt.lowered?;
    if let Some(heavy) = heavy_patterns(&lowered.program) {
        found.push(heavy);
        return None;
    }
    let env_files = folder.env_files(loader, &lowered.env_files);
    Some(MeantEntry {
        lowered,
        facts: attempt.facts,
        proved,
        file: document.file,
        dialect: document.front.name(),
        env_files,
    })
}

/// A program whose schemas take too much room once their patterns are compiled.
fn heavy_patterns(program: &Program) -> Option<Diagnostic> {
    let all: Vec<_> = program.schemas.iter().map(|schema| schema.json.to_json()).collect();
    if pattern_bytes(&all, PATTERNS_BYTES) <= PATTERNS_BYTES {
        return None;
    }
    let mb = PATTERNS_BYTES >> 20;
    let message = format!("the patterns in the schemas of this program take more than {mb} MB");
    let at = program.schemas.first()?.origin;
    Some(Diagnostic::error(rules::LIMIT, at, message).help("use smaller repetitions, or `minLength` and `maxLength`"))
}

fn ids(folder: &Folder, index: usize) -> Vec<String> {
    let document = folder.project.documents.get(index);
    document.map(|d| d.front.ids(d).into_iter().map(|(id, _)| id).collect()).unwrap_or_default()
}

fn by_id(loader: &mut Loader, folder: &Folder, id: &str, found: &mut Diagnostics) -> Option<MeantEntry> {
    let all: Vec<usize> = (0..folder.project.documents.len()).collect();
    let have: Vec<usize> = all.iter().copied().filter(|i| ids(folder, *i).iter().any(|have| have == id)).collect();
    match have.as_slice() {
        [] => {
            let diagnostic = unknown_id(loader, folder, &folder.root, id, &all);
            found.push(diagnostic);
            // It may be in a file that could not be read to its end.
            for file in &folder.listed {
                if let Some(manifest) = folder.manifest(*file).filter(|m| !m.complete) {
                    found.extend(manifest.diagnostics.iter().cloned());
                }
            }
            None
        }
        [one] => lowered(loader, folder, *one, folder.lower(*one), found),
        several => {
            let mut places = several.iter().filter_map(|i| {
                let document = folder.project.documents.get(*i)?;
                document.front.ids(document).into_iter().find(|(have, _)| have == id).map(|(_, at)| at)
            });
            let message = format!("`{id}` is the id of {} manifests", several.len());
            let mut d = match places.next() {
                Some(at) => Diagnostic::error("duplicate-id", at, message),
                None => Diagnostic::nowhere("duplicate-id", Severity::Error, None, message),
            };
            for at in places {
                d = d.label(at, "also here");
            }
            found.push(d.help("name the file, or rename one of them"));
            None
        }
    }
}

fn unknown_id(loader: &mut Loader, folder: &Folder, path: &Path, id: &str, among: &[usize]) -> Diagnostic {
    let known: Vec<String> = among.iter().flat_map(|i| ids(folder, *i)).collect();
    let file = loader.nameless(path);
    let message = format!("no manifest in `{}` has the id `{id}`", path.display());
    let help = match suggest::nearest(id, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{}#{near}`?", path.display()),
        None if known.is_empty() => "none of the manifests has an id".to_owned(),
        None => format!("available: {}", listed(&known)),
    };
    Diagnostic::nowhere(rules::UNKNOWN_ID, Severity::Error, Some(file), message).help(help)
}

/// The one manifest of a folder that no other one references.
fn only_root(loader: &mut Loader, folder: &Folder, found: &mut Diagnostics) -> Option<MeantEntry> {
    let documents = &folder.project.documents;
    if documents.is_empty() {
        let unread = folder.listed.iter().filter_map(|f| folder.manifest(*f));
        for manifest in unread {
            found.extend(manifest.diagnostics.iter().cloned());
            found.extend(about_shape(manifest, loader.files(), false));
        }
        let nothing = nothing_in(loader, &folder.root);
        found.push(if folder.listed.is_empty() {
            nothing
        } else {
            Diagnostic {
                message: format!("there is no manifest in `{}`", folder.root.display()),
                help: None,
                ..nothing
            }
        });
        return None;
    }
    let mut attempts: Vec<_> = (0..documents.len()).map(|i| folder.lower(i)).collect();
    let mut referenced = BTreeSet::new();
    for (document, attempt) in documents.iter().zip(&attempts) {
        let Some(lowered) = &attempt.lowered else { continue };
        let files = lowered.program.flows.iter().map(|f| f.origin.file);
        referenced.extend(files.filter(|f| *f != document.file));
    }
    let roots: Vec<usize> =
        (0..documents.len()).filter(|i| documents.get(*i).is_some_and(|d| !referenced.contains(&d.file))).collect();
    if let [one] = roots.as_slice() {
        return lowered(loader, folder, *one, attempts.swap_remove(*one), found);
    }
    // A manifest that does not load may be the one that references the others: say what is wrong with it.
    for attempt in attempts.into_iter().filter(|a| a.lowered.is_none()) {
        found.extend(attempt.findings);
    }
    let names: Vec<String> = roots.iter().flat_map(|i| ids(folder, *i)).collect();
    let file = loader.nameless(&folder.root);
    let path = folder.root.display();
    let message = if roots.is_empty() {
        format!("every manifest in `{path}` is referenced by another one, so none is the entry")
    } else {
        format!("`{path}` has {} manifests that could be the target", roots.len())
    };
    let alone = |n: &&String| names.iter().filter(|other| other == n).count() == 1;
    let example =
        names.iter().find(alone).map(|n| format!("choose one, for example `{path}#{n}`: ")).unwrap_or_default();
    found.push(
        Diagnostic::nowhere(rules::AMBIGUOUS_TARGET, Severity::Error, Some(file), message)
            .help(format!("{example}{}", listed(&names))),
    );
    None
}

/// The first of some names.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(20).map(|n| format!("`{n}`")).collect();
    let rest = names.len().saturating_sub(shown.len());
    let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
