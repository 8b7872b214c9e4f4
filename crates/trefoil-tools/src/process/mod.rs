//! Child processes. Each runs in its own process group with bounded output, and is ended with everything that it
//! started when the caller has the result or drops it.

mod environment;
mod tree;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use trefoil_runtime::ToolError;
use trefoil_runtime::ports::Secrets;
use trefoil_template::limits;

pub use environment::{ProcessEnvironment, environment_names, fill_holes, holes_in_text};
pub use tree::{ProcessGroup, adopt_orphans, end_all, hide_memory};

/// Number of characters of standard error that a message quotes.
const SAID: usize = 300;

/// A program that the operator declares, with its folder and environment.
#[derive(Debug, Clone)]
pub struct OperatorProgram {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its working folder; `None`: the current folder.
    pub folder: Option<PathBuf>,
    /// Its environment.
    pub environment: ProcessEnvironment,
}

impl OperatorProgram {
    /// Creates a command with the given words. Fails if its environment needs a secret that is not set.
    pub fn build_command(&self, words: &[String], secrets: &dyn Secrets) -> Result<Command, ToolError> {
        let (program, arguments) = words.split_first().ok_or_else(|| {
            ToolError::with_advice("the command is empty", "write the program and its arguments in `command`")
        })?;
        // A relative path is relative to the program's folder. The system would resolve it in the caller's folder.
        let path = match &self.folder {
            Some(folder) if program.contains(['/', std::path::MAIN_SEPARATOR]) => folder.join(program),
            _ => PathBuf::from(program),
        };
        let mut command = Command::new(path);
        command.args(arguments).env_clear().envs(self.environment.resolve_variables(secrets)?);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        Ok(command)
    }
}

/// The result of a process.
#[derive(Debug)]
pub struct ProcessOutcome {
    /// Its exit code; if a signal ended it, 128 plus the signal's number.
    pub code: i64,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

impl ProcessOutcome {
    /// The message for a program that failed: the end of its standard error.
    pub fn failure_message(&self) -> String {
        let said = last_words(&String::from_utf8_lossy(&self.stderr));
        let ended = match self.code {
            code @ 129..=159 => format!("it was ended by signal {}", code - 128),
            code => format!("it exited with {code}"),
        };
        if said.is_empty() { ended } else { format!("{ended}: {said}") }
    }
}

/// The last lines of a text. A mark shows where it was cut, so that a part of a secret is recognized as such.
pub fn last_words(text: &str) -> String {
    let text = text.trim_end();
    let skip = text.chars().count().saturating_sub(SAID);
    let cut: String = text.chars().skip(skip).collect();
    let cut = match cut.split_once('\n') {
        Some((_, rest)) if skip > 0 => rest,
        _ => cut.as_str(),
    };
    let said = cut.split_whitespace().collect::<Vec<_>>().join(" ");
    if skip == 0 { said } else { format!("… {said}") }
}

/// A process in progress. Dropping it ends the process and everything that it started.
#[derive(Debug)]
pub struct ChildProcess {
    /// The process itself.
    pub child: Child,
    group: ProcessGroup,
}

/// Starts a command with pipes for its output and, if `reads` is set, for its input.
pub fn start_process(mut command: Command, reads: bool) -> Result<ChildProcess, ToolError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mark = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    command.stdin(if reads { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    let (child, group) = ProcessGroup::spawn(command, mark).map_err(|why| {
        let help = match why.kind() {
            std::io::ErrorKind::PermissionDenied => "make the program executable, or fix `command` in the settings",
            _ => "install the program, or fix `command` and `folder` in the settings",
        };
        ToolError::with_advice(format!("cannot start `{name}`: {}", reason(&why)), help)
    })?;
    Ok(ChildProcess { child, group })
}

fn reason(why: &std::io::Error) -> String {
    match why.kind() {
        std::io::ErrorKind::NotFound => "it was not found".to_owned(),
        std::io::ErrorKind::PermissionDenied => "it is not executable".to_owned(),
        _ => why.to_string(),
    }
}

impl ChildProcess {
    /// Writes `input` to it and reads its output until it has ended.
    pub async fn run_to_end(
        self,
        input: Option<Vec<u8>>,
        limit: Option<Duration>,
    ) -> Result<ProcessOutcome, ToolError> {
        let all = self.finish(input);
        match limit {
            Some(limit) => tokio::time::timeout(limit, all).await.unwrap_or(Err(ToolError::Timeout)),
            None => all.await,
        }
    }

    async fn finish(self, input: Option<Vec<u8>>) -> Result<ProcessOutcome, ToolError> {
        let Self { mut child, group } = self;
        let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // A program may close its input before reading all of it.
                let _ = stdin.write_all(&input).await;
            }
            Ok(())
        };
        // Background processes of a command keep its output open, so they are ended when the command has ended.
        let (code, (), stdout, stderr) =
            tokio::try_join!(async { wait(&mut child, group).await }, write, drain(out), drain(err))?;
        Ok(ProcessOutcome { code, stdout, stderr })
    }

    /// Waits for a process that is about to end, and kills it if it does not.
    pub async fn end_process(mut self, patience: Duration) {
        let _ = tokio::time::timeout(patience, self.child.wait()).await;
        drop(self.group);
    }
}

async fn wait(child: &mut Child, group: ProcessGroup) -> Result<i64, ToolError> {
    let status = child.wait().await.map_err(|e| ToolError::Unusable(format!("lost track of the command: {e}")))?;
    if group.was_ended() {
        // What killed it ends this process as well. It has no result: whoever continues the run must not take one for granted.
        std::future::pending::<()>().await;
    }
    drop(group);
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Ok(128 + i64::from(signal));
    }
    Ok(status.code().map_or(-1, i64::from))
}

async fn drain(stream: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, ToolError> {
    let Some(stream) = stream else { return Ok(Vec::new()) };
    let mut bytes = Vec::new();
    let read = stream.take(limits::COMMAND_BYTES + 1).read_to_end(&mut bytes).await;
    read.map_err(|e| ToolError::Unusable(format!("cannot read the command's output: {e}")))?;
    if bytes.len() as u64 > limits::COMMAND_BYTES {
        let why = format!("the command printed more than {} MB", limits::COMMAND_BYTES >> 20);
        return Err(ToolError::unusable_result(why, "let it print less, or write to a file"));
    }
    Ok(bytes)
}
