//! Finds the manifest to which a target refers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use trefoil_check::CheckRoot;
use trefoil_check::proof::ProgramProof;
use trefoil_ir::schema::pattern_bytes;
use trefoil_ir::{Facts, Program, StepKind, ToolKind};
use trefoil_syntax::{Diagnostic, DiagnosticList, FileId, FindingSeverity, Location, suggestions};
use trefoil_template::limits::PATTERNS_BYTES;

use super::compilation::{CompiledDocuments, LinkedProgram};
use super::file_loader::{FileLoader, about_shape, is_foreign};
use super::lowering::{LoadedFolder, folder_of, nothing_in};
use super::rules;
use crate::file_access;
use crate::target::LoadTarget;

/// The manifest, lowered.
pub(super) struct LoweredEntry {
    /// The program.
    pub program: Program,
    /// The facts about names.
    pub facts: Facts,
    /// What is proved about it, if that was requested.
    pub proofs: Vec<ProgramProof>,
    /// Whether it was fully checked.
    pub proved: bool,
    /// Its file.
    pub file: FileId,
    /// Its dialect.
    pub dialect: &'static str,
    /// Its description.
    pub about: Option<String>,
    /// Environment files.
    pub env_files: Vec<file_access::NamedFile>,
    /// The names in it that mean an MCP server.
    pub servers: BTreeSet<String>,
}

/// A manifest of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderTarget {
    /// The manifest.
    pub target: LoadTarget,
    /// Whether no other manifest references it.
    pub is_root: bool,
}

/// Finds and lowers the manifest of a target; mistakes go to `found`.
pub(super) fn find_entry(
    loader: &mut FileLoader,
    target: &LoadTarget,
    found: &mut DiagnosticList,
) -> Option<LoweredEntry> {
    if loader.options.file_access.is_folder(&target.path) {
        let folder = LoadedFolder::read_whole_folder(loader, &target.path, &[]);
        // The run may not need the unreadable part; if it does, that is a separate error.
        found.extend(folder.unseen.iter().map(|d| Diagnostic { severity: FindingSeverity::Warning, ..d.clone() }));
        return match &target.id {
            Some(id) => by_id(loader, &folder, id, found),
            None => only_root(loader, &folder, found),
        };
    }
    let manifest = loader.load_manifest(&target.path);
    if manifest.unreadable {
        found.extend(manifest.diagnostics.iter().cloned());
        return None;
    }
    let (root, named) = (folder_of(&target.path), std::slice::from_ref(&target.path));
    let (folder, made) = LoadedFolder::load_and_compile(loader, &root, named, &[manifest.file]);
    found.extend(folder.limit_findings().cloned());
    let Some(index) = folder.document_index(manifest.file) else {
        found.extend(manifest.diagnostics.iter().cloned());
        found.extend(about_shape(&manifest, loader.read_files(), true));
        return None;
    };
    if let Some(id) = &target.id
        && !ids(&folder, index).contains(id)
    {
        found.push(unknown_id(loader, &folder, &target.path, id, &[index]));
        return None;
    }
    lower_entry(loader, &folder, index, made, found)
}

fn lower_entry(
    loader: &mut FileLoader,
    folder: &LoadedFolder,
    index: usize,
    made: CompiledDocuments,
    found: &mut DiagnosticList,
) -> Option<LoweredEntry> {
    let document = folder.project.documents.get(index)?;
    let mut made = made.with_rule_findings(loader);
    let proved = made.is_proved(document.file);
    found.extend(made.findings);
    if !proved {
        return None;
    }
    let LinkedProgram { program, env_files, .. } = made.programs.pop()?;
    if let Some(heavy) = heavy_patterns(&program) {
        found.push(heavy);
        return None;
    }
    let env_files = folder.env_files(loader, &env_files);
    let (facts, file, dialect) = (made.facts, document.file, document.front.name());
    let about = document.front.unit_description(document).map(str::to_owned);
    let servers = servers(&program, folder);
    let proofs = match loader.options.proofs && loader.options.checks.is_some() {
        true => {
            let root = CheckRoot {
                flow: program.entry,
                limits: loader.run_limits(file),
                supplied: loader.supplied_declarations(file),
            };
            trefoil_check::prove_program(&program, &facts, &root)
        }
        false => Vec::new(),
    };
    Some(LoweredEntry { program, facts, proofs, proved, file, dialect, about, env_files, servers })
}

