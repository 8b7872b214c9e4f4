//! The files with which a run started, so that it can continue after they have changed or were deleted.
//!
//! A journal names its files by path and hash. A separate file, the *bundle*, says how they form a program (the entry,
//! the options of the load). All of them are stored by content, so runs of one flow share them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trefoil_front::front_end;
use trefoil_machine::{ProgramFile, ProgramIdentity};
use trefoil_store::{Blob, ContentHash, Store, StoreError};
use trefoil_template::limits;

use crate::error::{Error, FoundErrors, Result};
use crate::file_access::{FileAccess, MemoryFiles, clean_path, folder_real, resolve_links};
use crate::load::{LoadOptions, LoadedTarget, load_target};
use crate::target::LoadTarget;

/// The rule for an edited file that a run does not have.
const UNKNOWN_FILE: &str = "unknown-file";
/// The format version that this build writes.
const VERSION: u16 = 1;

/// How files form a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    v: u16,
    /// The folder of all files on the computer where the run started; `None`: they were in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<PathBuf>,
    /// The path of the file or folder that was run, in the root.
    path: PathBuf,
    /// The manifest that was run, if the root has only a link to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    home: Option<PathBuf>,
    /// The id in that folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The dialect, if it was set explicitly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dialect: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skills: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allowed: Vec<PathBuf>,
    /// Environment files. They contain secrets, so their contents are never stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    env_files: Vec<PathBuf>,
    /// The names that mean an MCP server among the tools of agents. They mean the same when the run continues, whatever is
    /// declared then.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    servers: BTreeSet<String>,
    files: Vec<ProgramFile>,
}

/// A flow in the form for journals and stores.
#[derive(Clone)]
pub struct PackedFlow {
    /// The files, by path in the bundle.
    pub sources: Vec<ProgramFile>,
    /// The hash of the bundle.
    pub bundle: String,
    /// The contents of all files, and the bundle.
    pub blobs: Vec<Arc<Blob>>,
}

impl PackedFlow {
    /// The packed form of a flow.
    pub fn of_loaded(loaded: &LoadedTarget) -> PackedFlow {
        let how = &loaded.how;
        let disk = how.options.file_access.memory_files().is_none();
        let absolute = |path: &Path| {
            if disk && let Ok(whole) = std::path::absolute(path) {
                return clean_path(&whole);
            }
            clean_path(path)
        };
        let mut files: BTreeMap<PathBuf, &str> = BTreeMap::new();
        for file in loaded.source_texts() {
            files.insert(absolute(Path::new(file.name())), file.text());
        }
        for (path, text) in &loaded.texts {
            files.insert(absolute(path), text);
        }
        let entry = absolute(&how.target.path);
        let mut root = PathBuf::new();
        if disk {
            let mut folders: Vec<&Path> = files.keys().filter_map(|path| path.parent()).collect();
            if !files.contains_key(&entry) {
                folders.push(&entry);
            }
            root = common(folders.into_iter());
        }
        let inside = |path: &Path| path.strip_prefix(&root).unwrap_or(path).to_owned();
        let (mut sources, mut blobs) = (Vec::new(), Vec::new());
        for (path, text) in &files {
            let blob = Blob::new(text.as_bytes().to_vec());
            let path = inside(path).to_string_lossy().into_owned();
            sources.push(ProgramFile { path, sha256: blob.hash().to_string() });
            blobs.push(Arc::new(blob));
        }
        let home = if disk { home_elsewhere(&absolute(&loaded.entry_file())) } else { None };
        let text = |path: &Option<PathBuf>| path.as_deref().map(|path| inside(&absolute(path)));
        let bundle = Bundle {
            v: VERSION,
            root: if disk { Some(root.clone()) } else { None },
            path: inside(&entry),
            home,
            id: how.target.id.clone(),
            dialect: how.options.dialect.map(|front| front.name().to_owned()),
            context: text(&how.options.context),
            skills: text(&how.options.skills),
            allowed: how.options.allowed.iter().map(|folder| absolute(folder)).collect(),
            env_files: loaded.env_files.iter().map(|file| inside(&absolute(&file.path))).collect(),
            servers: loaded.servers.clone(),
            files: sources.clone(),
        };
        let blob = Blob::new(serde_json::to_vec(&bundle).unwrap_or_default());
        let hash = blob.hash().to_string();
        blobs.push(Arc::new(blob));
        PackedFlow { sources, bundle: hash, blobs }
    }
}

