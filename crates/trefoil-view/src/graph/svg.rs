//! SVG: a picture that needs no other program, readable on light and dark pages. It contains no scripts and fetches
//! nothing; each box links to its line in the manifest.

use std::fmt::Write as _;

use super::layout::{ArrowPath, GraphLayout, LEADING, LayoutBox, SMALL, TITLE, find_layout, heading_lines};
use super::{ArrowDirection, ArrowMeaning, BoxShape, GraphBox, GraphFrame, GraphPicture};

/// The graph as an SVG document.
pub fn write_svg(graph: &GraphPicture) -> String {
    let placed = &*find_layout(graph);
    let mut out = String::new();
    let (width, height) = (placed.width.ceil(), placed.height.ceil());
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" role=\"img\">"
    );
    let _ = writeln!(out, "<title>{}</title>", escape(&graph.title));
    out.push_str(STYLE);
    for place in &placed.clusters {
        if place.width > 0.0 {
            frame(place, &mut out);
        }
    }
    lines(graph, placed, &mut out);
    for (node, place) in graph.nodes.iter().zip(&placed.nodes) {
        boxed(node, place, &mut out);
    }
    labels(graph, placed, &mut out);
    for (cluster, (place, title)) in graph.clusters.iter().zip(placed.clusters.iter().zip(&placed.titles)) {
        if place.width > 0.0 {
            heading(cluster, title, &mut out);
        }
    }
    out.push_str("</svg>\n");
    out
}

