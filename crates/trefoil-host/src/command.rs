//! Every command that the command line or an editor prints to be copied is one of these, and is written here: with the store, the
//! permissions and the target options that it needs where it is printed.

use std::path::PathBuf;

use trefoil_machine::RunLimits;
use trefoil_machine::journal::GivenPermissions;
use trefoil_machine::key::own_step;
use trefoil_runtime::RunError;

use crate::durable::StoredRun;
use crate::engine::chosen_models;
use trefoil_store::{Store, StoreLocation};

/// A command to copy.
#[allow(missing_docs, reason = "the fields are what their names say")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrintedCommand<'a> {
    /// Checks a target.
    Check(&'a str),
    /// Shows what a run of a target would do.
    Plan(&'a str),
    /// Draws a target.
    Graph(&'a str),
    /// Runs a target.
    Run(&'a str),
    /// Runs a target after every change of its files.
    Dev(&'a str),
    /// Runs what was run with these words again, and records it.
    Record(&'a [String]),
    /// Runs a target without a model, with this input.
    Try { target: &'a str, input: &'a str },
    /// Runs a target, and uses answers of a run.
    Reuse { target: &'a str, run: &'a str },
    /// Continues a run. `steps`: those that it may repeat. `why`: the limits at which it stopped, and what it may not do.
    Resume { run: &'a str, steps: &'a [&'a str], why: &'a [&'a RunError] },
    /// Starts a run of an edited target that uses the results of a run.
    Edited { run: &'a str, target: &'a str },
    /// Starts a run that uses the results of a run. `model`: with another model, which a run that has begun does not accept.
    Fork { run: &'a str, from: Option<&'a str>, model: Option<&'a str> },
    /// Answers a step of a run.
    Answer { run: &'a str, step: &'a str, word: &'a str },
    /// Starts a worker.
    Worker,
    /// Shows a run.
    Show(&'a str),
    /// Shows the prompts and answers of a run.
    Trace(&'a str),
    /// Shows one step of a run.
    TraceStep { run: &'a str, step: &'a str },
    /// Shows a trace file.
    TraceFile(&'a str),
    /// Cancels a run.
    Cancel(&'a str),
    /// Takes a run from its process.
    Release(&'a str),
    /// Deletes a run.
    Delete(&'a str),
    /// Writes the journal of a run.
    Export(&'a str),
    /// Lists the runs.
    List,
    /// Deletes runs to free space.
    Prune,
    /// Looks for damage.
    CheckStore,
    /// Copies the store to a file.
    Backup(&'a str),
    /// Explains an error code.
    Explain(&'a str),
}

/// The options of commands about runs and targets, each after a space. Only this writes such commands, so that none lacks them.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The option that names the store.
    store: String,
    /// The options that allowed something to the run, and that the next process needs again.
    permissions: String,
    /// How the target is read.
    target: String,
    /// The models that were chosen for the run, each as `--model` takes it.
    models: Vec<String>,
}

impl RunOptions {
    /// The options of this process.
    pub fn new(store: String, given: &GivenPermissions) -> Self {
        Self::of_store(store).with_permissions(given)
    }

    /// With the options that allow this.
    pub fn with_permissions(self, given: &GivenPermissions) -> Self {
        let mut permissions = String::new();
        if given.commands {
            permissions.push_str(" --allow-command");
        }
        for host in &given.hosts {
            permissions.push_str(&option_text("--allow-host", host));
        }
        if given.no_config {
            permissions.push_str(" --no-config");
        }
        Self { permissions, ..self }
    }

    /// With the models that were chosen, each as `--model` takes it: a run of edited files has those of the files, and one for which a model
    /// is chosen has no others.
    pub fn with_models(self, models: Vec<String>) -> Self {
        Self { models, ..self }
    }

    /// Only the option that names the store.
    pub fn of_store(store: String) -> Self {
        Self { store, ..Self::default() }
    }

    /// Those that a stored run had, according to its journal.
    pub fn of_stored(store: String, stored: &StoredRun) -> Self {
        Self::new(store, &stored.current_start().permissions).with_models(chosen_models(stored))
    }

    /// Those of this process, and those that the run had before.
    pub fn or_of_stored(store: String, given: GivenPermissions, stored: &StoredRun) -> Self {
        Self::new(store, &given.with_earlier(&stored.current_start().permissions)).with_models(chosen_models(stored))
    }

    /// With the options that say how the target is read: its dialect, paths that it may read, and whether without settings.
    pub fn with_target_options(self, dialect: Option<&str>, paths: &[PathBuf], no_config: bool) -> Self {
        let mut target = String::new();
        if let Some(dialect) = dialect {
            target.push_str(&format!(" --dialect {dialect}"));
        }
        for path in paths {
            target.push_str(&option_text("--allow-path", &path.display().to_string()));
        }
        if no_config {
            target.push_str(" --no-config");
        }
        Self { target, ..self }
    }

    /// The command as text.
    pub fn render_command(&self, command: PrintedCommand<'_>) -> String {
        use PrintedCommand as C;
        let Self { store, permissions, target: read, .. } = self;
        let command = match command {
            C::Check(target) => CommandLineWords::for_name("check").value(target).options(read),
            C::Plan(target) => CommandLineWords::for_name("plan").value(target).options(read),
            C::Graph(target) => {
                CommandLineWords::for_name("graph").value(target).option("-o", "flow.svg").options(read)
            }
            C::Run(target) => CommandLineWords::for_name("run").value(target).options(read).options(store),
            C::Dev(target) => CommandLineWords::for_name("dev").value(target).options(read).options(store),
            C::Record(words) => return record_command(words),
            C::Try { target, input } => {
                let run = CommandLineWords::for_name("run").value(target).options(&format!(" {input}"));
                run.option("--model", "embedded").options(read)
            }
            C::Reuse { target, run } => {
                let reuse = format!(" --reuse={}", quote_for_shell(run));
                CommandLineWords::for_name("run").value(target).options(&reuse).options(store).options(permissions)
            }
            C::Resume { run, steps, why } => self.resume_words(run, steps, why),
            C::Edited { run, target } => self.edited_words(run, target),
            C::Fork { run, from, model } => self.fork_words(run, from, model),
            C::Answer { run, step, word } => {
                CommandLineWords::for_name("runs answer").value(run).value(step).value(word).options(store)
            }
            C::Worker => CommandLineWords::for_name("worker").options(store).options(permissions),
            C::Show(run) => CommandLineWords::for_name("runs show").value(run).options(store),
            C::Trace(run) => CommandLineWords::for_name("trace").value(run).options(store),
            C::TraceStep { run, step } => {
                CommandLineWords::for_name("trace").value(run).option("--step", step).options(store)
            }
            C::TraceFile(file) => CommandLineWords::for_name("trace").value(file),
            C::Cancel(run) => CommandLineWords::for_name("runs cancel").value(run).options(store),
            C::Release(run) => CommandLineWords::for_name("runs release").value(run).options(store),
            C::Delete(run) => CommandLineWords::for_name("runs delete").value(run).options(store),
            C::Export(run) => CommandLineWords::for_name("runs export").value(run).options(store),
            C::List => CommandLineWords::for_name("runs list").options(store),
            C::Prune => CommandLineWords::for_name("store prune").options(store),
            C::CheckStore => CommandLineWords::for_name("store check").options(store),
            C::Backup(file) => CommandLineWords::for_name("store backup").value(file).options(store),
            C::Explain(code) => CommandLineWords::for_name("explain").value(code),
        };
        command.text()
    }

    fn resume_words(&self, run: &str, steps: &[&str], why: &[&RunError]) -> CommandLineWords {
        let (mut allowed, mut raise) = (String::new(), RunLimits::NONE);
        for error in why {
            if let Some(option) = lacking(error)
                && !self.permissions.contains(&option)
            {
                allowed.push_str(&option);
            }
            if let Some(limits) = error.raise {
                raise = raise.higher_limits(limits);
            }
        }
        let mut raised = String::new();
        for (kind, limit) in raise.limit_rows() {
            if let Some(name) = kind.option_name() {
                raised.push_str(&option_text(name, &kind.format_amount(limit)));
            }
        }
        let mut resume = CommandLineWords::for_name("resume").value(run);
        for step in steps {
            resume = resume.option("--rerun", step);
        }
        resume.options(&raised).options(&self.store).options(&self.permissions).options(&allowed)
    }

    fn edited_words(&self, run: &str, target: &str) -> CommandLineWords {
        let mut resume = CommandLineWords::for_name("resume").value(run).option("--with", target);
        for model in &self.models {
            // A model for every call is kept; one for a name is that of the file.
            if model_target(model).is_some() {
                resume = resume.option("--model", model);
            }
        }
        resume.options(&self.store).options(&self.permissions)
    }

    fn fork_words(&self, run: &str, from: Option<&str>, model: Option<&str>) -> CommandLineWords {
        let mut fork = CommandLineWords::for_name("runs fork").value(run);
        if let Some(model) = model {
            for other in &self.models {
                if is_kept_with(other, model) {
                    fork = fork.option("--model", other);
                }
            }
            fork = fork.option("--model", model);
        }
        if let Some(from) = from {
            fork = fork.option("--from", from);
        }
        fork.options(&self.store).options(&self.permissions)
    }

    /// The command that continues a run. `why`: what the run stopped for. Steps that it does not repeat unasked are allowed, what it may
    /// not do is, too, and limits that were reached are raised.
    pub fn resume_command(&self, run: &str, why: &[&RunError]) -> String {
        let mut steps = Vec::new();
        for error in why {
            steps.extend(error.repeated_steps().map(|key| own_step(&key.0)));
        }
        self.render_command(PrintedCommand::Resume { run, steps: &steps, why })
    }

    /// Names the command that continues a run.
    pub fn to_continue(&self, run: &str, why: &[&RunError]) -> String {
        format!("to continue: {}", self.resume_command(run, why))
    }
}

/// The words of a command. Names of steps, files and stores may begin like an option: nothing that is written here is read as one.
struct CommandLineWords {
    name: &'static str,
    values: Vec<String>,
    options: String,
}

impl CommandLineWords {
    fn for_name(name: &'static str) -> Self {
        Self { name, values: Vec::new(), options: String::new() }
    }

    /// With a value that is found by its position.
    fn value(mut self, value: &str) -> Self {
        self.values.push(value.to_owned());
        self
    }

    /// With an option and its value.
    fn option(self, name: &str, value: &str) -> Self {
        self.options(&option_text(name, value))
    }

    /// With options that are written, each after a space.
    fn options(mut self, written: &str) -> Self {
        self.options.push_str(written);
        self
    }

    fn text(&self) -> String {
        let Self { name, values, options } = self;
        let all: String = values.iter().map(|value| format!(" {}", quote_for_shell(value))).collect();
        // A single `-` is a value everywhere.
        match values.iter().any(|value| value.starts_with('-') && value != "-") {
            false => format!("trefoil {name}{all}{options}"),
            true => format!("trefoil {name}{options} --{all}"),
        }
    }
}

fn record_command(words: &[String]) -> String {
    // After the name of the command, where no word ends the options.
    let (name, rest) = words.split_at(words.len().min(1));
    let recorded = ["--trace".to_owned(), "trace.json".to_owned()];
    let mut command = "trefoil".to_owned();
    for word in [name, &recorded, rest].into_iter().flatten() {
        command.push(' ');
        command.push_str(&quote_for_shell(word));
    }
    command
}

/// An option with its value, after a space. A value that begins like an option is part of the same word.
pub fn option_text(name: &str, value: &str) -> String {
    let between = if value.starts_with('-') { '=' } else { ' ' };
    format!(" {name}{between}{}", quote_for_shell(value))
}

/// Whether a chosen model still counts if another one is chosen, too.
fn is_kept_with(one: &str, other: &str) -> bool {
    model_target(other).is_some() && model_target(one) != model_target(other)
}

/// The name for which a model is chosen. `None`: every call.
fn model_target(model: &str) -> Option<&str> {
    Some(model.split_once(':')?.0.rsplit_once('=')?.0)
}

/// The models that were chosen for a run, each as `--model` takes it. `called`: a run that it has called.
pub async fn models_of_run(store: &dyn Store, run: &str, called: Option<&str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for run in [Some(run), called].into_iter().flatten() {
        let Ok(stored) = StoredRun::read_run(store, run).await else { continue };
        for model in chosen_models(&stored) {
            if !all.contains(&model) {
                all.push(model);
            }
        }
    }
    all
}

/// The option that names a store, after a space and without its password.
pub fn store_option(location: &StoreLocation) -> String {
    option_text("--store", &location.to_string())
}

/// The option that allows what a run stopped before, after a space, if its process had to lack it.
fn lacking(error: &RunError) -> Option<String> {
    if error.code != "REFUSED" {
        return None;
    }
    let help = error.help.as_deref()?;
    for quoted in help.split('`').skip(1).step_by(2) {
        match quoted.split_once(' ') {
            None if quoted == "--allow-command" => return Some(format!(" {quoted}")),
            Some((name @ "--allow-host", host)) => return Some(option_text(name, host)),
            _ => {}
        }
    }
    None
}

/// Quotes a word for a shell.
pub fn quote_for_shell(word: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "-_./=:,@%+#".contains(c);
    if !word.is_empty() && word.chars().all(bare) && !word.starts_with('#') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quote_for_shell("topic=tea"), "topic=tea");
        assert_eq!(quote_for_shell("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quote_for_shell(""), "''");
    }
}
