//! `--allow`, `--warn`, `--deny`, `--strict`: the levels of findings. Later options override earlier ones.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use trefoil_check::{Levels, RULES, RuleLevel, find_rule};
use trefoil_syntax::suggestions::nearest_name;

/// The levels from the command line.
#[derive(Clone, Default)]
pub struct LevelArgs(pub Levels);

const FLAGS: [(&str, &str, RuleLevel); 3] = [
    ("allow", "Silence a rule (load errors are always reported)", RuleLevel::Allow),
    ("warn", "Report a rule as a warning", RuleLevel::Warn),
    ("deny", "Report a rule as an error", RuleLevel::Deny),
];

fn known(name: &str) -> Result<&'static str, String> {
    if let Some(rule) = find_rule(name) {
        return Ok(rule.name);
    }
    let (message, help) = no_such_rule(name);
    Err(format!("{message}: {help}"))
}

impl Args for LevelArgs {
    fn augment_args(command: Command) -> Command {
        let flags = FLAGS.map(|(name, help, _)| {
            let flag = Arg::new(name).long(name).value_name("RULE").help(help);
            flag.action(ArgAction::Append).value_delimiter(',').value_parser(known)
        });
        let strict = Arg::new("strict").long("strict").action(ArgAction::SetTrue);
        let hints = Arg::new("hints").long("hints").action(ArgAction::SetTrue);
        command
            .args(flags)
            .arg(strict.help("Use the stricter levels meant for CI (see `trefoil rules`)"))
            .arg(hints.help("Also show hints, such as names that are empty in the first pass of a loop"))
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LevelArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut asked: Vec<(usize, &'static str, RuleLevel)> = Vec::new();
        for (flag, _, level) in FLAGS {
            if matches.value_source(flag) != Some(ValueSource::CommandLine) {
                continue;
            }
            let rules = matches.get_many::<&'static str>(flag).unwrap_or_default();
            let places = matches.indices_of(flag).unwrap_or_default();
            for (place, rule) in places.zip(rules) {
                asked.push((place, *rule, level));
            }
        }
        asked.sort_by_key(|(place, ..)| *place);
        let mut levels = Levels::default();
        if matches.get_flag("strict") {
            levels.enable_strict();
        }
        if matches.get_flag("hints") {
            levels.enable_hints();
        }
        for (_, rule, level) in asked {
            levels.set_level(rule, level);
        }
        Ok(Self(levels))
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The message and the help for an unknown rule.
fn no_such_rule(name: &str) -> (String, String) {
    let near = nearest_name(name, RULES.iter().map(|r| r.name));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`trefoil rules` lists them".to_owned(),
    };
    (format!("unknown rule `{name}`"), help)
}
