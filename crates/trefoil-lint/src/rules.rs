//! The load rules that only the finders of mistakes report, with one line each.

/// Rule name and what it says.
pub const RULES: &[(&str, &str)] = &[
    ("loop-variable", "a loop variable outside its loop"),
    ("impossible-transition", "a transition that can never be taken"),
    ("unsafe-placeholder", "a placeholder where a shell would read its value as code"),
    ("command-from-data", "a command whose program is decided by data"),
    ("missing-score", "an agent that judges, with an answer that has no score"),
    ("text-as-boolean", "a text that is tested as if it were true or false"),
    ("masked-output", "the result of a run shows `***` instead of an environment variable"),
    ("state-key", "an output under a reserved name, or one that no template can read"),
    ("command-syntax", "a command that the shell cannot read"),
    ("copied-value", "two entries of a map with the same value, although the second has one of its own"),
    ("edge-cycle", "edges that form a cycle"),
    ("not-computed", "a value that is written like a condition, although nothing is compared there"),
    ("circular-ref", "templates that read each other in a circle"),
    ("env-decides", "what a run does depends on the environment"),
];
