//! Plans for whole programs: which model answers, and why a run does not start.

use trefoil_ir::{Program, StepKind};
use trefoil_models::{Asked, ModelOverride, ModelPlan, Registry};

use crate::program::one_call;

/// A program with one call of this model.
fn program(model: &str) -> Program {
    let mut program = one_call();
    for step in &mut program.steps {
        if let StepKind::Model(call) = &mut step.kind {
            let (provider, name) = match model.split_once(':') {
                Some((p, n)) => (Some(p.into()), n),
                None => (None, model),
            };
            (call.model.provider, call.model.name) = (provider, name.into());
        }
    }
    program
}

fn decide(model: &str, keys: &[&str], chosen: &[&str], placeholders: bool) -> (Result<ModelPlan, Vec<String>>, String) {
    let mut program = program(model);
    let registry = Registry::new(keys.iter().map(|k| match k.split_once('=') {
        Some((k, v)) => (k.to_owned(), v.to_owned()),
        None => ((*k).to_owned(), "https://h.test/v1".to_owned()),
    }));
    let chosen: Vec<ModelOverride> = chosen.iter().map(|c| c.parse().unwrap()).collect();
    let plan = ModelPlan::decide(&mut program, &registry, Asked { chosen: &chosen, placeholders });
    let asked = program.steps.iter().find_map(|s| match &s.kind {
        StepKind::Model(call) => Some(format!("{}:{}", call.model.provider.as_deref().unwrap_or(""), call.model.name)),
        _ => None,
    });
    (plan.map_err(|errors| errors.into_iter().map(|e| e.message).collect()), asked.unwrap())
}

#[test]
fn made_up_answers_come_only_where_no_real_ones_were_meant() {
    let plan = |keys: &[&str], placeholders| decide("openai:a", keys, &[], placeholders).0;
    assert_eq!(plan(&[], true), Ok(ModelPlan::Embedded));
    for keys in [&["ANTHROPIC_API_KEY"][..], &["OLLAMA_BASE_URL"], &["COHERE_API_KEY"]] {
        let error = plan(keys, true).unwrap_err();
        assert!(error[0].contains("cannot be asked `openai:a`: `OPENAI_API_KEY` is not set"), "{error:?}");
    }
    assert!(plan(&[], false).is_err(), "not a terminal");
    assert_eq!(decide("openai:a", &[], &["embedded"], false).0, Ok(ModelPlan::Embedded));
}

#[test]
fn each_model_that_cannot_be_asked_is_named_with_its_agent() {
    let error = |model: &str, keys: &[&str]| decide(model, keys, &[], false).0.unwrap_err().join("\n");
    assert!(error("smart", &["OPENAI_API_KEY"]).ends_with("`smart` is an alias, and no model is given for it"));
    assert!(error("ollama:x", &[]).ends_with("neither `OLLAMA_API_KEY` nor `OLLAMA_BASE_URL` is set"));
    assert!(
        error("google:x", &["GOOGLE_GENERATIVE_AI_API_KEY"]).ends_with("`google` is not available in this version")
    );
    assert!(error("opnai:x", &[]).ends_with("there is no provider `opnai`; did you mean `openai`?"));
    let address = error("openai:x", &["OPENAI_API_KEY=k", "OPENAI_BASE_URL=https://api.openai.com@evil.test"]);
    assert!(address.contains("`OPENAI_BASE_URL` has a user name or password in it"), "{address}");
}

#[test]
fn arguments_name_models_for_all_calls_for_aliases_and_for_agents() {
    let keys = ["OPENAI_API_KEY", "OLLAMA_BASE_URL"];
    let (plan, asked) = decide("smart", &keys, &["openai:gpt"], false);
    assert_eq!(plan, Ok(ModelPlan::Named { provider: "openai".into(), model: "gpt".into() }));
    assert_eq!(asked, "openai:gpt");
    let (plan, asked) = decide("smart", &keys, &["smart=ollama:llama3:8b"], false);
    assert_eq!((plan, &*asked), (Ok(ModelPlan::AsWritten), "ollama:llama3:8b"));
    assert_eq!(decide("smart", &keys, &["openai:gpt", "smart=ollama:b"], false).1, "ollama:b");
    let error = decide("smart", &keys, &["smrt=ollama:b"], false).0.unwrap_err();
    assert_eq!(error[0], "no alias, agent or step is called `smrt`");
    assert!(decide("smart", &keys, &["openai:a", "openai:b"], false).0.is_err());
    assert!(decide("smart", &keys, &["embedded", "smart=openai:b"], false).0.is_err());
}
