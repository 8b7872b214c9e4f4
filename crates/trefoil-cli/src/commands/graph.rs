//! `trefoil graph TARGET`: the workflow as a picture.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use trefoil::graph::{FORMATS, graph};

use super::{load, warn};
use crate::args::TargetArgs;
use crate::{exit, output, overwrite};

/// Nobody can read more boxes than this in one picture, and placing them takes ever longer.
const SVG_BOXES: usize = 300;
/// The same of arrows: each that passes many boxes takes a place in every row that it crosses.
const SVG_ARROWS: usize = 500;

/// Draw a workflow
#[derive(Args)]
pub struct Graph {
    #[command(flatten)]
    target: TargetArgs,
    /// Output format; default: from the extension of `--output`, otherwise mermaid
    #[arg(long, value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.0)))]
    format: Option<String>,
    /// Direction of the arrows
    #[arg(long, value_name = "WAY", default_value = "down")]
    direction: Direction,
    /// Write to a file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Direction {
    /// From top to bottom
    Down,
    /// From left to right
    Right,
}

impl Graph {
    fn format(&self) -> &str {
        let ending = self.output.as_ref().and_then(|path| path.extension()).and_then(|ending| ending.to_str());
        match (&self.format, ending) {
            (Some(format), _) => format,
            (None, Some("svg")) => "svg",
            (None, Some("dot" | "gv")) => "dot",
            (None, _) => "mermaid",
        }
    }
}

/// Exit code 0; 1 if the picture cannot be written; 2 if the target does not load.
pub fn run(args: &Graph) -> u8 {
    let loaded = match load(&args.target) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    warn(&loaded);
    if let Err(code) = overwrite::spare_sources(args.output.as_deref(), &loaded.files) {
        return code;
    }
    let mut drawn = graph(&loaded.program, &loaded.files);
    drawn.direction = match args.direction {
        Direction::Down => trefoil::graph::Direction::Down,
        Direction::Right => trefoil::graph::Direction::Right,
    };
    match FORMATS.iter().find(|(name, _)| *name == args.format()) {
        Some(("svg", _)) if drawn.nodes.len() > SVG_BOXES => {
            let why = format!("the graph has {} boxes, but `svg` can draw at most {SVG_BOXES}", drawn.nodes.len());
            output::refuse(&why, Some("use `--format mermaid` or `--format dot`, which have no limit"));
            exit::NOT_STARTED
        }
        Some(("svg", _)) if drawn.edges.len() > SVG_ARROWS => {
            let why = format!("the graph has {} arrows, but `svg` can draw at most {SVG_ARROWS}", drawn.edges.len());
            output::refuse(&why, Some("use `--format mermaid` or `--format dot`, which have no limit"));
            exit::NOT_STARTED
        }
        Some((_, emit)) => written(args, &emit(&drawn)),
        None => exit::NOT_STARTED,
    }
}

fn written(args: &Graph, picture: &str) -> u8 {
    let Some(path) = &args.output else { return output::result(picture) };
    match std::fs::write(path, picture) {
        Ok(()) => exit::OK,
        Err(error) => {
            output::refuse(&format!("cannot write `{}`: {error}", path.display()), None);
            exit::FAILED
        }
    }
}
