//! Reads shell scripts: commands, words, quotes and expansions, the way `sh` and `bash` see them. Nothing is run, nothing is
//! expanded, and nothing is known about programs.
//!
//! A script may have *holes*: places where somebody else puts a value. A hole is a character of the text, told by its place,
//! and turns up in the word, the quotes and the expansions that it stands in.
//!
//! Reading never fails: what is not closed ends with the text, and what no shell would accept is read as well as can be. Whoever
//! asks whether a value is safe somewhere has to treat a hole that is nowhere in the commands as one that is not.

mod read;
mod word;

pub use read::read;
pub use word::{assigned, is_keyword, is_name, written};

/// Stands in a text where a hole is. The same character elsewhere is no hole.
pub const HOLE: char = '\u{fffc}';

/// A script. Holes are numbered as they stand in the text, from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// Its simple commands, in order; groups, branches and loops are not kept, their keywords are words.
    pub commands: Vec<Command>,
    /// The outermost quote that is open at the end, if any.
    pub open: Option<char>,
    /// Holes in comments.
    pub comments: Vec<usize>,
    /// Holes from this one on come after the start of a here-document.
    pub here_document: Option<usize>,
    /// Holes from this one on stand deeper than anybody nests commands, and have not been read.
    pub unread: Option<usize>,
    /// There is more in it than the words of one command: operators, redirections, comments.
    pub compound: bool,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Its words, assignments and keywords before the program among them.
    pub words: Vec<Word>,
    /// Its redirections, in order.
    pub redirects: Vec<(Redirect, Word)>,
    /// What it prints goes to the next one.
    pub piped: bool,
    /// A `(` follows its words: it defines a function, or an array.
    pub defines: bool,
}

/// A word: its parts, one after the other.
pub type Word = Vec<Part>;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// As written, without its quotes and backslashes.
    Text(String, Quoted),
    /// A hole.
    Hole {
        /// Which.
        number: usize,
        /// The quotes around it.
        quoted: Quoted,
        /// A backslash stands before it.
        escaped: bool,
    },
    /// A variable or parameter.
    Variable(String, Quoted),
    /// `${...}` with more in it than a name.
    Expansion {
        /// The variable.
        name: String,
        /// What it can become, and what is done on the way.
        parts: Word,
    },
    /// What commands print, or the name of a file with that.
    Commands(Substitution, Vec<Command>),
    /// `$((...))`, `$[...]` and `((...))`: the shell computes with it.
    Arithmetic(Word),
    /// The subscript of this variable.
    Subscript(String, Word),
    /// `${!NAME}`: the value of the variable is a name.
    Indirect(String),
    /// `${NAME@P}`: the value of the variable is expanded again, commands in it included.
    Evaluated(String),
}

/// How commands are put in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Substitution {
    /// `$(...)`
    Dollar,
    /// Backticks.
    Backtick,
    /// `<(...)`, `>(...)`: a file's name.
    Process,
}

/// The quotes around a part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoted {
    /// None: the shell splits values into words, and looks for files that match.
    Not,
    /// `'...'`
    Single,
    /// `"..."`, or a here-document.
    Double,
}

/// What a word behind `<`, `>` or `<<` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirect {
    /// A file that is read.
    Read,
    /// A file that is written.
    Write,
    /// A file for error messages.
    Errors,
    /// Text that is read.
    Text,
}
