//! The state of a client's session: its capabilities, open files, and sent diagnostics.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gen_lsp_types::{
    ClientCapabilities, DiagnosticTag, DiagnosticsCapabilities, DidChangeTextDocumentParams,
    DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, InitializeParams, Position,
    PositionEncodingKind, ResourceOperationKind, TextDocumentContentChangeEvent, Uri, WorkspaceFolders,
};
use lsp_server::{Message, Request, RequestId};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trefoil_syntax::FileId;

use super::position::{ColumnEncoding, LineIndex};
use super::uri::{self, UriSpace};
use crate::EditorWorkspace;
use crate::last_run::{LastRunDetails, LastRuns};
use crate::lens::{self, LensAction};
use trefoil_host::served_folder::ServedFolder;
use trefoil_project::file_access::{project_of, resolve_links};
use trefoil_project::folder_files::FolderFiles;

use crate::analysis::FolderAnalysis;

/// The most bytes of all open texts. Further ones are read from the disk.
const MOST_OPEN_BYTES: usize = 64 << 20;
/// The most changes in one message.
const MOST_CHANGES: usize = 5_000;

/// A client's session.
#[derive(Default)]
pub struct EditorSession {
    /// What its URIs mean.
    space: UriSpace,
    /// What is taken away from the texts that a client elsewhere sees.
    hidden_folders: Vec<ServedFolder>,
    encoding: ColumnEncoding,
    /// Whether the client shows related locations of a finding.
    pub related: bool,
    /// Whether the client can watch files on disk.
    watches: bool,
    /// The open files and their analyses.
    pub workspace: EditorWorkspace,
    /// The client's URIs of open files.
    uris: HashMap<PathBuf, Uri>,
    /// Folders that the client reaches through symbolic links: the real path, and the client's path.
    links: Vec<(PathBuf, PathBuf)>,
    /// The diagnostics that were sent last, by URI.
    pub published: HashMap<String, Value>,
    /// Whether the client pulls diagnostics of open files.
    pub pulls: bool,
    /// Whether the client can be asked to pull again.
    pub refreshes: bool,
    /// The number of such refresh requests.
    pub refreshed: u32,
    /// The ids of the diagnostics that the client pulled last.
    pub pulled: HashMap<PathBuf, String>,
    /// Files that have changed since diagnostics were last sent.
    pub changed: HashSet<PathBuf>,
    /// The lens commands that the client implements itself.
    pub commands: Vec<LensAction>,
    /// The last runs of open files.
    pub last_runs: LastRuns,
    /// Whether the client can create files.
    pub creates: bool,
    /// The diagnostic tags that the client supports.
    pub tags: Vec<DiagnosticTag>,
    /// Messages to send after a response.
    pub outgoing: Vec<Message>,
    /// The tokens that were sent for each file, and their id.
    tokens: HashMap<String, (String, Vec<u32>)>,
    /// The number of token ids so far.
    counted: u64,
}

/// A place in a client's request, as features need it.
pub struct RequestPosition {
    /// The analysis.
    pub analysis: Arc<FolderAnalysis>,
    /// The file in it.
    pub file: FileId,
    /// Its canonical path.
    pub path: PathBuf,
    /// The byte offset.
    pub offset: u32,
}

