//! Messages about a waiting run: what it waits for, and how to answer.

use trefoil_machine::event::Waiting;
use trefoil_template::Value;

use super::next::pasted;
use super::words::safe;
use crate::output;
use crate::store::StoreArgs;

/// Maximum number of characters shown of a call.
const LONGEST: usize = 200;

/// Prints what a run waits for. This is not an error, but is shown even with `--quiet`, because nothing else says how to continue.
pub fn say(run: &str, waiting: &[Waiting], store: Option<&StoreArgs>) {
    lines(run, waiting, &store.map(StoreArgs::option).unwrap_or_default())
        .iter()
        .for_each(|line| output::say(&safe(line)));
}

fn lines(run: &str, waiting: &[Waiting], store: &str) -> Vec<String> {
    let one = |one: &Waiting| {
        let of = one.run.as_deref().unwrap_or(run);
        let answer = match one.sort {
            "run" => format!("trefoil runs show {of}{store}"),
            _ => format!("trefoil runs answer {of} {} {}{store}", pasted(name(one, waiting)), choices(one)),
        };
        let call = one.call.as_ref().map(|call| format!("  it was called with {}", short(call)));
        [Some(format!("waiting: {}", line(one, waiting))), call, Some(format!("  {answer}"))].into_iter().flatten()
    };
    waiting.iter().flat_map(one).chain([format!("then: trefoil resume {run}{store}")]).collect()
}

/// The arguments of a tool or command, on one line.
fn short(call: &Value) -> String {
    let arguments = call.get("arguments").map(Value::to_text).unwrap_or_default();
    let script = call.get("script").map(|script| format!("{} ", script.to_text())).unwrap_or_default();
    let all = format!("{script}{arguments}").split_whitespace().collect::<Vec<_>>().join(" ");
    match all.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &all[..end]),
        None => all,
    }
}

/// One line for an item. `all`: all items that the run waits for, in which the name must be unique.
pub fn line(one: &Waiting, all: &[Waiting]) -> String {
    let name = name(one, all);
    let of = one.run.as_ref().map(|run| format!(" (run {run})")).unwrap_or_default();
    match &one.prompt {
        Some(prompt) => format!("`{name}`{of} asks: {}", prompt.split_whitespace().collect::<Vec<_>>().join(" ")),
        None if one.sort == "run" => format!("`{name}`{of} has stopped before its end"),
        None => format!("`{name}`{of}: it is unknown whether this {} was done; did it finish?", one.sort),
    }
}

/// Whether it waits for a decision, because its outcome is unknown.
pub fn is_unknown(one: &Waiting) -> bool {
    one.prompt.is_none() && one.sort != "run"
}

/// The name to use in an answer: the step's label, or its key if several waiting steps have that label.
fn name<'w>(one: &'w Waiting, all: &[Waiting]) -> &'w str {
    let several = all.iter().filter(|other| other.step == one.step && other.run == one.run).count() > 1;
    if several || one.step.is_empty() { one.key.as_str() } else { &one.step }
}

fn choices(one: &Waiting) -> String {
    match (one.prompt.is_some(), one.accepts.as_slice()) {
        (false, _) => "retry|fail|done".to_owned(),
        (true, []) => "VALUE".to_owned(),
        (true, accepts) => accepts.join("|"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn what_waits_is_named_so_that_it_can_be_answered() {
        let one = |key: &str, step: &str, sort| {
            let (step, accepts) = (step.to_owned(), Vec::new());
            let prompt = (sort == "human").then(|| "Go on?".to_owned());
            let call = (sort == "tool").then(|| Value::parse(r#"{"name": "pay", "arguments": {"cents": 5}}"#).unwrap());
            Waiting { key: key.into(), step, sort, run: None, prompt, call, accepts }
        };
        let all = [
            one("main@1[0]/pay", "pay", "tool"),
            one("main@1[2]/pay", "pay", "tool"),
            one("main/ask", "ask me", "human"),
        ];
        expect![[r#"
            waiting: `main@1[0]/pay`: it is unknown whether this tool was done; did it finish?
              it was called with {"cents":5}
              trefoil runs answer r1 'main@1[0]/pay' retry|fail|done
            waiting: `main@1[2]/pay`: it is unknown whether this tool was done; did it finish?
              it was called with {"cents":5}
              trefoil runs answer r1 'main@1[2]/pay' retry|fail|done
            waiting: `ask me` asks: Go on?
              trefoil runs answer r1 'ask me' VALUE
            then: trefoil resume r1"#]]
        .assert_eq(&lines("r1", &all, "").join("\n"));
    }
}
