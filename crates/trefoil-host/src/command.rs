//! Every command that the command line or an editor prints to be copied is one of these, and is written here: with the store, the
//! permissions and the target options that it needs where it is printed.

use std::path::PathBuf;

use trefoil_machine::error::Raise;
use trefoil_machine::journal::GivenPermissions;
use trefoil_machine::key::own_step;
use trefoil_runtime::RunError;

use crate::durable::Stored;
use trefoil_store::Location;

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
    /// Continues a run. `steps`: those that it may repeat. `why`: the limit at which it stopped, or what it may not do, if it did.
    Resume { run: &'a str, steps: &'a [&'a str], why: Option<&'a RunError> },
    /// Starts a run of an edited target that uses the results of a run.
    Edited { run: &'a str, target: &'a str },
    /// Starts a run that uses the results of a run.
    Fork { run: &'a str, from: Option<&'a str> },
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
}

impl RunOptions {
    /// The options of this process.
    pub fn new(store: String, given: &GivenPermissions) -> Self {
        Self::of_store(store).permitting(given)
    }

    /// With the options that allow this.
    pub fn permitting(self, given: &GivenPermissions) -> Self {
        let command = given.commands.then(|| " --allow-command".to_owned());
        let hosts = given.hosts.iter().map(|host| format!(" --allow-host {}", pasted(host)));
        let bare = given.no_config.then(|| " --no-config".to_owned());
        Self { permissions: command.into_iter().chain(hosts).chain(bare).collect(), ..self }
    }

    /// Only the option that names the store.
    pub fn of_store(store: String) -> Self {
        Self { store, ..Self::default() }
    }

    /// Those that a stored run had, according to its journal.
    pub fn of_stored(store: String, stored: &Stored) -> Self {
        Self::new(store, &stored.now().permissions)
    }

    /// Those of this process, and those that the run had before.
    pub fn or_of_stored(store: String, given: GivenPermissions, stored: &Stored) -> Self {
        Self::new(store, &given.or(&stored.now().permissions))
    }

    /// With the options that say how the target is read: its dialect, paths that it may read, and whether without settings.
    pub fn reading(self, dialect: Option<&str>, paths: &[PathBuf], no_config: bool) -> Self {
        let dialect = dialect.map(|dialect| format!(" --dialect {dialect}"));
        let paths = paths.iter().map(|path| format!(" --allow-path {}", pasted(&path.display().to_string())));
        let bare = no_config.then(|| " --no-config".to_owned());
        Self { target: dialect.into_iter().chain(paths).chain(bare).collect(), ..self }
    }

    /// The command as text.
    pub fn text(&self, command: PrintedCommand<'_>) -> String {
        use PrintedCommand as C;
        let Self { store, permissions, target: read } = self;
        match command {
            C::Check(target) => format!("trefoil check {}{read}", pasted(target)),
            C::Plan(target) => format!("trefoil plan {}{read}", pasted(target)),
            C::Graph(target) => format!("trefoil graph {} -o flow.svg{read}", pasted(target)),
            C::Run(target) => format!("trefoil run {}{read}{store}", pasted(target)),
            C::Dev(target) => format!("trefoil dev {}{read}{store}", pasted(target)),
            C::Record(words) => {
                // After the name of the command, where no word ends the options.
                let (name, rest) = words.split_at(words.len().min(1));
                let recorded = ["--trace".to_owned(), "trace.json".to_owned()];
                let words = name.iter().chain(&recorded).chain(rest).map(|word| pasted(word));
                format!("trefoil {}", words.collect::<Vec<_>>().join(" "))
            }
            C::Try { target, input } => format!("trefoil run {} {input} --model embedded{read}", pasted(target)),
            C::Reuse { target, run } => format!("trefoil run {} --reuse={run}{store}{permissions}", pasted(target)),
            C::Resume { run, steps, why } => {
                let rerun: String = steps.iter().map(|step| format!(" --rerun {}", pasted(step))).collect();
                let lacking = why.and_then(lacking).filter(|option| !permissions.contains(option)).unwrap_or_default();
                let raised = why.and_then(RunError::raise).map(raised).unwrap_or_default();
                format!("trefoil resume {run}{rerun}{raised}{store}{permissions}{lacking}")
            }
            C::Edited { run, target } => {
                format!("trefoil resume {run} --with {}{store}{permissions}", pasted(target))
            }
            C::Fork { run, from } => {
                let from = from.map(|from| format!(" --from {}", pasted(from))).unwrap_or_default();
                format!("trefoil runs fork {run}{from}{store}{permissions}")
            }
            C::Answer { run, step, word } => {
                format!("trefoil runs answer {run} {} {}{store}", pasted(step), pasted(word))
            }
            C::Worker => format!("trefoil worker{store}{permissions}"),
            C::Show(run) => format!("trefoil runs show {run}{store}"),
            C::Trace(run) => format!("trefoil trace {run}{store}"),
            C::TraceStep { run, step } => format!("trefoil trace {} --step {}{store}", run, pasted(step)),
            C::TraceFile(file) => format!("trefoil trace {}", pasted(file)),
            C::Cancel(run) => format!("trefoil runs cancel {run}{store}"),
            C::Release(run) => format!("trefoil runs release {run}{store}"),
            C::Delete(run) => format!("trefoil runs delete {run}{store}"),
            C::Export(run) => format!("trefoil runs export {run}{store}"),
            C::List => format!("trefoil runs list{store}"),
            C::Prune => format!("trefoil store prune{store}"),
            C::CheckStore => format!("trefoil store check{store}"),
            C::Backup(file) => format!("trefoil store backup {}{store}", pasted(file)),
            C::Explain(code) => format!("trefoil explain {code}"),
        }
    }

