//! `trefoil schema NAME`: prints the JSON Schemas of inputs and outputs.

use clap::Args;
use clap::builder::PossibleValuesParser;
use trefoil_front::FRONT_ENDS;
use trefoil_syntax::diagnostic::render::JSON_SCHEMA;

use crate::output;

/// Output formats with a schema. A new one is a line here; the input formats are those of the front ends.
const PRINTED: &[(&str, &str)] = &[
    ("check-output", JSON_SCHEMA),
    ("trace-output", trefoil_view::trace::SCHEMA),
    ("plan-output", trefoil_view::plan::SCHEMA),
    ("diff-output", trefoil_host::durable::DIFF_SCHEMA),
];

fn list_schemas() -> impl Iterator<Item = (&'static str, &'static str)> {
    FRONT_ENDS.iter().map(|f| (f.name(), f.manifest_schema())).chain(PRINTED.iter().copied())
}

/// Print the JSON Schema of a manifest format (for editors) or of the output of `check`
#[derive(Args)]
pub struct SchemaCommandArgs {
    /// Name of the schema
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(list_schemas().map(|(name, _)| name)))]
    name: String,
}

/// Exit code 0; 1: the schema cannot be written.
pub fn run(args: &SchemaCommandArgs) -> u8 {
    let text = match list_schemas().find(|(name, _)| *name == args.name) {
        Some((_, text)) => text,
        None => "",
    };
    output::write_data(text)
}
