//! `trefoil dev`: file changes, and the requests to the provider after each. Keys come from a pipe, one on each line;
//! for a terminal, see `terminal`.
#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::Value as Json;

use crate::durable::{GATE, command, only, priced, trefoil, until};
use crate::edited::{FIRST, pipeline};
use crate::provider::Provider;
use crate::world::{Folder, finish, root, wait};

/// A `trefoil dev` process and its output.
pub struct Dev {
    child: Child,
    seen: Arc<Mutex<Vec<u8>>>,
    turns: usize,
}

/// Printed at the end of each turn.
const HINT: &str = "save a file, or press";

impl Dev {
    pub fn start(folder: &Folder, provider: &Provider, args: &[&str]) -> Self {
        Self::with(command(folder, provider, &[&["dev"], args].concat()), folder)
    }

    pub fn with(mut command: Command, folder: &Folder) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir(folder.path());
        let mut child = command.spawn().unwrap();
        let (mut err, seen) = (child.stderr.take().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let into = seen.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = err.read(&mut bytes) {
                into.lock().unwrap().extend_from_slice(&bytes[..n]);
            }
        });
        let mut dev = Self { child, seen, turns: 0 };
        dev.turn();
        dev
    }

    pub fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    /// Waits for the end of the next turn. Returns its output.
    pub fn turn(&mut self) -> String {
        self.turns += 1;
        until("the end of a turn", || self.seen().matches(HINT).count() >= self.turns);
        until("the end of a line", || self.seen().ends_with('\n'));
        self.seen()
            .split(HINT)
            .nth(self.turns - 1)
            .unwrap()
            .lines()
            .skip(usize::from(self.turns > 1))
            .fold(String::new(), |all, line| all + line + "\n")
    }

    pub fn types(&mut self, keys: &str) -> &mut Self {
        self.child.stdin.as_mut().unwrap().write_all(format!("{keys}\n").as_bytes()).unwrap();
        self
    }

    pub fn quits(mut self) -> String {
        self.types("q");
        let seen = self.seen.clone();
        wait(self.child).exits(0);
        String::from_utf8_lossy(&seen.lock().unwrap()).into_owned()
    }
}

/// The output of a turn apart from the run's progress, without times and without what the session has used.
fn record(said: &str) -> String {
    let mut all = String::new();
    for line in said.lines() {
        let live =
            line.trim_start().split_once(" ms ").is_some_and(|(time, _)| time.chars().all(|c| c.is_ascii_digit()));
        let total = line.contains(" tokens in, ") || line.starts_with("input: ");
        if !live && !total {
            let line = line.split(" · up to date after").next().unwrap();
            let line = match line.strip_prefix("── saved ").and_then(|line| line.split_once(" at ")) {
                Some((file, _)) => format!("── saved {file} ──"),
                None => line.to_owned(),
            };
            all.push_str(line.trim_end());
            all.push('\n');
        }
    }
    all
}

pub fn world() -> (Folder, Provider) {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(FIRST));
    (folder, provider)
}

#[test]
fn a_save_asks_only_for_what_it_changed() {
    let (folder, provider) = world();
    let mut dev = Dev::start(&folder, &provider, &["main.yaml"]);
    assert_eq!(provider.asked().len(), 3);
    let steps = [FIRST[0], ("two", "{{one}}", "two well after {{text}}"), FIRST[2]];
    folder.write("main.yaml", pipeline(&steps));
    let said = dev.turn();
    assert_eq!(provider.asked()[3..], ["two well after say one", "three after two well after say one"]);
    for part in ["1 result kept (saved 13 tokens", "2 model calls made", "   now  two {+well+} after", "again  two"] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    // A file that no flow reads does not cause a run.
    folder.write("other.txt", "x");
    folder.write("main.yaml", pipeline(&steps));
    std::thread::sleep(std::time::Duration::from_millis(300));
    // Back to the first version: every answer is known.
    folder.write("main.yaml", pipeline(FIRST));
    dev.turn();
    assert_eq!(provider.asked().len(), 5);
    dev.quits();
}

