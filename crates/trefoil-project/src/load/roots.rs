//! Finds the manifest to which a target refers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use trefoil_check::Root;
use trefoil_check::proof::Proof;
use trefoil_ir::schema::pattern_bytes;
use trefoil_ir::{Facts, Program, StepKind, ToolKind};
use trefoil_syntax::{Diagnostic, Diagnostics, FileId, Severity, suggest};
use trefoil_template::limits::PATTERNS_BYTES;

use super::lower::{LoadedFolder, folder_of, nothing_in};
use super::made::{CompiledDocuments, LinkedProgram};
use super::read::{FileLoader, about_shape, is_foreign};
use super::rules;
use crate::door;
use crate::target::LoadTarget;

/// The manifest, lowered.
pub(super) struct MeantEntry {
    /// The program.
    pub program: Program,
    /// The facts about names.
    pub facts: Facts,
    /// What is proved about it, if that was requested.
    pub proofs: Vec<Proof>,
    /// Whether it was fully checked.
    pub proved: bool,
    /// Its file.
    pub file: FileId,
    /// Its dialect.
    pub dialect: &'static str,
    /// Its description.
    pub about: Option<String>,
    /// Environment files.
    pub env_files: Vec<door::NamedFile>,
    /// The names in it that mean an MCP server.
    pub servers: BTreeSet<String>,
}