/// The servers that a program calls among those that names in its files mean.
fn servers(program: &Program, folder: &LoadedFolder) -> BTreeSet<String> {
    let mut called: BTreeSet<&str> = BTreeSet::new();
    for step in program.steps.iter() {
        if let StepKind::Tool(call) = &step.kind
            && let ToolKind::Mcp { server, .. } = &call.kind
        {
            called.insert(server);
        }
    }
    let mut servers = BTreeSet::new();
    for file in program.file_ids() {
        let Some(meant) = folder.project.servers.get(&file) else { continue };
        for name in meant {
            if called.contains(name.as_str()) {
                servers.insert(name.clone());
            }
        }
    }
    servers
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
    Some(
        Diagnostic::new_error(rules::LIMIT, at, message)
            .with_help("use smaller repetitions, or `minLength` and `maxLength`"),
    )
}

/// The file of the manifest that a target means, without checking it; `None` if it means none, or several.
pub(super) fn find_target_file(loader: &mut FileLoader, target: &LoadTarget) -> Option<PathBuf> {
    if !loader.options.file_access.is_folder(&target.path) {
        return Some(target.path.clone());
    }
    let folder = LoadedFolder::read_whole_folder(loader, &target.path, &[]);
    let meant = match &target.id {
        Some(id) => documents_with_id(&folder, id),
        None => unreferenced_documents(&folder, &folder.compile_entries(&all_documents(&folder))),
    };
    let [one] = meant.as_slice() else { return None };
    let file = folder.project.documents.get(*one)?.file;
    Some(loader.read_files().get(file)?.name().into())
}

fn ids(folder: &LoadedFolder, index: usize) -> Vec<String> {
    let Some(document) = folder.project.documents.get(index) else { return Vec::new() };
    document.front.unit_ids(document).into_iter().map(|(id, _)| id).collect()
}

/// The ids of several documents.
fn ids_of_all(folder: &LoadedFolder, documents: &[usize]) -> Vec<String> {
    let mut all = Vec::new();
    for index in documents {
        all.extend(ids(folder, *index));
    }
    all
}

fn all_documents(folder: &LoadedFolder) -> Vec<usize> {
    (0..folder.project.documents.len()).collect()
}

fn documents_with_id(folder: &LoadedFolder, id: &str) -> Vec<usize> {
    let mut found = all_documents(folder);
    found.retain(|index| ids(folder, *index).iter().any(|known| known == id));
    found
}

/// The first place in each of these documents that declares an id.
fn id_places(folder: &LoadedFolder, documents: &[usize], id: &str) -> Vec<Location> {
    let mut places = Vec::new();
    for index in documents {
        let Some(document) = folder.project.documents.get(*index) else { continue };
        let declared = document.front.unit_ids(document);
        if let Some((_, at)) = declared.iter().find(|(known, _)| known == id) {
            places.push(*at);
        }
    }
    places
}

fn by_id(loader: &mut FileLoader, folder: &LoadedFolder, id: &str, found: &mut DiagnosticList) -> Option<LoweredEntry> {
    match documents_with_id(folder, id).as_slice() {
        [] => {
            let diagnostic = unknown_id(loader, folder, &folder.root, id, &all_documents(folder));
            found.push(diagnostic);
            // It may be in a file that could not be read completely.
            for file in &folder.listed {
                if let Some(manifest) = folder.manifest_of_file(*file)
                    && !manifest.complete
                {
                    found.extend(manifest.diagnostics.iter().cloned());
                }
            }
            None
        }
        [one] => {
            let made = folder.make_as_meant(loader, &[*one]);
            lower_entry(loader, folder, *one, made, found)
        }
        several => {
            let mut places = id_places(folder, several, id).into_iter();
            let message = format!("`{id}` is the id of {} manifests", several.len());
            let mut d = match places.next() {
                Some(at) => Diagnostic::new_error("duplicate-id", at, message),
                None => Diagnostic::without_location("duplicate-id", FindingSeverity::Error, None, message),
            };
            for at in places {
                d = d.with_label(at, "also here");
            }
            found.push(d.with_help("name the file, or rename one of them"));
            None
        }
    }
}