#[test]
fn a_mistake_stops_before_anything_runs_and_its_correction_goes_on() {
    let (folder, provider) = world();
    let mut dev = Dev::start(&folder, &provider, &["main.yaml"]);
    folder.write("main.yaml", pipeline(FIRST).replace("kind: llm", "kind: lml"));
    let said = dev.turn();
    assert!(said.contains("`lml`") && said.contains("nothing runs until this is corrected"), "{said}");
    folder.write("main.yaml", pipeline(FIRST));
    let said = dev.turn();
    assert!(said.contains("3 results kept") && said.contains("no calls made"), "{said}");
    assert_eq!(provider.asked().len(), 3);
    dev.quits();
}

#[test]
fn a_save_in_the_middle_of_a_run_replaces_it_and_keeps_what_it_has() {
    let (folder, provider) = world();
    let mut dev = Dev::start(&folder, &provider, &["main.yaml"]);
    provider.hang(true);
    let hangs = [FIRST[0], ("two", "{{one}}", "well, {{text}}"), ("three", "{{two}}", "hang {{text}}")];
    folder.write("main.yaml", pipeline(&hangs));
    until("the call that does not come back", || provider.asked().len() == 5);
    // A save without changes stops nothing.
    folder.write("main.yaml", pipeline(&hangs)).write("other.yaml", "x: 1\n");
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(provider.asked().len(), 5);
    let hangs = [hangs[0], hangs[1], ("three", "{{two}}", "three {{text}}")];
    folder.write("main.yaml", pipeline(&hangs));
    let said = dev.turn();
    assert!(said.contains("2 results kept") && said.contains("1 model call made"), "{said}");
    assert_eq!(provider.asked()[5..], ["three well, say one"]);
    dev.quits();
    // No run is left that could be taken for one to resume.
    let all = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
    let open = all["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|run| run["status"] == "interrupted" || run["status"] == "running");
    assert_eq!(open.count(), 0, "{all}");
}

#[test]
fn a_command_is_done_a_second_time_only_when_a_key_says_so() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let flow = |command: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: pay }}\nspec:\n  initial_state: PAY\n  states:\n    \
             PAY:\n      kind: System\n      command: {command}\n      transitions: []\n"
        )
    };
    folder.write("pay.yaml", flow("echo one >> done"));
    let done = || std::fs::read_to_string(folder.path().join("done")).unwrap_or_default();
    let mut dev = Dev::start(&folder, &provider, &["pay.yaml", "--allow-command", "--model", "embedded"]);
    assert_eq!(done(), "one\n");
    folder.write("pay.yaml", flow("echo two >> done"));
    let said = dev.turn();
    assert!(
        said.contains("stops  PAY@1  script, pay.yaml:7: echo [-one-]{+two+} >> done")
            && said.contains("`y` runs it")
            && !said.contains("--rerun"),
        "{said}"
    );
    assert!(said.contains("     9  command: echo [-one-]{+two+} >> done") && !said.contains("error["), "{said}");
    assert_eq!(done(), "one\n", "nobody has pressed a key");
    dev.types("y");
    let said = dev.turn();
    assert_eq!(done(), "one\ntwo\n", "{said}");
    dev.types("r");
    dev.turn();
    assert_eq!(done(), "one\ntwo\n", "again, and it is asked first");
    dev.types("y");
    dev.turn();
    assert_eq!(done(), "one\ntwo\ntwo\n");
    dev.quits();
}

#[test]
fn a_question_is_answered_with_a_key_and_stays_answered() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let flow = |last: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: gate }}\nspec:\n  initial_state: ASK\n  states:\n    \
             ASK:\n      kind: Human\n      prompt: Ship it?\n      transitions:\n        - {{ condition: input_equals_yes, target: DONE }}\n        \
             - {{ condition: input_equals_no, target: DONE }}\n    DONE:\n      kind: System\n      command: {last}\n      transitions: []\n"
        )
    };
    folder.write("yes", "shipped").write("no", "gone").write("gate.yaml", flow("cat yes"));
    let mut dev = Dev::start(&folder, &provider, &["gate.yaml", "--allow-command", "--model", "embedded"]);
    dev.types("a").types("yes");
    let said = dev.turn();
    assert!(said.contains("shipped"), "{said}");
    folder.write("gate.yaml", flow("cat no"));
    let said = dev.turn();
    assert!(said.contains("`y` runs it"), "{said}");
    dev.types("y");
    let said = dev.turn();
    assert!(said.contains("gone") && !said.contains("waiting:"), "the answer is known: {said}");
    dev.quits();
}