/// The file itself, if the path is a link from another folder.
fn home_elsewhere(path: &Path) -> Option<PathBuf> {
    let (home, folder) = (resolve_links(path), folder_real(path.parent()?)?);
    if home.parent() == Some(&*folder) { None } else { Some(home) }
}

/// The program of a run, loaded from its original files if they have not changed, otherwise from the store; and which of
/// these.
pub async fn load_run_program(
    store: &dyn Store,
    run: &str,
    program: &ProgramIdentity,
) -> Result<(LoadedTarget, FileOrigin)> {
    let bundle = Bundle::of_run(store, run, program).await?;
    if let Some(loaded) = bundle.as_it_was() {
        let file = loaded.entry_file();
        return Ok((loaded, FileOrigin::Disk(file)));
    }
    let mut files = BTreeMap::new();
    for ProgramFile { path, sha256 } in &bundle.files {
        files.insert(PathBuf::from(path), read_stored_text(store, run, path, sha256).await?);
    }
    let loaded = bundle.in_memory(files)?;
    let entry = loaded.entry_file();
    let (why, root) = (bundle.difference(), bundle.root.clone());
    // The link may be gone, and says nothing about where the manifest was.
    let file = match (bundle.home, &root) {
        (Some(home), _) => home,
        (None, Some(root)) => root.join(&entry),
        (None, None) => entry,
    };
    Ok((loaded, FileOrigin::Store { file, root, why }))
}

/// The program of a run with other texts for some of its files, by their paths in the store. Nothing on the disk changes.
///
/// # Errors
///
/// [`Error::Load`] with everything that is wrong in the edited files, also that a path is not one of the run's.
pub async fn load_edited_program(
    store: &dyn Store,
    run: &str,
    program: &ProgramIdentity,
    edits: &BTreeMap<String, String>,
) -> Result<LoadedTarget> {
    let bundle = Bundle::of_run(store, run, program).await?;
    let known: Vec<&str> = bundle.files.iter().map(|file| &*file.path).collect();
    for path in edits.keys() {
        if !known.contains(&&**path) {
            let message = format!("the run has no file `{path}`");
            let help = format!("its files are `{}`", known.join("`, `"));
            return Err(Error::Load(FoundErrors::of_rule(UNKNOWN_FILE, &message, help)));
        }
    }
    let mut files = BTreeMap::new();
    for ProgramFile { path, sha256 } in &bundle.files {
        let text = match edits.get(path) {
            Some(text) => text.clone(),
            None => read_stored_text(store, run, path, sha256).await?,
        };
        files.insert(PathBuf::from(path), text);
    }
    bundle.in_memory(files)
}

/// A file with which a run started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// Its path in the store, by which [`load_edited_program`] knows it.
    pub path: String,
    /// Its text when the run started.
    pub text: String,
    /// Where it was on the computer where the run started; `None`: in memory.
    pub place: Option<PathBuf>,
    /// Whether it is the manifest of the flow.
    pub is_entry: bool,
}

/// The files with which a run started, by path. `loaded`: its program, in whichever way it was loaded.
///
/// # Errors
///
/// The store, or a file that it has lost.
pub async fn read_stored_files(
    store: &dyn Store,
    run: &str,
    program: &ProgramIdentity,
    loaded: &LoadedTarget,
) -> Result<Vec<StoredFile>> {
    let bundle = Bundle::of_run(store, run, program).await?;
    let entry = loaded.entry_file();
    let is_loaded_from_disk = loaded.how.options.file_access.memory_files().is_none();
    let absolute_entry = std::path::absolute(&entry).map(|path| clean_path(&path)).ok();
    let mut files = Vec::new();
    for ProgramFile { path, sha256 } in &bundle.files {
        let place = bundle.root.as_ref().map(|root| root.join(path));
        let is_entry = match &place {
            Some(place) if is_loaded_from_disk => absolute_entry.as_ref() == Some(place),
            _ => clean_path(&entry) == Path::new(path),
        };
        let text = read_stored_text(store, run, path, sha256).await?;
        files.push(StoredFile { path: path.clone(), text, place, is_entry });
    }
    Ok(files)
}

