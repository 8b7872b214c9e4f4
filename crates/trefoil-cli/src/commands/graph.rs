//! `trefoil graph TARGET`: draws the workflow.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use trefoil::graph::{FORMATS, draw_graph};

use crate::args::TargetArgs;
use crate::loading::{load_target, print_warnings};
use crate::{exit, output, overwrite_guard};

/// Draw a workflow
#[derive(Args)]
pub struct GraphCommandArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Output format; default: from the extension of `--output`, otherwise mermaid
    #[arg(long, value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.0)))]
    format: Option<String>,
    /// Direction of the arrows
    #[arg(long, value_name = "WAY", default_value = "down")]
    direction: GraphDirectionArg,
    /// Write to a file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum GraphDirectionArg {
    /// From top to bottom
    Down,
    /// From left to right
    Right,
}

impl GraphCommandArgs {
    fn format(&self) -> &str {
        match (&self.format, self.ending()) {
            (Some(format), _) => format,
            (None, Some("svg")) => "svg",
            (None, Some("json")) => "json",
            (None, Some("dot" | "gv")) => "dot",
            (None, _) => "mermaid",
        }
    }

    /// The ending of the file's name.
    fn ending(&self) -> Option<&str> {
        self.output.as_ref()?.extension()?.to_str()
    }

    /// The ending of a file that is none of the formats: a picture in another format would be expected.
    fn unknown_ending(&self) -> Option<&str> {
        let ending = self.ending()?;
        let known = ["svg", "json", "dot", "gv", "mmd", "mermaid", "md", "txt"];
        if self.format.is_none() && !known.contains(&ending) { Some(ending) } else { None }
    }
}

/// Exit code 0; 1: the graph cannot be written; 2: the target does not load.
pub fn run(args: &GraphCommandArgs) -> Result<u8, u8> {
    if let Some(ending) = args.unknown_ending() {
        let help = "use `.svg`, `.dot` or `.mmd`, or choose with `--format`";
        return Err(output::report_not_started(&format!("a graph cannot be written as `.{ending}`"), Some(help)));
    }
    let loaded = load_target(&args.target)?;
    print_warnings(&loaded);
    overwrite_guard::refuse_source_overwrite(args.output.as_deref(), &loaded.files)?;
    let mut drawn = draw_graph(&loaded.program, &loaded.files);
    drawn.direction = match args.direction {
        GraphDirectionArg::Down => trefoil::graph::ArrowDirection::Down,
        GraphDirectionArg::Right => trefoil::graph::ArrowDirection::Right,
    };
    let too_many = if ["svg", "json"].contains(&args.format()) { drawn.check_size().err() } else { None };
    if let Some(why) = too_many {
        let help = "use `--format mermaid` or `--format dot`, which have no limit";
        return Err(output::report_not_started(&format!("the graph has {why}"), Some(help)));
    }
    Ok(match FORMATS.iter().find(|(name, _)| *name == args.format()) {
        Some((_, emit)) => written(args, &emit(&drawn)),
        None => exit::NOT_STARTED,
    })
}

fn written(args: &GraphCommandArgs, picture: &str) -> u8 {
    let Some(path) = &args.output else { return output::write_data(picture) };
    match std::fs::write(path, picture) {
        Ok(()) => {
            output::print_note(format!("wrote `{}`", path.display()));
            exit::OK
        }
        Err(error) => output::report_failure(&format!("cannot write `{}`: {error}", path.display()), None),
    }
}