/// Finds and lowers the manifest of a target; mistakes go to `found`.
pub(super) fn entry(loader: &mut FileLoader, target: &LoadTarget, found: &mut Diagnostics) -> Option<MeantEntry> {
    if loader.options.door.is_folder(&target.path) {
        let folder = LoadedFolder::whole(loader, &target.path, &[]);
        // The run may not need the unreadable part; if it does, that is a separate error.
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
    let (folder, made) = LoadedFolder::made(loader, &root, named, &[manifest.file]);
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
    lowered(loader, &folder, index, made, found)
}

fn lowered(
    loader: &mut FileLoader,
    folder: &LoadedFolder,
    index: usize,
    made: CompiledDocuments,
    found: &mut Diagnostics,
) -> Option<MeantEntry> {
    let document = folder.project.documents.get(index)?;
    let mut made = made.proved(loader);
    let proved = made.is_proved(document.file);
    found.extend(made.findings);
    let LinkedProgram { program, env_files, .. } = made.programs.pop().filter(|_| proved)?;
    if let Some(heavy) = heavy_patterns(&program) {
        found.push(heavy);
        return None;
    }
    let env_files = folder.env_files(loader, &env_files);
    let (facts, file, dialect) = (made.facts, document.file, document.front.name());
    let about = document.front.about(document).map(str::to_owned);
    let servers = servers(&program, folder);
    let proofs = match loader.options.proofs && loader.options.checks.is_some() {
        true => {
            let root = Root { flow: program.entry, limits: loader.limits(file), supplied: loader.supplied(file) };
            trefoil_check::prove(&program, &facts, &root)
        }
        false => Vec::new(),
    };
    Some(MeantEntry { program, facts, proofs, proved, file, dialect, about, env_files, servers })
}

/// The servers that a program calls among those that names in its files mean.
fn servers(program: &Program, folder: &LoadedFolder) -> BTreeSet<String> {
    let files = program.files();
    let meant: BTreeSet<&String> = files.iter().filter_map(|file| folder.project.servers.get(file)).flatten().collect();
    let called = |name: &str| {
        program.steps.iter().any(|step| match &step.kind {
            StepKind::Tool(call) => matches!(&call.kind, ToolKind::Mcp { server, .. } if **server == *name),
            _ => false,
        })
    };
    meant.into_iter().filter(|name| called(name)).cloned().collect()
}

/// Reports a program whose compiled patterns need too much memory.
fn heavy_patterns(program: &Program) -> Option<Diagnostic> {
    let all: Vec<_> = program.schemas.iter().map(|schema| schema.json.to_json()).collect();
    if pattern_bytes(&all, PATTERNS_BYTES) <= PATTERNS_BYTES {
        return None;
    }
    let mb = PATTERNS_BYTES >> 20;
    let message = format!("the patterns in the schemas of this program take more than {mb} MB");
    let at = program.schemas.iter().next()?.origin;
    Some(Diagnostic::error(rules::LIMIT, at, message).help("use smaller repetitions, or `minLength` and `maxLength`"))
}

/// The file of the manifest that a target means, without checking it; `None` if it means none, or several.
pub(super) fn file(loader: &mut FileLoader, target: &LoadTarget) -> Option<PathBuf> {
    if !loader.options.door.is_folder(&target.path) {
        return Some(target.path.clone());
    }
    let folder = LoadedFolder::whole(loader, &target.path, &[]);
    let all: Vec<usize> = (0..folder.project.documents.len()).collect();
    let meant = match &target.id {
        Some(id) => all.into_iter().filter(|at| ids(&folder, *at).contains(id)).collect(),
        None => unreferenced(&folder, &folder.make(&all)),
    };
    let [one] = meant.as_slice() else { return None };
    let file = folder.project.documents.get(*one)?.file;
    Some(loader.files().get(file)?.name().into())
}

fn ids(folder: &LoadedFolder, index: usize) -> Vec<String> {
    let document = folder.project.documents.get(index);
    document.map(|d| d.front.ids(d).into_iter().map(|(id, _)| id).collect()).unwrap_or_default()
}

fn by_id(loader: &mut FileLoader, folder: &LoadedFolder, id: &str, found: &mut Diagnostics) -> Option<MeantEntry> {
    let all: Vec<usize> = (0..folder.project.documents.len()).collect();
    let have: Vec<usize> = all.iter().copied().filter(|i| ids(folder, *i).iter().any(|have| have == id)).collect();
    match have.as_slice() {
        [] => {
            let diagnostic = unknown_id(loader, folder, &folder.root, id, &all);
            found.push(diagnostic);
            // It may be in a file that could not be read completely.
            for file in &folder.listed {
                if let Some(manifest) = folder.manifest(*file).filter(|m| !m.complete) {
                    found.extend(manifest.diagnostics.iter().cloned());
                }
            }
            None
        }
        [one] => {
            let made = folder.make_as_meant(loader, &[*one]);
            lowered(loader, folder, *one, made, found)
        }
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

fn unknown_id(loader: &mut FileLoader, folder: &LoadedFolder, path: &Path, id: &str, among: &[usize]) -> Diagnostic {
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

/// The manifests of a folder that no other manifest references, each as a target. For a file, the file itself.
pub(super) fn roots(loader: &mut FileLoader, path: &Path) -> Vec<LoadTarget> {
    if !loader.options.door.is_folder(path) {
        return vec![LoadTarget { path: path.to_owned(), id: None }];
    }
    let folder = LoadedFolder::whole(loader, path, &[]);
    let made = folder.make(&(0..folder.project.documents.len()).collect::<Vec<_>>());
    let files = unreferenced(&folder, &made).into_iter().filter_map(|at| folder.project.documents.get(at));
    let names = files.filter_map(|document| loader.files().get(document.file));
    names.map(|file| LoadTarget { path: file.name().into(), id: None }).collect()
}

fn unreferenced(folder: &LoadedFolder, made: &CompiledDocuments) -> Vec<usize> {
    let referenced: BTreeSet<FileId> = made.calls().map(|(_, to)| to).collect();
    let documents = folder.project.documents.iter().enumerate();
    documents.filter(|(_, document)| !referenced.contains(&document.file)).map(|(at, _)| at).collect()
}

/// The only manifest of a folder that no other manifest references.
fn only_root(loader: &mut FileLoader, folder: &LoadedFolder, found: &mut Diagnostics) -> Option<MeantEntry> {
    let documents = &folder.project.documents;
    if documents.is_empty() {
        let unread = folder.listed.iter().filter_map(|f| folder.manifest(*f));
        for manifest in unread {
            if !is_foreign(manifest, loader.files()) {
                found.extend(manifest.diagnostics.iter().cloned());
            }
            found.extend(about_shape(manifest, loader.files(), false));
        }
        found.push(nothing_in(loader, &folder.root, !folder.listed.is_empty()));
        return None;
    }
    let all: Vec<usize> = (0..documents.len()).collect();
    let made = folder.make(&all);
    let roots = unreferenced(folder, &made);
    if let [one] = roots.as_slice() {
        let made = folder.make_as_meant(loader, &[*one]);
        return lowered(loader, folder, *one, made, found);
    }
    // A manifest that does not load may reference the others, so its mistakes are reported.
    let broken = |d: &Diagnostic| d.file.is_some_and(|file| !made.is_proved(file));
    found.extend(made.findings.iter().filter(|d| broken(d)).cloned());
    let names: Vec<String> = roots.iter().flat_map(|i| ids(folder, *i)).collect();
    let file = loader.nameless(&folder.root);
    let path = folder.root.display();
    let message = if roots.is_empty() {
        format!("every manifest in `{path}` is used by another one, so there is no entry")
    } else {
        format!("`{path}` has {} manifests that could be the target", roots.len())
    };
    let alone = |n: &&String| names.iter().filter(|other| other == n).count() == 1;
    // An id that several of them have chooses none.
    let shown = roots.iter().flat_map(|i| {
        let path = folder.project.documents.get(*i).map(|document| document.path.clone()).unwrap_or_default();
        ids(folder, *i).into_iter().map(move |id| (id, path.clone()))
    });
    let shown: Vec<String> = shown.map(|(id, path)| if alone(&&id) { id } else { path }).collect();
    let example =
        names.iter().find(alone).map(|n| format!("choose one, for example `{path}#{n}`: ")).unwrap_or_default();
    found.push(
        Diagnostic::nowhere(rules::AMBIGUOUS_TARGET, Severity::Error, Some(file), message)
            .help(format!("{example}{}", listed(&shown))),
    );
    None
}

/// The first few names of a list.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(20).map(|n| format!("`{n}`")).collect();
    let rest = names.len().saturating_sub(shown.len());
    let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
