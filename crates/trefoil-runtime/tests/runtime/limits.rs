//! Growing values: without limits they would end the process instead of the run.

use expect_test::expect;
use trefoil_ir::{StepKind, ValueExpression};
use trefoil_template::{Value, limits};

use crate::world::World;
use testbed::Build;

/// A loop of at most `passes` passes that puts the value of the previous pass under these keys of an object.
fn grow(keys: &[&str], passes: u32) -> Result<Value, String> {
    let mut b = Build::new();
    let members = keys.iter().map(|key| ((*key).into(), b.value("{{grown}}"))).collect();
    let body = b.step("grown", StepKind::Compute(ValueExpression::Object(members)));
    let body = b.out(body, "grown");
    let repeat = b.repeat("", body, "{{n}} == 1", passes);
    let main = b.flow("main", repeat, None);
    World::echo().run(&b.program(main), "x").result.map_err(|e| e.to_string())
}

#[test]
fn a_value_that_nests_without_end_is_refused() {
    let error = grow(&["inner"], 100_000).unwrap_err();
    expect!["LIMIT_EXCEEDED: the result is nested more than 100 levels deep or has more than 4194304 values"]
        .assert_eq(&error);
    assert!(grow(&["inner"], 90).unwrap_err().starts_with("MAX_ITERATIONS_EXCEEDED"));
}

#[test]
fn a_value_that_doubles_by_sharing_is_refused() {
    let error = grow(&["left", "right"], 80).unwrap_err();
    assert!(error.starts_with("LIMIT_EXCEEDED"), "{error}");
}

#[test]
fn an_input_over_the_limit_is_refused() {
    let mut b = Build::new();
    let say = b.model("say", "hello");
    let main = b.flow("main", say, None);
    let program = b.program(main);
    let nested = |depth| (0..depth).fold(Value::from(1), |inner, _| Value::from(vec![inner]));
    assert!(World::echo().run(&program, nested(limits::VALUE_DEPTH)).result.is_ok());
    let outcome = World::echo().run(&program, nested(limits::VALUE_DEPTH + 1));
    assert_eq!(outcome.result.unwrap_err().code, "LIMIT_EXCEEDED");
    assert_eq!(outcome.calls, 0);
}
