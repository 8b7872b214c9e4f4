//! The operator's program that returns secrets: `["op", "read", "op://work/{name}"]`.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use trefoil_runtime::ports::Secret;

use super::{FoundSecret, LARGEST};

/// Long, because a person may have to unlock something first.
const LONGEST: Duration = Duration::from_secs(60);
/// How long to wait for more output after it has ended. What it printed is in the pipe, so this only matters if a process
/// that it started, such as an agent, keeps the pipe open. The agent is not ended, because later calls may need it; and
/// the command stays in the terminal's process group, because it may ask a person there.
const REST: Duration = Duration::from_secs(1);

/// Its output for a name, without the final line break. No output, or an exit code other than 0, means that it does not
/// know the name; its stderr contains the reason.
pub fn run_secret_command(command: &[String], name: &str) -> FoundSecret {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let failed = |why: &dyn std::fmt::Display| format!("`{program}`, the command of `[secrets]`: {why}");
    let arguments = arguments.iter().map(|argument| argument.replace("{name}", name));
    let started = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|why| failed(&why))?;
    let Some(mut out) = child.stdout.take() else { return Ok(None) };
    let (send, pieces) = mpsc::channel::<Vec<u8>>();
    std::thread::spawn(move || {
        let mut piece = vec![0; 4096];
        while let Ok(read @ 1..) = out.read(&mut piece)
            && send.send(piece.iter().take(read).copied().collect()).is_ok()
        {}
    });
    let began = Instant::now();
    let mut bytes = Vec::new();
    let status = loop {
        // A program that prints without end is not read to its end.
        while (bytes.len() as u64) <= LARGEST
            && let Ok(piece) = pieces.try_recv()
        {
            bytes.extend(piece);
        }
        match child.try_wait().map_err(|why| failed(&why))? {
            Some(status) => break status,
            None if bytes.len() as u64 > LARGEST => {
                let _ = child.kill();
                break child.wait().map_err(|why| failed(&why))?;
            }
            None if began.elapsed() > LONGEST => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(&format_args!("no answer within {}s", LONGEST.as_secs())));
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    while (bytes.len() as u64) <= LARGEST
        && let Ok(piece) = pieces.recv_timeout(REST)
    {
        bytes.extend(piece);
    }
    if bytes.len() as u64 > LARGEST {
        return Err(failed(&format_args!("its answer is larger than {} KB", LARGEST >> 10)));
    }
    let text = String::from_utf8(bytes).map_err(|_| failed(&"its answer is not UTF-8"))?;
    if status.success() { Ok(Secret::new(text.trim_end_matches(['\n', '\r']))) } else { Ok(None) }
}