#[test]
fn an_answer_goes_to_the_run_of_the_files_as_they_were_saved_while_it_was_typed() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let flow = |question: &str, last: &str| {
        let gate = GATE.replace("Ship it?", question);
        gate.replace("echo shipped", &format!("echo {last} >> done"))
    };
    let done = || std::fs::read_to_string(folder.path().join("done")).unwrap_or_default();
    let args = ["gate.yaml", "--fresh", "--allow-command", "--model", "embedded"];
    folder.write("gate.yaml", flow("Ship it?", "old"));
    let mut dev = Dev::start(&folder, &provider, &args);
    dev.types("a");
    until("the question", || dev.seen().ends_with("> "));
    folder.write("gate.yaml", flow("Ship it?", "new"));
    dev.types("yes");
    let said = dev.turn();
    assert_eq!(done(), "new\n", "{said}");
    assert!(said.contains("`ASK` is asked as before"), "{said}");
    dev.quits();
    // There is no answer to the other question.
    let mut dev = Dev::start(&folder, &provider, &args);
    dev.types("a");
    until("the question", || dev.seen().ends_with("> "));
    folder.write("gate.yaml", flow("Ship all of it?", "all"));
    dev.types("yes");
    let said = dev.turn();
    assert!(said.contains("waiting: `ASK` asks: Ship all of it?"), "{said}");
    assert!(said.contains("the answer to `ASK` was not used"), "{said}");
    assert_eq!(done(), "new\n");
    dev.types("a").types("yes");
    let said = dev.turn();
    assert_eq!(done(), "new\nall\n", "{said}");
    dev.quits();
}

