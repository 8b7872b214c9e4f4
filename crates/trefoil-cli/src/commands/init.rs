//! `trefoil init`: creates a first workflow in any format, in one of several common shapes.
//!
//! On a terminal, it prompts for missing choices; otherwise every choice is an argument. It never overwrites a file.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::shapes::{MISSING, SHAPES, ShapeTemplate, TEMPLATES, find_template, list_formats};
use crate::{output, selection_list};
use trefoil_host::command::{PrintedCommand, RunOptions};

/// The default name of a workflow.
const NAME: &str = "my-flow";

/// Create a small workflow that passes the checks and runs
#[derive(Args)]
pub struct InitCommandArgs {
    /// Name of the workflow and its file: lower-case letters, digits, hyphens
    #[arg(value_parser = name)]
    name: Option<String>,
    /// Target folder
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Format to use (prompted for if omitted)
    #[arg(long, value_parser = PossibleValuesParser::new(list_formats()))]
    format: Option<String>,
    /// Shape of the workflow (prompted for if omitted)
    #[arg(long, value_parser = PossibleValuesParser::new(SHAPES.iter().map(|s| s.name)))]
    shape: Option<String>,
}

fn name(text: &str) -> Result<String, String> {
    let first = text.starts_with(|c: char| c.is_ascii_lowercase());
    let rest = text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    let wrong = !first || !rest || text.ends_with('-') || text.contains("--") || text.len() > 60;
    if wrong {
        Err("use lower-case letters, digits and hyphens, as in `my-flow`".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// Exit code 0; 2: an argument is missing, or a file already exists or cannot be written.
pub fn run(args: &InitCommandArgs) -> u8 {
    match chosen(args) {
        Ok(template) => write_all(args, template),
        Err((message, help)) => output::report_not_started(&message, help.as_deref()),
    }
}

/// The template chosen by arguments or on the terminal.
fn chosen(args: &InitCommandArgs) -> Result<&'static ShapeTemplate, (String, Option<String>)> {
    let usage = "`trefoil init --format agntz --shape loop my-flow`".to_owned();
    let format = args.format.clone().or_else(|| {
        let choices: Vec<(&str, String)> = list_formats().into_iter().map(|f| (f, shapes_of(f))).collect();
        ask("Format?", &choices)
    });
    let Some(format) = format else {
        return Err((format!("choose a format: {}", list_formats().join(", ")), Some(usage)));
    };
    let shape = args.shape.clone().or_else(|| {
        let there = SHAPES.iter().filter(|s| find_template(&format, s.name).is_some());
        let choices: Vec<(&str, String)> = there.map(|s| (s.name, s.about.to_owned())).collect();
        ask("Shape?", &choices)
    });
    let Some(shape) = shape else {
        return Err((format!("choose a shape: {}", shapes_of(&format)), Some(usage)));
    };
    find_template(&format, &shape).ok_or_else(|| {
        let why = MISSING.iter().find(|m| m.format == format && m.shape == shape).map_or("", |m| m.why);
        (format!("`{format}` has no shape `{shape}`: {why}"), Some(format!("available: {}", shapes_of(&format))))
    })
}

fn shapes_of(format: &str) -> String {
    let shapes: Vec<_> = TEMPLATES.iter().filter(|t| t.format == format).map(|t| t.shape).collect();
    shapes.join(", ")
}

/// Prompts on a terminal; `None` if there is none.
fn ask(question: &str, choices: &[(&str, String)]) -> Option<String> {
    if !output::is_interactive() {
        return None;
    }
    let shown: Vec<(&str, &str)> = choices.iter().map(|(name, about)| (*name, about.as_str())).collect();
    let chosen = selection_list::pick_choice(question, &shown)?;
    choices.get(chosen).map(|(name, _)| (*name).to_owned())
}

fn write_all(args: &InitCommandArgs, template: &ShapeTemplate) -> u8 {
    let folder = &args.folder;
    let name = args.name.as_deref().unwrap_or(NAME);
    let files: Vec<(PathBuf, String)> = template
        .files
        .iter()
        .map(|(file, text)| (folder.join(file.replace("NAME", name)), text.replace("NAME", name)))
        .collect();
    let there = files.iter().filter(|(path, _)| path.symlink_metadata().is_ok());
    let taken: Vec<String> = there.map(|(path, _)| format!("`{}`", path.display())).collect();
    if !taken.is_empty() {
        let message = format!("nothing was written, because of existing files: {}", taken.join(", "));
        return output::report_not_started(
            &message,
            Some("choose another name or folder, as in `trefoil init my-other-flow flows`"),
        );
    }
    for (path, text) in &files {
        if let Err(error) = write(path, text) {
            return output::report_not_started(&format!("cannot write `{}`: {error}", path.display()), None);
        }
        output::print_line(format!("wrote {}", path.display()));
    }
    output::print_line("\nNext:\n");
    let main = files.first().map(|(path, _)| path.display().to_string()).unwrap_or_default();
    let (folder, input) = (folder.display().to_string(), template.arguments);
    let run = PrintedCommand::Try { target: &main, input };
    let all = [PrintedCommand::Check(&folder), run, PrintedCommand::Plan(&main)];
    output::write_data(&all.map(|command| format!("{}\n", RunOptions::default().render_command(command))).concat())
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    // Never overwrites a file that was created in the meantime.
    std::fs::File::options().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
