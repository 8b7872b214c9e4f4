//! `trefoil dev`: flows that the target calls as tools.
#![cfg(unix)]

use crate::dev::Dev;
use crate::durable::{priced, until};
use crate::provider::Provider;
use crate::world::{Folder, finish};

const MODEL: &str = "kind: llm, model: { provider: openai, name: m }, instruction: I.";

fn ask(id: &str, prompt: &str) -> String {
    format!("  - agent: {{ id: {id}, {MODEL}, prompt: {prompt} }}\n")
}

/// Asks a model, sends a mail, and asks again.
fn ship(first: &str, to: &str, second: &str) -> String {
    format!(
        "id: ship\nkind: sequential\ninputSchema: {{ message: string }}\nsteps:\n{}  - agent: {{ id: send, kind: tool, tool: {{ \
         kind: local, name: mail, params: {{ to: {to} }} }} }}\n{}",
        ask("s1", first),
        ask("s2", second)
    )
}

/// A caller of `ship`, which is in another folder.
fn world(first: &str, second: &str) -> (Folder, Provider) {
    let (folder, provider) = (Folder::new(), Provider::start());
    let call = "  - agent: { id: one, kind: tool, tool: { kind: local, name: ship, params: { message: hello } } }\n";
    folder
        .write("flows/c.yaml", format!("id: caller\nkind: sequential\nsteps:\n{}{call}", ask("first", "the first")))
        .write("other/ship.yaml", ship(first, "me", second))
        .write("config/config.toml", "[prices]\n\"openai:m\" = { input = 100, output = 100 }\n");
    folder.write(
        "flows/trefoil.toml",
        "[tools.ship]\nflow = \"../other/ship.yaml\"\n[tools.mail]\ncommand = [\"sh\", \"-c\", \"echo mail $0 >> sent; echo \
         sent-$0\", \"{to}\"]\n",
    );
    finish(priced(&folder, &provider, &["trust", "flows"])).exits(0);
    (folder, provider)
}

fn start(folder: &Folder, provider: &Provider, args: &[&str]) -> Dev {
    Dev::with(priced(folder, provider, &[&["dev", "flows/c.yaml"], args].concat()), folder)
}

fn sent(folder: &Folder) -> String {
    std::fs::read_to_string(folder.path().join("flows/sent")).unwrap_or_default()
}

#[test]
fn a_key_allows_what_a_called_flow_stopped_before_and_what_it_used_until_then_counts() {
    let (folder, provider) = world("s1", "s2");
    let mut dev = start(&folder, &provider, &[]);
    assert_eq!(provider.asked(), ["the first", "s1", "s2"]);
    folder.write("other/ship.yaml", ship("s1 again", "you", "s2"));
    let said = dev.turn();
    assert_eq!((provider.asked().len(), sent(&folder).as_str()), (4, "mail me\n"));
    // 13 tokens at $0.0001 each.
    for part in ["1 model call and 1 tool call made ($0.0013) · waits", "`one/send` did not run", "`y` runs it"] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    assert!(said.contains("     again  s1    user message, "), "{said}");
    assert!(said.contains("     stops  send  "), "{said}");
    dev.types("y");
    let said = dev.turn();
    assert_eq!((provider.asked().len(), sent(&folder).as_str()), (4, "mail me\nmail you\n"), "{said}");
    assert!(said.contains("      kept  s2\n") && said.contains("2 results kept"), "{said}");
    let all = dev.quits();
    assert!(all.ends_with("this session: 4 model calls ($0.0052), 2 results kept (saved $0.0026)\n"), "{all}");
}

#[test]
fn an_answer_to_a_called_flow_goes_to_the_run_of_the_files_as_they_were_saved_while_it_was_typed() {
    let (folder, provider) = world("s1", "s2");
    let gate = "version: \"0.1\"\nagents: {}\nnodes:\n  ok: { type: human, prompt: \"Ship it?\", writes: output.said }\ninput: { message: it }\n";
    folder.write("other/ship.yaml", gate);
    let call = "  - agent: { id: one, kind: tool, tool: { kind: local, name: ship, params: { message: hello } } }\n";
    let caller = |last: &str| format!("id: caller\nkind: sequential\nsteps:\n{call}{}", ask("last", last));
    folder.write("flows/c.yaml", caller("before"));
    let mut dev = start(&folder, &provider, &[]);
    dev.types("a");
    until("the question", || dev.seen().ends_with("> "));
    folder.write("flows/c.yaml", caller("after"));
    dev.types("yes");
    let said = dev.turn();
    assert!(said.contains("`ok` is asked as before, so it has the answer"), "{said}");
    assert_eq!(provider.asked(), ["after"], "{said}");
    dev.quits();
}

#[test]
fn a_run_whose_called_flow_stopped_is_continued_with_what_it_needs() {
    let (folder, provider) = world("s1", "s2");
    let mut dev = start(&folder, &provider, &[]);
    folder.write("other/ship.yaml", ship("s1", "you", "s2"));
    dev.turn();
    let all = dev.quits();
    let command = all.lines().find_map(|line| line.strip_prefix("to continue: trefoil ")).unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words.get(2..), Some(&["--rerun", "one/send"][..]), "{command}");
    finish(priced(&folder, &provider, &words)).exits(0);
    assert_eq!(sent(&folder), "mail me\nmail you\n");
}

#[test]
fn a_called_flow_that_a_save_cuts_off_counts_and_keeps_what_it_has() {
    let (folder, provider) = world("s1", "s2 hang");
    provider.hang(false);
    let mut dev = start(&folder, &provider, &[]);
    provider.hang(true);
    folder.write("other/ship.yaml", ship("s1", "me", "now s2 hang"));
    until("the call that hangs", || provider.asked().len() == 4);
    folder.write("other/ship.yaml", ship("s1", "me", "s2 at last"));
    let said = dev.turn();
    assert!(said.contains("      kept  s1, send\n"), "{said}");
    assert_eq!((provider.asked().len(), sent(&folder).as_str()), (5, "mail me\n"), "{said}");
    let all = dev.quits();
    assert!(all.contains("this session: 5 model calls ("), "{all}");
}

#[test]
fn a_limit_that_a_called_flow_reaches_is_for_each_turn() {
    let (folder, provider) = world("s1", "s2");
    let mut dev = start(&folder, &provider, &["--max-calls", "2"]);
    let said = dev.seen();
    assert!(said.contains("call limit reached") && said.contains("press Enter to continue"), "{said}");
    assert!(!said.contains("--max-calls"), "{said}");
    dev.types("");
    let said = dev.turn();
    assert_eq!(provider.asked(), ["the first", "s1", "s2"], "{said}");
    assert_eq!(sent(&folder), "mail me\n");
    dev.quits();
}

#[test]
fn the_command_that_continues_a_run_at_a_limit_raises_it() {
    let (folder, provider) = world("s1", "s2");
    start(&folder, &provider, &[]).quits();
    folder.write("other/ship.yaml", ship("un", "me", "deux"));
    let all = start(&folder, &provider, &["--max-calls", "1"]).quits();
    assert!(all.contains("press Enter to continue"), "{all}");
    let command = all.lines().find_map(|line| line.strip_prefix("to continue: trefoil ")).unwrap();
    assert!(command.ends_with(" --max-calls 3"), "{command}");
    finish(priced(&folder, &provider, &command.split(' ').collect::<Vec<_>>())).exits(0);
    assert_eq!(provider.asked()[3..], ["un", "deux"]);
}