#[test]
fn a_run_that_was_not_started_here_is_left_as_it_is() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("gate.yaml", GATE);
    let model = ["--allow-command", "--model", "embedded"];
    trefoil(&folder, &provider, &[&["run", "gate.yaml"], &model[..]].concat()).silent(75);
    let run = only(&folder, &provider);
    let waiting = || {
        let all = trefoil(&folder, &provider, &["runs", "list", "--status", "waiting", "--output", "json"]).json();
        let all = all["runs"].as_array().unwrap().iter();
        all.map(|run| run["run"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut dev = Dev::start(&folder, &provider, &[&["gate.yaml"], &model[..]].concat());
    assert!(waiting().contains(&run) && waiting().len() == 2, "{:?}", waiting());
    // The earlier run is replaced.
    folder.write("gate.yaml", GATE.replace("echo shipped", "echo sent"));
    dev.turn();
    assert!(waiting().contains(&run) && waiting().len() == 2, "{:?}", waiting());
    dev.quits();
    let dev = Dev::start(&folder, &provider, &[&["gate.yaml", "--run", &run], &model[..]].concat());
    dev.quits();
    assert!(waiting().contains(&run) && waiting().len() == 3, "{:?}", waiting());
    // The waiting run can be resumed.
    trefoil(&folder, &provider, &["runs", "answer", &run, "ASK", "yes"]).exits(0);
    let resumed = trefoil(&folder, &provider, &["resume", &run, "--allow-command"]);
    assert!(resumed.exits(0).out.contains("shipped"), "{resumed:?}");
}

#[test]
fn calls_after_a_save_are_limited() {
    let (folder, provider) = world();
    let mut dev = Dev::start(&folder, &provider, &["main.yaml", "--max-calls", "2"]);
    assert_eq!(provider.asked().len(), 2);
    // The results so far are kept, and the next turn may make as many calls again.
    dev.types("");
    let said = dev.turn();
    assert!(said.contains("2 results kept") && said.contains("1 model call made"), "{said}");
    assert_eq!(provider.asked().len(), 3);
    dev.quits();
}

#[test]
fn a_loop_without_content_keeps_nothing_of_its_runs_and_goes_on() {
    let (folder, provider) = world();
    let mut dev = Dev::start(&folder, &provider, &["main.yaml", "--no-content"]);
    folder.write("main.yaml", pipeline(&[FIRST[0], ("two", "{{one}}", "two well after {{text}}"), FIRST[2]]));
    let said = dev.turn();
    assert!(said.contains("all steps run again") && said.contains("two {+well+} after"), "{said}");
    assert_eq!(provider.asked().len(), 6);
    dev.quits();
    let all = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
    let all = all["runs"].as_array().unwrap();
    assert!(all.len() == 2 && all.iter().all(|run| run["content"] == "removed"), "{all:?}");
}

#[test]
fn the_loop_begins_with_the_last_run_of_the_target() {
    let (folder, provider) = world();
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    let dev = Dev::start(&folder, &provider, &["main.yaml"]);
    let seen = dev.quits();
    assert!(seen.contains("3 results kept") && seen.contains("no calls made"), "{seen}");
    let dev = Dev::start(&folder, &provider, &["main.yaml", "--fresh"]);
    dev.quits();
    assert_eq!(provider.asked().len(), 6);
}

#[test]
fn the_last_run_of_a_target_is_found_behind_many_of_other_flows() {
    let (folder, provider) = world();
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    folder.write("others/other.yaml", pipeline(FIRST).replace("id: main", "id: other"));
    for _ in 0..51 {
        trefoil(&folder, &provider, &["run", "others/other.yaml", "--detach", "--quiet"]).exits(0);
    }
    let seen = Dev::start(&folder, &provider, &["main.yaml"]).quits();
    assert!(seen.contains("3 results kept") && seen.contains("no calls made"), "{seen}");
    assert_eq!(provider.asked().len(), 3);
}

#[test]
fn the_last_run_of_a_target_is_found_however_that_was_named() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("w/k/wf.yaml", pipeline(FIRST));
    trefoil(&folder, &provider, &["run", "w/k"]).exits(0);
    for name in ["w/k/wf.yaml", "w/k#main", "w/k"] {
        let seen = Dev::start(&folder, &provider, &[name]).quits();
        assert!(seen.contains("3 results kept") && seen.contains("no calls made"), "{name}: {seen}");
    }
    // Changes of the file do not matter, either.
    trefoil(&folder, &provider, &["run", "w/k"]).exits(0);
    let steps = [FIRST[0], ("two", "{{one}}", "two well after {{text}}"), FIRST[2]];
    folder.write("w/k/wf.yaml", pipeline(&steps));
    let seen = Dev::start(&folder, &provider, &["w/k/wf.yaml"]).quits();
    assert!(seen.contains("1 result kept") && seen.contains("2 model calls made"), "{seen}");
    assert_eq!(provider.asked().len(), 3 + 3 + 2);
}

#[test]
fn what_an_edit_would_do_is_known_before_anything_is_called() {
    let (folder, provider) = world();
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    let run = only(&folder, &provider);
    let would = || {
        let args = ["resume", &run, "--with", "main.yaml", "--dry-run"];
        let mut command = command(&folder, &provider, &args);
        let ran = finish({
            command.env_remove("OPENAI_API_KEY");
            command
        });
        (ran.code, ran.out)
    };
    assert_eq!(would(), (0, format!("3 of run {run} would be kept\n")));
    let steps = [FIRST[0], ("two", "{{one}}", "two well after {{text}}"), FIRST[2]];
    folder.write("main.yaml", pipeline(&steps));
    let (code, out) = would();
    assert_eq!(code, 1);
    for part in ["again  two  ", "{+well+}", "later  three: depends on the new results", "1 of run"] {
        assert!(out.contains(part), "no `{part}` in {out}");
    }
    assert_eq!(provider.asked().len(), 3, "nothing was called");
    let all = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
    assert_eq!(all["runs"].as_array().unwrap().len(), 1, "and no run was made");
}

#[test]
fn the_last_run_of_a_target_is_that_of_its_own_file_whatever_has_become_of_that() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    for project in ["a", "b"] {
        std::fs::create_dir(folder.path().join(project)).unwrap();
        folder.write(&format!("{project}/main.yaml"), pipeline(FIRST));
    }
    trefoil(&folder, &provider, &["run", "a/main.yaml"]).exits(0);
    let steps = [FIRST[0], ("two", "{{one}}", "two well after {{text}}"), FIRST[2]];
    folder.write("a/main.yaml", pipeline(&steps)).write("main.yaml", pipeline(FIRST));
    Dev::start(&folder, &provider, &["a/main.yaml"]).quits();
    assert_eq!(provider.asked().len(), 3 + 2);
    for other in ["b/main.yaml", "main.yaml"] {
        let before = provider.asked().len();
        Dev::start(&folder, &provider, &[other]).quits();
        assert_eq!(provider.asked().len(), before + 3, "{other} has never run");
    }
}