const STYLE: &str = "\
<style>
.page{fill:#fff}.frame{fill:#f8f9fb;stroke:#b8bfca;fill-opacity:.7}.frame-title{fill:#333;font-weight:600}.note{fill:#555}.title{fill:#111;font-weight:600}
.line{fill:none;stroke:#555;stroke-width:1.3}.again,.failure{stroke-dasharray:5 4}.failure{stroke:#c53030}.label{fill:#333}.halo{fill:#fff;fill-opacity:.85}
.box{stroke-width:1.4}.optional{stroke-dasharray:5 4}.plain{fill:#f3f4f6;stroke:#8a8f98}.agent{fill:#e8f0fe;stroke:#3b6fd4}.tool{fill:#e6f4ea;stroke:#2f8f4e}
.command{fill:#fef3e0;stroke:#b7791f}.human{fill:#fce8f3;stroke:#b83280}.refused{fill:#fdecea;stroke:#c53030}
.arrow,.join{fill:#555}.arrow-failure{fill:#c53030}a:hover .box,a:focus .box{stroke-width:2.6}
@media (prefers-color-scheme:dark){
.page{fill:#16181d}.frame{fill:#1e2128;stroke:#4a5160}.frame-title{fill:#d7dbe2}.note{fill:#aab1bd}.title{fill:#f1f3f6}
.line{stroke:#9aa3b2}.failure{stroke:#f08a8a}.label{fill:#d7dbe2}.halo{fill:#16181d}.arrow,.join{fill:#9aa3b2}.arrow-failure{fill:#f08a8a}
.plain{fill:#252932;stroke:#7c8594}.agent{fill:#1c2b47;stroke:#7ea6f0}.tool{fill:#173224;stroke:#6bc48b}
.command{fill:#3a2c12;stroke:#d9a441}.human{fill:#3d1e30;stroke:#e07ab0}.refused{fill:#401d1d;stroke:#f08a8a}
}
</style>
<defs>
<marker id=\"arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto-start-reverse\"><path d=\"M0 1L9 5L0 9z\" class=\"arrow\"/></marker>
<marker id=\"arrow-failure\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto-start-reverse\"><path d=\"M0 1L9 5L0 9z\" class=\"arrow-failure\"/></marker>
</defs>
<rect class=\"page\" width=\"100%\" height=\"100%\"/>
";

fn frame(place: &LayoutBox, out: &mut String) {
    let (x, y) = (place.x - place.width / 2.0, place.y - place.height / 2.0);
    let _ = writeln!(
        out,
        "<rect class=\"frame\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"8\"/>",
        place.width, place.height
    );
}

/// A frame's title, in the space reserved for it.
fn heading(cluster: &GraphFrame, title: &LayoutBox, out: &mut String) {
    let step = (SMALL + 1.0) * LEADING;
    let mut y = title.y - title.height / 2.0 + step / 2.0 + SMALL / 3.0;
    let linked = open_link(cluster.place.as_ref(), out);
    for (line, is_title) in heading_lines(cluster) {
        let (class, size) = if is_title { ("frame-title", SMALL + 1.0) } else { ("note", SMALL) };
        let _ = writeln!(
            out,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" font-size=\"{size}\">{}</text>",
            title.x,
            escape(&line)
        );
        y += step;
    }
    close_link(linked, out);
}

/// Opens a link to a line of a manifest, relative to the picture; returns false if no line is known.
fn open_link(place: Option<&super::PlanLocation>, out: &mut String) -> bool {
    let Some(place) = place else { return false };
    let _ = writeln!(out, "<a href=\"{}#L{}\">", address(&place.file), place.line);
    true
}

fn close_link(linked: bool, out: &mut String) {
    if linked {
        out.push_str("</a>\n");
    }
}

/// A path as a relative URL: nothing in a file name is read as a scheme or as HTML.
fn address(path: &str) -> String {
    let mut out = String::new();
    if !path.starts_with('/') && !path.starts_with("./") && !path.starts_with("../") {
        out.push_str("./");
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            b'\\' => out.push('/'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    // Two slashes would start a host name.
    if out.starts_with("//") { format!("/.{out}") } else { out }
}

fn lines(graph: &GraphPicture, placed: &GraphLayout, out: &mut String) {
    for (edge, way) in graph.edges.iter().zip(&placed.edges) {
        let (class, marker) = match edge.line {
            ArrowMeaning::Then => ("line", "arrow"),
            ArrowMeaning::Again => ("line again", "arrow"),
            ArrowMeaning::Failure => ("line failure", "arrow-failure"),
        };
        let _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"{}\" marker-end=\"url(#{marker})\"/>",
            curve(way, graph.direction)
        );
    }
}

/// A smooth curve through the points, which has the direction of the picture at each of them.
fn curve(way: &ArrowPath, direction: ArrowDirection) -> String {
    let mut d = String::new();
    let Some((x, y)) = way.points.first() else { return d };
    let _ = write!(d, "M{x:.1} {y:.1}");
    for pair in way.points.windows(2) {
        let [(x0, y0), (x, y)] = pair else { continue };
        let _ = match direction {
            ArrowDirection::Down => {
                let middle = f64::midpoint(*y0, *y);
                write!(d, "C{x0:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}")
            }
            ArrowDirection::Right => {
                let middle = f64::midpoint(*x0, *x);
                write!(d, "C{middle:.1} {y0:.1} {middle:.1} {y:.1} {x:.1} {y:.1}")
            }
        };
    }
    d
}

fn labels(graph: &GraphPicture, placed: &GraphLayout, out: &mut String) {
    for (edge, way) in graph.edges.iter().zip(&placed.edges) {
        let (Some(label), Some((x, y))) = (&edge.label, way.label) else { continue };
        let width = super::layout::text_width(label, SMALL) + 6.0;
        let _ = writeln!(
            out,
            "<rect class=\"halo\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"3\"/>\
             <text class=\"label\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"{SMALL}\">{}</text>",
            x - width / 2.0,
            y - SMALL * LEADING / 2.0,
            SMALL * LEADING,
            y + SMALL / 3.0,
            escape(label)
        );
    }
}

fn boxed(node: &GraphBox, place: &LayoutBox, out: &mut String) {
    if node.shape == BoxShape::Join {
        let _ = writeln!(out, "<circle class=\"join\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\"/>", place.x, place.y);
        return;
    }
    let linked = open_link(node.place.as_ref(), out);
    let _ = writeln!(out, "<g>{}", tooltip(node));
    let class = match node.shape {
        BoxShape::Start | BoxShape::End | BoxShape::Plain | BoxShape::Choice | BoxShape::Flow | BoxShape::Join => {
            "plain"
        }
        BoxShape::Agent => "agent",
        BoxShape::Tool => "tool",
        BoxShape::Command => "command",
        BoxShape::Human => "human",
        BoxShape::Refused => "refused",
    };
    let class =
        if node.optional || node.shape == BoxShape::Refused { format!("{class} optional") } else { class.to_owned() };
    let (x, y) = (place.x - place.width / 2.0, place.y - place.height / 2.0);
    let (w, h) = (place.width, place.height);
    let _ = match node.shape {
        BoxShape::Choice => writeln!(
            out,
            "<polygon class=\"box {class}\" points=\"{:.1},{y:.1} {:.1},{:.1} {:.1},{:.1} {x:.1},{:.1}\"/>",
            place.x,
            x + w,
            place.y,
            place.x,
            y + h,
            place.y
        ),
        shape => {
            let rx = match shape {
                BoxShape::Start | BoxShape::End => h / 2.0,
                BoxShape::Agent | BoxShape::Human => 8.0,
                _ => 2.0,
            };
            writeln!(
                out,
                "<rect class=\"box {class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"{rx:.1}\"/>"
            )
        }
    };
    let lines = TITLE * LEADING + node.notes.len() as f64 * SMALL * LEADING;
    let mut line = place.y - lines / 2.0 + TITLE;
    let text = |class: &str, size: f64, y: f64, content: &str, out: &mut String| {
        let _ = writeln!(
            out,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" font-size=\"{size}\">{}</text>",
            place.x,
            escape(content)
        );
    };
    text("title", TITLE, line, &node.title, out);
    line += TITLE * (LEADING - 1.0) + SMALL;
    for note in &node.notes {
        text("note", SMALL, line, note, out);
        line += SMALL * LEADING;
    }
    out.push_str("</g>\n");
    close_link(linked, out);
}

/// The tooltip of a box: all its data, and its place.
fn tooltip(node: &GraphBox) -> String {
    let mut lines = vec![escape(&node.title)];
    for note in &node.notes {
        lines.push(escape(note));
    }
    if let Some(place) = &node.place {
        lines.push(escape(&format!("{}:{}", place.file, place.line)));
    }
    format!("<title>{}</title>", lines.join("\n"))
}

/// Text as XML; characters that XML does not allow are skipped.
fn escape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' | '\r' => out.push(' '),
            c if c < ' ' || ('\u{fffe}'..='\u{ffff}').contains(&c) => {}
            c => out.push(c),
        }
    }
    out
}
