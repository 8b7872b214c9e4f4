//! The settings that apply to a target. Which manifest a target means is only known by looking into its folder, as a
//! load does.

use crate::file_access;
use crate::load::{LoadOptions, entry_file};
use crate::settings::{self, FoundSettings};
use crate::target::LoadTarget;

/// The settings for a target: those of the project of the manifest that it means. A folder may contain other projects,
/// which do not have the permissions of the folder's own. `options` are those for loading it, without these settings.
pub fn target_settings(target: &LoadTarget, options: &LoadOptions, without_project: bool) -> FoundSettings {
    let found = settings::find_settings(&target.path, without_project);
    if without_project || !file_access::is_folder(&target.path) {
        return found;
    }
    let allowed = options.allowed.iter().chain(&found.settings.allowed).cloned().collect();
    match entry_file(target, &LoadOptions { allowed, ..options.clone() }) {
        Some(file) if settings::project_file(&file) != settings::project_file(&target.path) => {
            settings::find_settings(&file, false)
        }
        _ => found,
    }
}
