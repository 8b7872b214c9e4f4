//! The names of types and functions in the crates, and how dense their expressions are.
//!
//! A reader searches a name. So no two types share one, and a function that others call is named by two words or more, unless
//! its one word is in the glossary or usual in Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};

use crate::Outcome;

/// Names of one word that Rust's own libraries use, in the same sense.
const USUAL: &[&str] = &[
    "add",
    "build",
    "clear",
    "close",
    "contains",
    "count",
    "default",
    "deserialize",
    "entries",
    "extend",
    "finish",
    "first",
    "flush",
    "from",
    "get",
    "hash",
    "id",
    "index",
    "insert",
    "into",
    "iter",
    "join",
    "keys",
    "kind",
    "label",
    "last",
    "len",
    "lock",
    "map",
    "max",
    "min",
    "name",
    "new",
    "next",
    "open",
    "parse",
    "poll",
    "pop",
    "push",
    "remove",
    "replace",
    "run",
    "send",
    "serialize",
    "spawn",
    "start",
    "stop",
    "take",
    "text",
    "trim",
    "value",
    "values",
    "wait",
    "write",
];

/// The ports of the façade's engine that are set by their name, as in its messages: `Engine::http`.
const ENGINE_PORTS: &[&str] = &["http", "humans", "python"];

/// How many combinators a crate may have in a hundred lines. With more, its expressions are hard to read.
const MOST_COMBINATORS: usize = 4;

/// Methods of iterators, options and results that take a step of a computation.
const COMBINATORS: &[&str] = &[
    "all",
    "and_then",
    "any",
    "chain",
    "filter",
    "filter_map",
    "find_map",
    "flat_map",
    "fold",
    "is_none_or",
    "is_ok_and",
    "is_some_and",
    "map",
    "map_err",
    "map_or",
    "map_or_else",
    "ok_or_else",
    "or_else",
    "partition",
    "position",
    "scan",
    "skip_while",
    "take_while",
    "then",
    "then_some",
    "try_fold",
    "unwrap_or_else",
    "zip",
];

/// A name and where it stands: `crates/trefoil-ir/src/step.rs`.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedItem {
    /// The name.
    pub name: String,
    /// The path of the file, from the root of the repository.
    pub file: String,
}

/// What the sources of a crate are called.
#[derive(Debug, Default)]
pub struct CrateNames {
    /// Its types and traits.
    pub types: Vec<NamedItem>,
    /// Its functions that others may call, and the methods of its traits.
    pub public_functions: Vec<NamedItem>,
    /// The number of functions of any visibility, without those whose name a trait dictates.
    pub functions: usize,
    /// The number of those that have one word.
    pub one_word: usize,
    /// The number of combinators.
    pub combinators: usize,
    /// The number of lines that are neither empty nor comments.
    pub lines: usize,
}

impl CrateNames {
    /// Adds a file. `lines`: those of its code outside of tests.
    pub fn add_file(&mut self, file: &str, text: &str, lines: usize) -> Result<(), String> {
        let parsed = syn::parse_file(text).map_err(|why| format!("{file}: {why}"))?;
        self.lines += lines;
        NameCollector { file, names: self }.visit_file(&parsed);
        Ok(())
    }
}

/// Collects the names of a file, without those of its tests.
struct NameCollector<'a> {
    file: &'a str,
    names: &'a mut CrateNames,
}

impl NameCollector<'_> {
    fn add_type(&mut self, name: &syn::Ident) {
        self.names.types.push(NamedItem { name: name.to_string(), file: self.file.to_owned() });
    }

    fn add_function(&mut self, name: &syn::Ident, is_public: bool) {
        let name = name.to_string();
        self.names.functions += 1;
        self.names.one_word += usize::from(is_one_word(&name));
        if is_public {
            self.names.public_functions.push(NamedItem { name, file: self.file.to_owned() });
        }
    }
}

impl<'ast> Visit<'ast> for NameCollector<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add_type(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add_type(&item.ident);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.add_type(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.add_type(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.add_function(&item.sig.ident, true);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        for member in &item.items {
            let syn::ImplItem::Fn(function) = member else { continue };
            if is_of_tests(&function.attrs) {
                continue;
            }
            // A trait dictates the names of its methods.
            if item.trait_.is_none() {
                self.add_function(&function.sig.ident, is_public(&function.vis));
            }
            visit::visit_block(self, &function.block);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_of_tests(&item.attrs) {
            self.add_function(&item.sig.ident, is_public(&item.vis));
            visit::visit_block(self, &item.block);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let method = call.method.to_string();
        self.names.combinators += usize::from(COMBINATORS.contains(&&*method));
        visit::visit_expr_method_call(self, call);
    }
}

fn is_public(visibility: &syn::Visibility) -> bool {
    !matches!(visibility, syn::Visibility::Inherited)
}

/// Whether these are the attributes of a test, or of a module of tests.
fn is_of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        syn::Meta::NameValue(_) => false,
    })
}

