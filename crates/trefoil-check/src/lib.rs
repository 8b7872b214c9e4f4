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

pub use levels::{Level, Levels, keeps_from_loading};
pub use rule::{Context, Group, Limits, Prices, Root, Rule, Run, Supplied, SuppliedServer, SuppliedTool, TreeContext};
pub use rules::{RULES, rule};
pub use semantic::{Mistakes, Model};
pub use suppress::Suppressions;

use std::sync::Arc;

use trefoil_ir::{Facts, Program, walk};
use trefoil_syntax::hash::HashSet;
use trefoil_syntax::yaml::Node;
use trefoil_syntax::{Diagnostic, FileId, Shared};
use trefoil_template::{HoleKind, Words};

/// The load errors in the form that rules need: a finding may be caused by a part that could not be read. `files` are
/// those that cannot run because of load errors, including their callers.
pub fn mistakes(found: &[Diagnostic], files: HashSet<FileId>) -> Mistakes {
    // A misspelt model is one mistake, too.
    let is_about_names = |name: &str| rule(name).is_some_and(|rule| matches!(rule.group, Group::Names | Group::Models));
    Mistakes::of(found, files, is_about_names)
}

/// The environment variables that a program sends as credentials, whatever their names.
pub fn credentials_of(program: &Program) -> Vec<Arc<str>> {
    if walk::holes(program).iter().all(|(kind, _)| *kind != HoleKind::Env) {
        return Vec::new();
    }
    let (facts, mistakes) = (Facts::default(), Mistakes::default());
    rules::sent_credentials(&Model::new(program, &facts, &mistakes, vec![program.entry]))
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
    let (facts, mistakes) = (Facts::default(), Mistakes::default());
    let model = Model::new(program, &facts, &mistakes, vec![program.entry]);
    let looks = rules::LEAKS.iter().zip([variables, &sent]);
    let found = looks.flat_map(|((rule, leaks), variables)| {
        let mut cx =
            Context { model: &model, roots: &[], supplied: &[], rule, run: rule.run, found: Shared::default() };
        leaks(&mut cx, variables);
        cx.found.into_vec()
    });
    found.collect()
}

/// All findings of the rules about a program. `facts` are those of its lowering.
pub fn check(program: &Program, facts: &Facts, limits: &Limits) -> Vec<Diagnostic> {
    let roots = [Root { flow: program.entry, limits: *limits, supplied: Arc::default() }];
    check_for(program, facts, &Mistakes::default(), &roots, &|_| true)
}

/// The findings of the wanted rules about a program that may be started at any of these flows. Rules whose findings are
/// not shown need not run. `mistakes`: the parts that could not be read, if a program is checked although it cannot
/// run.
pub fn check_for(
    program: &Program,
    facts: &Facts,
    mistakes: &Mistakes,
    roots: &[Root],
    wanted: &dyn Fn(&Rule) -> bool,
) -> Vec<Diagnostic> {
    findings(&model_of(program, facts, mistakes, roots), roots, &supplied_to(roots), wanted)
}

/// What is proved about a run that starts at a root, and what nobody can see before.
pub fn prove(program: &Program, facts: &Facts, root: &Root) -> Vec<proof::Proof> {
    let (mistakes, roots) = (Mistakes::default(), std::slice::from_ref(root));
    let model = model_of(program, facts, &mistakes, roots);
    let needed = |rule: &Rule| proof::ProofKind::ALL.iter().any(|kind| kind.rules().contains(&rule.name));
    proof::prove(&model, root, &findings(&model, roots, &supplied_to(roots), &needed))
}

fn model_of<'c>(program: &'c Program, facts: &'c Facts, mistakes: &'c Mistakes, roots: &[Root]) -> Model<'c> {
    let flows = roots.iter().map(|root| root.flow).collect();
    let supplied = supplied_to(roots);
    let tools = || supplied.iter().flat_map(|all| &all.tools);
    let results = tools().filter_map(|tool| Some((tool.name.clone(), tool.result.clone()?))).collect();
    let calls = tools().filter_map(|tool| Some((tool.name.clone(), tool.calls.clone()?))).collect();
    Model::new(program, facts, mistakes, flows).with_results(results).with_calls(calls)
}

/// What is declared for any of the roots. All files of a project share one declaration, so a rule may look through these for
/// every step.
fn supplied_to(roots: &[Root]) -> Vec<&Supplied> {
    let mut known = HashSet::default();
    let new = roots.iter().filter(|root| known.insert(Arc::as_ptr(&root.supplied)));
    new.map(|root| &*root.supplied).collect()
}

fn findings<'c>(
    model: &'c Model<'c>,
    roots: &'c [Root],
    supplied: &'c [&'c Supplied],
    wanted: &dyn Fn(&Rule) -> bool,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let looks =
        RULES.iter().filter(|rule| wanted(rule)).flat_map(|rule| rule.looks().iter().map(move |run| (*rule, *run)));
    for (rule, run) in looks {
        let (Run::Program(look) | Run::Declared(look) | Run::Whole(look)) = run else { continue };
        let mut cx = Context { model, roots, supplied, rule, run, found: Shared::default() };
        look(&mut cx);
        found.extend(cx.found.into_vec());
    }
    found
}

/// The findings of the wanted rules about the text of a manifest, which need not load. `words`: the terms of its
/// format, if known.
pub fn check_tree(
    root: &Node,
    file: FileId,
    words: Option<&'static Words>,
    wanted: &dyn Fn(&Rule) -> bool,
) -> Vec<Diagnostic> {
    let mut found = Shared::default();
    for rule in rules::RULES.iter().copied().filter(|rule| wanted(rule)) {
        if let Run::Tree(run) = rule.run {
            run(&mut TreeContext { root, file, words, rule, found: &mut found });
        }
    }
    found.into_vec()
}
