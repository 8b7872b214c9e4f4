//! Finds cycles of modules that depend on each other, because such modules can only be understood together.
//!
//! A module is a file. It depends on the module that defines a name that it uses, also through re-exports. The root of
//! a crate is ignored, because it lists all modules. A module's dependencies on the modules around it are ignored, too.
//! Paths are read from the text, so names in macro expansions are not found.

use std::collections::{BTreeMap, BTreeSet};

/// A module's path in its crate; that of the root is empty.
type Name = Vec<String>;

/// The relevant parts of a module.
#[derive(Default)]
struct Module {
    /// The names that it re-exports, and their paths.
    exports: Vec<(String, Name)>,
    /// The paths that it uses, from the root.
    names: BTreeSet<Name>,
}

/// The cycles of a crate, each as a list of modules. `files` are the paths below `src`, and the code without tests and
/// comments.
pub fn of(files: &[(String, String)]) -> Vec<Vec<String>> {
    let known: BTreeSet<Name> = files.iter().map(|(path, _)| name(path)).collect();
    let modules: BTreeMap<Name, Module> =
        files.iter().map(|(path, code)| (name(path), read(&name(path), code, &known))).collect();
    let needs: BTreeMap<&Name, BTreeSet<Name>> = modules
        .iter()
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, module)| {
            let found = module.names.iter().filter_map(|path| home(path, &modules, 0));
            // Dependencies on the modules around this one are ignored.
            (name, found.filter(|other| !name.starts_with(other)).collect())
        })
        .collect();
    let reached: BTreeMap<&Name, BTreeSet<&Name>> = needs.keys().map(|name| (*name, reach(name, &needs))).collect();
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (name, all) in &reached {
        let back = |other: &&&Name| reached.get(**other).is_some_and(|all| all.contains(*name));
        let circle: Vec<String> = all.iter().filter(back).map(|other| other.join("::")).collect();
        if !circle.is_empty() {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// `names/bind.rs` is `names::bind`, `names/mod.rs` is `names`.
fn name(path: &str) -> Name {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let parts = path.split('/').map(str::to_owned);
    let mut parts: Name = parts.collect();
    if parts.last().is_some_and(|last| matches!(&**last, "mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

/// All modules on which a module depends, including itself if there is a cycle.
fn reach<'n>(from: &Name, needs: &'n BTreeMap<&Name, BTreeSet<Name>>) -> BTreeSet<&'n Name> {
    let mut seen = BTreeSet::new();
    let mut stack: Vec<&Name> = needs.get(from).into_iter().flatten().collect();
    while let Some(next) = stack.pop() {
        if seen.insert(next) {
            stack.extend(needs.get(next).into_iter().flatten());
        }
    }
    seen
}

/// The module that defines the last segment of a path.
fn home(path: &[String], modules: &BTreeMap<Name, Module>, depth: usize) -> Option<Name> {
    let at = (0..=path.len()).rev().find(|n| modules.contains_key(path.get(..*n).unwrap_or_default()))?;
    let (here, rest) = path.split_at(at);
    let handed = rest.first().and_then(|first| {
        let (_, to) = modules.get(here)?.exports.iter().find(|(name, _)| name == first)?;
        let path: Name = to.iter().chain(rest.iter().skip(1)).cloned().collect();
        home(&path, modules, depth + 1).filter(|_| depth < 8)
    });
    handed.or_else(|| Some(here.to_vec()))
}

fn read(own: &Name, code: &str, known: &BTreeSet<Name>) -> Module {
    let mut module = Module::default();
    // Imported names, for paths that start with them.
    let mut imported: Vec<(String, Name)> = Vec::new();
    let mut rest = String::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let Some((public, start)) = use_statement(line) else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let mut tree = start.to_owned();
        while !tree.contains(';') {
            tree.push_str(lines.next().unwrap_or(";"));
        }
        let mut leaves = Vec::new();
        expand(tree.split(';').next().unwrap_or_default(), &mut Vec::new(), &mut leaves);
        for (alias, path) in leaves {
            let Some(path) = absolute(own, &path, known) else { continue };
            if public {
                module.exports.push((alias.clone(), path.clone()));
            } else if !known.contains(&path) {
                // An imported module counts as a dependency only through the names used from it.
                module.names.insert(path.clone());
            }
            imported.push((alias, path));
        }
    }
    for path in paths(&rest) {
        let head = path.first().map_or("", |s| s.as_str());
        let whole = match imported.iter().find(|(alias, _)| alias == head) {
            Some((_, to)) => Some(to.iter().chain(path.iter().skip(1)).cloned().collect()),
            None => absolute(own, &path, known),
        };
        module.names.extend(whole);
    }
    module
}

/// The tree of a `use` statement, and whether it is public.
fn use_statement(line: &str) -> Option<(bool, &str)> {
    let line = line.trim_start();
    match line.strip_prefix("use ") {
        Some(tree) => Some((false, tree)),
        None => Some((true, line.strip_prefix("pub")?.trim_start_matches(|c| c != ' ').strip_prefix(" use ")?)),
    }
}

/// The leaves of a tree of imports, with the names that they introduce.
fn expand(tree: &str, before: &mut Name, leaves: &mut Vec<(String, Name)>) {
    let tree = tree.trim();
    if let Some((head, inner)) = tree.split_once('{') {
        let depth = before.len();
        before.extend(head.split("::").map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned));
        let mut open = 0;
        let mut part = String::new();
        for c in inner.chars() {
            match c {
                '{' => open += 1,
                '}' if open == 0 => break,
                '}' => open -= 1,
                _ => {}
            }
            if c == ',' && open == 0 {
                expand(&std::mem::take(&mut part), before, leaves);
            } else {
                part.push(c);
            }
        }
        expand(&part, before, leaves);
        before.truncate(depth);
    } else if !tree.is_empty() {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
        let mut whole = before.clone();
        whole.extend(path.split("::").map(|s| s.trim().to_owned()).filter(|s| s != "self" && s != "*"));
        let name = alias.map(|a| a.trim().to_owned()).or_else(|| whole.last().cloned());
        leaves.extend(name.map(|name| (name, whole)));
    }
}

/// The paths with at least two segments in code.
fn paths(code: &str) -> Vec<Name> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let words = code.split(|c: char| !part(c)).filter(|word| word.contains("::"));
    words.map(|word| word.split("::").filter(|s| !s.is_empty()).map(str::to_owned).collect()).collect()
}

