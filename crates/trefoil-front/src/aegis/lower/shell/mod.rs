//! System commands (decision E11): a command line with placeholders becomes a script whose placeholders are positional
//! parameters, so that no value is ever read as shell code; a plain `echo` becomes text. Nothing is run here.

mod echo;
mod scan;
mod script;

pub(super) use echo::{Word, is_plain_echo, words as echo_words};
pub(super) use scan::{Piece, pieces};
pub(super) use script::script;
