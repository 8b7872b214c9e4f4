//! Every command of this program that is printed to be copied is one of these, and is written here: with the store, the permissions and
//! the target options that it needs where it is printed.

use trefoil::runs::Stored;
use trefoil_machine::journal::GivenPermissions;
use trefoil_machine::key::own_step;
use trefoil_runtime::RunError;

use crate::args::TargetArgs;

/// A command to copy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrintedCommand<'a> {
    /// Checks a target.
    Check(&'a str),
    /// Shows what a run of a target would do.
    Plan(&'a str),
    /// Draws a target.
    Graph(&'a str),
    /// Runs a target without a model, with this input.
    Try { target: &'a str, input: &'a str },
    /// Runs a target, and uses answers of a run.
    Reuse { target: &'a str, run: &'a str },
    /// Continues a run. `steps`: those that it may repeat. `why`: the limit at which it stopped, if it did.
    Resume { run: &'a str, steps: &'a [&'a str], why: Option<&'a RunError> },
    /// Starts a run of an edited target that uses the results of a run.
    Edited { run: &'a str, target: &'a str },
    /// Starts a run that uses the results of a run.
    Fork { run: &'a str, from: Option<&'a str> },
    /// Answers a step of a run.
    Answer { run: &'a str, step: &'a str, word: &'a str },
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
        let command = given.commands.then(|| " --allow-command".to_owned());
        let hosts = given.hosts.iter().map(|host| format!(" --allow-host {}", pasted(host)));
        let bare = given.no_config.then(|| " --no-config".to_owned());
        Self { store, permissions: command.into_iter().chain(hosts).chain(bare).collect(), target: String::new() }
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

    /// With the options that say how the target is read.
    pub fn reading(self, args: &TargetArgs) -> Self {
        let dialect = args.dialect.dialect.as_ref().map(|dialect| format!(" --dialect {}", dialect.0.name()));
        let paths =
            args.paths.allow_path.iter().map(|path| format!(" --allow-path {}", pasted(&path.display().to_string())));
        let bare = args.no_config.then(|| " --no-config".to_owned());
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
            C::Try { target, input } => format!("trefoil run {} {input} --model embedded{read}", pasted(target)),
            C::Reuse { target, run } => format!("trefoil run {} --reuse={run}{store}{permissions}", pasted(target)),
            C::Resume { run, steps, why } => {
                let rerun: String = steps.iter().map(|step| format!(" --rerun {}", pasted(step))).collect();
                format!("trefoil resume {run}{rerun}{}{store}{permissions}", why.map(raised).unwrap_or_default())
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
            C::Show(run) => format!("trefoil runs show {run}{store}"),
            C::Trace(run) => format!("trefoil trace {run}{store}"),
            C::TraceStep { run, step } => format!("trefoil trace {run} --step {step}{store}"),
            C::TraceFile(file) => format!("trefoil trace {}", pasted(file)),
            C::Cancel(run) => format!("trefoil runs cancel {run}{store}"),
            C::Release(run) => format!("trefoil runs release {run}{store}"),
            C::Delete(run) => format!("trefoil runs delete {run}{store}"),
            C::Export(run) => format!("trefoil runs export {run}{store}"),
            C::List => format!("trefoil runs list{store}"),
            C::Prune => format!("trefoil store prune{store}"),
            C::CheckStore => format!("trefoil store check{store}"),
            C::Explain(code) => format!("trefoil explain {code}"),
        }
    }

    /// The command that continues a run. `why`: what the run stopped for. Steps that it does not repeat unasked are allowed, and
    /// a limit that was reached is raised.
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

/// The options that raise the limits of the command line at which a run stopped. Empty if it did not stop at one.
pub fn raised(why: &RunError) -> &'static str {
    if why.code != "BUDGET_EXCEEDED" {
        return "";
    }
    let says = |option: &str| why.help.as_deref().is_some_and(|advice| advice.contains(option));
    match (says("--max-calls"), says("--max-cost")) {
        (true, false) => " --max-calls N",
        (false, true) => " --max-cost USD",
        (true, true) => " --max-calls N --max-cost USD",
        // A called flow has reached a limit of the run that has called it.
        (false, false) if why.message.contains("call limit reached") => " --max-calls N",
        (false, false) if why.message.contains("cost limit reached") => " --max-cost USD",
        (false, false) => "",
    }
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
    use clap::error::ErrorKind;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(pasted("topic=tea"), "topic=tea");
        assert_eq!(pasted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(pasted(""), "''");
    }

    /// One of each. The match fails to compile if a variant is missing here.
    fn samples() -> Vec<PrintedCommand<'static>> {
        use PrintedCommand as C;
        let run = "0123456789abcdef";
        let all = vec![
            C::Check("a b.yaml"),
            C::Plan("a.yaml"),
            C::Graph("a.yaml"),
            C::Try { target: "a.yaml", input: "-i x" },
            C::Reuse { target: "a.yaml", run },
            C::Resume { run, steps: &["a", "b"], why: None },
            C::Edited { run, target: "a.yaml" },
            C::Fork { run, from: Some("a") },
            C::Answer { run, step: "a", word: "-1" },
            C::Show(run),
            C::Trace(run),
            C::TraceStep { run, step: "NAME" },
            C::TraceFile("t.json"),
            C::Cancel(run),
            C::Release(run),
            C::Delete(run),
            C::Export(run),
            C::List,
            C::Prune,
            C::CheckStore,
            C::Explain("REFUSED"),
        ];
        all.iter().for_each(|one| match one {
            C::Check(_) | C::Plan(_) | C::Graph(_) | C::Try { .. } | C::Reuse { .. } | C::Resume { .. } => {}
            C::Edited { .. } | C::Fork { .. } | C::Answer { .. } | C::Show(_) | C::Trace(_) | C::TraceStep { .. } => {}
            C::TraceFile(_) | C::Cancel(_) | C::Release(_) | C::Delete(_) | C::Export(_) | C::List | C::Prune => {}
            C::CheckStore | C::Explain(_) => {}
        });
        all
    }

    /// The words of a command, without quotes.
    fn words(text: &str) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut quoted = false;
        for c in text.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => all.push(String::new()),
                c => all.last_mut().unwrap().push(c),
            }
        }
        all
    }

    #[test]
    fn every_printed_command_is_valid_with_all_options_and_run_by_a_test() {
        let given = GivenPermissions { commands: true, hosts: vec!["*.example.org".to_owned()], no_config: true };
        let options = RunOptions::new(" --store 'my runs.db'".to_owned(), &given);
        let options = RunOptions { target: " --dialect agntz --allow-path .. --no-config".to_owned(), ..options };
        let tests = include_str!("../../tests/cli/next_commands.rs");
        for command in samples() {
            let text = options.text(command);
            let words = words(&text);
            if let Err(error) = crate::args::read_from(&words) {
                panic!("{text}: {error}");
            }
            let name = words.get(1..if ["runs", "store"].contains(&&*words[1]) { 3 } else { 2 }).unwrap().join(" ");
            assert!(tests.contains(&format!("\"{name}\"")), "tests/cli/next_commands.rs does not run `{name}`");
        }
    }

    /// Texts in the sources that name a command: rule pages, help, advice. What stands for a value is replaced by one.
    #[test]
    fn every_command_named_in_a_text_is_valid() {
        let sample = |word: &str| match word.trim_end_matches("...") {
            "N" => "1".to_owned(),
            "USD" => "0.50".to_owned(),
            "USER" | "PATH|URL" => "x".to_owned(),
            word => word.replace(['{', '}', '[', ']', '<', '>'], "x"),
        };
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
        let mut left = vec![root];
        let mut met = 0;
        while let Some(path) = left.pop() {
            if path.is_dir() {
                let inside = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
                left.extend(inside.filter(|path| !path.ends_with("tests") && !path.ends_with("command.rs")));
                continue;
            }
            if !path.extension().is_some_and(|ending| ending == "rs" || ending == "md") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for line in text.lines() {
                for (at, _) in line.match_indices("`trefoil ") {
                    let Some((command, _)) = line[at + 1..].split_once('`') else { continue };
                    // A part of it, or with an ellipsis.
                    if command.contains(['|', '…', '\\', '"']) || command.contains("{}") {
                        continue;
                    }
                    let own = words(command.split(" < ").next().unwrap());
                    let named = crate::args::is_command(&own);
                    assert!(named, "{}: `{command}`", path.display());
                    let own: Vec<String> = own.iter().map(|word| sample(word)).collect();
                    met += 1;
                    match crate::args::read_from(&own) {
                        Ok(_) => {}
                        // A text may name only the command, or a value by what it is.
                        Err(error) => assert!(
                            !matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand),
                            "{}: `{command}`: {error}",
                            path.display()
                        ),
                    }
                }
            }
        }
        assert!(met > 100, "only {met} commands were found");
    }
}
