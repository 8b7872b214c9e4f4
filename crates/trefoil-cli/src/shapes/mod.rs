//! The templates of `trefoil init`: the common shapes of workflows for each format. Writes no files.

/// A shape of workflow, independent of the format.
pub struct WorkflowShape {
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
}

/// The shapes, in the order in which they are offered.
pub const SHAPES: &[WorkflowShape] = &[
    WorkflowShape { name: "triage", about: "sort a message, then answer it according to its kind" },
    WorkflowShape { name: "loop", about: "write, review, and rewrite until the review is good" },
    WorkflowShape { name: "fan-out", about: "several agents work in parallel, and one combines the results" },
    WorkflowShape { name: "gate", about: "a person decides whether the run continues" },
    WorkflowShape { name: "tool", about: "a command or an HTTP tool, and an agent that uses its output" },
];

/// A shape in one format.
pub struct ShapeTemplate {
    pub format: &'static str,
    pub shape: &'static str,
    /// File names and contents; `NAME` in both is replaced by the workflow's name.
    pub files: &'static [(&'static str, &'static str)],
    /// The arguments for a run, after the target.
    pub arguments: &'static str,
}

/// A shape that is not available in a format, and why.
pub struct MissingShape {
    pub format: &'static str,
    pub shape: &'static str,
    pub why: &'static str,
}

/// A template, whose files are in the folder of its format and shape.
macro_rules! template {
    ($format:literal, $shape:literal: $($name:literal),+; $arguments:literal) => {
        ShapeTemplate {
            format: $format,
            shape: $shape,
            files: &[$(($name, include_str!(concat!($format, "/", $shape, "/", $name)))),+],
            arguments: $arguments,
        }
    };
}

/// All templates. A new one needs its files and an entry here.
pub const TEMPLATES: &[ShapeTemplate] = &[
    template!("agntz", "triage": "NAME.yaml"; "--input message=\"Nothing works since noon\""),
    template!("agntz", "loop": "NAME.yaml"; "--input topic=\"tide tables\""),
    template!("agntz", "fan-out": "NAME.yaml"; "--input text=\"The ferry leaves at nine\""),
    template!("agntz", "tool": "NAME.yaml"; "--input question=\"Is it warm in Lisbon?\""),
    template!("aegis", "triage": "NAME.yaml", "agents/NAME-sorter.yaml", "agents/NAME-writer.yaml"; "--input \"Do you take back opened boxes?\""),
    template!("aegis", "loop": "NAME.yaml", "agents/NAME-writer.yaml", "agents/NAME-reviewer.yaml"; "--input \"tide tables\""),
    template!("aegis", "fan-out": "NAME.yaml", "agents/NAME-judge.yaml"; "--input \"Meetings standing up\""),
    template!("aegis", "gate": "NAME.yaml", "agents/NAME-writer.yaml"; "--input \"We close on Monday\" --answer APPROVE=yes"),
    template!("aegis", "tool": "NAME.yaml", "agents/NAME-writer.yaml"; "--input \"What is in this folder?\" --allow-command"),
    template!("sirenspec", "triage": "NAME.yaml"; "--input \"When do you close?\""),
    template!("sirenspec", "fan-out": "NAME.yaml"; "--input \"Prepare a school trip\""),
    template!("sirenspec", "gate": "NAME.yaml"; "--input \"The library moves\" --answer approve=yes"),
];

/// Unavailable shapes, for error messages.
pub const MISSING: &[MissingShape] = &[
    MissingShape { format: "agntz", shape: "gate", why: "agntz has no human steps" },
    MissingShape { format: "sirenspec", shape: "loop", why: "SirenSpec has no loops; its edges must not form a cycle" },
    MissingShape {
        format: "sirenspec",
        shape: "tool",
        why: "a tool node calls a server or a Python function, so the workflow would not run offline",
    },
];

/// The formats that have templates, in the order in which they are offered.
pub fn list_formats() -> Vec<&'static str> {
    let mut all = Vec::new();
    for template in TEMPLATES {
        if !all.contains(&template.format) {
            all.push(template.format);
        }
    }
    all
}

/// The template of a shape in a format.
pub fn find_template(format: &str, shape: &str) -> Option<&'static ShapeTemplate> {
    TEMPLATES.iter().find(|t| t.format == format && t.shape == shape)
}
