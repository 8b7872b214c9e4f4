//! After a run: what to do next, as commands to be pasted, one per line.

use trefoil::store::without_password;
use unicode_width::UnicodeWidthStr as _;

use super::words::safe;
use crate::output;
use crate::store::StoreArgs;

/// A command, and what it is for.
type NextCommand = (String, &'static str);

/// After a run that went well.
pub fn after_success(target: &str, trace: Option<&str>, placeholders: bool) {
    output::say("");
    if placeholders {
        output::loud("these are placeholder answers from the embedded model; next steps:");
    } else {
        output::aside("next:");
    }
    let target = pasted(target);
    let mut all = vec![
        (format!("trefoil plan {target}"), "what it would do, with the maximum number of calls"),
        (format!("trefoil graph {target} -o flow.svg"), "the workflow as a picture"),
    ];
    all.extend(prompts(trace));
    say(&all);
}

/// After a run that did not. `code`: that of its failure.
pub fn after_failure(trace: Option<&str>, code: Option<&str>) {
    output::say("next:");
    let mut all = prompts(trace);
    all.extend(code.map(|code| (format!("trefoil explain {code}"), "what this error means and how to fix it")));
    say(&all);
}

/// After a run that has stopped and is kept. `open`: it has not ended. `repeats`: the step that it does not repeat unasked.
pub fn after_stop(run: &str, store: &StoreArgs, open: bool, repeats: Option<&str>) {
    let store = store.option();
    let rerun = repeats.map(|step| format!(" --rerun {}", pasted(step))).unwrap_or_default();
    match open {
        true => output::say(&format!("to continue: trefoil resume {run}{rerun}{store}")),
        false => output::say(&format!("stored as: trefoil runs show {run}{store}")),
    }
}

/// After a run that could not be stored, not even its start: nothing was called.
pub fn not_kept() {
    output::say("nothing was sent or stored; to run it without a store, add `--ephemeral`");
}

/// How to see the prompts.
fn prompts(trace: Option<&str>) -> Vec<NextCommand> {
    let seen = "every prompt and answer";
    match trace {
        Some(trace) => vec![(format!("trefoil trace {}", pasted(trace)), seen)],
        None => vec![(again(), "run it again and record it"), ("trefoil trace trace.json".to_owned(), seen)],
    }
}

fn say(all: &[NextCommand]) {
    laid_out(all, output::width()).iter().for_each(|line| output::say(&safe(line)));
}

/// Commands with what they are for beside them, or beneath where one is too wide for that. A command is never broken.
fn laid_out(all: &[NextCommand], columns: usize) -> Vec<String> {
    let beside = |(command, what): &NextCommand, width: usize| {
        command.width() <= width && 2 + width + 2 + what.width() < columns
    };
    let widest = all.iter().filter(|next| beside(next, next.0.width())).map(|(command, _)| command.width()).max();
    let widest = widest.unwrap_or(0);
    let one = |next @ (command, what): &NextCommand| match beside(next, widest) {
        true => vec![format!("  {command}{}  {what}", " ".repeat(widest - command.width()))],
        false => vec![format!("  {command}"), format!("      {what}")],
    };
    all.iter().flat_map(one).collect()
}

/// The command that runs it again and records it, where it is short enough to be copied.
fn again() -> String {
    let words: Vec<String> = std::env::args().skip(1).map(|word| pasted(&without_password(&word))).collect();
    let command = format!("trefoil {} --trace trace.json", words.join(" "));
    let plain = command.chars().all(|c| !c.is_control());
    if plain && command.chars().count() <= 160 {
        command
    } else {
        "the same command with `--trace trace.json`".to_owned()
    }
}

/// A word as a shell takes it.
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
    use expect_test::expect;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(pasted("topic=tea"), "topic=tea");
        assert_eq!(pasted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(pasted(""), "''");
    }

    #[test]
    fn commands_are_one_a_line_and_never_broken() {
        let all =
            [("trefoil plan a.yaml".to_owned(), "what it would do"), ("trefoil trace t.json".to_owned(), "answers")];
        // The indent is part of what is shown.
        let shown = |columns| laid_out(&all, columns).join("\n").replace("  ", "__");
        expect![[r#"
            __trefoil plan a.yaml__ what it would do
            __trefoil trace t.json__answers"#]]
        .assert_eq(&shown(80));
        expect![[r#"
            __trefoil plan a.yaml
            ______what it would do
            __trefoil trace t.json__answers"#]]
        .assert_eq(&shown(40));
    }
}
