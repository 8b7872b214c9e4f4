//! Writes a file with the input and answers of a run: as a whole or not at all, and readable only by its owner.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::private;

/// A file to be written. It replaces the old one when it is complete.
#[derive(Debug)]
pub struct Pending {
    file: File,
    path: PathBuf,
    /// A temporary file in the same folder; `None`: a device or a pipe, which is written directly.
    beside: Option<PathBuf>,
}

impl Pending {
    /// Checks that the file can be written.
    pub fn create(path: &Path) -> std::io::Result<Self> {
        match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(std::io::Error::other("it is a folder")),
            Ok(there) if !there.is_file() => {
                let file = OpenOptions::new().write(true).open(path)?;
                return Ok(Self { file, path: path.to_owned(), beside: None });
            }
            // A link is replaced, not followed.
            _ => {}
        }
        let name = path.file_name().ok_or_else(|| std::io::Error::other("it is not a file name"))?;
        let mut failed = std::io::Error::other("no free name for a temporary file next to it");
        for attempt in 0..100u32 {
            let mut beside = std::ffi::OsString::from(".");
            beside.push(name);
            beside.push(format!(".{}-{attempt}.tmp", std::process::id()));
            let beside = path.with_file_name(beside);
            match private::new_file(&beside) {
                Ok(file) => return Ok(Self { file, path: path.to_owned(), beside: Some(beside) }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => failed = error,
                Err(error) => return Err(error),
            }
        }
        Err(failed)
    }

    /// Writes the file and moves it into place.
    pub fn finish(mut self, text: &str) -> std::io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        self.file.flush()?;
        let Some(beside) = &self.beside else { return Ok(()) };
        std::fs::rename(beside, &self.path)?;
        self.beside = None;
        Ok(())
    }
}

/// Writes a page for the browser to a new file: with a name that nobody can know before, in the folder for files of this login,
/// or, without one, in the temporary folder.
pub fn write_page(html: &str) -> std::io::Result<PathBuf> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let new =
        |folder: &Path| tempfile::Builder::new().prefix("trefoil-").suffix(".html").rand_bytes(16).tempfile_in(folder);
    // The folder may not exist, for example in a container.
    let file = own.map(|folder| new(&folder)).and_then(Result::ok);
    let mut file = file.map_or_else(|| new(&std::env::temp_dir()), Ok)?;
    file.write_all(html.as_bytes())?;
    file.flush()?;
    Ok(file.keep().map_err(|failed| failed.error)?.1)
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = std::fs::remove_file(beside);
        }
    }
}