#[test]
fn a_rewritten_answer_is_shown_once_and_in_a_few_lines() {
    // Every answer is another text if its system message is.
    let provider = Provider::that_writes(|request| {
        let texts = request["messages"].as_array().unwrap().iter().map(|message| message["content"].to_string());
        let seed = texts.flat_map(String::into_bytes).fold(7_usize, |all, byte| (all * 31 + byte as usize) % 9973);
        if !request["response_format"].is_null() {
            return format!("{{\"approved\": true, \"feedback\": \"note {seed}\", \"readers\": \"everyone\"}}");
        }
        (0..70).map(|n| format!("word{}", (seed + n * 37) % 997)).collect::<Vec<_>>().join(" ")
    });
    let folder = Folder::new();
    let text = std::fs::read_to_string(root().join("examples/agntz/short-article.yaml")).unwrap();
    folder.write("short-article.yaml", &text);
    let mut dev = Dev::start(&folder, &provider, &["short-article.yaml", "--model", "openai:m", "--input", "topic=x"]);
    folder.write("short-article.yaml", text.replace("three most", "five most"));
    let said = record(&dev.turn());
    assert!(said.lines().count() < 50 && said.lines().all(|line| line.chars().count() <= 120), "{said}");
    assert!(said.contains(" again  writing@1/draft   <- research\n"), "{said}");
    assert!(said.contains("    18  instruction: \"Name the [-three-]{+five+} most important facts"), "{said}");
    // Each text is shown at its step, and nowhere else.
    let first = said.lines().find(|line| line.starts_with("   was  word")).unwrap();
    assert_eq!(said.matches(first.trim_end_matches(" ...")).count(), 1, "{said}");
    assert!(said.contains("more lines (d: show all)") && !said.contains("output  research"), "{said}");
    assert!(said.contains("the result changed in `article`, `verdict`, `ending`, as shown above"), "{said}");
    dev.types("d");
    let all = dev.quits();
    let all = all.rsplit("t trace · q quit").next().unwrap();
    assert!(all.lines().count() > said.lines().count() && !all.contains("d: show all"), "{all}");
    assert!(all.contains("this session: 10 model calls"), "{all}");
}

#[test]
fn a_folder_that_was_replaced_is_watched_again() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    let helper = |word: &str| {
        format!(
            "id: helper\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: I.\nprompt: 'say {word}'\n"
        )
    };
    folder.write("lib/helper.yaml", helper("one"));
    folder.write("main.yaml", "id: main\nkind: sequential\nsteps:\n  - ref: helper\n");
    let mut dev = Dev::start(&folder, &provider, &["main.yaml"]);
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("other")).unwrap();
    std::fs::copy(at("lib/helper.yaml"), at("other/helper.yaml")).unwrap();
    std::fs::remove_dir_all(at("lib")).unwrap();
    std::fs::rename(at("other"), at("lib")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    folder.write("lib/helper.yaml", helper("two"));
    until("the call after the save", || provider.asked().len() == 2);
    assert_eq!(provider.asked(), ["say one", "say two"]);
    dev.turn();
    dev.quits();
}

