//! What differs between the dialects' template languages, as data. Three constants; never a trait, never `if dialect`.

/// Which condition grammar a dialect has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionGrammar {
    /// `{{path}} == literal && ...` (decision A5).
    Braced,
    /// Handlebars-flavoured `custom` expressions (decision E8).
    Handlebars,
    /// A closed subset of Python (decision S8).
    Python,
}

/// Which blocks and helpers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocks {
    /// None.
    None,
    /// `{{#if path [==|!= literal]}}` only (decision A3).
    If,
    /// Handlebars (decision E1).
    Handlebars,
}

/// What happens when a path does not resolve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undefined {
    /// Empty in text, null in typed positions (decisions A2, E2).
    Empty,
    /// `InterpolationError` (decision S2).
    Error,
}

/// How null prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullText {
    /// Empty.
    Empty,
    /// `null` (decision S3).
    Word,
}

/// What the state of [`crate::state`] looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateNames {
    /// One object; every path starts in it.
    Root,
    /// An object of namespaces: `inputs`, `nodes`, `env`, `working`, ... (decision S4).
    Namespaces,
}

/// A dialect's template rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Blocks and helpers.
    pub blocks: Blocks,
    /// `| default('x')` and `| json_or_default('x')` (decision S1).
    pub filters: bool,
    /// Unresolved paths.
    pub undefined: Undefined,
    /// Null in text.
    pub null: NullText,
    /// `\{{` (decision E1).
    pub escapes: bool,
    /// Conditions.
    pub conditions: ConditionGrammar,
    /// How a state is laid out for [`crate::state`].
    pub names: StateNames,
    /// What its parts are called.
    pub words: &'static Words,
}

/// What a language calls things: for advice that can be followed in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// Joins conditions that all have to hold.
    pub and: &'static str,
    /// Joins conditions of which one is enough.
    pub or: &'static str,
    /// How text becomes a number in a condition; none: it need not.
    pub number: Option<&'static str>,
    /// How text prints null.
    pub null: &'static str,
    /// A comparison, as an example.
    pub example: &'static str,
    /// `path in (a, b)` asks whether a value is one of several.
    pub one_of: bool,
    /// How an agent is made to answer with an object; none: it cannot be.
    pub answer: Option<&'static str>,
    /// The key of the condition that ends a loop.
    pub until: &'static str,
    /// The key that says under which name a step's result is kept.
    pub kept: &'static str,
    /// The transitions of a state.
    pub transitions: &'static TransitionWords,
    /// What is asked side by side.
    pub siblings: &'static SiblingWords,
    /// How a text prints a value as JSON; none: it cannot. `PATH` stands for its path.
    json: Option<&'static str>,
    /// How a condition reads a value. `PATH` stands for its path.
    reads: &'static str,
    /// How a text provides for a value that may be missing. `PATH` stands for its path.
    missing: &'static str,
}

/// As AEGIS has them; the others have none.
const TRANSITIONS: TransitionWords = TransitionWords {
    key: "condition",
    always: "always",
    success: "on_success",
    failure: "on_failure",
    measures: &["score", "confidence"],
};

/// What a language calls the transitions of a state; each as it is written after the key.
#[derive(Debug, PartialEq, Eq)]
pub struct TransitionWords {
    /// The key of what they depend on.
    pub key: &'static str,
    /// Taken in every case.
    pub always: &'static str,
    /// Taken after success.
    pub success: &'static str,
    /// Taken after failure.
    pub failure: &'static str,
    /// The figures of a verdict, which are from 0 to 1 unless they are declared otherwise.
    pub measures: &'static [&'static str],
}

/// What a language calls what is asked side by side.
#[derive(Debug, PartialEq, Eq)]
pub struct SiblingWords {
    /// The keys of the lists whose entries work on the same thing.
    pub workers: &'static [&'static str],
    /// The keys of the lists whose entries judge the same thing.
    pub judges: &'static [&'static str],
    /// The keys of an entry that name it, the first ones first.
    pub names: &'static [&'static str],
    /// The other keys of an entry that change nothing about what it asks.
    pub labels: &'static [&'static str],
    /// The keys of an entry by which it says what it asks; without any of them it gets what its surroundings get.
    pub asking: &'static [&'static str],
    /// The key of an agent that is written in an entry; none: there is none.
    pub inline: Option<&'static str>,
}

