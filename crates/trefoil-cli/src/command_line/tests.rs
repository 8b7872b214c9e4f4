//! The help lists every command, and every command that is printed anywhere can be run.

use super::{CliArguments, GROUPS, read_from};
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use trefoil_host::command::{PrintedCommand, RunOptions, option_text};
use trefoil_machine::journal::GivenPermissions;
use trefoil_machine::{LimitKind, RunError, RunLimits};

/// One of each. The match fails to compile if a variant is missing here.
fn samples() -> Vec<PrintedCommand<'static>> {
    use PrintedCommand as C;
    let run = "0123456789abcdef";
    let words: &'static [String] = ["run", "--ephemeral", "a b.yaml"].map(str::to_owned).to_vec().leak();
    let all = vec![
        C::Check("a b.yaml"),
        C::Plan("a.yaml"),
        C::Graph("a.yaml"),
        C::Run("a.yaml"),
        C::Dev("a.yaml"),
        C::Record(words),
        C::Try { target: "a.yaml", input: "-i x" },
        C::Reuse { target: "a.yaml", run },
        C::Resume { run, steps: &["a", "b"], why: &[] },
        C::Resume {
            run,
            steps: &[],
            why: limited(&LimitKind::ALL.map(|kind| RunLimits::with_raised_limit(kind, 4, 20_000))),
        },
        C::Edited { run, target: "a.yaml" },
        C::Fork { run, from: Some("a"), model: Some("a=openai:m") },
        C::Answer { run, step: "a", word: "-1" },
        C::Worker,
        C::Show(run),
        C::Trace(run),
        C::TraceStep { run, step: "a b" },
        C::TraceFile("t.json"),
        C::Cancel(run),
        C::Release(run),
        C::Delete(run),
        C::Export(run),
        C::List,
        C::Prune,
        C::CheckStore,
        C::Backup("FILE"),
        C::Explain("REFUSED"),
    ];
    all.iter().for_each(|one| match one {
        C::Check(_) | C::Plan(_) | C::Graph(_) | C::Try { .. } | C::Reuse { .. } | C::Resume { .. } => {}
        C::Edited { .. } | C::Fork { .. } | C::Answer { .. } | C::Show(_) | C::Trace(_) | C::TraceStep { .. } => {}
        C::TraceFile(_) | C::Cancel(_) | C::Release(_) | C::Delete(_) | C::Export(_) | C::List | C::Prune => {}
        C::CheckStore | C::Worker | C::Explain(_) | C::Run(_) | C::Dev(_) | C::Record(_) | C::Backup(_) => {}
    });
    all
}

/// One of each that has a name in it, with names that begin like an option.
fn like_options() -> Vec<PrintedCommand<'static>> {
    use PrintedCommand as C;
    let (run, file, step) = ("0123456789abcdef", "-f.yaml", "-K");
    vec![
        C::Check(file),
        C::Plan(file),
        C::Graph(file),
        C::Run(file),
        C::Dev(file),
        C::Try { target: file, input: "-i x" },
        C::Reuse { target: file, run },
        C::Resume { run, steps: &["-K", "--model"], why: &[] },
        C::Edited { run, target: file },
        C::Fork { run, from: Some(step), model: Some("-K=openai:m") },
        C::Answer { run, step, word: "-q" },
        C::Answer { run, step: "-q", word: "-" },
        C::TraceStep { run, step: "--json" },
        C::TraceFile("-t.json"),
        C::Backup("-b.db"),
    ]
}

/// A run stopped at limits of its command line.
fn limited(raises: &[RunLimits]) -> &'static [&'static RunError] {
    let error = |raise: &RunLimits| RunError::new("BUDGET_EXCEEDED", "the limit is reached").with_raise(*raise);
    raises.iter().map(|raise| &*Box::leak(Box::new(error(raise)))).collect::<Vec<_>>().leak()
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
    let options = options.with_target_options(Some("agntz"), &["..".into()], true);
    // `dev` does not end by itself, so it has tests of its own; so does `worker`.
    let tests = concat!(
        include_str!("../../tests/cli/next_commands.rs"),
        include_str!("../../tests/cli/dev.rs"),
        include_str!("../../tests/cli/run_views.rs")
    );
    for command in samples() {
        let text = options.render_command(command);
        let words = words(&text);
        // Nothing has to be replaced before it can be run.
        let is_placeholder = |word: &&String| ["N", "USD", "STEP", "NAME", "VALUE"].contains(&word.as_str());
        assert_eq!(words.iter().find(is_placeholder), None, "{text}");
        if let Err(error) = read_from(&words) {
            panic!("{text}: {error}");
        }
        let name = words.get(1..if ["runs", "store"].contains(&&*words[1]) { 3 } else { 2 }).unwrap().join(" ");
        let runs = [format!("\"{name}\""), format!("; trefoil {name} ")];
        assert!(runs.iter().any(|run| tests.contains(run)), "no test runs `{name}`");
    }
}

