//! Checks: a large manifest, the whole command with a small one, a keystroke in an editor.

use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use trefoil_lsp::EditorWorkspace;
use trefoil_project::load::{LoadOptions, check_paths};

use super::manifests::{aegis, agntz, sirenspec};
use super::{long, short};
use crate::race::{Race, Standing};

/// A dialect, its generator, the number of steps for about 2,000 lines, and a name in the manifest with the letter to
/// type.
type Typed = (&'static str, fn(usize) -> String, usize, &'static str);

const TYPED: [Typed; 3] = [
    ("agntz", agntz, 182, "{{step9|0}}"),
    ("aegis", aegis, 285, "{{S9|0.output}}"),
    ("sirenspec", sirenspec, 285, "{{ n9|0.output }}"),
];

/// The agent of the states.
const WRITER: &str = "apiVersion: 100monkeys.ai/v1
kind: Agent
metadata: { name: writer, version: \"1.0.0\" }
spec: { runtime: { model: smart }, task: { instruction: Write. } }
";

pub fn races(out: &mut Vec<Standing>) {
    let place = Scratch::new();
    let binary = command();
    for (dialect, generate) in [("agntz", agntz as fn(usize) -> String), ("aegis", aegis), ("sirenspec", sirenspec)] {
        let path = place.write(&format!("{dialect}-1000/main.yaml"), &generate(1000));
        let mut race = Race::new(format!("check {dialect}, 1,000 steps"), "file", 1).goal("<= 30 ms");
        if let Some(binary) = &binary {
            let path = path.clone();
            race = race.lane("the whole process", move || ran(Command::new(binary).arg("check").arg(&path)));
        }
        let named = [path.display().to_string()];
        out.push(long(race.lane("in a process that runs", move || {
            check_paths(black_box(&named), &LoadOptions::default().with_checks()).diagnostics.len()
        })));
    }
    if let Some(binary) = &binary {
        let path = place.write("agntz-2/main.yaml", &agntz(2));
        let race = Race::new("check of two steps, the whole process", "file", 1).goal("<= 5 ms");
        let race = race.lane("trefoil check", || ran(Command::new(binary).arg("check").arg(&path)));
        let nothing = Path::new("/bin/true");
        let race = match nothing.is_file() {
            true => race.lane("a process that does nothing", || ran(&mut Command::new(nothing))),
            false => race,
        };
        out.push(short(race));
    }
    out.extend(TYPED.iter().map(|typed| keystroke(&place, binary.as_deref(), typed)));
}

/// Adds a letter to a name and removes it again, and waits each time for the editor's diagnostics; also waits for a
/// completion that is requested right after the letter, as while typing.
fn keystroke(place: &Scratch, binary: Option<&Path>, (dialect, generate, steps, typed): &Typed) -> Standing {
    let text = generate(*steps);
    let (head, tail) = typed.split_once('|').expect("the place is marked");
    let (right, wrong) = (format!("{head}{tail}"), format!("{head}x{}", tail.get(1..).expect("a letter follows")));
    let other = text.replacen(&right, &wrong, 1);
    assert_ne!(text, other, "the letter must be somewhere");
    let path = place.write(&format!("keystroke-{dialect}/main.yaml"), &text);
    // An empty file would be a finding.
    if *dialect == "aegis" {
        place.write(&format!("keystroke-{dialect}/writer.yaml"), WRITER);
    }
    let name = format!("a keystroke in {dialect}, {} lines", text.lines().count());
    let mut race = Race::new(name, "keystroke", 1).goal("<= 20 ms");
    if let Some(binary) = binary {
        let line = text.lines().position(|l| l.contains(&right)).expect("it is there");
        let column = text.lines().nth(line).and_then(|l| l.find(&right)).expect("it is there") + head.len();
        let letters = |wrong: &mut bool| {
            *wrong = !*wrong;
            if *wrong { "x" } else { "0" }
        };
        let (mut editor, mut wrong) = (Editor::start(binary, &path, &text), false);
        race = race.lane("to its diagnostics", move || editor.types(line, column, letters(&mut wrong)));
        let (mut editor, mut wrong) = (Editor::start(binary, &path, &text), false);
        race = race.lane("to a completion right after it", move || {
            editor.completes(line, column, letters(&mut wrong));
        });
    }
    let mut workspace = EditorWorkspace::default();
    let path = path.canonicalize().expect("it was written");
    let mut version = 0;
    race = race.lane("of that: the check", move || {
        version += 1;
        workspace.set_buffer(path.clone(), if version % 2 == 0 { text.as_str() } else { other.as_str() }, version);
        let (analysis, _) = workspace.analysis_for(&path).expect("the buffer is open");
        assert_eq!(analysis.diagnostics().is_empty(), version % 2 == 0, "one text is right and the other is not");
        analysis.diagnostics().len()
    });
    long(race)
}

/// An editor with an open file.
struct Editor {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    uri: String,
    version: i32,
}

impl Editor {
    fn start(binary: &Path, path: &Path, text: &str) -> Self {
        let mut server = Command::new(binary);
        let mut server =
            server.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let input = server.stdin.take().expect("it is piped");
        let output = BufReader::new(server.stdout.take().expect("it is piped"));
        let uri = format!("file://{}", path.canonicalize().expect("it was written").display());
        let mut editor = Self { server, input, output, uri, version: 1 };
        editor.send(&serde_json::json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "processId": null, "rootUri": null, "capabilities": {} },
        }));
        editor.wait(|m| m.get("id").is_some());
        editor.send(&serde_json::json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
        let document = serde_json::json!({ "uri": editor.uri, "languageId": "yaml", "version": 1, "text": text });
        let params = serde_json::json!({ "textDocument": document });
        editor.send(&serde_json::json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": params }));
        editor.wait(|m| told(m, 1));
        editor
    }
    /// Replaces a letter, and waits for the diagnostics.
    fn types(&mut self, line: usize, column: usize, letter: &str) {
        let version = self.puts(line, column, letter);
        self.wait(|m| told(m, version));
    }
    /// Replaces a letter, and waits for a completion. The diagnostics are read with the next response.
    fn completes(&mut self, line: usize, column: usize, letter: &str) {
        let version = self.puts(line, column, letter);
        let params = serde_json::json!({ "textDocument": { "uri": self.uri }, "position": position(line, column + 1) });
        self.send(&serde_json::json!({
            "jsonrpc": "2.0", "id": version, "method": "textDocument/completion", "params": params,
        }));
        self.wait(|m| m.get("id").is_some_and(|id| *id == version));
    }
    /// Replaces a letter; returns the version of the text.
    fn puts(&mut self, line: usize, column: usize, letter: &str) -> i32 {
        self.version += 1;
        let version = self.version;
        let (start, end) = (position(line, column), position(line, column + 1));
        let change = serde_json::json!({ "range": { "start": start, "end": end }, "text": letter });
        let document = serde_json::json!({ "uri": self.uri, "version": version });
        let params = serde_json::json!({ "textDocument": document, "contentChanges": [change] });
        self.send(&serde_json::json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": params }));
        version
    }
    fn send(&mut self, message: &serde_json::Value) {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("the server listens");
        self.input.flush().expect("the server listens");
    }
    fn wait(&mut self, until: impl Fn(&serde_json::Value) -> bool) {
        loop {
            let mut length = 0;
            loop {
                let mut header = String::new();
                let read = self.output.read_line(&mut header).expect("the server answers");
                assert!(read > 0, "the server went away");
                match header.trim().split_once(": ") {
                    Some(("Content-Length", bytes)) => length = bytes.parse().expect("a number of bytes"),
                    Some(_) => {}
                    None => break,
                }
            }
            let mut body = vec![0; length];
            self.output.read_exact(&mut body).expect("the server answers");
            if until(&serde_json::from_slice(&body).expect("the server writes JSON")) {
                return;
            }
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn position(line: usize, character: usize) -> serde_json::Value {
    serde_json::json!({ "line": line, "character": character })
}

/// Whether a message has the diagnostics of this version.
fn told(message: &serde_json::Value, version: i32) -> bool {
    message.get("method").is_some_and(|m| m == "textDocument/publishDiagnostics")
        && message.pointer("/params/version").is_some_and(|v| *v == version)
}

/// The release build of the command; without it, races of whole processes are omitted.
fn command() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--profile", "dist", "--package", "trefoil-cli"])
        .current_dir(&root)
        .stdout(Stdio::null())
        .status();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
    let binary = target.join("dist").join(format!("trefoil{}", std::env::consts::EXE_SUFFIX));
    if built.is_ok_and(|status| status.success()) && binary.is_file() {
        return Some(binary);
    }
    eprintln!("skipped: races of whole processes, because the command could not be built");
    None
}

/// Runs a command, which must succeed.
fn ran(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "the command must run and find no error");
}

/// A temporary folder for these races, removed at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        let path = std::env::temp_dir().join(format!("trefoil-bench-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder can be made");
        Self(path)
    }
    pub fn path(&self) -> &Path {
        &self.0
    }
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
        fs::write(&path, text).expect("a file can be written");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
