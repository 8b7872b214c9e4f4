//! System commands: a command line with placeholders becomes a script with positional parameters, so that a value is
//! never read as shell code; a plain `echo` becomes text. Nothing is run here.

mod command_pieces;
mod echo;
mod script;

pub use echo::{EchoPart, is_plain_echo};
pub use script::ParameterizedScript;

use command_pieces::CommandPiece;

/// A command line in the form in which it runs.
pub enum CommandLine {
    /// The output of a plain `echo`.
    Echo(Vec<EchoPart>),
    /// Anything else.
    Script(ParameterizedScript),
}

impl CommandLine {
    /// Reads a command line, which must be a valid template.
    pub fn from_template(command: &str) -> Self {
        let pieces = command_pieces::split_command(command);
        let holed = HoledScript::read(&pieces);
        match echo::echo_parts(&pieces, &holed) {
            Some(words) => Self::Echo(words),
            None => Self::Script(script::build_script(&pieces, &holed)),
        }
    }
}

/// A command line with a hole for each placeholder and block, for the shell parser.
struct HoledScript {
    script: trefoil_shell::ShellScript,
    /// The number of holes.
    count: usize,
}

impl HoledScript {
    fn read(pieces: &[CommandPiece]) -> Self {
        let mut text = String::new();
        let mut holes = Vec::new();
        for piece in pieces {
            match piece {
                CommandPiece::Text(more) => text.push_str(more),
                CommandPiece::Value(_) | CommandPiece::Block { .. } => {
                    holes.push(text.len());
                    text.push(trefoil_shell::HOLE);
                }
            }
        }
        Self { script: trefoil_shell::parse_script(&text, &holes), count: holes.len() }
    }
}