/// A path from the root of the crate; `None` if it leads out of the crate.
fn absolute(own: &Name, path: &[String], known: &BTreeSet<Name>) -> Option<Name> {
    let (first, rest) = path.split_first()?;
    let below = |base: &[String], rest: &[String]| -> Name { base.iter().chain(rest).cloned().collect() };
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some(below(own, rest)),
        "super" => absolute_above(own.get(..own.len().checked_sub(1)?)?, rest),
        _ => Some(below(own, path)).filter(|_| known.contains(&below(own, std::slice::from_ref(first)))),
    }
}

fn absolute_above(base: &[String], path: &[String]) -> Option<Name> {
    match path.split_first() {
        Some((first, rest)) if first == "super" => absolute_above(base.get(..base.len().checked_sub(1)?)?, rest),
        _ => Some(base.iter().chain(path).cloned().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files: Vec<_> = files.iter().map(|(path, code)| ((*path).to_owned(), (*code).to_owned())).collect();
        of(&files)
    }

    #[test]
    fn modules_that_need_each_other_are_found() {
        let read = ("read.rs", "use crate::names::is_path;\npub struct Reader;\n");
        let names = ("names/mod.rs", "mod path;\npub use path::is_path;\n");
        assert!(circles(&[("lib.rs", "mod read;\nmod names;\n"), read, names, ("names/path.rs", "")]).is_empty());
        let back = ("names/path.rs", "use crate::read::Reader;\n");
        assert_eq!(circles(&[("lib.rs", ""), read, names, back]), [["names::path", "read"]]);
        // Through a re-export of the root, by a relative path, and by a path in the code.
        let back = ("names/path.rs", "use crate::Reader;\n");
        assert_eq!(circles(&[("lib.rs", "pub use read::Reader;\n"), read, names, back]), [["names::path", "read"]]);
        let back = ("names/path.rs", "use super::super::{read::{self, Reader}, other};\n");
        assert_eq!(circles(&[("lib.rs", ""), read, names, back]), [["names::path", "read"]]);
        let back = ("names/path.rs", "fn f(_: &crate::read::Reader) {}\n");
        assert_eq!(circles(&[("lib.rs", ""), read, names, back]), [["names::path", "read"]]);
    }

    #[test]
    fn a_module_and_those_inside_of_it_are_no_circle_but_two_inside_of_it_are() {
        let parent = ("a/mod.rs", "mod b;\nmod c;\npub struct A;\nfn f() { b::g() }\n");
        let child = ("a/b.rs", "use super::A;\nuse super::c;\npub fn g() { c::h() }\n");
        assert!(circles(&[parent, child, ("a/c.rs", "use super::A;\n")]).is_empty());
        assert_eq!(circles(&[parent, child, ("a/c.rs", "use super::b::g;\n")]), [["a::b", "a::c"]]);
    }
}
