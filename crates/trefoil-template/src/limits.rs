//! Limits on size and work, so that no manifest and no data can exhaust the process. All limits of all crates are here,
//! except those that a module sets for its own output (such as how many lines to show).
//!
//! Error messages name the limit that was exceeded. `docs/limits.md` lists the limits for users.

/// Bytes of a template's text.
pub const TEMPLATE_BYTES: usize = 1 << 20;
/// Bytes of a condition's text.
pub const CONDITION_BYTES: usize = 64 << 10;
/// Nesting depth of blocks, parentheses and operators.
pub const DEPTH: usize = 64;
/// Nesting depth of the value of a step, an input or an output. JSON readers accept slightly more, which leaves room
/// for wrapping.
pub const VALUE_DEPTH: usize = 100;
/// Values inside such a value. Shared values count each time they occur.
pub const VALUE_NODES: usize = 4 << 20;
/// Bytes of rendered text.
pub const OUTPUT_BYTES: usize = 32 << 20;
/// Iterations of all loops in one rendering.
pub const PASSES: u64 = 1_000_000;
/// Bytes and items that one evaluation of an expression may create.
pub const WORK: u64 = 16 << 20;
/// Mistakes reported for one text.
pub const MISTAKES: usize = 64;
/// Bytes of the values that a run creates (inputs, answers, results), each counted once, when it is created.
pub const RUN_BYTES: u64 = 256 << 20;
/// Bytes of the prompts and arguments of a run's activities that are in progress at the same time.
pub const PENDING_BYTES: u64 = 256 << 20;
/// Model calls of a run, unless its caller sets another limit.
pub const RUN_CALLS: u64 = 10_000;
/// A run that may make more model calls than this reports it before it starts.
pub const MANY_CALLS: u64 = 1_000;
/// Bytes of a run's input.
pub const INPUT_BYTES: u64 = 32 << 20;
/// Bytes of an answer of a model or a server.
pub const ANSWER_BYTES: usize = 32 << 20;
/// Values in one JSON text, from wherever it comes: an answer of a model or a server, including its envelope, what a
/// program prints, a text in a workflow that is read as JSON. Each takes many times the memory of its text.
pub const ANSWER_NODES: usize = 1 << 20;
/// Tool calls in one answer of a model.
pub const ANSWER_CALLS: usize = 1_024;
/// Bytes of one event of a streamed answer.
pub const EVENT_BYTES: usize = 8 << 20;
/// Bytes of one output stream of a command.
pub const COMMAND_BYTES: u64 = 16 << 20;
/// Bytes of all files of a folder that are loaded together.
pub const FOLDER_BYTES: u64 = 64 << 20;
/// Bytes of a text file that a manifest names, such as an environment file.
pub const TEXT_FILE_BYTES: u64 = 1 << 20;
/// Visits of subschemas to parts of a value in one check against a JSON Schema. Takes a second or two.
pub const SCHEMA_WORK: u64 = 16 << 20;
/// Bytes of a compiled regular expression.
pub const PATTERN_BYTES: usize = 4 << 20;
/// Bytes of all compiled regular expressions in the schemas of a program.
pub const PATTERNS_BYTES: usize = 32 << 20;
