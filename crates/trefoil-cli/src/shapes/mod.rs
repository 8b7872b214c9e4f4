//! The templates of `trefoil init`: the common shapes of workflows for each format. Writes no files.

/// A shape of workflow, independent of the format.
pub struct Shape {
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
}

/// The shapes, in the order in which they are offered.
pub const SHAPES: &[Shape] = &[
    Shape { name: "triage", about: "sort a message, then answer it according to its kind" },
    Shape { name: "loop", about: "write, review, and rewrite until the review is good" },
    Shape { name: "fan-out", about: "several agents work in parallel, and one combines the results" },
    Shape { name: "gate", about: "a person decides whether the run continues" },
    Shape { name: "tool", about: "a command or an HTTP tool, and an agent that uses its output" },
];

/// A shape in one format.
pub struct Template {
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

macro_rules! files {
    ($format:literal, $shape:literal: $($name:literal),+) => {
        &[$(($name, include_str!(concat!($format, "/", $shape, "/", $name)))),+]
    };
}

/// All templates. A new one needs its files and an entry here.
pub const TEMPLATES: &[Template] = &[
    Template {
        format: "agntz",
        shape: "triage",
        files: files!("agntz", "triage": "NAME.yaml"),
        arguments: "--input message=\"Nothing works since noon\"",
    },
    Template {
        format: "agntz",
        shape: "loop",
        files: files!("agntz", "loop": "NAME.yaml"),
        arguments: "--input topic=\"tide tables\"",
    },
    Template {
        format: "agntz",
        shape: "fan-out",
        files: files!("agntz", "fan-out": "NAME.yaml"),
        arguments: "--input text=\"The ferry leaves at nine\"",
    },
    Template {
        format: "agntz",
        shape: "tool",
        files: files!("agntz", "tool": "NAME.yaml"),
        arguments: "--input question=\"Is it warm in Lisbon?\"",
    },
    Template {
        format: "aegis",
        shape: "triage",
        files: files!("aegis", "triage": "NAME.yaml", "agents/NAME-sorter.yaml", "agents/NAME-writer.yaml"),
        arguments: "--input \"Do you take back opened boxes?\"",
    },
    Template {
        format: "aegis",
        shape: "loop",
        files: files!("aegis", "loop": "NAME.yaml", "agents/NAME-writer.yaml", "agents/NAME-reviewer.yaml"),
        arguments: "--input \"tide tables\"",
    },
    Template {
        format: "aegis",
        shape: "fan-out",
        files: files!("aegis", "fan-out": "NAME.yaml", "agents/NAME-judge.yaml"),
        arguments: "--input \"Meetings standing up\"",
    },
    Template {
        format: "aegis",
        shape: "gate",
        files: files!("aegis", "gate": "NAME.yaml", "agents/NAME-writer.yaml"),
        arguments: "--input \"We close on Monday\" --answer APPROVE=yes",
    },
    Template {
        format: "aegis",
        shape: "tool",
        files: files!("aegis", "tool": "NAME.yaml", "agents/NAME-writer.yaml"),
        arguments: "--input \"What is in this folder?\" --allow-command",
    },
    Template {
        format: "sirenspec",
        shape: "triage",
        files: files!("sirenspec", "triage": "NAME.yaml"),
        arguments: "--input \"When do you close?\"",
    },
    Template {
        format: "sirenspec",
        shape: "fan-out",
        files: files!("sirenspec", "fan-out": "NAME.yaml"),
        arguments: "--input \"Prepare a school trip\"",
    },
    Template {
        format: "sirenspec",
        shape: "gate",
        files: files!("sirenspec", "gate": "NAME.yaml"),
        arguments: "--input \"The library moves\" --answer approve=yes",
    },
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
pub fn formats() -> Vec<&'static str> {
    let mut all = Vec::new();
    for template in TEMPLATES {
        if !all.contains(&template.format) {
            all.push(template.format);
        }
    }
    all
}

/// The template of a shape in a format.
pub fn template(format: &str, shape: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|t| t.format == format && t.shape == shape)
}
