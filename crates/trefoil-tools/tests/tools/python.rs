//! Python functions in the interpreter of this machine.
#![cfg(unix)]

use std::path::PathBuf;
use std::sync::Arc;

use expect_test::expect;
use serde_json::{Value as Json, json};
use trefoil_ir::ToolKind;
use trefoil_runtime::ports::MapSecrets;
use trefoil_tools::{PythonSettings, PythonTools};

use crate::site::{call, request};

const MODULE: &str = r#"
import asyncio, os, sys

def shout(text, times=1):
    print("this is not the result")
    os.system("echo nor is this")
    return {"text": text.upper() * times, "list": (1, 2.5, None, True)}

async def later(x):
    await asyncio.sleep(0)
    return x

def broken(**all):
    raise ValueError("no such thing: " + ", ".join(all))

def odd():
    return {1, 2}

def nan():
    return float("nan")

def enormous():
    return {"n": 10 ** 400}

def large():
    return [2 ** 63, 10 ** 300, "9" * 400]

def leaves():
    os._exit(3)

def stops():
    sys.exit(5)

here = 3
"#;

fn interpreter() -> bool {
    let found = std::process::Command::new("python3").arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        untested::skipped("python3 is not installed");
    }
    found
}

struct Modules(PathBuf);

impl Modules {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("trefoil-python-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("helpers.py"), MODULE).unwrap();
        // This file must not shadow the standard library's module.
        std::fs::write(folder.join("json.py"), "raise RuntimeError('taken over')").unwrap();
        Self(folder)
    }

    async fn call(&self, module: &str, function: &str, args: Json) -> Result<Json, String> {
        let python = PythonSettings { path: vec![self.0.clone()], ..PythonSettings::default() };
        let host = PythonTools::new(python, Arc::new(MapSecrets::new()));
        let arguments = json!({"module": module, "function": function, "args": args});
        let found = call(&host, &request(ToolKind::Python, "node", arguments), false).await;
        found.map(|value| value.to_json()).map_err(|error| error.to_string())
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_function_is_called_with_its_arguments_and_its_result_comes_back() {
    if !interpreter() {
        return;
    }
    let modules = Modules::new("works");
    let found = modules.call("helpers", "shout", json!({"text": "hé", "times": 2})).await.unwrap();
    assert_eq!(found, json!({"text": "HÉHÉ", "list": [1, 2.5, null, true]}));
    let large = json!([9_223_372_036_854_775_808_u64, 1e300, "9".repeat(400)]);
    assert_eq!(modules.call("helpers", "large", json!({})).await.unwrap(), large);
    assert_eq!(modules.call("helpers", "later", json!({"x": {"a": []}})).await.unwrap(), json!({"a": []}));
    assert_eq!(modules.call("os.path", "basename", json!({"p": "/a/b"})).await.unwrap(), json!("b"));
}

#[tokio::test]
async fn a_function_that_fails_says_why() {
    if !interpreter() {
        return;
    }
    let modules = Modules::new("fails");
    let mut said = String::new();
    for (module, function, args) in [
        ("helpers", "broken", json!({"a": 1})),
        ("helpers", "shout", json!({"wrong": 1})),
        ("helpers", "odd", json!({})),
        ("helpers", "nan", json!({})),
        ("helpers", "enormous", json!({})),
        ("helpers", "leaves", json!({})),
        ("helpers", "stops", json!({})),
        ("helpers", "here", json!({})),
        ("helpers", "nothing", json!({})),
        ("no_such_module_17", "x", json!({})),
        ("", "x", json!({})),
    ] {
        let why = modules.call(module, function, args).await.unwrap_err();
        said.push_str(&format!("{module}.{function}: {why}\n"));
    }
    expect![[r#"
        helpers.broken: `helpers.broken` raised ValueError: no such thing: a
        helpers.shout: `helpers.shout` raised TypeError: shout() got an unexpected keyword argument 'wrong'
        helpers.odd: its result cannot be written as JSON: Object of type set is not JSON serializable
        helpers.nan: its result cannot be written as JSON: Out of range float values are not JSON compliant
        helpers.enormous: its result has a whole number that is too large; return it as text
        helpers.leaves: it exited with 3
        helpers.stops: `helpers.stops` raised SystemExit: 5
        helpers.here: `helpers.here` is not a function
        helpers.nothing: the module `helpers` has no function `nothing`
        no_such_module_17.x: cannot import the module `no_such_module_17`: No module named 'no_such_module_17'
        .x: cannot import the module ``: ValueError: Empty module name
    "#]]
    .assert_eq(&said);
}
