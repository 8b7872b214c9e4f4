//! A program of the operator's that knows secrets: `["op", "read", "op://work/{name}"]`.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::LARGEST;

/// A person may have to unlock something first.
const LONGEST: Duration = Duration::from_secs(60);

/// What it prints for a name, without the line break at the end. None: it fails, or prints nothing.
pub fn ask(command: &[String], name: &str) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let arguments = arguments.iter().map(|argument| argument.replace("{name}", name));
    let mut child = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().ok()?;
    let mut out = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = out.by_ref().take(LARGEST + 1).read_to_end(&mut bytes);
        bytes
    });
    let began = Instant::now();
    let status = loop {
        match child.try_wait().ok()? {
            Some(status) => break status,
            None if began.elapsed() > LONGEST => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let text = String::from_utf8(reader.join().ok()?).ok()?;
    let text = text.trim_end_matches(['\n', '\r']);
    (status.success() && !text.is_empty() && text.len() as u64 <= LARGEST).then(|| text.to_owned())
}
