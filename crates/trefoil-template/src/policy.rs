//! The differences between the dialects' template languages, as data: three constants. Never a trait, never `if
//! dialect`.

/// The condition grammar of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionGrammar {
    /// `{{path}} == literal && ...`.
    Braced,
    /// Handlebars-like `custom` expressions.
    Handlebars,
    /// A closed subset of Python.
    Python,
}

impl ConditionGrammar {
    /// How a program's canonical form names it.
    pub const fn name(self) -> &'static str {
        match self {
            ConditionGrammar::Braced => "braced",
            ConditionGrammar::Handlebars => "handlebars",
            ConditionGrammar::Python => "python",
        }
    }
    /// Whether it evaluates as Python does: text never equals a number, and a part without a value fails. The others compare
    /// loosely. Nothing else about a dialect decides how a closed expression is evaluated, so a stored decision needs only
    /// its grammar.
    pub const fn is_strict(self) -> bool {
        matches!(self, ConditionGrammar::Python)
    }
    /// The template rules of a dialect that writes its conditions like that.
    pub const fn policy(self) -> &'static Policy {
        match self {
            ConditionGrammar::Braced => &Policy::AGNTZ,
            ConditionGrammar::Handlebars => &Policy::AEGIS,
            ConditionGrammar::Python => &Policy::SIRENSPEC,
        }
    }
}

/// The available blocks and helpers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockSyntax {
    /// None.
    None,
    /// `{{#if path [==|!= literal]}}` only.
    If,
    /// Handlebars.
    Handlebars,
}

/// What an unresolved path does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndefinedHandling {
    /// Empty in text, null in typed positions.
    Empty,
    /// It fails with `InterpolationError`.
    Error,
}

/// How null is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullText {
    /// As empty text.
    Empty,
    /// As `null`.
    Word,
}

/// The layout of a state passed to [`crate::state`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateLayout {
    /// One object, in which every path starts.
    Root,
    /// An object of namespaces: `inputs`, `nodes`, `env`, `working`, ...
    Namespaces,
}

/// A dialect's template rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Blocks and helpers.
    pub blocks: BlockSyntax,
    /// `| default('x')` and `| json_or_default('x')`.
    pub filters: bool,
    /// What an unresolved path does.
    pub undefined: UndefinedHandling,
    /// How null is printed in text.
    pub null: NullText,
    /// Whether `\{{` escapes braces.
    pub escapes: bool,
    /// The grammar of conditions.
    pub conditions: ConditionGrammar,
    /// The layout of a state passed to [`crate::state`].
    pub names: StateLayout,
    /// The dialect's terms.
    pub words: &'static DialectWords,
}

/// The terms and syntax of a dialect, used in advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DialectWords {
    /// The operator that joins conditions that must all hold.
    pub and: &'static str,
    /// The operator that joins conditions of which one must hold.
    pub or: &'static str,
    /// How a condition converts text to a number; `None`: no conversion is needed.
    pub number: Option<&'static str>,
    /// The text printed for null.
    pub null: &'static str,
    /// An example of a comparison.
    pub example: &'static str,
    /// Whether `path in (a, b)` tests if a value is one of several.
    pub one_of: bool,
    /// How to make an agent answer with an object; `None`: it is not possible.
    pub answer: Option<&'static str>,
    /// The key of the condition that ends a loop; none: there are no loops.
    pub until: Option<&'static str>,
    /// The key for the name under which a step's result is stored.
    pub kept: &'static str,
    /// The transitions of a state; none: there are no states.
    pub transitions: Option<&'static TransitionWords>,
    /// The keys of conditions.
    pub conditions: &'static [&'static str],
    /// Where a condition goes that a text cannot have: after `use`, and after `move it to`.
    pub decides: &'static str,
    /// How an agent gets a value that is not in its own state, as an instruction; none: it sees everything.
    pub pass: Option<&'static str>,
    /// How a value that may be missing gets another one outside of the text, as an instruction; none: it cannot.
    pub otherwise: Option<&'static str>,
    /// How a text prints a value as JSON; `None`: it cannot. `PATH` stands for the path.
    json: Option<&'static str>,
    /// How a condition reads a value. `PATH` stands for the path.
    reads: &'static str,
    /// How a text handles a value that may be missing. `PATH` stands for the path.
    missing: &'static str,
}