impl EditorSession {
    /// The session of a client that is not on this machine, about the files below a folder. The client has no say in which folder
    /// that is, and gets nothing of stores and terminals of this machine.
    pub fn for_folder(folder: FolderFiles) -> Self {
        let real = folder.real_folder().to_owned();
        let mut session = Self::default();
        // Files of the same project outside the folder are mentioned in findings.
        for hidden in [&real, &project_of(&real, None)] {
            session.hidden_folders.push(ServedFolder::from_path(hidden));
        }
        session.workspace.set_folders([real]);
        session.space = UriSpace::Folder(folder);
        session
    }
    /// Whether the client is not on this machine.
    pub fn is_elsewhere(&self) -> bool {
        self.space.is_folder()
    }
    /// Applies the client's capabilities and settings.
    pub fn apply_client_settings(&mut self, params: &InitializeParams) {
        let capabilities = &params.capabilities;
        self.encoding = ColumnEncoding::from_offered(offered_encodings(capabilities).unwrap_or_default());
        self.watches = can_watch(capabilities).unwrap_or(false);
        self.pulls = matches!(&capabilities.text_document, Some(document) if document.diagnostic.is_some());
        self.refreshes = can_refresh(capabilities).unwrap_or(false);
        let operations = resource_operations(capabilities).unwrap_or_default();
        self.creates = operations.contains(&ResourceOperationKind::Create) && !self.is_elsewhere();
        self.commands = client_commands(capabilities);
        // If a client does not state its tags, send all: older clients show those that they know.
        self.tags = vec![DiagnosticTag::Unnecessary, DiagnosticTag::Deprecated];
        self.related = false;
        if let Some(shown) = shown_diagnostics(capabilities) {
            self.related = shown.related_information.unwrap_or(false);
            if let Some(tags) = &shown.tag_support {
                self.tags.clone_from(&tags.value_set);
            }
        }
        if self.is_elsewhere() {
            return;
        }
        if let Some(options) = &params.initialization_options
            && let Ok(options) = serde_json::to_value(options)
        {
            self.last_runs.apply_settings(&options);
        }
        let mut folders: Vec<PathBuf> = Vec::new();
        if let Some(WorkspaceFolders::WorkspaceFolderList(list)) =
            &params.workspace_folders_initialize_params.workspace_folders
        {
            for folder in list {
                folders.extend(uri::to_path(&folder.uri));
            }
        }
        if folders.is_empty() {
            #[allow(deprecated, reason = "older clients have nothing else")]
            folders.extend(params.root_uri.as_ref().and_then(uri::to_path));
        }
        self.set_folders(folders);
    }
    fn set_folders(&mut self, folders: Vec<PathBuf>) {
        for folder in &folders {
            let real = resolve_links(folder);
            if real != *folder {
                self.links.push((real, folder.clone()));
            }
        }
        self.workspace.set_folders(folders);
    }
    /// The encoding of columns.
    pub fn column_encoding(&self) -> ColumnEncoding {
        self.encoding
    }
    /// Handles a notification. Returns a request that results from it.
    pub fn handle_notification(&mut self, method: &str, params: Value) -> Option<Request> {
        if method == "initialized" {
            return if self.watches { Some(watch()) } else { None };
        }
        match method {
            "textDocument/didOpen" => self.opened(params),
            "textDocument/didChange" => self.changed(params),
            "textDocument/didClose" => self.closed(params),
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.workspace.discard_analyses();
                Some(())
            }
            "workspace/didChangeWorkspaceFolders" if !self.is_elsewhere() => self.moved(params),
            _ => None,
        };
        None
    }
    fn opened(&mut self, params: Value) -> Option<()> {
        let document = read::<DidOpenTextDocumentParams>(params)?.text_document;
        let path = self.open_path(&document.uri)?;
        // For a text without a file name, only the language says whether it is YAML.
        if uri::is_nowhere(&path) && String::from(document.language_id) != "yaml" {
            return None;
        }
        self.uris.insert(path.clone(), document.uri);
        if self.workspace.open_bytes() + document.text.len() > MOST_OPEN_BYTES {
            return None;
        }
        self.changed.insert(path.clone());
        self.workspace.set_buffer(path, document.text, document.version);
        Some(())
    }
    fn changed(&mut self, params: Value) -> Option<()> {
        let params: DidChangeTextDocumentParams = read(params)?;
        let path = self.open_path(&params.text_document.text_document_identifier.uri)?;
        if params.content_changes.len() > MOST_CHANGES {
            // Each change costs time with the length of the text. Without it, the text here would be another one than that of the client.
            self.workspace.close(&path);
            return None;
        }
        let mut text = self.workspace.find_buffer(&path)?.text.to_string();
        for change in params.content_changes {
            match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
                    let lines = LineIndex::new(&text, self.encoding);
                    let start = lines.offset_at(part.range.start) as usize;
                    let end = (lines.offset_at(part.range.end) as usize).max(start);
                    text.replace_range(start..end, &part.text);
                }
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => text = whole.text,
            }
        }
        self.changed.insert(path.clone());
        self.workspace.set_buffer(path, text, params.text_document.version);
        Some(())
    }
    fn closed(&mut self, params: Value) -> Option<()> {
        let params: DidCloseTextDocumentParams = read(params)?;
        let path = self.open_path(&params.text_document.uri)?;
        self.workspace.close(&path);
        if let Some(uri) = self.uris.remove(&path) {
            self.tokens.remove(&uri.0);
        }
        self.pulled.remove(&path);
        Some(())
    }
    fn moved(&mut self, params: Value) -> Option<()> {
        let event = read::<DidChangeWorkspaceFoldersParams>(params)?.event;
        let mut gone: Vec<PathBuf> = Vec::new();
        for folder in &event.removed {
            if let Some(path) = uri::to_path(&folder.uri) {
                gone.push(resolve_links(&path));
            }
        }
        let mut folders = self.workspace.open_folders().to_vec();
        folders.retain(|folder| !gone.contains(folder));
        for folder in &event.added {
            folders.extend(uri::to_path(&folder.uri));
        }
        self.links.retain(|(real, _)| !gone.contains(real));
        self.set_folders(folders);
        Some(())
    }
    /// Stores the tokens that are sent to a client; returns their id.
    pub fn remember_tokens(&mut self, uri: &Uri, data: Vec<u32>) -> String {
        self.counted += 1;
        let id = self.counted.to_string();
        self.tokens.insert(uri.0.clone(), (id.clone(), data));
        id
    }
    /// The tokens that were sent last for a file, if they have this id.
    pub fn sent_tokens(&self, uri: &Uri, id: &str) -> Option<&[u32]> {
        let (known, data) = self.tokens.get(&uri.0)?;
        if known == id { Some(data) } else { None }
    }
    /// The file of a document, without links. `None`: it has no path, or is not for this client.
    pub fn open_path(&self, uri: &Uri) -> Option<PathBuf> {
        self.space.open_path(uri)
    }
    /// The document with this URI.
    pub fn find_document(&mut self, uri: &Uri) -> Option<RequestPosition> {
        let path = self.open_path(uri)?;
        let (analysis, file) = self.workspace.analysis_for(&path)?;
        Some(RequestPosition { analysis, file, path, offset: 0 })
    }
    /// The place in a document.
    pub fn find_position(&mut self, uri: &Uri, position: Position) -> Option<RequestPosition> {
        let mut place = self.find_document(uri)?;
        place.offset = LineIndex::new(place.analysis.file_text(place.file), self.encoding).offset_at(position);
        Some(place)
    }
    /// The last run of a document. A client elsewhere sees runs through the server, which knows what it may see.
    pub fn last_run(&mut self, place: &RequestPosition) -> Option<Arc<LastRunDetails>> {
        if self.is_elsewhere() {
            return None;
        }
        self.last_runs.find_run(&place.path, lens::flow_names(&place.analysis, place.file))
    }
    /// The client's URI of a file: the one with which it was opened, otherwise one in the client's folder. `None`: the client must not
    /// see it.
    pub fn client_uri(&self, path: &Path) -> Option<Uri> {
        if let Some(uri) = self.uris.get(path) {
            return Some(uri.clone());
        }
        for (real, given) in &self.links {
            if let Ok(below) = path.strip_prefix(real) {
                return Some(uri::from_path(&given.join(below)));
            }
        }
        self.space.path_uri(path)
    }
    /// A message as the client may see it: its texts without the place of the folder. Edits are not changed.
    pub fn hide_places(&self, message: &mut Value) {
        match message {
            Value::String(text) => {
                for folder in &self.hidden_folders {
                    *text = folder.hide_folder(text);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_places(item)),
            Value::Object(members) => {
                for (name, member) in members {
                    if name != "newText" {
                        self.hide_places(member);
                    }
                }
            }
            _ => {}
        }
    }
}

