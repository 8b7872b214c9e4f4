//! The operator's program that returns secrets: `["op", "read", "op://work/{name}"]`.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trefoil_runtime::ports::Secret;

use super::{FoundSecret, LARGEST};

/// Long, because a person may have to unlock something first.
const LONGEST: Duration = Duration::from_secs(60);

/// Its output for a name, without the final line break. No output, or an exit code other than 0, means that it does not
/// know the name; its stderr contains the reason.
pub fn ask(command: &[String], name: &str) -> FoundSecret {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let failed = |why: &dyn std::fmt::Display| format!("`{program}`, the command of `[secrets]`: {why}");
    let arguments = arguments.iter().map(|argument| argument.replace("{name}", name));
    let started = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|why| failed(&why))?;
    let Some(mut out) = child.stdout.take() else { return Ok(None) };
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = out.by_ref().take(LARGEST + 1).read_to_end(&mut bytes);
        bytes
    });
    let began = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|why| failed(&why))? {
            Some(status) => break status,
            None if began.elapsed() > LONGEST => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(&format_args!("no answer within {}s", LONGEST.as_secs())));
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let bytes = reader.join().unwrap_or_default();
    if bytes.len() as u64 > LARGEST {
        return Err(failed(&format_args!("its answer is larger than {} KB", LARGEST >> 10)));
    }
    let text = String::from_utf8(bytes).map_err(|_| failed(&"its answer is not UTF-8"))?;
    Ok(Secret::new(text.trim_end_matches(['\n', '\r'])).filter(|_| status.success()))
}
