//! Plans for whole programs.

use trefoil_models::{ModelOverride, ModelPlan, Registry};
use trefoil_syntax::{FileId, Location, Span};

use crate::program::one_call;

#[test]
fn agents_that_nobody_declared_are_played_by_the_embedded_model_only() {
    let registry = Registry::new([("OPENAI_API_KEY".to_owned(), "k".to_owned())]);
    let named: ModelOverride = "openai:gpt-x".parse().unwrap();
    let scripted: ModelOverride = "scripted=s.yaml".parse().unwrap();
    let mut program = one_call();
    assert!(ModelPlan::decide(&program, &registry, Some(&named)).is_ok());
    program.missing_agents.push(("tester".into(), Location::new(FileId(0), Span::new(0, 0))));
    assert_eq!(ModelPlan::decide(&program, &registry, None), Ok(ModelPlan::Embedded));
    for chosen in [named, scripted] {
        let error = ModelPlan::decide(&program, &registry, Some(&chosen)).unwrap_err();
        assert_eq!(error.message, "these agents are not defined: `tester`");
    }
}
