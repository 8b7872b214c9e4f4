//! System commands (decision E11): a command line with placeholders becomes a script whose placeholders are positional
//! parameters, so that no value is ever read as shell code; a plain `echo` becomes text. Nothing is run here.

mod echo;
mod scan;
mod script;

pub use echo::{Word, is_plain_echo};
pub use script::Script;

use scan::Piece;

/// A command line, as it will be run.
pub enum Command {
    /// What a plain `echo` prints.
    Echo(Vec<Word>),
    /// Anything else.
    Script(Script),
}

impl Command {
    /// Reads a command line, which has to be a template.
    pub fn read(command: &str) -> Self {
        if let Some(words) = echo::words(command) {
            return Self::Echo(words);
        }
        let pieces = scan::pieces(command);
        let mut script = script::script(&pieces);
        // Without placeholders the text still has its template escapes.
        if let [Piece::Text(text)] = pieces.as_slice() {
            script.text.clone_from(text);
        }
        Self::Script(script)
    }
}
