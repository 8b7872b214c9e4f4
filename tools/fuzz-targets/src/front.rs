//! Compiles folders of manifests to diagnostics and programs, for each front end.

use trefoil_front::LoweredDocument;
use trefoil_syntax::diagnostic::render;
use trefoil_syntax::{Diagnostic, DiagnosticList};

use crate::manifest::{self, BROKEN, Bundle, Folder, KEYS, WORDS, check_diagnostic, check_location, places};
use crate::{Seeds, Shape, Target, fixed};

const ABOUT: &str = "reading and lowering never panic, every place is in its file, no error means a sound program";

const fn target(name: &'static str, seeds: Seeds, run: fn(&[u8])) -> Target {
    let shape = Shape::Manifests { keys: KEYS, broken: BROKEN };
    Target { name, about: ABOUT, seeds, words: WORDS, shape, weight: 16, run }
}

pub(crate) const AGNTZ: Target = target("front-agntz", || fixed(manifest::AGNTZ), |bytes| run(bytes, "agntz"));
pub(crate) const AEGIS: Target = target("front-aegis", || fixed(manifest::AEGIS), |bytes| run(bytes, "aegis"));
pub(crate) const SIRENSPEC: Target =
    target("front-sirenspec", || fixed(manifest::SIRENSPEC), |bytes| run(bytes, "sirenspec"));

fn run(bytes: &[u8], dialect: &str) {
    let bundle = Bundle::split(bytes);
    let folder = Folder::read(&bundle.files, manifest::front(dialect));
    check_findings(&folder, folder.found.clone());
    for at in 0..folder.project.documents.len() {
        let (lowered, found) = folder.lower(at);
        assert_eq!(lowered.is_none(), found.has_errors(), "a program comes back exactly when there is no error");
        if let Some(lowered) = &lowered {
            check_program(&folder, lowered);
        }
        if at as u64 == bundle.choices % folder.project.documents.len() as u64 {
            let (again, found_again) = folder.lower(at);
            assert!(found.iter().eq(found_again.iter()), "lowered twice, other findings");
            let text = |lowered: Option<LoweredDocument>| {
                lowered.map(|l| (l.program.hash, trefoil_ir::printer::print_program(&l.program, &folder.project.files)))
            };
            assert_eq!(text(lowered), text(again), "lowered twice, another program");
        }
        check_findings(&folder, found);
    }
}

fn check_program(folder: &Folder, lowered: &LoweredDocument) {
    let faults = trefoil_ir::validation::validate_program(&lowered.program);
    assert!(faults.is_empty(), "{faults:?}");
    places(&lowered.program, &mut |at| check_location(&folder.project, at));
    let _ = trefoil_ir::walk::refused_steps(&lowered.program);
}

fn check_findings(folder: &Folder, found: DiagnosticList) {
    found.iter().for_each(|d| check_diagnostic(&folder.project, d));
    let found: Vec<Diagnostic> = found.into_sorted().into_iter().take(20).collect();
    let files = &folder.project.files;
    let shown = render::render_text(&found, files, render::TextOptions::default());
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "a control character on the terminal: {shown:?}");
    let json = render::render_json(&found, files, 1);
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(&json);
    assert!(parsed.is_ok(), "{json}");
    assert_eq!(render::render_github(&found, files).lines().count(), found.len());
}
