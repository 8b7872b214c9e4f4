//! The load rules that front ends report, with one line each. YAML and template rules are listed in their crates.

/// Rule name and what it says.
pub const RULES: &[(&str, &str)] = &[
    ("unknown-dialect", "the file is of no known dialect"),
    ("ambiguous-dialect", "the file mixes the keys of two dialects"),
    ("unknown-key", "a key that the format does not have"),
    ("missing-key", "a required key is not there"),
    ("wrong-type", "a value of the wrong type"),
    ("out-of-range", "a number outside its range"),
    ("unknown-value", "a word that is not one of the choices"),
    ("no-effect", "a key that is known and changes nothing here"),
    ("refused", "a feature that is recognised and not run by this version"),
    ("deprecated", "an old spelling"),
    ("duplicate-id", "two things with one id"),
    ("unknown-reference", "a reference to something that is not there"),
    ("reference-cycle", "a chain of references that comes back to itself"),
    ("unresolved-name", "a template names something that is not defined there"),
    ("invalid-name", "a name with characters that names do not have"),
    ("invalid-schema", "a JSON Schema that is none"),
    ("invalid-regex", "a regular expression that is none"),
    ("both-spellings", "one key written in two spellings"),
    ("impossible-transition", "a transition that can never be taken"),
    ("unreachable-state", "a state that no transition leads to"),
    ("endless-loop", "states that lead only to each other, until a limit ends the run"),
    ("unsafe-placeholder", "a placeholder where a shell would read its value as code"),
    ("command-from-data", "a command whose program is decided by data"),
    ("maybe-undefined", "a template names something that some paths do not define"),
];
