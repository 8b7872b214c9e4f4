//! Runs commands on this computer, for operators who allow them.
//!
//! Each runs as `sh -c script trefoil arguments…` in its own process group, without stdin, and with the environment that
//! tools get. When it ends, fails or is cancelled, everything it started is killed.

use std::path::PathBuf;

use async_trait::async_trait;
use tokio::process::Command;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{CommandHost, CommandOutput, CommandRequest, ToolError};
use trefoil_template::Value;
use trefoil_tools::process::{self, ProcessEnvironment};

pub use trefoil_tools::process::{adopt_orphans, end_all, hide_memory};

/// Runs commands with the shell.
#[derive(Debug, Clone, Default)]
pub struct CommandShell {
    /// The working directory of commands that set none; `None`: the current one.
    pub folder: Option<PathBuf>,
    /// The variables that commands get in addition to the usual ones: `[run] env`.
    pub pass: Vec<String>,
}

#[async_trait]
impl CommandHost for CommandShell {
    async fn run_command(&self, _at: CallSite<'_>, request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&*request.script).arg("trefoil");
        command.args(request.arguments.iter().map(|a| a.to_text().to_string()));
        let environment = ProcessEnvironment { pass: self.pass.clone(), ..ProcessEnvironment::default() };
        command.env_clear().envs(environment.inherited_variables());
        for (name, value) in &request.env {
            command.env(&**name, &*value.to_text());
        }
        let folder = match &request.workdir {
            None | Some(Value::Null) => self.folder.clone(),
            Some(folder) => {
                let folder = PathBuf::from(&*folder.to_text());
                Some(self.folder.as_ref().map_or(folder.clone(), |base| base.join(folder)))
            }
        };
        if let Some(folder) = folder.filter(|f| !f.as_os_str().is_empty()) {
            if !folder.is_dir() {
                let why = if folder.exists() { "is not a folder" } else { "does not exist" };
                return Err(ToolError::Failed(format!("the working folder `{}` {why}", folder.display())));
            }
            command.current_dir(folder);
        }
        let ended = process::start_process(command, false)?.run_to_end(None, None).await?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(CommandOutput { exit_code: ended.code, stdout: text(ended.stdout), stderr: text(ended.stderr) })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use trefoil_ir::StepId;
    use trefoil_runtime::{Key, Meter};

    use super::*;

    #[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    }

    fn request(script: &str, arguments: &[&str]) -> CommandRequest {
        CommandRequest {
            script: script.into(),
            arguments: arguments.iter().map(|a| Value::from(*a)).collect(),
            env: vec![("GREETING".into(), Value::from("hi"))],
            workdir: Some(Value::from("/")),
        }
    }

    async fn perform(request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        let (key, meter) = (Key(Arc::from("k")), Meter::default());
        let at = CallSite {
            run: "run",
            execution: 0,
            key: &key,
            step: StepId(0),
            labels: &[],
            meter: &meter,
            discloses: false,
            limit_ms: None,
        };
        CommandShell::default().run_command(at, request).await
    }

    async fn run(script: &str, arguments: &[&str]) -> Result<CommandOutput, ToolError> {
        perform(&request(script, arguments)).await
    }

    #[test]
    fn arguments_are_data() {
        let hostile = "$(touch /tmp/x); `id` \" ' \\ \n*";
        let output = block_on(run("printf %s \"$1\"; pwd >&2; echo $GREETING; exit 3", &[hostile])).unwrap();
        assert_eq!(output, CommandOutput { exit_code: 3, stdout: format!("{hostile}hi\n"), stderr: "/\n".to_owned() });
    }

    #[test]
    fn a_working_folder_that_is_missing_is_named() {
        let within = |folder: &str| {
            let request = CommandRequest { workdir: Some(Value::from(folder)), ..request("pwd", &[]) };
            block_on(perform(&request)).unwrap_err().to_string()
        };
        assert!(within("/no/such/folder").contains("`/no/such/folder` does not exist"));
        assert!(within("/dev/null").contains("`/dev/null` is not a folder"));
    }

    #[test]
    fn what_it_leaves_behind_ends_with_it() {
        let before = Instant::now();
        let output = block_on(run("sleep 60 & echo $!", &[])).unwrap();
        assert!(before.elapsed() < Duration::from_secs(30), "the background process held the command up");
        assert!(has_ended(output.stdout.trim()), "{} is still there", output.stdout);
    }

    #[test]
    fn dropped_it_is_killed() {
        let dir = std::env::temp_dir().join(format!("trefoil-shell-{}", std::process::id()));
        let script = format!("sleep 60 & echo $! > {}; wait", dir.display());
        block_on(async {
            let run = run(&script, &[]);
            assert!(tokio::time::timeout(Duration::from_millis(500), run).await.is_err());
        });
        let pid = std::fs::read_to_string(&dir).unwrap();
        std::fs::remove_file(&dir).unwrap();
        assert!(has_ended(pid.trim()), "{pid} is still there");
    }

    /// Whether a process has ended, or ends soon.
    fn has_ended(pid: &str) -> bool {
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        (0..100).any(|_| {
            let state = state();
            let gone = state.is_empty() || state.contains(") Z ");
            if !gone {
                std::thread::sleep(Duration::from_millis(50));
            }
            gone
        })
    }
}
