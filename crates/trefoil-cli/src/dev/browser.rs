//! Opens a page in the browser.

use std::path::Path;
use std::process::{Command, Stdio};

/// Opens a file with `$BROWSER`, or else with the system's opener. Failures are ignored, because the address has been printed.
pub fn open(path: &Path) {
    let named = std::env::var("BROWSER").ok().filter(|name| !name.is_empty());
    let opener = match (&named, cfg!(target_os = "macos"), cfg!(windows)) {
        (Some(name), ..) => name.as_str(),
        (None, true, _) => "open",
        (None, _, true) => "explorer",
        (None, ..) => "xdg-open",
    };
    let quiet = Command::new(opener).arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Ok(mut child) = quiet {
        // Waits for the child, so that it does not stay a zombie.
        let _ = std::thread::Builder::new().spawn(move || child.wait());
    }
}