/// The text of a file of a run, as it was when the run started.
///
/// # Errors
///
/// [`Error::Store`] if the store cannot be read, or does not have the file.
pub async fn read_stored_text(store: &dyn Store, run: &str, path: &str, sha256: &str) -> Result<String> {
    let Some(hash) = ContentHash::parse(sha256) else {
        return Err(corrupt_run_error(run, "the hash of a file is damaged"));
    };
    let Some(bytes) = store.read_blob(hash).await? else {
        return Err(corrupt_run_error(run, &format!("its file `{path}` is missing")));
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Where the files of a stored run come from.
#[derive(Debug, Clone)]
pub enum FileOrigin {
    /// From the disk: they are as they were when the run started. The file of its entry.
    Disk(PathBuf),
    /// From the store, because those on the disk are others.
    Store {
        /// The file of the entry on the computer where the run started.
        file: PathBuf,
        /// The folder of all files there; `None`: they were in memory.
        root: Option<PathBuf>,
        /// Which file differs.
        why: String,
    },
}

/// The files of a run on the computer where it started, whether or not they still exist.
#[derive(Debug, Clone)]
pub struct RunFiles {
    /// The target, by its absolute path.
    pub target: LoadTarget,
    /// Its files, by absolute path.
    pub files: Vec<PathBuf>,
    /// The folder that contains all of them.
    pub root: PathBuf,
}

/// The files of a run; `None`: they were in memory.
pub async fn find_run_files(store: &dyn Store, run: &str, program: &ProgramIdentity) -> Result<Option<RunFiles>> {
    let bundle = Bundle::of_run(store, run, program).await?;
    let Some(root) = bundle.root.clone() else { return Ok(None) };
    Ok(Some(RunFiles {
        target: bundle.target(&root),
        files: bundle.files.iter().map(|file| root.join(&file.path)).collect(),
        root,
    }))
}

/// The file of the entry in this folder, if all files of a run from another computer are there as they are stored, below the
/// folder itself or in the same folders below it.
pub async fn found_in(here: &Path, store: &dyn Store, run: &str, program: &ProgramIdentity) -> Result<Option<PathBuf>> {
    let bundle = Bundle::of_run(store, run, program).await?;
    let Some(root) = &bundle.root else { return Ok(None) };
    let names: Vec<_> = root.iter().skip(1).collect();
    if bundle.files.is_empty() {
        return Ok(None);
    }
    for from in (0..=names.len()).rev() {
        let mut root = here.to_owned();
        root.extend(names.iter().skip(from));
        if bundle.changed_file(&root).is_none() {
            return Ok(Some(root.join(&bundle.path)));
        }
    }
    Ok(None)
}

fn corrupt_run_error(run: &str, why: &str) -> Error {
    Error::Store(StoreError::Corrupt { path: PathBuf::new(), why: format!("run `{run}`: {why}") })
}

impl Bundle {
    /// The bundle of a run.
    async fn of_run(store: &dyn Store, run: &str, program: &ProgramIdentity) -> Result<Self> {
        let Some(hash) = program.bundle.as_deref().and_then(ContentHash::parse) else {
            return Err(corrupt_run_error(run, "its journal does not name its original files"));
        };
        let Some(bytes) = store.read_blob(hash).await? else {
            return Err(corrupt_run_error(run, "the list of its files is missing"));
        };
        let bundle: Self = serde_json::from_slice(&bytes)
            .map_err(|error| corrupt_run_error(run, &format!("the list of its files: {error}")))?;
        match bundle.v > VERSION {
            true => Err(corrupt_run_error(run, "the list of its files was written by a later version of Trefoil")),
            false => Ok(bundle),
        }
    }

    fn target(&self, root: &Path) -> LoadTarget {
        LoadTarget { path: root.join(&self.path), id: self.id.clone() }
    }

    fn options(&self, root: &Path) -> LoadOptions {
        let at = |path: &Option<PathBuf>| path.as_ref().map(|path| root.join(path));
        LoadOptions {
            dialect: self.dialect.as_deref().and_then(front_end),
            context: at(&self.context),
            skills: at(&self.skills),
            allowed: self.allowed.clone(),
            servers: Some(self.servers.clone()),
            ..LoadOptions::default()
        }
    }

    /// The flow loaded from its original files, if none has changed.
    fn as_it_was(&self) -> Option<LoadedTarget> {
        // With file names as the current user would write them, as in the run's own events.
        let mut root = self.root.as_deref()?;
        if let Ok(here) = std::env::current_dir()
            && let Ok(relative) = root.strip_prefix(here)
        {
            root = relative;
        }
        let (mut target, mut options) = (self.target(root), self.options(root));
        name_folder(&mut target.path);
        if let Some(context) = &mut options.context {
            name_folder(context);
        }
        let loaded = load_target(&target, &options).ok()?;
        if PackedFlow::of_loaded(&loaded).sources == self.files { Some(loaded) } else { None }
    }

    /// The path of the first file below a folder that is not as it is stored.
    fn changed_file(&self, root: &Path) -> Option<PathBuf> {
        for file in &self.files {
            let path = root.join(&file.path);
            let Ok(bytes) = crate::file_access::read_named_file(&path, limits::TEXT_FILE_BYTES) else {
                return Some(path);
            };
            if Blob::new(bytes).hash().to_string() != file.sha256 {
                return Some(path);
            }
        }
        None
    }

    /// Which file on the disk is not the one in the store.
    fn difference(&self) -> String {
        let Some(root) = &self.root else { return "its files are only in the store".to_owned() };
        match self.changed_file(root) {
            Some(path) if crate::file_access::path_exists(&path) => {
                format!("`{}` is not the file that is stored", path.display())
            }
            Some(path) => format!("`{}` does not exist", path.display()),
            None => format!("the files in `{}` load differently now", root.display()),
        }
    }

    fn in_memory(&self, mut files: BTreeMap<PathBuf, String>) -> Result<LoadedTarget> {
        // The environment files are read in their current state.
        if let Some(root) = &self.root {
            let mut folders = self.allowed.clone();
            folders.push(FileAccess::Disk.project_of(root, Some(root)));
            let allowed_folders = FileAccess::Disk.allowed_folders(folders);
            for path in &self.env_files {
                if let Ok(bytes) = allowed_folders.read_file(&root.join(path), limits::TEXT_FILE_BYTES)
                    && let Ok(text) = String::from_utf8(bytes)
                {
                    files.insert(path.clone(), text);
                }
            }
        }
        let mut memory = MemoryFiles::default();
        for (path, text) in files {
            memory.add_file(&path, text.into());
        }
        let options = LoadOptions {
            file_access: FileAccess::Memory(Arc::new(memory)),
            allowed: Vec::new(),
            ..self.options(Path::new(""))
        };
        Ok(load_target(&self.target(Path::new("")), &options)?)
    }
}

/// Gives the current folder its name: on a disk, an empty path is nothing.
fn name_folder(path: &mut PathBuf) {
    if path.as_os_str().is_empty() {
        *path = PathBuf::from(".");
    }
}

/// The common parent folder.
fn common<'p>(mut folders: impl Iterator<Item = &'p Path>) -> PathBuf {
    let Some(mut root) = folders.next() else { return PathBuf::new() };
    for folder in folders {
        while !folder.starts_with(root) {
            match root.parent() {
                Some(above) => root = above,
                None => return root.to_owned(),
            }
        }
    }
    root.to_owned()
}
