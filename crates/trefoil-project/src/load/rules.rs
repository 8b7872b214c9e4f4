//! The rules that loading itself reports. Those for manifests are listed in the crates that find the mistakes.

/// The path does not exist.
pub const NOT_FOUND: &str = "file-not-found";
/// The path exists but cannot be read.
pub const UNREADABLE: &str = "file-unreadable";
/// An environment file named by a manifest does not exist or cannot be read.
pub const ENV_FILE: &str = "missing-env-file";
/// A line of an environment file sets nothing.
pub const ENV_LINE: &str = "env-file-line";
/// What to do about a quote without an end.
pub const ENV_LINE_HELP: &str = "a value is one line; end it with the same quote";
/// A path in a file leads out of the project.
pub const OUTSIDE: &str = "outside-project";
/// The folder contains no manifests.
pub const NOTHING: &str = "no-manifest";
/// `dir#id` with an id that no manifest has.
pub const UNKNOWN_ID: &str = "unknown-id";
/// The target matches several manifests.
pub const AMBIGUOUS_TARGET: &str = "ambiguous-target";
/// The file is of no known dialect.
pub const UNKNOWN_DIALECT: &str = "unknown-dialect";
/// The file belongs to a dialect but is not a unit of it.
pub const NOT_A_UNIT: &str = "not-an-agent";
/// The file has keys of two dialects.
pub const AMBIGUOUS_DIALECT: &str = "ambiguous-dialect";
/// The file is larger than the limits allow; the same rule as the parser's.
pub const LIMIT: &str = "yaml-limit";
/// A folder is deeper or larger than the limits allow.
pub const FOLDER_LIMIT: &str = "folder-limit";

/// Rule names with their descriptions.
pub const RULES: &[(&str, &str)] = &[
    (NOT_FOUND, "no file or folder at this path"),
    (UNREADABLE, "the file or folder cannot be read"),
    (ENV_FILE, "an environment file of the manifest cannot be read"),
    (ENV_LINE, "a line of an environment file sets no variable"),
    (OUTSIDE, "a path in a file leads outside the project"),
    (NOTHING, "the folder has no manifest"),
    (UNKNOWN_ID, "no manifest in the folder has this id"),
    (AMBIGUOUS_TARGET, "the target could be more than one manifest"),
    (crate::project_file::RULE, "something in the project file is not valid"),
    (trefoil_check::suppress::UNKNOWN, "an unrecognised `# trefoil:` comment"),
    (trefoil_check::suppress::UNUSED, "a comment allows a rule where the rule reports nothing"),
    (FOLDER_LIMIT, "the folder is deeper or larger than the limits allow"),
];
