//! `trefoil schema NAME`: JSON Schemas of what is read and printed.

use clap::Args;
use clap::builder::PossibleValuesParser;
use trefoil::syntax::diagnostic::render::JSON_SCHEMA;

use crate::{exit, output};

/// What there is a schema of, and its text. A new one is a line here.
const SCHEMAS: &[(&str, fn() -> String)] = &[("check-output", || JSON_SCHEMA.to_owned())];

/// Print a JSON Schema
#[derive(Args)]
pub struct Schema {
    /// Of what
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(SCHEMAS.iter().map(|s| s.0)))]
    name: String,
}

/// Exit code 0; 1 if it cannot be written.
pub fn run(args: &Schema) -> u8 {
    match SCHEMAS.iter().find(|(name, _)| *name == args.name) {
        Some((_, text)) => output::result(&text()),
        None => exit::NOT_STARTED,
    }
}