impl TransitionWords {
    /// A transition as it is written: `condition: always`.
    pub fn written(&self, word: &str) -> String {
        format!("{}: {word}", self.key)
    }
}

impl Words {
    /// How a text prints a value as JSON, given its path.
    pub fn json(&self, path: &str) -> Option<String> {
        Some(self.json?.replace("PATH", path))
    }
    /// How a condition reads a value, given its path.
    pub fn reads(&self, path: &str) -> String {
        self.reads.replace("PATH", path)
    }
    /// How a text provides for a value that may be missing, given its path.
    pub fn missing(&self, path: &str) -> String {
        self.missing.replace("PATH", path)
    }
}

impl Policy {
    /// The members that a state given to [`crate::state`] may have; none: any, because it is the root object.
    pub fn state_roots(&self) -> &'static [&'static str] {
        match self.names {
            StateNames::Root => &[],
            StateNames::Namespaces => {
                &["inputs", "nodes", "env", "item", "index", "total", "working", "output", "_budget"]
            }
        }
    }
    /// Whether values stand in placeholders as literals too: where paths have none, a path in quotes is text.
    pub fn reads_literals(&self) -> bool {
        self.blocks == Blocks::Handlebars
    }
    /// The rules of the dialect whose conditions are written in this grammar.
    pub fn with(grammar: ConditionGrammar) -> Self {
        match grammar {
            ConditionGrammar::Braced => Self::AGNTZ,
            ConditionGrammar::Handlebars => Self::AEGIS,
            ConditionGrammar::Python => Self::SIRENSPEC,
        }
    }
    /// agntz.
    pub const AGNTZ: Policy = Policy {
        blocks: Blocks::If,
        filters: false,
        undefined: Undefined::Empty,
        null: NullText::Empty,
        escapes: false,
        conditions: ConditionGrammar::Braced,
        names: StateNames::Root,
        words: &Words {
            and: "&&",
            or: "||",
            number: None,
            null: "",
            example: "{{path}} == value",
            one_of: false,
            answer: Some("add an `outputSchema` to the agent"),
            until: "until",
            kept: "stateKey",
            transitions: &TRANSITIONS,
            siblings: &SiblingWords {
                workers: &["branches"],
                judges: &[],
                names: &["id", "name", "stateKey"],
                labels: &["description", "timeoutMs"],
                asking: &["input", "prompt"],
                inline: Some("agent"),
            },
            json: None,
            reads: "{{PATH}}",
            missing: "guard it with `{{#if PATH}}`",
        },
    };
    /// AEGIS.
    pub const AEGIS: Policy = Policy {
        blocks: Blocks::Handlebars,
        filters: false,
        undefined: Undefined::Empty,
        null: NullText::Empty,
        escapes: true,
        conditions: ConditionGrammar::Handlebars,
        names: StateNames::Root,
        words: &Words {
            and: "&&",
            or: "||",
            number: None,
            null: "",
            example: "path == \"value\"",
            one_of: false,
            answer: Some("declare the schema of the answer under `execution.validation.output`"),
            until: "until",
            kept: "result_key",
            transitions: &TRANSITIONS,
            siblings: &SiblingWords {
                workers: &["agents"],
                judges: &["judges", "judges_for_parallel"],
                names: &["name"],
                labels: &["description", "weight", "timeout_seconds", "timeout"],
                asking: &["input", "input_template"],
                inline: None,
            },
            json: Some("{{{json PATH}}}"),
            reads: "PATH",
            missing: "guard it with `{{#if PATH}}`, or write `{{default PATH \"...\"}}`",
        },
    };
    /// SirenSpec.
    pub const SIRENSPEC: Policy = Policy {
        blocks: Blocks::None,
        filters: true,
        undefined: Undefined::Error,
        null: NullText::Word,
        escapes: false,
        conditions: ConditionGrammar::Python,
        names: StateNames::Namespaces,
        words: &Words {
            and: "and",
            or: "or",
            number: Some("float(...)"),
            null: "null",
            example: "working.path == \"value\"",
            one_of: true,
            answer: None,
            until: "until",
            kept: "writes",
            transitions: &TRANSITIONS,
            siblings: &SiblingWords {
                workers: &["agents"],
                judges: &[],
                names: &["id", "name"],
                labels: &["description"],
                asking: &["prompt"],
                inline: None,
            },
            json: None,
            reads: "PATH",
            missing: "add a default: `{{ PATH | default('...') }}`",
        },
    };
}