/// The same words come back from the parser: a name is read as an option neither alone nor after another option.
#[test]
fn names_that_begin_like_an_option_are_read_as_names() {
    let given = GivenPermissions { commands: true, hosts: vec!["-h".to_owned()], no_config: true };
    let options = RunOptions::new(option_text("--store", "-s.db"), &given);
    let options = options.with_target_options(Some("agntz"), &[".".into()], true);
    let mut all = String::new();
    for command in like_options() {
        let text = options.render_command(command);
        if let Err(error) = read_from(words(&text)) {
            panic!("{text}: {error}");
        }
        all.push_str(&text);
        all.push('\n');
    }
    expect_test::expect![[r#"
        trefoil check --dialect agntz --allow-path . --no-config -- -f.yaml
        trefoil plan --dialect agntz --allow-path . --no-config -- -f.yaml
        trefoil graph -o flow.svg --dialect agntz --allow-path . --no-config -- -f.yaml
        trefoil run --dialect agntz --allow-path . --no-config --store=-s.db -- -f.yaml
        trefoil dev --dialect agntz --allow-path . --no-config --store=-s.db -- -f.yaml
        trefoil run -i x --model embedded --dialect agntz --allow-path . --no-config -- -f.yaml
        trefoil run --reuse=0123456789abcdef --store=-s.db --allow-command --allow-host=-h --no-config -- -f.yaml
        trefoil resume 0123456789abcdef --rerun=-K --rerun=--model --store=-s.db --allow-command --allow-host=-h --no-config
        trefoil resume 0123456789abcdef --with=-f.yaml --store=-s.db --allow-command --allow-host=-h --no-config
        trefoil runs fork 0123456789abcdef --model=-K=openai:m --from=-K --store=-s.db --allow-command --allow-host=-h --no-config
        trefoil runs answer --store=-s.db -- 0123456789abcdef -K -q
        trefoil runs answer --store=-s.db -- 0123456789abcdef -q -
        trefoil trace 0123456789abcdef --step=--json --store=-s.db
        trefoil trace -- -t.json
        trefoil store backup --store=-s.db -- -b.db
    "#]].assert_eq(&all);
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
                let named = is_command(&own);
                assert!(named, "{}: `{command}`", path.display());
                let own: Vec<String> = own.iter().map(|word| sample(word)).collect();
                met += 1;
                match read_from(&own) {
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

/// Whether words, of which the first is the name of the program, name a command.
fn is_command(words: &[String]) -> bool {
    words.get(1).is_some_and(|word| word.starts_with('-') || CliArguments::command().find_subcommand(word).is_some())
}

#[test]
fn every_command_is_in_one_group_of_the_help() {
    let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let command = CliArguments::command();
    let mut all: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    grouped.retain(|name| cfg!(feature = "mcp") || *name != "mcp");
    grouped.sort_unstable();
    all.sort_unstable();
    assert_eq!(grouped, all);
}

/// An option that needs `--with` is refused beside `--all`, which excludes `--with`: clap alone would then ignore that it is needed.
#[test]
fn what_belongs_to_an_edit_is_no_option_of_resuming_all() {
    let command = CliArguments::command();
    let resume = command.find_subcommand("resume").unwrap();
    let mut refused = 0;
    for option in resume
        .get_arguments()
        .filter(|arg| arg.get_help().is_some_and(|help| help.to_string().starts_with("With `--with`")))
    {
        let long = format!("--{}", option.get_long().unwrap());
        let takes = option.get_action().takes_values();
        let words = ["trefoil", "resume", "--all", &long].into_iter().chain(takes.then_some("x=1"));
        let error = read_from(words).err().map(|error| error.kind());
        assert_eq!(error, Some(ErrorKind::ArgumentConflict), "{long}");
        refused += 1;
    }
    assert!(refused > 5);
}

/// The options that take the name of a step.
fn step_options(command: &clap::Command, path: &str, found: &mut Vec<String>) {
    for arg in command.get_arguments() {
        let takes = arg.get_value_names().unwrap_or_default().iter().any(|name| name.to_uppercase().contains("STEP"));
        let name = arg.get_long().map_or_else(|| arg.get_id().to_string(), |long| format!("--{long}"));
        if takes || name == "--model" {
            found.push(format!("{path} {name}"));
        }
    }
    for inner in command.get_subcommands() {
        step_options(inner, format!("{path} {}", inner.get_name()).trim(), found);
    }
}

#[test]
fn every_option_that_takes_the_name_of_a_step_has_a_test() {
    let mut found = Vec::new();
    step_options(&CliArguments::command(), "", &mut found);
    // A new option is also a row of the table in `tests/cli/step_names.rs`.
    let table = include_str!("../../tests/cli/step_names.rs");
    for option in &found {
        let name = match option.rsplit_once(' ') {
            Some((_, name)) if ["--from", "--rerun", "--model", "--answer"].contains(&name) => name.to_owned(),
            _ => option.replace(" step", ""),
        };
        assert!(table.contains(&format!("\"{name}\"")), "{option} is not in tests/cli/step_names.rs");
    }
    for option in ["runs fork --from", "resume --rerun", "runs answer step", "trace --step", "run --answer"] {
        assert!(found.iter().any(|one| one == option), "{option}: {found:?}");
    }
}