#[test]
fn files_are_noticed_behind_links_and_in_new_folders() {
    let (folder, provider) = world();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("real/deep")).unwrap();
    std::fs::rename(at("main.yaml"), at("real/deep/main.yaml")).unwrap();
    std::fs::create_dir(at("links")).unwrap();
    std::os::unix::fs::symlink("../real/deep/main.yaml", at("links/main.yaml")).unwrap();
    let mut dev = Dev::start(&folder, &provider, &["links/main.yaml", "--allow-path", "real"]);
    assert_eq!(provider.asked().len(), 3);
    folder.write("real/deep/main.yaml", pipeline(&[FIRST[0], ("two", "{{one}}", "two well after {{text}}"), FIRST[2]]));
    dev.turn();
    assert_eq!(provider.asked().len(), 5);
    dev.quits();
    // A reference to a file that does not exist yet.
    folder.write("p/main.yaml", "id: main\nkind: sequential\nsteps:\n  - ref: later\n");
    let dev = Dev::start(&folder, &provider, &["p/main.yaml"]);
    std::fs::create_dir(at("p/made")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    folder.write(
        "p/made/later.yaml",
        "id: later\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: 'say later'\n",
    );
    until("the call of the new file", || provider.asked().len() == 6);
    dev.quits();
}

#[test]
fn models_that_were_chosen_for_an_earlier_run_are_not_chosen_for_the_loop() {
    let (folder, provider) = world();
    trefoil(&folder, &provider, &["run", "main.yaml", "--model", "embedded"]).exits(0);
    let seen = Dev::start(&folder, &provider, &["main.yaml"]).quits();
    assert!(!seen.contains("placeholders"), "{seen}");
    assert_eq!(provider.asked().len(), 3, "{seen}");
}

/// A flow with an input of this name.
fn with_input(name: &str) -> String {
    format!(
        "id: main\nkind: sequential\ninputSchema:\n  {name}: string\nsteps:\n  - input: {{ text: '{{{{{name}}}}}' }}\n    agent:\n      \
         id: one\n      kind: llm\n      model: {{ provider: openai, name: m }}\n      inputSchema: {{ text: string }}\n      \
         instruction: I.\n      prompt: 'say {{{{text}}}}'\n"
    )
}

#[test]
fn starting_with_the_same_input_again_costs_nothing() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("main.yaml", with_input("topic"));
    for (input, asked) in [("topic=tea", 1), ("topic=tea", 1), ("topic=milk", 2)] {
        let seen = Dev::start(&folder, &provider, &["main.yaml", "--input", input]).quits();
        assert_eq!(provider.asked().len(), asked, "{seen}");
    }
    assert_eq!(provider.asked()[1], "say milk");
    // The file of an input is watched.
    folder.write("in.json", "{\"topic\": \"tea\"}");
    let mut dev = Dev::start(&folder, &provider, &["main.yaml", "--input-json", "@in.json"]);
    assert_eq!(provider.asked().len(), 2);
    folder.write("in.json", "{\"topic\": \"water\"}");
    dev.turn();
    assert_eq!(provider.asked()[2], "say water");
    dev.quits();
}

#[test]
fn an_input_follows_its_schema() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("main.yaml", with_input("topic"));
    let mut dev = Dev::start(&folder, &provider, &["main.yaml", "--input", "topic=tea"]);
    folder.write("main.yaml", with_input("subject"));
    let said = dev.turn();
    assert!(said.contains("no property `topic` any more") && said.contains("press `i`"), "{said}");
    assert_eq!(provider.asked().len(), 1, "nothing runs without the new one");
    dev.types("i").types("subject=milk");
    dev.turn();
    assert_eq!(provider.asked(), ["say tea", "say milk"]);
    let all = dev.quits();
    assert!(all.contains("input: subject=milk"), "{all}");
}

