//! The groups of rules.

/// What a rule is about, in the order of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleGroup {
    /// Files and YAML.
    Form,
    /// Names in templates, and what they name.
    Names,
    /// Incompatible values.
    Types,
    /// What runs, and in what order.
    Flow,
    /// Models and tools.
    Models,
    /// Secrets that leak, and untrusted input.
    Safety,
    /// The cost of a run.
    Cost,
}

impl RuleGroup {
    /// Every group, in order.
    pub const ALL: [Self; 7] =
        [Self::Form, Self::Names, Self::Types, Self::Flow, Self::Models, Self::Safety, Self::Cost];

    /// The name in headings and lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Names => "names",
            Self::Types => "types",
            Self::Flow => "flow",
            Self::Models => "models and tools",
            Self::Safety => "safety",
            Self::Cost => "cost",
        }
    }
}
