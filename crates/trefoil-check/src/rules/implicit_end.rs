//! A state with transitions that ends the run on success, because none of them matches success.

use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "implicit-end",
    group: Group::Flow,
    level: Some(Severity::Info),
    strict: None,
    page: include_str!("implicit_end.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    let Some(words) = cx.model.words().transitions else { return };
    for (machine, _) in cx.model.machines() {
        let ends = machine.states.iter().filter(|s| s.ends_unmatched);
        for state in ends.filter(|s| cx.model.reach().is_alive(s.step)) {
            let step = &program.steps[state.step];
            let message = format!("the run ends here if `{}` succeeds, because no transition covers success", state.name);
            let mut finding = cx.finding(step.origin, message);
            for transition in &state.transitions {
                finding = finding.label(transition.origin, format!("`{}`", transition.text));
            }
            let success = words.written(words.success);
            cx.report(finding.help(format!("to continue, add a transition with `{success}`")));
        }
    }
}