fn offered_encodings(capabilities: &ClientCapabilities) -> Option<&[PositionEncodingKind]> {
    capabilities.general.as_ref()?.position_encodings.as_deref()
}

fn can_watch(capabilities: &ClientCapabilities) -> Option<bool> {
    capabilities.workspace.as_ref()?.did_change_watched_files.as_ref()?.dynamic_registration
}

fn can_refresh(capabilities: &ClientCapabilities) -> Option<bool> {
    capabilities.workspace.as_ref()?.diagnostics.as_ref()?.refresh_support
}

fn resource_operations(capabilities: &ClientCapabilities) -> Option<&[ResourceOperationKind]> {
    capabilities.workspace.as_ref()?.workspace_edit.as_ref()?.resource_operations.as_deref()
}

/// What the client shows of a finding.
fn shown_diagnostics(capabilities: &ClientCapabilities) -> Option<&DiagnosticsCapabilities> {
    Some(&capabilities.text_document.as_ref()?.publish_diagnostics.as_ref()?.diagnostics_capabilities)
}

/// The lens commands that the client implements itself.
fn client_commands(capabilities: &ClientCapabilities) -> Vec<LensAction> {
    let Some(experimental) = &capabilities.experimental else { return Vec::new() };
    let Ok(experimental) = serde_json::to_value(experimental) else { return Vec::new() };
    let Some(names) = experimental.pointer("/commands/commands").and_then(Value::as_array) else { return Vec::new() };
    LensAction::ALL.into_iter().filter(|action| names.iter().any(|name| name == action.command_name())).collect()
}

/// Asks the client to watch manifests, attached files and the project file on disk.
fn watch() -> Request {
    let globs = ["**/*.yaml", "**/*.yml", "**/*.md", "**/trefoil.toml"];
    let watchers: Vec<Value> = globs.iter().map(|glob| json!({ "globPattern": glob })).collect();
    let registration = json!({
        "id": "files",
        "method": "workspace/didChangeWatchedFiles",
        "registerOptions": { "watchers": watchers },
    });
    let id = RequestId::from("watch-files".to_owned());
    Request { id, method: "client/registerCapability".to_owned(), params: json!({ "registrations": [registration] }) }
}

/// Parses parameters; `None` if they are invalid.
fn read<P: DeserializeOwned>(params: Value) -> Option<P> {
    serde_json::from_value(params).ok()
}