#[test]
fn a_command_in_progress_is_not_cut_off_by_a_save() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let flow = |first: &str, last: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: pay }}\nspec:\n  initial_state: PAY\n  states:\n    \
             PAY:\n      kind: System\n      command: {first}\n      transitions: [{{ condition: always, target: END }}]\n    \
             END:\n      kind: System\n      command: {last}\n      transitions: []\n"
        )
    };
    let pay = "echo in >> log; while [ ! -e go ]; do sleep 0.05; done; echo out >> log";
    let log = || std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    folder.write("pay.yaml", flow("echo start", "echo one"));
    let mut dev = Dev::start(&folder, &provider, &["pay.yaml", "--fresh", "--allow-command", "--model", "embedded"]);
    folder.write("pay.yaml", flow(pay, "echo one"));
    until("the payment", || log() == "in\n");
    // A file that does not load stops nothing.
    folder.write("pay.yaml", "kind: [");
    until("the finding", || dev.seen().contains("continues with the earlier files"));
    folder.write("pay.yaml", flow(pay, "echo two"));
    until("the note", || dev.seen().contains("`PAY` must not be cut off"));
    assert_eq!(log(), "in\n");
    folder.write("go", "");
    let said = dev.turn();
    assert_eq!(log(), "in\nout\n", "{said}");
    assert!(said.contains("1 result kept"), "{said}");
    dev.quits();
}

#[test]
fn an_answer_from_elsewhere_continues_the_run_that_waits() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("gate.yaml", GATE);
    let mut dev = Dev::start(&folder, &provider, &["gate.yaml", "--allow-command", "--model", "embedded"]);
    let run = only(&folder, &provider);
    trefoil(&folder, &provider, &["runs", "answer", &run, "ASK", "yes"]).exits(0);
    let said = dev.turn();
    assert!(said.contains("shipped") && !said.contains("waiting:"), "{said}");
    dev.quits();
}

#[test]
fn a_turn_that_fails_is_not_up_to_date_and_the_next_one_is_compared_with_the_last_result() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let flow = |first: &str, last: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: say }}\nspec:\n  initial_state: ONE\n  states:\n    \
             ONE:\n      kind: System\n      command: {first}\n      transitions: [{{ condition: on_success, target: TWO }}]\n    \
             TWO:\n      kind: System\n      command: {last}\n      transitions: []\n"
        )
    };
    folder.write("say.yaml", flow("echo a", "echo the old words"));
    let mut dev = Dev::start(&folder, &provider, &["say.yaml", "--allow-command", "--model", "embedded"]);
    folder.write("say.yaml", flow("exit 3", "echo the old words"));
    let said = dev.turn();
    assert!(said.contains("failed after") && !said.contains("up to date"), "{said}");
    folder.write("say.yaml", flow("echo a", "echo the new words"));
    let said = dev.turn();
    assert!(said.contains("the [-old-]{+new+} words"), "{said}");
    dev.quits();
}

/// What a model might write about tides. The number of facts and words is that of its instruction.
fn written(request: &Json) -> String {
    const FACTS: [&str; 5] = [
        "The moon causes most of the tide.",
        "Tables give times for a harbour, not for a coast.",
        "Heights count from the lowest usual water.",
        "Spring tides come twice a month.",
        "Wind can add half a metre.",
    ];
    const WORDS: [&str; 3] = [
        "Harbour: a place where ships are safe.",
        "Tide: the daily rise and fall of the sea.",
        "Table: a list of times and heights.",
    ];
    let messages = request["messages"].as_array().unwrap();
    let of = |role: &str| {
        messages.iter().find(|m| m["role"] == role).and_then(|m| m["content"].as_str()).unwrap_or_default()
    };
    let (system, count) = (of("system"), |system: &str| match () {
        () if system.contains(" five ") => 5,
        () if system.contains(" three ") => 3,
        () => 2,
    });
    if !request["response_format"].is_null() {
        let whom =
            if system.contains("should read") { "Sailors and anglers should read it" } else { "It is for sailors" };
        return format!(
            "{{\"approved\": true, \"feedback\": \"{whom}, and it is clear.\", \"readers\": \"everyone\"}}"
        );
    }
    match () {
        () if system.starts_with("Name the") => FACTS[..count(system)].join(" "),
        () if system.contains("people get wrong") => {
            "People think that high water is at the same time each day.".to_owned()
        }
        () if system.contains("readers ask first") => match request["temperature"].is_null() {
            true => "When is the next high water?".to_owned(),
            false => "When is it safe to cross the bay?".to_owned(),
        },
        () if system.starts_with("Explain the") => WORDS[..count(system)].join(" "),
        () => {
            let line = |name: &str| system.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
            format!("{} A tide table answers it. {}", line("First question of readers:"), line("Facts:"))
        }
    }
}

