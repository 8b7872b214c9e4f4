//! System commands: a command line with placeholders becomes a script with positional parameters, so that a value is
//! never read as shell code; a plain `echo` becomes text. Nothing is run here.

mod echo;
mod scan;
mod script;

pub use echo::{Word, is_plain_echo};
pub use script::Script;

use scan::Piece;

/// A command line in the form in which it runs.
pub enum CommandLine {
    /// The output of a plain `echo`.
    Echo(Vec<Word>),
    /// Anything else.
    Script(Script),
}

impl CommandLine {
    /// Reads a command line, which must be a valid template.
    pub fn read(command: &str) -> Self {
        let pieces = scan::pieces(command);
        let holed = Holed::read(&pieces);
        match echo::words(&pieces, &holed) {
            Some(words) => Self::Echo(words),
            None => Self::Script(script::script(&pieces, &holed)),
        }
    }
}

/// A command line with a hole for each placeholder and block, for the shell parser.
struct Holed {
    script: trefoil_shell::Script,
    /// The number of holes.
    count: usize,
}

impl Holed {
    fn read(pieces: &[Piece]) -> Self {
        let mut text = String::new();
        let mut holes = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(more) => text.push_str(more),
                Piece::Value(_) | Piece::Block { .. } => {
                    holes.push(text.len());
                    text.push(trefoil_shell::HOLE);
                }
            }
        }
        Self { script: trefoil_shell::read(&text, &holes), count: holes.len() }
    }
}
