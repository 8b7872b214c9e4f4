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
    ("schema-mismatch", "an example that the schema would reject"),
    ("missing-input", "a call without an input that the called agent requires"),
    ("unknown-input", "a call with an input that the called agent does not accept"),
    ("empty-message", "a model is called with an empty user message"),
    ("not-a-placeholder", "text that looks like a placeholder but is not one"),
    ("swallowed-key", "a key that is indented into the block of text above it"),
    ("unresolved-name", "a template names something that is not defined there"),
];
