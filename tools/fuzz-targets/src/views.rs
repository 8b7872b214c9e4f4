//! Renders plans and graphs of programs.

use trefoil_view::graph;
use trefoil_view::plan::Plan;

use crate::manifest::{self, Bundle, Folder, KEYS, WORDS};
use crate::{Shape, Target, fixed};

pub(crate) const TARGET: Target = Target {
    name: "views",
    about: "a program without errors has a plan and a picture in every format, the same ones each time",
    seeds: || {
        let all: Vec<_> = [manifest::AGNTZ, manifest::AEGIS, manifest::SIRENSPEC].concat();
        fixed(&all)
    },
    words: WORDS,
    shape: Shape::Manifests { keys: KEYS, broken: &[] },
    weight: 40,
    run,
};

fn run(bytes: &[u8]) {
    let folder = Folder::read(&Bundle::split(bytes).files, manifest::front("agntz"));
    if folder.found.has_errors() {
        return;
    }
    for at in 0..folder.project.documents.len() {
        let (Some(lowered), _) = folder.lower(at) else { continue };
        let files = &folder.project.files;
        let plan = Plan::for_program(&lowered.program, files);
        let text = plan.render_text();
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "a control character on the terminal: {text:?}");
        let json = plan.to_json().to_string();
        assert_eq!(json, Plan::for_program(&lowered.program, files).to_json().to_string(), "two plans");
        let picture = graph::draw_graph(&lowered.program, files);
        for node in &picture.nodes {
            assert!(node.cluster.is_none_or(|c| c < picture.clusters.len()), "{node:?} is in no frame");
        }
        for (at, cluster) in picture.clusters.iter().enumerate() {
            assert!(cluster.parent.is_none_or(|p| p < at), "{cluster:?} comes before the one around it");
        }
        for edge in &picture.edges {
            assert!(edge.from.max(edge.to) < picture.nodes.len(), "{edge:?} leads nowhere");
        }
        for (name, emit) in graph::FORMATS {
            let written = emit(&picture);
            assert!(!written.is_empty() && written == emit(&picture), "{name}");
            assert!(written.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()), "{name}: {written:?}");
        }
    }
}
