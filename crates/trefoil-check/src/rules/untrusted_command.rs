//! Text from outside where a shell would read it as code, or as more than one word.

use trefoil_ir::{CommandCall, Expr, FlowId, StepId, StepKind, ToolKind, walk};
use trefoil_syntax::{Location, Severity};

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::rendered::{Piece, pieces_of};
use crate::semantic::taint::Labels;

pub(super) const RULE: Rule = Rule {
    name: "untrusted-command",
    group: Group::Safety,
    level: Some(Severity::Error),
    strict: None,
    page: include_str!("untrusted_command.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for &(flow, id) in cx.model.reachable() {
        let Some(step) = program.step(id).filter(|_| cx.model.reach().is_alive(id)) else { continue };
        match &step.kind {
            StepKind::Command(call) => command(cx, flow, id, call, step.origin),
            StepKind::Tool(call) if call.kind == ToolKind::Python => {
                let Expr::Object(members) = &call.arguments else { continue };
                for (name, value) in members.iter().filter(|(n, _)| matches!(&**n, "module" | "function")) {
                    if let Some((who, from)) = labels(cx, flow, id, value).untrusted() {
                        let message = format!("which `{name}` runs is decided by {who}");
                        let finding = cx.finding(place(value).unwrap_or(step.origin), message);
                        cx.report(finding.label(from, "comes from here").help("write the name out"));
                    }
                }
            }
            _ => {}
        }
    }
}

fn command(cx: &mut Context<'_>, flow: FlowId, id: StepId, call: &CommandCall, at: Location) {
    for (name, value) in &call.env {
        let Some((who, from)) = labels(cx, flow, id, value).untrusted() else { continue };
        let Some(using) = using(&call.script, name) else { continue };
        let at = place(value).unwrap_or(at);
        let (severity, message, help) = match using {
            Use::Code => (
                Severity::Error,
                format!("the shell runs `${name}` as code, and it is {who}"),
                "do not hand data to `eval` or `sh -c`: name the program, and pass `\"$NAME\"` as an argument",
            ),
            Use::Bare => (
                Severity::Warning,
                format!("`${name}` stands without quotes, and it is {who}: the shell makes several words of it"),
                "write \"$NAME\", with the quotes",
            ),
        };
        let mut finding = cx.finding(at, message).label(from, "comes from here").help(help);
        finding.severity = severity;
        cx.report(finding);
    }
}

fn labels(cx: &Context<'_>, flow: FlowId, id: StepId, value: &Expr) -> Labels {
    let mut all = Labels::default();
    for piece in pieces_of(value) {
        if let Piece::Value(value) = piece {
            all = all.and(cx.model.taint().value(cx.model.program, flow, id, &value));
        }
    }
    all
}

fn place(value: &Expr) -> Option<Location> {
    let mut at = None;
    walk::texts(value, &mut |text| at = at.or(Some(text.origin)));
    at
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Read as a program again.
    Code,
    /// Split into words, and taken for patterns.
    Bare,
}

/// How a script uses a variable, where that is not as one word.
fn using(script: &str, name: &str) -> Option<Use> {
    let mut worst = None;
    for line in script.split(['\n', ';', '|']).flat_map(|l| l.split("&&")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let shell = words.iter().zip(words.iter().skip(1)).any(|(program, option)| {
            let program = program.rsplit('/').next().unwrap_or(program);
            let interprets = matches!(program, "sh" | "bash" | "zsh" | "dash" | "ksh" | "python" | "python3" | "node" | "perl" | "ruby");
            interprets && option.starts_with('-') && option.ends_with(['c', 'e'])
        });
        let code = shell || words.first() == Some(&"eval");
        let (mut double, mut single) = (false, false);
        for (at, c) in line.char_indices() {
            match c {
                '"' if !single => double = !double,
                '\'' if !double => single = !single,
                '$' if is_variable(line.get(at + 1..).unwrap_or_default(), name) => {
                    // In single quotes `sh -c '... $NAME'` is read by the inner shell, which sees a variable and no code.
                    if code && !single {
                        return Some(Use::Code);
                    }
                    let assigned = line.get(..at).is_some_and(|before| before.ends_with('='));
                    if !double && !single && !assigned {
                        worst = Some(Use::Bare);
                    }
                }
                _ => {}
            }
        }
    }
    worst
}

fn is_variable(rest: &str, name: &str) -> bool {
    let (rest, braced) = rest.strip_prefix('{').map_or((rest, false), |r| (r, true));
    rest.strip_prefix(name).is_some_and(|after| {
        let next = after.chars().next();
        if braced { next == Some('}') } else { next.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_') }
    })
}

#[cfg(test)]
mod tests {
    use super::{Use, using};

    #[test]
    fn a_variable_in_double_quotes_is_one_word() {
        for (script, expected) in [
            ("grep \"$Q\" notes", None),
            ("Q2=$Q; grep \"$Q2\" notes", None),
            ("grep $Q notes", Some(Use::Bare)),
            ("grep ${Q} notes", Some(Use::Bare)),
            ("grep $QUERY notes", None),
            ("eval \"$Q\"", Some(Use::Code)),
            ("cd /tmp && bash -c \"$Q\"", Some(Use::Code)),
            ("python3 -c \"print($Q)\"", Some(Use::Code)),
            ("sh -c 'grep \"$Q\" notes'", None),
            ("echo '$Q'", None),
        ] {
            assert_eq!(using(script, "Q"), expected, "{script}");
        }
    }
}
