//! `trefoil graph TARGET`: the workflow as a picture.

use clap::Args;
use clap::builder::PossibleValuesParser;
use trefoil::graph::{FORMATS, graph};

use super::{load, warn};
use crate::args::TargetArgs;
use crate::{exit, output};

/// More boxes than this nobody can read in one picture, and placing them takes ever longer.
const SVG_BOXES: usize = 300;
/// The same of arrows: each that passes many boxes takes a place in every row that it crosses.
const SVG_ARROWS: usize = 500;

/// Draw a workflow
#[derive(Args)]
pub struct Graph {
    #[command(flatten)]
    target: TargetArgs,
    /// In which format
    #[arg(long, default_value = "mermaid", value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.0)))]
    format: String,
}

/// Exit code 0; 1 if the picture cannot be written; 2 if the target does not load.
pub fn run(args: &Graph) -> u8 {
    let loaded = match load(&args.target) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    warn(&loaded);
    let drawn = graph(&loaded.program, &loaded.files);
    match FORMATS.iter().find(|(name, _)| *name == args.format) {
        Some(("svg", _)) if drawn.nodes.len() > SVG_BOXES => {
            let why =
                format!("the picture would have {} boxes, and `svg` draws at most {SVG_BOXES}", drawn.nodes.len());
            output::refuse(&why, Some("take `--format mermaid` or `--format dot`, which any number fits"));
            exit::NOT_STARTED
        }
        Some(("svg", _)) if drawn.edges.len() > SVG_ARROWS => {
            let why =
                format!("the picture would have {} arrows, and `svg` draws at most {SVG_ARROWS}", drawn.edges.len());
            output::refuse(&why, Some("use `--format mermaid` or `--format dot`, which have no limit"));
            exit::NOT_STARTED
        }
        Some((_, emit)) => output::result(&emit(&drawn)),
        None => exit::NOT_STARTED,
    }
}
