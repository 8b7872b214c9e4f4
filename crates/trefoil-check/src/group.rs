//! What rules are about.

/// What rules are about, in the order of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Files and YAML.
    Form,
    /// Names in templates, and what they name.
    Names,
    /// Values that do not fit.
    Types,
    /// What runs, and in which order.
    Flow,
    /// Models and tools.
    Models,
    /// What must not get out, or in.
    Safety,
    /// What a run may cost.
    Cost,
}

impl Group {
    /// Every group, in order.
    pub const ALL: [Self; 7] =
        [Self::Form, Self::Names, Self::Types, Self::Flow, Self::Models, Self::Safety, Self::Cost];

    /// As headings and lists print it.
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
