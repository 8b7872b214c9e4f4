//! A state with transitions that ends the run on success, because none of them matches success.

use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};

pub(super) const RULE: Rule = Rule {
    name: "implicit-end",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Info),
    strict: None,
    page: include_str!("implicit_end.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    let Some(words) = cx.model.format_words().transitions else { return };
    for (machine, _) in cx.model.state_machines() {
        let ends = machine.states.iter().filter(|s| s.ends_unmatched);
        for state in ends.filter(|s| cx.model.reach_analysis().is_alive(s.step)) {
            let step = &program.steps[state.step];
            let message =
                format!("the run ends here if `{}` succeeds, because no transition covers success", state.name);
            let mut finding = cx.new_finding(step.origin, message);
            for transition in &state.transitions {
                finding = finding.with_label(transition.origin, format!("`{}`", transition.text));
            }
            let success = words.condition_line(words.success);
            cx.report_finding(finding.with_help(format!("to continue, add a transition with `{success}`")));
        }
    }
}