fn is_one_word(name: &str) -> bool {
    !name.trim_matches('_').contains('_')
}

/// The single words that a function may be called by: those of the glossary, and the usual ones.
pub fn allowed_words(glossary: &str) -> BTreeSet<String> {
    let terms = glossary.lines().filter_map(|line| line.strip_prefix("- **")?.split("**").next());
    // `clock` stands for a run's clock.
    let words = terms.filter_map(|term| term.rsplit(' ').next());
    let mut allowed: BTreeSet<String> = words.map(str::to_owned).collect();
    // Several of a thing: `flows`.
    let plural: Vec<String> = allowed.iter().map(|word| format!("{word}s")).collect();
    allowed.extend(plural);
    allowed.extend(USUAL.iter().chain(ENGINE_PORTS).map(|word| (*word).to_owned()));
    allowed
}

/// The types that share a name, and the functions of one word that is not allowed.
pub fn find_unsearchable(crates: &BTreeMap<String, CrateNames>, allowed: &BTreeSet<String>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut types: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for item in crates.values().flat_map(|names| &names.types) {
        types.entry(&item.name).or_default().insert(&item.file);
    }
    for (name, files) in types.iter().filter(|(_, files)| files.len() > 1) {
        let files: Vec<&str> = files.iter().copied().collect();
        problems.push(format!("{}: several types are called `{name}`", files.join(", ")));
    }
    for item in crates.values().flat_map(|names| &names.public_functions) {
        if is_one_word(&item.name) && !allowed.contains(&item.name) {
            problems.push(format!("{}: `fn {}` has one word, and no entry in the glossary", item.file, item.name));
        }
    }
    problems
}

/// The crates whose expressions are too dense: what is not the plainest as a combinator is a loop, a `match` or a `let` with a
/// name.
pub fn find_dense(crates: &BTreeMap<String, CrateNames>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, names) in crates {
        if names.combinators * 100 > names.lines * MOST_COMBINATORS {
            problems.push(format!(
                "{name}: {} combinators in {} lines, more than {MOST_COMBINATORS} in a hundred",
                names.combinators, names.lines
            ));
        }
    }
    problems
}

/// Prints a table of the names and the density of each crate.
pub fn print_table(root: &Path) -> Outcome {
    let crates = crate::tidy::read_names(root)?;
    println!("| crate | lines | functions | one word | public, one word | types | combinators in 100 lines |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (name, names) in &crates {
        let public = names.public_functions.iter().filter(|item| is_one_word(&item.name)).count();
        println!(
            "| {name} | {} | {} | {} % | {public} | {} | {:.1} |",
            names.lines,
            names.functions,
            names.one_word * 100 / names.functions.max(1),
            names.types.len(),
            names.combinators as f64 * 100.0 / names.lines.max(1) as f64
        );
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(text: &str) -> CrateNames {
        let mut names = CrateNames::default();
        names.add_file("a.rs", text, text.lines().count()).unwrap();
        names
    }

    #[test]
    fn a_shared_type_and_a_vague_function_are_found() {
        let first = names_of("pub struct Place; impl Place { pub fn of() {} fn at() {} pub fn len(&self) {} }");
        let mut second = CrateNames::default();
        second.add_file("b.rs", "enum Place {} trait Look { fn look(&self); }", 1).unwrap();
        let crates = BTreeMap::from([("one".to_owned(), first), ("two".to_owned(), second)]);
        let allowed = allowed_words("- **flow** (`Flow`): a unit.\n- **run's clock**: time.\n");
        assert_eq!(
            find_unsearchable(&crates, &allowed),
            [
                "a.rs, b.rs: several types are called `Place`",
                "a.rs: `fn of` has one word, and no entry in the glossary",
                "b.rs: `fn look` has one word, and no entry in the glossary",
            ]
        );
        assert!(allowed.contains("flow") && allowed.contains("clock") && !allowed.contains("run's"));
    }

    #[test]
    fn tests_and_methods_that_a_trait_dictates_do_not_count() {
        let names = names_of(
            "impl Iterator for A { type Item = u8; fn look(&mut self) {} }\n#[cfg(test)] mod tests { struct Place; fn of() {} }\n\
             #[test] fn one() {}",
        );
        assert!(names.types.is_empty() && names.public_functions.is_empty() && names.functions == 0, "{names:?}");
    }

    #[test]
    fn a_crate_is_dense_with_more_than_four_combinators_in_a_hundred_lines() {
        let with = |combinators| CrateNames { combinators, lines: 200, ..CrateNames::default() };
        let crates = BTreeMap::from([("plain".to_owned(), with(8)), ("dense".to_owned(), with(9))]);
        assert_eq!(find_dense(&crates), ["dense: 9 combinators in 200 lines, more than 4 in a hundred"]);
    }

    #[test]
    fn combinators_count_wherever_they_are() {
        let names = names_of("impl Iterator for A { fn next(&mut self) { self.0.map(|x| x.filter(f)).len() } }");
        assert_eq!(names.combinators, 2);
    }
}
