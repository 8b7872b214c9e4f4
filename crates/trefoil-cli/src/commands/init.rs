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
    let format = match &args.format {
        Some(format) => Some(format.clone()),
        None => ask_format(),
    };
    let Some(format) = format else {
        return Err((format!("choose a format: {}", list_formats().join(", ")), Some(usage)));
    };
    let shape = match &args.shape {
        Some(shape) => Some(shape.clone()),
        None => ask_shape(&format),
    };
    let Some(shape) = shape else {
        return Err((format!("choose a shape: {}", shapes_of(&format)), Some(usage)));
    };
    if let Some(template) = find_template(&format, &shape) {
        return Ok(template);
    }
    let why = match MISSING.iter().find(|missing| missing.format == format && missing.shape == shape) {
        Some(missing) => missing.why,
        None => "",
    };
    Err((format!("`{format}` has no shape `{shape}`: {why}"), Some(format!("available: {}", shapes_of(&format)))))
}

fn ask_format() -> Option<String> {
    let mut choices = Vec::new();
    for format in list_formats() {
        choices.push((format, shapes_of(format)));
    }
    ask("Format?", &choices)
}

fn ask_shape(format: &str) -> Option<String> {
    let mut choices = Vec::new();
    for shape in SHAPES {
        if find_template(format, shape.name).is_some() {
            choices.push((shape.name, shape.about.to_owned()));
        }
    }
    ask("Shape?", &choices)
}

fn shapes_of(format: &str) -> String {
    let mut shapes = Vec::new();
    for template in TEMPLATES {
        if template.format == format {
            shapes.push(template.shape);
        }
    }
    shapes.join(", ")
}

/// Prompts on a terminal; `None` if there is none.
fn ask(question: &str, choices: &[(&str, String)]) -> Option<String> {
    if !output::is_interactive() {
        return None;
    }
    let shown: Vec<(&str, &str)> = choices.iter().map(|(name, about)| (*name, about.as_str())).collect();
    let chosen = selection_list::pick_choice(question, &shown)?;
    let (name, _) = choices.get(chosen)?;
    Some((*name).to_owned())
}

fn write_all(args: &InitCommandArgs, template: &ShapeTemplate) -> u8 {
    let folder = &args.folder;
    let name = args.name.as_deref().unwrap_or(NAME);
    let (mut files, mut taken) = (Vec::new(), Vec::new());
    for (file, text) in template.files {
        let path = folder.join(file.replace("NAME", name));
        if path.symlink_metadata().is_ok() {
            taken.push(format!("`{}`", path.display()));
        }
        files.push((path, text.replace("NAME", name)));
    }
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
    let main = match files.first() {
        Some((path, _)) => path.display().to_string(),
        None => String::new(),
    };
    let (folder, input) = (folder.display().to_string(), template.arguments);
    let run = PrintedCommand::Try { target: &main, input };
    let all = [PrintedCommand::Check(&folder), run, PrintedCommand::Plan(&main)];
    let mut commands = String::new();
    for command in all {
        commands.push_str(&RunOptions::default().render_command(command));
        commands.push('\n');
    }
    output::write_data(&commands)
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    // Never overwrites a file that was created in the meantime.
    std::fs::File::options().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
