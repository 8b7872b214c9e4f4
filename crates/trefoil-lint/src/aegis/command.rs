//! Commands, and keys that states write to the Blackboard.

use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, suggestions};

use super::state::is_unreadable;
use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::aegis::manifest::RESERVED;
use trefoil_front::aegis::manifest::state::StateKind;
use trefoil_front::aegis::manifest::states::system::{FOREIGN, SystemAction};
use trefoil_front::aegis::names::RenderMoment;
use trefoil_front::aegis::shell::{CommandLine, ParameterizedScript};
use trefoil_front::names::{BoundReference, NameKind};
use trefoil_front::spelling_fixes::fix_spelling;

/// Words that examples of the original system use as commands, but that never existed.
const NEVER_BUILT_IN: &[&str] = &["update_context", "finalize", "finalize_success", "finalize_failure"];

/// The actions of System states, with the indices of the states.
fn actions<'u>(unit: &'u WorkflowUnit<'_, '_>) -> Vec<(usize, &'u SystemAction)> {
    let mut actions = Vec::new();
    for (index, state) in unit.workflow.states.iter().enumerate() {
        if let Some(StateKind::System(system)) = &state.kind
            && let Some(action) = &system.action
        {
            actions.push((index, action));
        }
    }
    actions
}

/// Invalid commands, and placeholders that a shell would read as code.
pub fn check_commands(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for (index, action) in actions(unit) {
        let SystemAction::Command { command, .. } = action else { continue };
        // An invalid template is reported separately.
        let Some(text) = unit.texts.get(RenderMoment::Entering(index), command) else { continue };
        if text.as_template().is_none() {
            continue;
        }
        let word = command.value.trim();
        if FOREIGN.contains(&word) {
            continue;
        }
        if let CommandLine::Script(script) = CommandLine::from_template(&command.value) {
            found.extend(not_built_in(unit, command));
            unsafe_parts(unit, command, &script, found);
            found.extend(program_from_data(unit, index, command, &script));
        }
    }
}

/// A word that was meant as a built-in command.
fn not_built_in(unit: &WorkflowUnit<'_, '_>, command: &YamlText) -> Option<Diagnostic> {
    let word = command.value.trim();
    let at = unit.file.location_of(command.span);
    let message = format!("`{word}` is not a built-in command, so the shell will look for a program with this name");
    let d = Diagnostic::new_warning("unknown-reference", at, message);
    // A path names the user's own file.
    if !word.contains('/') {
        let mut near = suggestions::find_near_match(word, ["update_blackboard"]);
        if near.is_none() && would_update(word) {
            near = Some(suggestions::NearMatch { name: "update_blackboard", distance: usize::MAX, sure: false });
        }
        if let Some(near) = near {
            return Some(fix_spelling(d.with_help(format!("did you mean `{}`?", near.name)), at, command, near));
        }
    }
    if !NEVER_BUILT_IN.contains(&word) {
        return None;
    }
    Some(d.with_help("write `update_blackboard` to change the Blackboard, or `echo` to do nothing"))
}

/// Whether a command is one word that means an update of the Blackboard in another system: `blackboard.write`.
fn would_update(word: &str) -> bool {
    const VERBS: &[&str] = &["set", "update", "write", "put", "save", "store", "patch", "merge", "add", "append"];
    const NOUNS: &[&str] = &["blackboard", "context"];
    let parts: Vec<&str> = word.split(['_', '-', '.', ':']).collect();
    matches!(*parts, [first, second] if VERBS.contains(&first) && NOUNS.contains(&second)
        || NOUNS.contains(&first) && VERBS.contains(&second))
}

fn unsafe_parts(
    unit: &WorkflowUnit<'_, '_>,
    command: &YamlText,
    script: &ParameterizedScript,
    found: &mut FindingList,
) {
    let place = |range: &std::ops::Range<usize>| {
        unit.file.location_of(command.source_span(range.start as u32..range.end as u32))
    };
    for mistake in &script.mistakes {
        let d = Diagnostic::new_error("unsafe-placeholder", place(&mistake.range), mistake.message);
        found.push(d.with_help("put the value in `env`, and write \"$NAME\" in the command"));
    }
    // Quotes in `${...}` and after a `$` have their own rules, which differ between shells.
    let own_rules = ["${", "$'"].iter().any(|sign| command.value.contains(sign));
    if let Some(quote) = script.open
        && !own_rules
    {
        let at = unit.file.location_of(command.span);
        let d = Diagnostic::new_warning("command-syntax", at, format!("a `{quote}` is never closed"));
        let help = "close it, or write `\\` before a literal one; the shell rejects the command";
        found.push(d.with_help(help));
    }
}

