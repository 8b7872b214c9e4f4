//! A test that needs something which this machine does not have passes, and says so here. Whatever a passing test prints is
//! hidden by the test harness; these lines are not.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Says why the current test, or a part of it, was not run.
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // The harness captures the macros that print, not the stream itself.
    let _ = writeln!(std::io::stderr(), "not tested: {test}: {why}");
}

/// A folder of material that is not in the repository: manifests of others, test cases that several implementations share. It is looked
/// for in `TREFOIL_SHARED`, else next to the checkout. `None` if it does not exist, which is said.
#[allow(clippy::disallowed_methods, reason = "whoever runs the tests says where it is")]
pub fn shared_folder(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("TREFOIL_SHARED").map_or_else(beside, PathBuf::from).join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    skipped(&format!("`{}` does not exist (TREFOIL_SHARED names its parent)", folder.display()));
    None
}
