//! Loading, checking and fixing what is on disk.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod cache;
mod checks;
mod fixes;
mod foreign_files;
mod manifests;
mod meant;
mod pages;
mod plan;
mod schema;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use trefoil_project::load::{LoadOptions, LoadedTarget};
use trefoil_project::target::LoadTarget;

/// A folder with manifests, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("trefoil-project-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        for (name, text) in files {
            let file = path.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        Self(path)
    }
    fn load(&self, target: &str) -> LoadedTarget {
        let target = LoadTarget::parse(&format!("{}{target}", self.0.display()));
        trefoil_project::load::load_target(&target, &LoadOptions::default())
            .unwrap_or_else(|report| panic!("{}", report.text()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
