//! Parses shell scripts like `sh` and `bash`: commands, words, quotes and expansions. Nothing is run or expanded, and
//! this crate knows nothing about programs.
//!
//! A script may have *holes*: places where values are inserted later. A hole is one character of the text, identified
//! by its position. It appears in the parsed word, quotes and expansion that contain it.
//!
//! Parsing never fails: an unclosed construct ends with the text, and invalid syntax is parsed as well as possible.
//! Code that checks whether a value is safe must treat a hole that is in none of the commands as unsafe.

mod parser;
mod word;

pub use parser::parse_script;
pub use word::{assigned_variable, is_keyword, is_name, word_text};

/// The character for a hole. Elsewhere in the text, the same character is not a hole.
pub const HOLE: char = '\u{fffc}';

/// A parsed script. Holes are numbered in the order of the text, from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellScript {
    /// Its simple commands, in order. Groups, branches and loops are not represented; their keywords are words.
    pub commands: Vec<ShellCommand>,
    /// The outermost quote that is not closed, if any.
    pub open: Option<char>,
    /// Holes in comments.
    pub comments: Vec<usize>,
    /// The first hole after the start of a here-document.
    pub here_document: Option<usize>,
    /// The first hole that was not parsed, because commands are nested too deeply.
    pub unread: Option<usize>,
    /// Whether it is more than the words of one command: it has operators, redirections or comments.
    pub compound: bool,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// Its words, including assignments and keywords before the program.
    pub words: Vec<ShellWord>,
    /// Its redirections, in order.
    pub redirects: Vec<(ShellRedirect, ShellWord)>,
    /// Whether its output is piped to the next command.
    pub piped: bool,
    /// Whether a `(` follows its words: it defines a function or an array.
    pub defines: bool,
}

/// The parts of a word, in order.
pub type ShellWord = Vec<ShellWordPart>;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellWordPart {
    /// Text without its quotes and backslashes.
    Text(String, QuoteStyle),
    /// A hole.
    Hole {
        /// Its number.
        number: usize,
        /// The quotes around it.
        quoted: QuoteStyle,
        /// Whether a backslash precedes it.
        escaped: bool,
    },
    /// A variable or parameter.
    Variable(String, QuoteStyle),
    /// `${...}` with more than a name.
    Expansion {
        /// The variable.
        name: String,
        /// The values that it may have, and the parts that are evaluated.
        parts: ShellWord,
    },
    /// The output of commands, or the name of a file with it.
    Commands(CommandSubstitution, Vec<ShellCommand>),
    /// `$((...))`, `$[...]` and `((...))`: evaluated as arithmetic.
    Arithmetic(ShellWord),
    /// The subscript of a variable.
    Subscript(String, ShellWord),
    /// `${!NAME}`: the value of the variable is used as a name.
    Indirect(String),
    /// `${NAME@P}`: the value of the variable is expanded again, including commands in it.
    Evaluated(String),
}

/// The form of a command substitution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandSubstitution {
    /// `$(...)`
    Dollar,
    /// Backticks.
    Backtick,
    /// `<(...)`, `>(...)`: the name of a file.
    Process,
}

/// The quotes around a part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuoteStyle {
    /// No quotes: the shell splits values into words, and expands file name patterns.
    Not,
    /// `'...'`
    Single,
    /// `"..."`, or a here-document.
    Double,
}

/// The role of the word after `<`, `>` or `<<`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellRedirect {
    /// A file that is read.
    Read,
    /// A file that is written.
    Write,
    /// A file for error messages.
    Errors,
    /// Text that is read.
    Text,
}
