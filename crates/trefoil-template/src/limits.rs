//! Bounds on size and work, so that no manifest and no data can exhaust the process. Every such number of every crate is
//! here, but for what one module alone decides about its own output (how many lines to show).
//!
//! What is refused says which bound it met. `docs/limits.md` lists them for people.

/// Bytes of a template's text.
pub const TEMPLATE_BYTES: usize = 1 << 20;
/// Bytes of a condition's text.
pub const CONDITION_BYTES: usize = 64 << 10;
/// Blocks within blocks, parentheses within parentheses, operators applied to operators.
pub const DEPTH: usize = 64;
/// Lists and objects within each other in the value of a step, an input or an output: as many as JSON readers take, with
/// room for what is put around it.
pub const VALUE_DEPTH: usize = 100;
/// Values within such a value, each counted as often as it is there.
pub const VALUE_NODES: usize = 4 << 20;
/// Bytes of rendered text.
pub const OUTPUT_BYTES: usize = 32 << 20;
/// Passes of all loops in one rendering.
pub const PASSES: u64 = 1_000_000;
/// Bytes and items that one evaluation of an expression may make.
pub const WORK: u64 = 16 << 20;
/// Mistakes reported for one text.
pub const MISTAKES: usize = 64;
/// Bytes of the values that a run makes: inputs, answers, results, each counted once, when it is made.
pub const RUN_BYTES: u64 = 256 << 20;
/// Bytes of the prompts and arguments of a run's activities that are in progress at the same time.
pub const PENDING_BYTES: u64 = 256 << 20;
/// Model calls of a run, unless whoever starts it says otherwise.
pub const RUN_CALLS: u64 = 10_000;
/// A run that may make more model calls than this says so before it starts.
pub const MANY_CALLS: u64 = 1_000;
/// Bytes of a run's input.
pub const INPUT_BYTES: u64 = 32 << 20;
/// Bytes of an answer of a model or a server.
pub const ANSWER_BYTES: usize = 32 << 20;
/// Values in the JSON of a server's answer, its envelope included.
pub const ANSWER_NODES: usize = 1 << 20;
/// Bytes of one event of a streamed answer.
pub const EVENT_BYTES: usize = 8 << 20;
/// Bytes of one output stream of a command.
pub const COMMAND_BYTES: u64 = 16 << 20;
/// Bytes of all the files of a folder that are loaded together.
pub const FOLDER_BYTES: u64 = 64 << 20;
/// Bytes of a file of texts that a manifest names, such as an environment file.
pub const TEXT_FILE_BYTES: u64 = 1 << 20;
/// Visits of a subschema to a part of a value, in one check of a value against a JSON Schema: a second or two.
pub const SCHEMA_WORK: u64 = 16 << 20;
/// Bytes of a compiled regular expression.
pub const PATTERN_BYTES: usize = 4 << 20;
/// Bytes of all compiled regular expressions in the schemas of a program.
pub const PATTERNS_BYTES: usize = 32 << 20;