/// Saves the README's workflow five times; returns the output of each.
#[allow(clippy::print_stdout, reason = "how long it took is for whoever runs the tests to see")]
fn five_saves(provider: &Provider, model: &str) -> String {
    let folder = Folder::new();
    let text = std::fs::read_to_string(root().join("examples/agntz/short-article.yaml")).unwrap();
    let saves: [(&str, &str, &str); 5] = [
        (
            "the prompt of the last step",
            "Explain the two hardest words of this text.",
            "Explain the three hardest words.",
        ),
        ("the name of a branch", "doubts", "objections"),
        (
            "a parameter of one branch",
            "name: gpt-5.4 }\n            instruction: \"Write the question",
            "name: gpt-5.4, temperature: 0.2 }\n            instruction: \"Write the question",
        ),
        ("the prompt of a step in the loop", "Who is it for?", "Who should read it?"),
        ("back to the earlier prompt of that step", "Who should read it?", "Who is it for?"),
    ];
    folder
        .write("short-article.yaml", &text)
        .write("config/config.toml", "[prices]\n\"openai:m\" = { input = 2, output = 8 }\n");
    let asked = provider.asked().len();
    let args = ["dev", "short-article.yaml", "--model", model, "--input", "topic=tide tables"];
    let mut dev = Dev::with(priced(&folder, provider, &args), &folder);
    let calls = |count: usize| if count == 1 { "1 call".to_owned() } else { format!("{count} calls") };
    let mut all = format!("start: {} of the provider\n", calls(provider.asked().len() - asked));
    let mut text = text;
    for (what, from, to) in saves {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
        let (asked, since) = (provider.asked().len(), Instant::now());
        folder.write("short-article.yaml", &text);
        let said = dev.turn();
        println!("{what}: up to date {} ms after the save", since.elapsed().as_millis());
        let made = calls(provider.asked().len() - asked);
        all.push_str(&format!("\nsaved: {what}; {made} of the provider\n{}", record(&said)));
    }
    let seen = dev.quits();
    let total = seen.lines().rfind(|line| line.starts_with("this session: ")).unwrap();
    format!("{all}\n{total}\n")
}

/// The page shows what the loop prints, save by save.
fn is_in_the_page(recorded: &str) {
    let page = std::fs::read_to_string(root().join("docs/dev.md")).unwrap();
    assert!(page.contains(&format!("```text\n{recorded}```\n")), "docs/dev.md does not show:\n{recorded}");
}

#[test]
fn five_saves_with_placeholders() {
    let recorded = five_saves(&Provider::start(), "embedded");
    insta::assert_snapshot!(recorded);
    let first = recorded.split("\n\n").nth(1).unwrap();
    is_in_the_page(&format!("{first}\n"));
}

#[test]
fn five_saves_with_a_provider() {
    let recorded = five_saves(&Provider::that_writes(written), "openai:m");
    insta::assert_snapshot!(recorded);
    is_in_the_page(&recorded);
}

#[test]
#[cfg(feature = "mcp")]
fn no_secret_is_shown_after_an_edit_in_whatever_form_it_came_back() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    let host = crate::altered_leaks::tool(&folder, "look.yaml");
    folder.write("main.yaml", "id: main\nkind: sequential\nsteps:\n  - ref: look\n");
    let mut started = command(&folder, &provider, &["dev", "main.yaml", "--allow-host", &host]);
    started.envs(crate::altered_leaks::SECRETS);
    let mut dev = Dev::with(started, &folder);
    let text = std::fs::read_to_string(folder.path().join("look.yaml")).unwrap();
    folder.write("look.yaml", text.replace("name: show", "name: shown"));
    dev.turn();
    crate::altered_leaks::clean(&dev.quits());
}
