//! Prevents a command from overwriting its own input files.

use std::path::Path;

use trefoil_project::file_access;
use trefoil_syntax::SourceFiles;

use crate::output;

/// Refuses to write to a file that was read, because a typing error would destroy a manifest or a trace.
pub fn refuse_overwrite<'p>(out: &Path, read: impl IntoIterator<Item = &'p Path>) -> Result<(), u8> {
    let to = file_access::resolve_links(out);
    if !read.into_iter().any(|path| file_access::resolve_links(path) == to) {
        return Ok(());
    }
    let message = format!("`{}` would be overwritten, but it is an input of this command", out.display());
    Err(output::report_not_started(&message, Some("write to another file")))
}

/// The same for the source files of a workflow.
pub fn refuse_source_overwrite(out: Option<&Path>, sources: &SourceFiles) -> Result<(), u8> {
    let Some(out) = out else { return Ok(()) };
    refuse_overwrite(out, sources.iter().map(|(_, file)| Path::new(file.name())))
}