fn unknown_id(loader: &mut FileLoader, folder: &LoadedFolder, path: &Path, id: &str, among: &[usize]) -> Diagnostic {
    let known = ids_of_all(folder, among);
    let file = loader.add_message_file(path);
    let message = format!("no manifest in `{}` has the id `{id}`", path.display());
    let help = match suggestions::nearest_name(id, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{}#{near}`?", path.display()),
        None if known.is_empty() => "none of the manifests has an id".to_owned(),
        None => format!("available: {}", list_names(&known)),
    };
    Diagnostic::without_location(rules::UNKNOWN_ID, FindingSeverity::Error, Some(file), message).with_help(help)
}

/// The manifests of a folder, each as a target, and whether no other manifest references it. For a file, the file itself.
pub(super) fn find_folder_targets(loader: &mut FileLoader, path: &Path) -> Vec<FolderTarget> {
    if !loader.options.file_access.is_folder(path) {
        return vec![FolderTarget { target: LoadTarget { path: path.to_owned(), id: None }, is_root: true }];
    }
    let folder = LoadedFolder::read_whole_folder(loader, path, &[]);
    let made = folder.compile_entries(&all_documents(&folder));
    let roots = unreferenced_documents(&folder, &made);
    let mut targets = Vec::new();
    for (index, document) in folder.project.documents.iter().enumerate() {
        if let Some(file) = loader.read_files().get(document.file) {
            let target = LoadTarget { path: file.name().into(), id: None };
            targets.push(FolderTarget { target, is_root: roots.contains(&index) });
        }
    }
    targets
}

fn unreferenced_documents(folder: &LoadedFolder, made: &CompiledDocuments) -> Vec<usize> {
    let referenced: BTreeSet<FileId> = made.file_calls().map(|(_, to)| to).collect();
    let mut unreferenced = Vec::new();
    for (at, document) in folder.project.documents.iter().enumerate() {
        if !referenced.contains(&document.file) {
            unreferenced.push(at);
        }
    }
    unreferenced
}

/// The only manifest of a folder that no other manifest references.
fn only_root(loader: &mut FileLoader, folder: &LoadedFolder, found: &mut DiagnosticList) -> Option<LoweredEntry> {
    let documents = &folder.project.documents;
    if documents.is_empty() {
        for file in &folder.listed {
            let Some(manifest) = folder.manifest_of_file(*file) else { continue };
            if !is_foreign(manifest, loader.read_files()) {
                found.extend(manifest.diagnostics.iter().cloned());
            }
            found.extend(about_shape(manifest, loader.read_files(), false));
        }
        found.push(nothing_in(loader, &folder.root, !folder.listed.is_empty()));
        return None;
    }
    let made = folder.compile_entries(&all_documents(folder));
    let roots = unreferenced_documents(folder, &made);
    if let [one] = roots.as_slice() {
        let made = folder.make_as_meant(loader, &[*one]);
        return lower_entry(loader, folder, *one, made, found);
    }
    // A manifest that does not load may reference the others, so its mistakes are reported.
    for d in &made.findings {
        if matches!(d.file, Some(file) if !made.is_proved(file)) {
            found.push(d.clone());
        }
    }
    found.push(ambiguous_target(loader, folder, &roots));
    None
}

/// The finding about a folder with several manifests that no other one references, or with none.
fn ambiguous_target(loader: &mut FileLoader, folder: &LoadedFolder, roots: &[usize]) -> Diagnostic {
    let names = ids_of_all(folder, roots);
    let file = loader.add_message_file(&folder.root);
    let path = folder.root.display();
    let message = if roots.is_empty() {
        format!("every manifest in `{path}` is used by another one, so there is no entry")
    } else {
        format!("`{path}` has {} manifests that could be the target", roots.len())
    };
    let is_unique = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    // An id that several of them have chooses none.
    let mut shown = Vec::new();
    for index in roots {
        let Some(document) = folder.project.documents.get(*index) else { continue };
        for id in ids(folder, *index) {
            shown.push(if is_unique(&id) { id } else { document.path.clone() });
        }
    }
    let example = match names.iter().find(|name| is_unique(name)) {
        Some(name) => format!("choose one, for example `{path}#{name}`: "),
        None => String::new(),
    };
    Diagnostic::without_location(rules::AMBIGUOUS_TARGET, FindingSeverity::Error, Some(file), message)
        .with_help(format!("{example}{}", list_names(&shown)))
}

/// The first few names of a list.
fn list_names(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(20).map(|n| format!("`{n}`")).collect();
    let rest = names.len().saturating_sub(shown.len());
    let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
