//! The rules that loading itself reports. Those for manifests are named by the crates that find the mistakes.

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
