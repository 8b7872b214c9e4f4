//! Test folders, and the binary without this machine's environment.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longer than any command takes on a slow machine, shorter than a CI server's limit.
const LIMIT: Duration = Duration::from_secs(120);

/// A temporary folder, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }
    /// Creates it inside a certain folder.
    pub fn within(folder: &Path) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("trefoil-cli-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = folder.join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }
    pub fn path(&self) -> &Path {
        &self.0
    }
    /// Writes a file and creates its folders.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }
    /// Whether a run is about to write its trace: a temporary file is created next to it, right before the run.
    pub fn records(&self, trace: &str) -> bool {
        let beside = format!(".{trace}.");
        let mut names = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
        names.any(|name| name.to_string_lossy().starts_with(&beside))
    }
    /// Runs the binary in this folder.
    pub fn trefoil(&self, args: &[&str]) -> Ran {
        finish(self.command(args))
    }
    /// Runs the binary with `stdin` as its input.
    pub fn trefoil_with(&self, args: &[&str], stdin: &str) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let stdin = stdin.to_owned();
        let writer = std::thread::spawn(move || drop(pipe.write_all(stdin.as_bytes())));
        let ran = wait(child);
        writer.join().unwrap();
        ran
    }
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil"));
        command.args(args).current_dir(&self.0);
        bare(&mut command);
        command.env("HOME", self.home());
        command
    }
    /// The home of its commands: next to it, so that no command finds it as a part of a project.
    pub fn home(&self) -> PathBuf {
        let name = self.0.file_name().unwrap_or_default().to_string_lossy();
        self.0.with_file_name(format!("{name}-home"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        let _ = std::fs::remove_dir_all(self.home());
    }
}

/// No key, no colour, no terminal: only what a program needs to start. Without a home, it has no store but one that it names.
pub fn bare(command: &mut Command) {
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    // Nor the user's settings, trust decisions and store.
    command.env("TREFOIL_EPHEMERAL", "1").env("HOME", "/dev/null").env("LOGNAME", "ada");
    command.env("TREFOIL_CONFIG_DIR", std::env::temp_dir().join("trefoil-tests-without-config"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// The result of a command.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Stdout as one JSON value.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("stdout is not JSON: {e}\n{self:?}"))
    }
    /// Stdout as JSON lines.
    pub fn lines(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
    }
    /// Requires this exit code and empty stdout.
    pub fn silent(&self, code: i32) -> &Self {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        self
    }
    /// Requires this exit code.
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }
    /// Requires all of these texts on stderr.
    pub fn says(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is not in\n{}", self.err);
        }
        self
    }
}

pub fn finish(mut command: Command) -> Ran {
    wait(command.spawn().unwrap())
}

/// Waits for the end, within the limit.
pub fn wait(mut child: Child) -> Ran {
    let read = |stream: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                let _ = stream.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = read(child.stdout.take().map(|s| Box::new(s) as _));
    let err = read(child.stderr.take().map(|s| Box::new(s) as _));
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("still running after {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    Ran { code: status.code().unwrap_or(-1), out: out.join().unwrap(), err: err.join().unwrap() }
}

/// The workspace's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// An agntz agent with plain text as its input.
pub const AGENT: &str = "id: helper\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: You help.\n";
