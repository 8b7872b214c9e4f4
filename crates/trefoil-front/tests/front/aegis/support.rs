//! Manifests in, findings and IR out.

use trefoil_front::Project;
use trefoil_front::aegis::Aegis;

pub use crate::support::{Folder, show};

/// Loads a folder and lowers its first file. Files that are not YAML are attachments.
pub fn load(files: &[(&str, &str)]) -> Folder {
    load_with(files, |_| {})
}

/// The same, with something done to the project before it is lowered.
pub fn load_with(files: &[(&str, &str)], change: impl FnOnce(&mut Project)) -> Folder {
    Folder::load(&Aegis, files, 0, change)
}

/// The findings, one a line: `error 3:5 rule: message (help)`.
pub fn findings(files: &[(&str, &str)]) -> String {
    let folder = load(files).consistent();
    show(&folder.project.files, folder.diagnostics, files.len() > 1)
}

/// Asserts the findings against lines; white space around them is free.
#[track_caller]
pub fn expect(files: &[(&str, &str)], expected: &str) {
    crate::support::same(&findings(files), expected);
}

/// Asserts the findings of one manifest.
#[track_caller]
pub fn expect_one(manifest: &str, expected: &str) {
    expect(&[("manifest.yaml", manifest)], expected);
}

/// The text form of a program.
pub fn ir(folder: &Folder) -> String {
    let Some(lowered) = &folder.lowered else {
        panic!("no program:\n{}", show(&folder.project.files, folder.diagnostics.clone(), true))
    };
    trefoil_ir::print::print(&lowered.program, &folder.project.files)
}