/// The terms for the transitions of a state, as written after the key.
#[derive(Debug, PartialEq, Eq)]
pub struct TransitionWords {
    /// The key of the condition.
    pub key: &'static str,
    /// Always taken.
    pub always: &'static str,
    /// Taken after success.
    pub success: &'static str,
    /// Taken after failure.
    pub failure: &'static str,
    /// The properties of a verdict, which are from 0 to 1 unless declared otherwise.
    pub measures: &'static [&'static str],
    /// The key that limits the states that a run enters, and its highest value.
    pub entries: (&'static str, u64),
    /// The key that limits the visits of one state.
    pub visits: &'static str,
}

impl TransitionWords {
    /// A transition as written: `condition: always`.
    pub fn condition_line(&self, word: &str) -> String {
        format!("{}: {word}", self.key)
    }
}

impl DialectWords {
    /// What a condition is called.
    pub fn condition_name(&self) -> String {
        self.conditions.first().map_or("a condition".to_owned(), |key| format!("`{key}`"))
    }
    /// How a text prints the value at this path as JSON.
    pub fn json_syntax(&self, path: &str) -> Option<String> {
        Some(self.json?.replace("PATH", path))
    }
    /// How a condition reads the value at this path.
    pub fn read_syntax(&self, path: &str) -> String {
        self.reads.replace("PATH", path)
    }
    /// How a text handles a value at this path that may be missing.
    pub fn missing_advice(&self, path: &str) -> String {
        self.missing.replace("PATH", path)
    }
}

impl Policy {
    /// The members that a state passed to [`crate::state`] may have; empty: any, because it is the root object.
    pub fn state_roots(&self) -> &'static [&'static str] {
        match self.names {
            StateLayout::Root => &[],
            StateLayout::Namespaces => {
                &["inputs", "nodes", "env", "item", "index", "total", "working", "output", "_budget"]
            }
        }
    }
    /// Whether placeholders can contain literals, so that a path in quotes is text.
    pub fn reads_literals(&self) -> bool {
        self.blocks == BlockSyntax::Handlebars
    }
    /// The policy of the dialect with this condition grammar.
    pub fn for_grammar(grammar: ConditionGrammar) -> Self {
        *grammar.policy()
    }
    /// The policy of agntz.
    pub const AGNTZ: Policy = Policy {
        blocks: BlockSyntax::If,
        filters: false,
        undefined: UndefinedHandling::Empty,
        null: NullText::Empty,
        escapes: false,
        conditions: ConditionGrammar::Braced,
        names: StateLayout::Root,
        words: &DialectWords {
            and: "&&",
            or: "||",
            number: None,
            null: "",
            example: "{{path}} == value",
            one_of: false,
            answer: Some("add an `outputSchema` to the agent"),
            until: Some("until"),
            kept: "stateKey",
            transitions: None,
            conditions: &["when", "until"],
            decides: "the step's `when`",
            pass: Some("pass values to an agent inside a step with the step's `input`"),
            otherwise: Some("set a `default` for the property in its schema"),
            json: None,
            reads: "{{PATH}}",
            missing: "guard it with `{{#if PATH}}`",
        },
    };
    /// The policy of AEGIS.
    pub const AEGIS: Policy = Policy {
        blocks: BlockSyntax::Handlebars,
        filters: false,
        undefined: UndefinedHandling::Empty,
        null: NullText::Empty,
        escapes: true,
        conditions: ConditionGrammar::Handlebars,
        names: StateLayout::Root,
        words: &DialectWords {
            and: "&&",
            or: "||",
            number: None,
            null: "",
            example: "path == \"value\"",
            one_of: false,
            answer: Some("declare the schema of the answer under `execution.validation.output`"),
            until: None,
            kept: "result_key",
            transitions: Some(&TransitionWords {
                key: "condition",
                always: "always",
                success: "on_success",
                failure: "on_failure",
                measures: &["score", "confidence"],
                entries: ("max_total_transitions", 100),
                visits: "max_state_visits",
            }),
            conditions: &["expression"],
            decides: "the `condition` of a transition",
            pass: Some("pass values to an agent with the state's `input`"),
            otherwise: None,
            json: Some("{{{json PATH}}}"),
            reads: "PATH",
            missing: "guard it with `{{#if PATH}}`, or write `{{default PATH \"...\"}}`",
        },
    };
    /// The policy of SirenSpec.
    pub const SIRENSPEC: Policy = Policy {
        blocks: BlockSyntax::None,
        filters: true,
        undefined: UndefinedHandling::Error,
        null: NullText::Word,
        escapes: false,
        conditions: ConditionGrammar::Python,
        names: StateLayout::Namespaces,
        words: &DialectWords {
            and: "and",
            or: "or",
            number: Some("float(...)"),
            null: "null",
            example: "working.path == \"value\"",
            one_of: true,
            answer: None,
            until: None,
            kept: "writes",
            transitions: None,
            conditions: &["when"],
            decides: "`when` on an edge",
            pass: None,
            otherwise: None,
            json: None,
            reads: "PATH",
            missing: "add a default: `{{ PATH | default('...') }}`",
        },
    };
}

