//! Checks: what can be proved about a program before it runs.
//!
//! ```text
//! program, facts --(semantic)--> model --(rules)--> diagnostics --(levels)--> what a person sees
//! ```
//!
//! Knows no dialect, does no IO and runs nothing. Loading finds the mistakes that prevent a program from being made;
//! this crate finds those in programs that load, and has the page, group and level of every rule of both kinds.

pub mod catalogue;
mod group;
pub mod levels;
pub mod proof;
pub mod rule;
pub mod rules;
pub mod semantic;
pub mod suppress;

pub mod words;

pub use levels::{Levels, RuleLevel, keeps_from_loading};
pub use rule::{
    CheckRoot, DeclaredServer, DeclaredTool, ModelPrices, ProjectDeclarations, Rule, RuleContext, RuleGroup,
    RuleSource, RunCostLimits, TreeContext,
};
pub use rules::{RULES, find_rule};
pub use semantic::{LoadErrors, SemanticModel};
pub use suppress::SuppressionComments;

use std::sync::Arc;

use trefoil_ir::{Facts, Program, walk};
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::yaml::YamlNode;
use trefoil_syntax::{Diagnostic, FileId, MergedDiagnostics};
use trefoil_template::HoleKind;

/// The load errors in the form that rules need: a finding may be caused by a part that could not be read. `files` are
/// those that cannot run because of load errors, including their callers.
pub fn collect_load_errors(found: &[Diagnostic], files: HashSet<FileId>) -> LoadErrors {
    // A misspelt model is one mistake, too.
    let is_about_names = |name: &str| match find_rule(name) {
        Some(rule) => matches!(rule.group, RuleGroup::Names | RuleGroup::Models),
        None => false,
    };
    LoadErrors::from_findings(found, files, is_about_names)
}

/// The environment variables that a program sends as credentials, whatever their names.
pub fn credentials_of(program: &Program) -> Vec<Arc<str>> {
    if walk::program_holes(program).iter().all(|(kind, _)| *kind != HoleKind::Env) {
        return Vec::new();
    }
    let (facts, mistakes) = (Facts::default(), LoadErrors::default());
    rules::sent_credentials(&SemanticModel::new(program, &facts, &mistakes, vec![program.entry]))
}

/// Where a program shows variables of which only their values tell that they are secrets: in the result, or those for which `in_prompt`
/// is true, to a model. Of each variable the secret that its value contains, in words.
pub fn leaks_of(
    program: &Program,
    variables: &[(Arc<str>, String)],
    in_prompt: &dyn Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    if variables.is_empty() {
        return Vec::new();
    }
    let sent: Vec<_> = variables.iter().filter(|(name, _)| in_prompt(name)).cloned().collect();
    let (facts, mistakes) = (Facts::default(), LoadErrors::default());
    let model = SemanticModel::new(program, &facts, &mistakes, vec![program.entry]);
    let mut all = Vec::new();
    for ((rule, leaks), variables) in rules::LEAKS.iter().zip([variables, &sent]) {
        let found = MergedDiagnostics::default();
        let mut cx = RuleContext { model: &model, roots: &[], supplied: &[], rule, run: rule.run, found };
        leaks(&mut cx, variables);
        all.extend(cx.found.into_vec());
    }
    all
}

/// All findings of the rules about a program. `facts` are those of its lowering.
pub fn check_program(program: &Program, facts: &Facts, limits: &RunCostLimits) -> Vec<Diagnostic> {
    let roots = [CheckRoot { flow: program.entry, limits: *limits, supplied: Arc::default() }];
    check_for(program, facts, &LoadErrors::default(), &roots, &|_| true)
}

/// The findings of the wanted rules about a program that may be started at any of these flows. Rules whose findings are
/// not shown need not run. `mistakes`: the parts that could not be read, if a program is checked although it cannot
/// run.
pub fn check_for(
    program: &Program,
    facts: &Facts,
    mistakes: &LoadErrors,
    roots: &[CheckRoot],
    wanted: &dyn Fn(&Rule) -> bool,
) -> Vec<Diagnostic> {
    let supplied = supplied_to(roots);
    findings(&model_of(program, facts, mistakes, roots, &supplied), roots, &supplied, wanted)
}

/// What is proved about a run that starts at a root, and what nobody can see before.
pub fn prove_program(program: &Program, facts: &Facts, root: &CheckRoot) -> Vec<proof::ProgramProof> {
    let (mistakes, roots) = (LoadErrors::default(), std::slice::from_ref(root));
    let supplied = supplied_to(roots);
    let model = model_of(program, facts, &mistakes, roots, &supplied);
    let needed = |rule: &Rule| proof::ProofKind::ALL.iter().any(|kind| kind.rule_names().contains(&rule.name));
    proof::build_proofs(&model, root, &findings(&model, roots, &supplied, &needed))
}

fn model_of<'c>(
    program: &'c Program,
    facts: &'c Facts,
    mistakes: &'c LoadErrors,
    roots: &[CheckRoot],
    supplied: &[&ProjectDeclarations],
) -> SemanticModel<'c> {
    let flows = roots.iter().map(|root| root.flow).collect();
    let (mut results, mut calls) = (HashMap::default(), HashMap::default());
    for tool in supplied.iter().flat_map(|all| &all.tools) {
        if let Some(result) = &tool.result {
            results.insert(tool.name.clone(), result.clone());
        }
        if let Some(bounds) = &tool.calls {
            calls.insert(tool.name.clone(), bounds.clone());
        }
    }
    SemanticModel::new(program, facts, mistakes, flows).with_results(results).with_calls(calls)
}

/// What is declared for any of the roots. All files of a project share one declaration, so a rule may look through these for
/// every step.
fn supplied_to(roots: &[CheckRoot]) -> Vec<&ProjectDeclarations> {
    let mut known = HashSet::default();
    let mut supplied = Vec::new();
    for root in roots {
        if known.insert(Arc::as_ptr(&root.supplied)) {
            supplied.push(&*root.supplied);
        }
    }
    supplied
}

fn findings<'c>(
    model: &'c SemanticModel<'c>,
    roots: &'c [CheckRoot],
    supplied: &'c [&'c ProjectDeclarations],
    wanted: &dyn Fn(&Rule) -> bool,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for rule in RULES.iter() {
        if !wanted(rule) {
            continue;
        }
        for run in rule.rule_functions() {
            let (RuleSource::Program(look) | RuleSource::Declared(look) | RuleSource::Whole(look)) = run else {
                continue;
            };
            let mut cx = RuleContext { model, roots, supplied, rule, run: *run, found: MergedDiagnostics::default() };
            look(&mut cx);
            found.extend(cx.found.into_vec());
        }
    }
    found
}

/// The findings of the wanted rules about the text of a manifest, which need not load.
pub fn check_tree(root: &YamlNode, file: FileId, wanted: &dyn Fn(&Rule) -> bool) -> Vec<Diagnostic> {
    let mut found = MergedDiagnostics::default();
    for rule in RULES.iter() {
        if !wanted(rule) {
            continue;
        }
        if let RuleSource::Tree(run) = rule.run {
            run(&mut TreeContext { root, file, rule, found: &mut found });
        }
    }
    found.into_vec()
}
