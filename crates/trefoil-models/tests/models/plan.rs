//! Plans for whole programs: the model that answers, and why a run does not start.

use std::sync::Arc;

use expect_test::expect;
use trefoil_ir::{Program, Step, StepKind};
use trefoil_models::{ModelOverride, ModelPlan, PlanInput, Registry};

use crate::program::one_call;

/// A program with one call of this model.
fn program(model: &str) -> Program {
    let mut program = one_call();
    for (_, choice) in program.model_choices() {
        let (provider, name) = match model.split_once(':') {
            Some((p, n)) => (Some(p.into()), n),
            None => (None, model),
        };
        (choice.provider, choice.name) = (provider, name.into());
    }
    program
}

fn decide(model: &str, keys: &[&str], chosen: &[&str], placeholders: bool) -> (Result<ModelPlan, Vec<String>>, String) {
    let mut program = Arc::new(program(model));
    let registry = Registry::new(keys.iter().map(|k| match k.split_once('=') {
        Some((k, v)) => (k.to_owned(), v.to_owned()),
        None => ((*k).to_owned(), "https://h.test/v1".to_owned()),
    }));
    let chosen: Vec<ModelOverride> = chosen.iter().map(|c| c.parse().unwrap()).collect();
    let plan =
        ModelPlan::decide_models(&mut program, &registry, PlanInput { chosen: &chosen, placeholders, is_begun: false });
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
        assert!(error[0].contains("`OPENAI_API_KEY`"), "{error:?}");
    }
    assert!(plan(&[], false).is_err(), "not a terminal");
    assert_eq!(decide("openai:a", &[], &["embedded"], false).0, Ok(ModelPlan::Embedded));
}

#[test]
fn each_model_that_cannot_be_asked_is_named_with_its_agent() {
    let error = |model: &str, keys: &[&str]| decide(model, keys, &[], false).0.unwrap_err().join("\n");
    let address = ["OPENAI_API_KEY=k", "OPENAI_BASE_URL=https://api.openai.com@evil.test"];
    let told = [
        error("smart", &["OPENAI_API_KEY"]),
        error("ollama:x", &[]),
        error("azure:x", &["AZURE_OPENAI_API_KEY"]),
        error("opnai:x", &[]),
        error("openai:x", &address),
    ];
    expect![[r#"
        the alias `smart` has no model: `writer` (1 agent)
        neither `OLLAMA_API_KEY` nor `OLLAMA_BASE_URL` is set: `writer` (1 agent)
        `AZURE_OPENAI_BASE_URL` is not set: `writer` (1 agent)
        unknown provider `opnai`: `writer` (1 agent)
        `OPENAI_BASE_URL` contains a user name or password; put the key in the provider's key variable: `writer` (1 agent)"#]].assert_eq(&told.join("\n"));
}

#[test]
fn arguments_name_models_for_all_calls_for_aliases_and_for_agents() {
    let keys = ["OPENAI_API_KEY", "OLLAMA_BASE_URL"];
    let (plan, asked) = decide("smart", &keys, &["openai:gpt"], false);
    assert_eq!(plan, Ok(ModelPlan::Named { provider: "openai".into(), model: "gpt".into() }));
    assert_eq!(asked, "openai:gpt");
    let (plan, asked) = decide("smart", &keys, &["smart=ollama:llama3:8b"], false);
    assert_eq!((plan, &*asked), (Ok(ModelPlan::AsWritten(Default::default())), "ollama:llama3:8b"));
    assert_eq!(decide("smart", &keys, &["openai:gpt", "smart=ollama:b"], false).1, "ollama:b");
    let error = decide("smart", &keys, &["smrt=ollama:b"], false).0.unwrap_err();
    expect!["no alias, agent or step is named `smrt`"].assert_eq(&error[0]);
    assert!(decide("smart", &keys, &["openai:a", "openai:b"], false).0.is_err());
    assert!(decide("smart", &keys, &["embedded", "smart=openai:b"], false).0.is_err());
}

#[test]
fn a_key_that_several_agents_need_is_missed_once() {
    let mut program = one_call().into_parts();
    let second = program.steps.iter().find(|s| matches!(s.kind, StepKind::Model(_))).unwrap().clone();
    let StepKind::Model(mut call) = second.kind.clone() else { unreachable!() };
    call.speaker = "another".into();
    let added = program.steps.push(Step { kind: StepKind::Model(call), ..second });
    let entry = program.entry;
    let body = program.flows[entry].body;
    let kind = StepKind::Sequence(vec![body, added]);
    let both = Step { kind, label: None, out: None, ..program.steps[body].clone() };
    program.flows[entry].body = program.steps.push(both);
    let registry = Registry::new(std::iter::empty::<(String, String)>());
    let chosen = ["openai:gpt".parse().unwrap()];
    let decided = |program: &mut Arc<Program>, chosen: &[ModelOverride]| {
        ModelPlan::decide_models(program, &registry, PlanInput { chosen, placeholders: false, is_begun: false })
            .unwrap_err()
    };
    let mut program = Arc::new(Program::new(program).unwrap());
    let as_written = decided(&mut program.clone(), &[]);
    assert_eq!(as_written.len(), 1, "{as_written:?}");
    assert!(as_written[0].message.ends_with("`another` (2 agents)") && as_written[0].place.is_some());
    let from_outside = decided(&mut program, &chosen);
    assert_eq!((from_outside.len(), from_outside[0].place), (1, None));
}