/// A program name that comes from a value. The caller of the run must not choose the program.
fn program_from_data(
    unit: &WorkflowUnit<'_, '_>,
    index: usize,
    command: &YamlText,
    script: &ParameterizedScript,
) -> Option<Diagnostic> {
    let range = script.program_from_data.as_ref()?;
    let at = unit.file.location_of(command.source_span(range.start as u32..range.end as u32));
    let mut of_caller = false;
    for (moment, used) in unit.texts.bound_references() {
        let is_here = at.span.start <= used.at.span.start && used.at.span.end <= at.span.end;
        of_caller |= moment == RenderMoment::Entering(index) && is_here && is_of_caller(used);
    }
    Some(if of_caller {
        let message = "the run's input decides which program runs";
        let d = Diagnostic::new_error("command-from-data", at, message);
        d.with_help("write the program's name here, and pass the value as an argument or in `env`")
    } else {
        let d = Diagnostic::new_warning("command-from-data", at, "data decides which program runs");
        d.with_help("the value is used as the name of one program, without arguments")
    })
}

/// Whether a reference reads the run's input.
fn is_of_caller(used: &BoundReference) -> bool {
    let path: Vec<&str> = used.reference.path.iter().map(|segment| &*segment.name).collect();
    matches!(*path, ["input", ..] | ["workflow", "task" | "input", ..])
        || used.bound.entries.iter().any(|entry| entry.sort == NameKind::Input)
}

/// Keys of `update_blackboard` that templates cannot read.
pub fn check_update_keys(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for (_, action) in actions(unit) {
        if let SystemAction::Update(entries) = action {
            for (key, _) in entries {
                check_update_key(unit, key, found);
            }
        }
    }
}

fn check_update_key(unit: &WorkflowUnit<'_, '_>, key: &YamlText, found: &mut FindingList) {
    let at = unit.file.location_of(key.span);
    let bare = ["blackboard.", "workflow.context."].iter().find_map(|prefix| key.value.strip_prefix(prefix));
    if let Some(bare) = bare
        && !bare.is_empty()
    {
        let message = format!("this writes a key named `{}`, not `{bare}`", key.value);
        let d = Diagnostic::new_warning("state-key", at, message);
        found.push(d.with_help(format!("write `{bare}`: keys of `env` are keys of the Blackboard")));
    }
    if bare.is_none() {
        found.extend(unreadable(unit, key));
    }
    let taken = RESERVED.contains(&&*key.value) || matches!(&*key.value, "intent" | "tenant_id" | "attachments");
    if taken || unit.names.state_index(&key.value).is_some() {
        let what = if taken { "a reserved name" } else { "the result of a state" };
        let message = format!("`update_blackboard` cannot write `{}`: it is {what}", key.value);
        found.push(Diagnostic::new_error("state-key", at, message).with_help("choose another key"));
    }
}

/// Keys for the results of other workflows that templates cannot read.
pub fn result_keys(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for state in &unit.workflow.states {
        let Some(StateKind::Subworkflow(sub)) = &state.kind else { continue };
        let Some(key) = sub.result_key.as_ref() else { continue };
        found.extend(unreadable(unit, key));
        if unit.names.state_index(&key.value).is_none() {
            continue;
        }
        let message =
            format!("`{0}` in templates is the result of the state `{0}`, so this key is never read", key.value);
        let d = Diagnostic::new_warning("state-key", unit.file.location_of(key.span), message);
        found.push(d.with_help("choose another key"));
    }
}

/// A key of the Blackboard that no template can name. It is no template itself.
fn unreadable(unit: &WorkflowUnit<'_, '_>, key: &YamlText) -> Option<Diagnostic> {
    if !is_unreadable(&key.value) {
        return None;
    }
    let message = format!("templates cannot read a key named `{}`", key.value);
    let help = match key.value.contains("{{") {
        true => "a key is not a template: write a fixed name",
        false => "use letters, digits, `_` and `-`",
    };
    Some(Diagnostic::new_warning("state-key", unit.file.location_of(key.span), message).with_help(help))
}
