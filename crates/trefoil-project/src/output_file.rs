//! Writes a file with the input and answers of a run: as a whole or not at all, and readable only by its owner.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::private_files;

/// A file to be written.
#[derive(Debug)]
pub struct PendingFile(PendingTarget);

#[derive(Debug)]
enum PendingTarget {
    /// A device or a pipe, which is written directly.
    Device(File),
    /// A temporary file in the same folder, which replaces the old file when it is complete.
    Beside(NamedTempFile, PathBuf),
}

impl PendingFile {
    /// Checks that the file can be written.
    pub fn create_pending(path: &Path) -> std::io::Result<Self> {
        match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(std::io::Error::other("it is a folder")),
            Ok(there) if !there.is_file() => {
                return Ok(Self(PendingTarget::Device(OpenOptions::new().write(true).open(path)?)));
            }
            // A link is replaced, not followed.
            _ => {}
        }
        if path.file_name().is_none() {
            return Err(std::io::Error::other("it is not a file name"));
        }
        Ok(Self(PendingTarget::Beside(private_files::create_temporary_file(path)?, path.to_owned())))
    }

    /// Writes the file and moves it into place.
    pub fn write_text(self, text: &str) -> std::io::Result<()> {
        match self.0 {
            PendingTarget::Device(mut device) => {
                device.write_all(text.as_bytes())?;
                device.flush()
            }
            PendingTarget::Beside(mut beside, path) => {
                beside.write_all(text.as_bytes())?;
                beside.persist(path)?;
                Ok(())
            }
        }
    }
}

/// Writes a page for the browser to a new file: with a name that nobody can know before, in the folder for files of this login,
/// or, without one, in the temporary folder.
pub fn write_page(html: &str) -> std::io::Result<PathBuf> {
    let new =
        |folder: &Path| tempfile::Builder::new().prefix("trefoil-").suffix(".html").rand_bytes(16).tempfile_in(folder);
    let mut file = None;
    if let Some(folder) = std::env::var_os("XDG_RUNTIME_DIR")
        && Path::new(&folder).is_absolute()
    {
        // The folder may not exist, for example in a container.
        file = new(Path::new(&folder)).ok();
    }
    let mut file = match file {
        Some(file) => file,
        None => new(&std::env::temp_dir())?,
    };
    file.write_all(html.as_bytes())?;
    file.flush()?;
    Ok(file.keep().map_err(|failed| failed.error)?.1)
}
