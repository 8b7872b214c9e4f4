//! The state of a client's session: its capabilities, open files, and sent diagnostics.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gen_lsp_types::{
    DiagnosticTag, DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, InitializeParams, Position, ResourceOperationKind, TextDocumentContentChangeEvent, Uri,
    WorkspaceFolders,
};
use lsp_server::{Message, Request, RequestId};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trefoil_syntax::FileId;

use super::position::{ColumnEncoding, LineIndex};
use super::uri;
use crate::EditorWorkspace;
use crate::last_run::{LastRunDetails, LastRuns};
use crate::lens::{self, LensAction};
use trefoil_project::file_access::resolve_links;

use crate::analysis::FolderAnalysis;

/// A client's session.
#[derive(Default)]
pub struct EditorSession {
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
    pub told: HashMap<String, Value>,
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
    /// Applies the client's capabilities and settings.
    pub fn apply_client_settings(&mut self, params: &InitializeParams) {
        let general = params.capabilities.general.as_ref();
        let offered = general.and_then(|g| g.position_encodings.as_deref()).unwrap_or_default();
        self.encoding = ColumnEncoding::from_offered(offered);
        let workspace = params.capabilities.workspace.as_ref();
        let watching = workspace.and_then(|w| w.did_change_watched_files.as_ref());
        self.watches = watching.and_then(|w| w.dynamic_registration).unwrap_or(false);
        let document = params.capabilities.text_document.as_ref();
        let diagnostics = document.and_then(|d| d.publish_diagnostics.as_ref());
        self.related = diagnostics.and_then(|p| p.diagnostics_capabilities.related_information).unwrap_or(false);
        // If a client does not state its tags, send all: older clients show those that they know.
        let tags = diagnostics.and_then(|p| p.diagnostics_capabilities.tag_support.as_ref());
        self.tags = tags
            .map_or_else(|| vec![DiagnosticTag::Unnecessary, DiagnosticTag::Deprecated], |tags| tags.value_set.clone());
        self.pulls = document.is_some_and(|d| d.diagnostic.is_some());
        self.refreshes = workspace.and_then(|w| w.diagnostics.as_ref()?.refresh_support).unwrap_or(false);
        let edits = workspace.and_then(|w| w.workspace_edit.as_ref());
        let operations = edits.and_then(|e| e.resource_operations.as_deref()).unwrap_or_default();
        self.creates = operations.contains(&ResourceOperationKind::Create);
        let experimental = params.capabilities.experimental.clone().and_then(|e| serde_json::to_value(e).ok());
        let known = experimental.as_ref().and_then(|e| e.pointer("/commands/commands")?.as_array());
        let has = |does: &LensAction| known.is_some_and(|all| all.iter().any(|name| name == does.command_name()));
        self.commands = LensAction::ALL.iter().copied().filter(|does| has(does)).collect();
        if let Some(options) = params.initialization_options.as_ref().and_then(|o| serde_json::to_value(o).ok()) {
            self.last_runs.apply_settings(&options);
        }
        let mut folders: Vec<PathBuf> = match &params.workspace_folders_initialize_params.workspace_folders {
            Some(WorkspaceFolders::WorkspaceFolderList(list)) => {
                list.iter().filter_map(|f| uri::to_path(&f.uri)).collect()
            }
            _ => Vec::new(),
        };
        if folders.is_empty() {
            #[allow(deprecated, reason = "older clients have nothing else")]
            folders.extend(params.root_uri.as_ref().and_then(uri::to_path));
        }
        self.set_folders(folders);
    }
    fn set_folders(&mut self, folders: Vec<PathBuf>) {
        let linked =
            folders.iter().map(|folder| (resolve_links(folder), folder.clone())).filter(|(real, given)| real != given);
        self.links.extend(linked.collect::<Vec<_>>());
        self.workspace.set_folders(folders);
    }
    /// The encoding of columns.
    pub fn column_encoding(&self) -> ColumnEncoding {
        self.encoding
    }
    /// Handles a notification. Returns a request that results from it.
    pub fn handle_notification(&mut self, method: &str, params: Value) -> Option<Request> {
        if method == "initialized" {
            return self.watches.then(watch);
        }
        match method {
            "textDocument/didOpen" => self.opened(params),
            "textDocument/didChange" => self.changed(params),
            "textDocument/didClose" => self.closed(params),
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.workspace.discard_analyses();
                Some(())
            }
            "workspace/didChangeWorkspaceFolders" => self.moved(params),
            _ => None,
        };
        None
    }
    fn opened(&mut self, params: Value) -> Option<()> {
        let document = read::<DidOpenTextDocumentParams>(params)?.text_document;
        let path = resolve_links(&uri::document_path(&document.uri)?);
        // For a text without a file name, only the language says whether it is YAML.
        if uri::is_nowhere(&path) && String::from(document.language_id) != "yaml" {
            return None;
        }
        self.uris.insert(path.clone(), document.uri);
        self.changed.insert(path.clone());
        self.workspace.set_buffer(path, document.text, document.version);
        Some(())
    }
    fn changed(&mut self, params: Value) -> Option<()> {
        let params: DidChangeTextDocumentParams = read(params)?;
        let path = resolve_links(&uri::document_path(&params.text_document.text_document_identifier.uri)?);
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
        let path = resolve_links(&uri::document_path(&params.text_document.uri)?);
        self.workspace.close(&path);
        if let Some(uri) = self.uris.remove(&path) {
            self.tokens.remove(&uri.0);
        }
        self.pulled.remove(&path);
        Some(())
    }
    fn moved(&mut self, params: Value) -> Option<()> {
        let event = read::<DidChangeWorkspaceFoldersParams>(params)?.event;
        let gone: Vec<PathBuf> =
            event.removed.iter().filter_map(|f| uri::to_path(&f.uri)).map(|p| resolve_links(&p)).collect();
        let mut folders: Vec<PathBuf> =
            self.workspace.open_folders().iter().filter(|f| !gone.contains(f)).cloned().collect();
        folders.extend(event.added.iter().filter_map(|f| uri::to_path(&f.uri)));
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
        self.tokens.get(&uri.0).filter(|(known, _)| known == id).map(|(_, data)| &**data)
    }
    /// The document with this URI.
    pub fn find_document(&mut self, uri: &Uri) -> Option<RequestPosition> {
        let path = resolve_links(&uri::document_path(uri)?);
        let (analysis, file) = self.workspace.analysis_for(&path)?;
        Some(RequestPosition { analysis, file, path, offset: 0 })
    }
    /// The place in a document.
    pub fn find_position(&mut self, uri: &Uri, position: Position) -> Option<RequestPosition> {
        let mut place = self.find_document(uri)?;
        place.offset = LineIndex::new(place.analysis.file_text(place.file), self.encoding).offset_at(position);
        Some(place)
    }
    /// The last run of a document.
    pub fn last_run(&mut self, place: &RequestPosition) -> Option<Arc<LastRunDetails>> {
        self.last_runs.find_run(&place.path, lens::flow_names(&place.analysis, place.file))
    }
    /// The client's URI of a file: the one with which it was opened, otherwise one in the client's folder.
    pub fn client_uri(&self, path: &Path) -> Uri {
        self.uris.get(path).cloned().unwrap_or_else(|| {
            let linked = self.links.iter().find_map(|(real, given)| Some(given.join(path.strip_prefix(real).ok()?)));
            uri::from_path(linked.as_deref().unwrap_or(path))
        })
    }
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
