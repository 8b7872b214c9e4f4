//! An editor's side of the protocol, over standard input and output of the real binary.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::Folder;

/// Longer than any request takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(60);

pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    next: i64,
    /// Published diagnostics that no test has read yet, by file name.
    published: HashMap<String, Vec<Value>>,
    pub folder: Folder,
    texts: HashMap<String, (String, i64)>,
}

impl Client {
    /// Starts the server in a folder without any messages.
    pub fn spawn(folder: Folder) -> Self {
        let mut command = folder.command(&["lsp"]);
        command.stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            loop {
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if stdout.read_line(&mut line).unwrap_or(0) == 0 {
                        return;
                    }
                    let line = line.trim_end();
                    if line.is_empty() {
                        break;
                    }
                    if let Some(n) = line.strip_prefix("Content-Length: ") {
                        length = n.parse().unwrap();
                    }
                }
                let mut content = vec![0; length];
                stdout.read_exact(&mut content).unwrap();
                if sender.send(serde_json::from_slice(&content).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, messages, next: 0, published: HashMap::new(), folder, texts: HashMap::new() }
    }
    /// A server that knows its folder, and its capabilities.
    pub fn start(folder: Folder) -> (Self, Value) {
        let capabilities = json!({
            "general": { "positionEncodings": ["utf-16"] },
            "textDocument": { "publishDiagnostics": { "relatedInformation": true } },
        });
        Self::start_as(folder, capabilities)
    }
    /// The same with these client capabilities.
    pub fn start_as(folder: Folder, capabilities: Value) -> (Self, Value) {
        let mut client = Self::spawn(folder);
        let root = client.root();
        let params = json!({
            "processId": null, "rootUri": root, "capabilities": capabilities,
            "workspaceFolders": [{ "uri": root, "name": "w" }],
        });
        let result = client.ask("initialize", params);
        client.tell("initialized", json!({}));
        (client, result)
    }
    /// Sends content with a correct header.
    pub fn raw(&mut self, content: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        write!(stdin, "Content-Length: {}\r\n\r\n{content}", content.len()).unwrap();
        stdin.flush().unwrap();
    }
    /// Sends raw bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }
    pub fn tell(&mut self, method: &str, params: Value) {
        self.raw(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }
    /// Returns a request's result.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.try_ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }
    /// Returns a request's result or error.
    pub fn try_ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.next += 1;
        let id = self.next;
        self.raw(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        let answer = self.wait(|m| m.get("id") == Some(&json!(id)));
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }
    /// Waits for a matching message; keeps diagnostics that arrive before it.
    pub fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + LIMIT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).unwrap_or_else(|e| panic!("no answer in time: {e}"));
            if wanted(&message) {
                return message;
            }
            if message["method"] == "textDocument/publishDiagnostics" {
                let params = message["params"].clone();
                let name = params["uri"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
                self.published.entry(name).or_default().push(params);
            }
        }
    }
    /// The published diagnostics of a file; waits if there are no new ones.
    pub fn diagnostics(&mut self, name: &str) -> Vec<Value> {
        loop {
            if let Some(list) = self.published.get_mut(name)
                && let Some(last) = list.pop()
            {
                list.clear();
                return last["diagnostics"].as_array().unwrap().clone();
            }
            let message = self.wait(|m| m["method"] == "textDocument/publishDiagnostics");
            let params = message["params"].clone();
            let published = params["uri"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            self.published.entry(published).or_default().push(params);
        }
    }
    /// The number of unread publications for a file so far.
    pub fn heard(&mut self, name: &str) -> usize {
        // The results of a change are sent before the second response after it.
        for _ in 0..2 {
            self.ask("workspace/symbol", json!({ "query": "" }));
        }
        self.published.get(name).map_or(0, Vec::len)
    }
    /// The URI of the folder.
    pub fn root(&self) -> String {
        format!("file://{}", self.folder.path().display())
    }
    pub fn uri(&self, name: &str) -> String {
        format!("{}/{name}", self.root())
    }
    /// Opens a file of the folder with its content on disk.
    pub fn open(&mut self, name: &str) {
        let text = std::fs::read_to_string(self.folder.path().join(name)).unwrap();
        let document = json!({ "uri": self.uri(name), "languageId": "yaml", "version": 1, "text": text });
        self.texts.insert(name.to_owned(), (text, 1));
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }
    /// Replaces the first occurrence of `old` in an open file, as typing does.
    pub fn edit(&mut self, name: &str, old: &str, new: &str) {
        let at = self.text(name).find(old).unwrap_or_else(|| panic!("`{old}` is not in {name}"));
        let range = json!({ "start": self.position_of(name, at), "end": self.position_of(name, at + old.len()) });
        let (text, version) = self.texts.get_mut(name).unwrap();
        text.replace_range(at..at + old.len(), new);
        *version += 1;
        let version = *version;
        let params = json!({
            "textDocument": { "uri": self.uri(name), "version": version },
            "contentChanges": [{ "range": range, "text": new }],
        });
        self.tell("textDocument/didChange", params);
    }
    /// The editor's text of an open file; otherwise the text on disk.
    pub fn text(&self, name: &str) -> String {
        match self.texts.get(name) {
            Some((text, _)) => text.clone(),
            None => std::fs::read_to_string(self.folder.path().join(name)).unwrap(),
        }
    }
    fn position_of(&self, name: &str, at: usize) -> Value {
        let text = self.text(name);
        let before = &text[..at];
        let line = before.rsplit('\n').next().unwrap();
        json!({ "line": before.matches('\n').count(), "character": line.encode_utf16().count() })
    }
    /// The position of the bar in `context`, which is in the file without the bar: `{{wri|ter.`. If the file contains
    /// bars, use `‸` instead.
    pub fn at(&self, name: &str, context: &str) -> Value {
        let (before, after) = context
            .split_once('‸')
            .or_else(|| context.split_once('|'))
            .unwrap_or_else(|| panic!("`{context}` has no bar"));
        let at = self.text(name).find(&format!("{before}{after}"));
        let at = at.unwrap_or_else(|| panic!("`{before}{after}` is not in {name}"));
        json!({ "textDocument": { "uri": self.uri(name) }, "position": self.position_of(name, at + before.len()) })
    }
    /// The text of a range of a file.
    pub fn slice(&self, name: &str, range: &Value) -> String {
        let text = self.text(name);
        let offset = |p: &Value| {
            let start: usize =
                text.split_inclusive('\n').take(p["line"].as_u64().unwrap() as usize).map(str::len).sum();
            let mut left = p["character"].as_u64().unwrap() as usize;
            let rest = text[start..].chars().take_while(|c| {
                let more = left >= c.len_utf16() && left > 0;
                left = left.saturating_sub(c.len_utf16());
                more
            });
            start + rest.map(char::len_utf8).sum::<usize>()
        };
        text[offset(&range["start"])..offset(&range["end"])].to_owned()
    }
    /// `file:line` and text of every location, sorted.
    pub fn places(&self, locations: &Value) -> Vec<String> {
        let all = match locations {
            Value::Array(list) => list.clone(),
            Value::Null => Vec::new(),
            one => vec![one.clone()],
        };
        let one = |l: &Value| {
            let name = l["uri"].as_str().unwrap().strip_prefix(&format!("{}/", self.root())).unwrap().to_owned();
            let line = l["range"]["start"]["line"].as_u64().unwrap() + 1;
            format!("{name}:{line:02} {}", self.slice(&name, &l["range"]))
        };
        let mut places: Vec<String> = all.iter().map(one).collect();
        places.sort();
        places
    }
    /// The text of a file after a workspace edit.
    pub fn applied(&self, name: &str, edit: &Value) -> String {
        let mut text = self.text(name);
        let none = Vec::new();
        let edits = edit["changes"][self.uri(name)].as_array().unwrap_or(&none);
        let mut edits: Vec<&Value> = edits.iter().collect();
        edits.sort_by_key(|e| {
            let start = &e["range"]["start"];
            std::cmp::Reverse((start["line"].as_u64(), start["character"].as_u64()))
        });
        for edit in edits {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let offset = |p: &Value| {
                let start: usize = lines.iter().take(p["line"].as_u64().unwrap() as usize).map(|l| l.len()).sum();
                start + p["character"].as_u64().unwrap() as usize
            };
            let (start, end) = (offset(&edit["range"]["start"]), offset(&edit["range"]["end"]));
            text.replace_range(start..end, edit["newText"].as_str().unwrap());
        }
        text
    }
    /// Ends the session according to the protocol; returns the exit code.
    pub fn finish(mut self) -> Option<i32> {
        self.ask("shutdown", Value::Null);
        self.tell("exit", Value::Null);
        self.exit_code()
    }
    /// Waits for the end of the server.
    pub fn exit_code(&mut self) -> Option<i32> {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < end, "the server did not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    /// Closes the server's input.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The labels of a completion, in the order in which they are offered.
pub fn labels(result: &Value) -> Vec<String> {
    let items = result.get("items").unwrap_or(result).as_array().cloned().unwrap_or_default();
    let mut items: Vec<(String, String)> = items
        .iter()
        .map(|i| {
            let label = i["label"].as_str().unwrap().to_owned();
            (i["sortText"].as_str().map_or_else(|| label.clone(), str::to_owned), label)
        })
        .collect();
    items.sort();
    items.into_iter().map(|(_, label)| label).collect()
}

/// The rules of diagnostics.
pub fn rules(diagnostics: &[Value]) -> Vec<&str> {
    diagnostics.iter().map(|d| d["code"].as_str().unwrap()).collect()
}