#[cfg(test)]
mod tests {
    use super::{BlockSyntax, ConditionGrammar, DialectWords, Policy};
    use crate::{Condition, Template};

    /// A format with other words than any that exists.
    const OTHER: DialectWords = DialectWords {
        conditions: &["guard"],
        decides: "the `guard` of a task",
        pass: Some("pass it with `with`"),
        otherwise: Some("set it under `vars`"),
        example: "task.path == 'x'",
        ..*Policy::AGNTZ.words
    };

    fn advice(policy: Policy, text: &str) -> String {
        let policy = Policy { words: &OTHER, ..policy };
        let [template, condition] = [Template::parse(text, &policy).err(), Condition::parse(text, &policy).err()];
        let errors = template.into_iter().chain(condition).flatten();
        errors.map(|e| format!("{}; {}\n", e.message, e.help.unwrap_or_default())).collect()
    }

    #[test]
    fn advice_has_the_words_of_its_own_format() {
        let without_blocks = Policy { blocks: BlockSyntax::None, ..Policy::AGNTZ };
        let texts = [
            "{{#if a}}b{{/if}}",
            "{{a == b}}",
            "{{../a}}",
            "{{a || 'none'}}",
            "{{#if a < 3}}b{{/if}}",
            "{{a/b}}",
            "{{json a}}",
            "a if b else c",
            "lambda: a",
        ];
        let foreign = ["`when`", "`until`", "edge", "`input`", "`default` for", "agent inside a step"];
        let all: String = [Policy::AGNTZ, Policy::SIRENSPEC, Policy::AEGIS, without_blocks]
            .iter()
            .flat_map(|policy| texts.map(|text| advice(*policy, text)))
            .collect();
        for word in foreign {
            assert!(!all.contains(word), "{word} in\n{all}");
        }
        for words in [
            "use the `guard` of a task",
            "move the comparison to the `guard` of a task",
            "pass it with `with`",
            "set it under `vars`, or",
            "only `{{#if}}` and `guard` can compare",
            "not supported in `guard`",
        ] {
            assert!(all.contains(words), "no {words} in\n{all}");
        }
    }

    #[test]
    fn a_stored_decision_is_evaluated_as_it_was_asked() {
        for policy in [Policy::AGNTZ, Policy::AEGIS, Policy::SIRENSPEC] {
            assert_eq!(Policy::for_grammar(policy.conditions).conditions, policy.conditions);
            assert_eq!(policy.conditions.is_strict(), policy.conditions == ConditionGrammar::Python);
        }
    }
}
