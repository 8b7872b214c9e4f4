//! Prevents a command from overwriting its own input files.

use std::path::Path;

use trefoil_project::door;
use trefoil_syntax::Files;

use crate::output;

/// Refuses to write to a file that was read, because a typing error would destroy a manifest or a trace.
pub fn spare<'p>(out: &Path, read: impl IntoIterator<Item = &'p Path>) -> Result<(), u8> {
    let to = door::real(out);
    if !read.into_iter().any(|path| door::real(path) == to) {
        return Ok(());
    }
    let message = format!("`{}` would be overwritten, but it is an input of this command", out.display());
    Err(output::not_started(&message, Some("write to another file")))
}

/// The same for the source files of a workflow.
pub fn spare_sources(out: Option<&Path>, sources: &Files) -> Result<(), u8> {
    let Some(out) = out else { return Ok(()) };
    spare(out, sources.iter().map(|(_, file)| Path::new(file.name())))
}