    /// The command that continues a run. `why`: what the run stopped for. Steps that it does not repeat unasked are allowed, what it may
    /// not do is, too, and a limit that was reached is raised.
    pub fn resume(&self, run: &str, why: Option<&RunError>) -> String {
        let repeats = why.filter(|error| error.code == "WOULD_REPEAT").into_iter().flat_map(RunError::keys);
        let steps: Vec<&str> = repeats.map(|key| own_step(&key.0)).collect();
        self.text(PrintedCommand::Resume { run, steps: &steps, why })
    }

    /// Names the command that continues a run.
    pub fn to_continue(&self, run: &str, why: Option<&RunError>) -> String {
        format!("to continue: {}", self.resume(run, why))
    }
}

/// The option that names a store, after a space and without its password.
pub fn store_option(location: &Location) -> String {
    format!(" --store {}", pasted(&location.to_string()))
}

/// The options that raise the limits of the command line at which a run stopped, each after a space.
fn raised(raise: Raise) -> String {
    let calls = raise.max_calls.map(|calls| format!(" --max-calls {calls}"));
    // A limit is given in dollars.
    let cost = raise.max_cost_micro.map(|micro| {
        let (dollars, rest) = (micro / 1_000_000, format!("{:06}", micro % 1_000_000));
        let cents = rest.trim_end_matches('0');
        format!(" --max-cost {dollars}.{cents:0<2}")
    });
    calls.into_iter().chain(cost).collect()
}

/// The option that allows what a run stopped before, after a space, if its process had to lack it.
fn lacking(why: &RunError) -> Option<String> {
    let help = why.help.as_deref().filter(|_| why.code == "REFUSED")?;
    let mut quoted = help.split('`').skip(1).step_by(2);
    quoted.find_map(|option| match option.split_once(' ') {
        None => (option == "--allow-command").then(|| format!(" {option}")),
        Some((name, host)) => (name == "--allow-host").then(|| format!(" {name} {}", pasted(host))),
    })
}

/// Quotes a word for a shell.
pub fn pasted(word: &str) -> String {
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
    fn a_raised_limit_is_a_number_that_its_option_takes() {
        let text = |raise| raised(raise);
        assert_eq!(text(Raise::calls(4, 5)), " --max-calls 8");
        assert_eq!(text(Raise::calls(0, 3)), " --max-calls 3");
        for (micro, shown) in [(1, "0.000001"), (20_000, "0.02"), (500_000, "0.50"), (2_000_000, "2.00")] {
            assert_eq!(text(Raise { max_calls: None, max_cost_micro: Some(micro) }), format!(" --max-cost {shown}"));
            assert_eq!(trefoil_ir::prices::parse_dollars(shown), Some(micro));
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(pasted("topic=tea"), "topic=tea");
        assert_eq!(pasted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(pasted(""), "''");
    }
}
