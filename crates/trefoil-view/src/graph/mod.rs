//! A program as a drawing: a small graph of boxes, frames and labelled arrows, and one emitter per format.
//!
//! The graph is made for readers: an agent is one box however many steps it was lowered to, and details are left out if
//! the drawing would become crowded. [`crate::plan`] has the details.

mod builder;
mod dot;
pub(crate) mod json;
pub(crate) mod layout;
mod mermaid;
mod svg;

use trefoil_ir::Program;
use trefoil_syntax::{Location, SourceFiles};

pub use dot::write_dot;
pub use json::write_json;
pub use mermaid::write_mermaid;
pub use svg::write_svg;

pub use crate::plan::PlanLocation;

/// The content of a drawing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphPicture {
    /// Its title.
    pub title: String,
    /// The boxes.
    pub nodes: Vec<GraphBox>,
    /// Frames around boxes and other frames; a frame comes after the one around it.
    pub clusters: Vec<GraphFrame>,
    /// The arrows.
    pub edges: Vec<GraphArrow>,
    /// The direction of the arrows.
    pub direction: ArrowDirection,
}

/// The most boxes that are drawn. Their layout takes about two seconds.
const MOST_BOXES: usize = 4_000;
/// The most boxes beside each other: the time of a layout grows with the square of them.
const MOST_ABREAST: usize = 1_000;
/// The most layers that all arrows cross together: a layout has a bend of each arrow in each of them.
const MOST_CROSSED: usize = 10_000;
/// The most arrows that are drawn.
const MOST_ARROWS: usize = 5_000;

impl GraphPicture {
    /// Whether the graph can be drawn with positions.
    ///
    /// # Errors
    ///
    /// What it has too many of.
    pub fn check_size(&self) -> Result<(), String> {
        let (boxes, arrows) = (self.nodes.len(), self.edges.len());
        if boxes > MOST_BOXES {
            return Err(format!("{boxes} boxes, and at most {MOST_BOXES} can be drawn"));
        }
        if arrows > MOST_ARROWS {
            return Err(format!("{arrows} arrows, and at most {MOST_ARROWS} can be drawn"));
        }
        let layout::LayerCounts { crossed, widest } = layout::count_layers(self);
        if widest > MOST_ABREAST {
            return Err(format!("{widest} boxes beside each other, and at most {MOST_ABREAST} can be drawn"));
        }
        if crossed > MOST_CROSSED {
            return Err(format!(
                "arrows that cross {crossed} layers of boxes, and at most {MOST_CROSSED} can be drawn"
            ));
        }
        Ok(())
    }
}

/// The direction of the arrows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ArrowDirection {
    /// From top to bottom.
    #[default]
    Down,
    /// From left to right.
    Right,
}

/// The shape of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BoxShape {
    /// The start.
    Start,
    /// An end.
    End,
    /// A model call.
    Agent,
    /// A tool.
    Tool,
    /// A command.
    Command,
    /// A person.
    Human,
    /// A value, a wait.
    #[serde(rename = "value")]
    Plain,
    /// A choice.
    Choice,
    /// Recognised, but not supported yet.
    Refused,
    /// A flow that is not expanded again.
    Flow,
    /// A join between two groups of parallel steps: a dot without text.
    Join,
}

/// A box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphBox {
    /// How it is drawn.
    pub shape: BoxShape,
    /// The first line.
    pub title: String,
    /// Smaller lines below.
    pub notes: Vec<String>,
    /// The frame it is in.
    pub cluster: Option<usize>,
    /// Whether it may be skipped.
    pub optional: bool,
    /// Its place in the manifest.
    pub place: Option<PlanLocation>,
    /// The steps that it shows, by their places in the manifest, the outermost first.
    pub origins: Vec<Location>,
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphFrame {
    /// Written at its top.
    pub title: String,
    /// Smaller, after it.
    pub note: String,
    /// The frame around it.
    pub parent: Option<usize>,
    /// Its place in the manifest.
    pub place: Option<PlanLocation>,
    /// The steps that it is drawn for.
    pub origins: Vec<Location>,
}

/// The meaning of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrowMeaning {
    /// Then.
    Then,
    /// Back to the beginning of a loop.
    Again,
    /// On failure.
    Failure,
}

/// An arrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphArrow {
    /// From which box.
    pub from: usize,
    /// To which box.
    pub to: usize,
    /// Written on it.
    pub label: Option<String>,
    /// How it is drawn.
    pub line: ArrowMeaning,
}

/// Draws a program.
pub fn draw_graph(program: &Program, files: &SourceFiles) -> GraphPicture {
    builder::build_graph(program, files)
}

/// A format that graphs can be written in.
pub type GraphWriter = fn(&GraphPicture) -> String;

/// Every format by name. A new one is one file and one line here.
pub const FORMATS: &[(&str, GraphWriter)] =
    &[("mermaid", write_mermaid), ("dot", write_dot), ("svg", write_svg), ("json", write_json)];
