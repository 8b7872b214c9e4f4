//! Texts that a terminal would obey, in everything that can be named or said, and every command on a terminal.

use trefoil_syntax::diagnostic::render::is_tricky;

use crate::terminal::Screen;
use crate::world::Folder;

/// A title, a cleared screen, hidden text, a colour by C1, a bell, a backspace, a carriage return, reading directions, and text
/// that nobody sees. Each of them alone would pass some filters.
const EVIL: &str =
    "\u{1b}]0;PWN\u{7}\u{1b}[2J\u{1b}[8mq\u{9b}31m\u{8}\r\u{202e}r\u{2066}\u{200b}\u{feff}\u{e0041}\u{2028}\u{61c}z";

/// The text in YAML and JSON.
fn quoted(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_ascii() && !c.is_ascii_control() => c.to_string(),
        c if u32::from(c) > 0xffff => format!("\\U{:08x}", u32::from(c)),
        c => format!("\\u{:04x}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// What a terminal was sent without the movements and colours of the program itself.
fn without_own(seen: &str) -> String {
    let mut out = String::new();
    // The line of a progress.
    let seen = seen.replace("\r\u{1b}[2K", "\n");
    let mut pieces = seen.split("\u{1b}[");
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_digit() && c != ';' && c != '?').unwrap_or(piece.len());
        let (what, rest) = (&piece[..end], &piece[end..]);
        let is_own = match rest.chars().next() {
            // Text that is hidden or blinks is nothing of ours.
            Some('m') => !what.split(';').any(|code| ["5", "8"].contains(&code)),
            Some('A' | 'K') => true,
            Some('h' | 'l') => ["?25", "?2026"].contains(&what),
            _ => false,
        };
        out.push_str(if is_own { &rest[1..] } else { "\u{1b}[" });
        out.push_str(if is_own { "" } else { piece });
    }
    out.replace("\r\n", "\n").replace("\u{8} \u{8}", "").replace("\n\r", "\n").replace("\r\n", "\n")
}

/// The first character that a terminal would obey or not show, with what is around it.
fn found(seen: &str) -> Option<String> {
    let left = without_own(seen);
    let bad = |c: char| is_tricky(c) && !matches!(c, '\n' | '\t');
    // A row is drawn from its start.
    let left: String = left.split('\n').map(|line| line.trim_start_matches('\r')).collect::<Vec<_>>().join("\n");
    let at = left.find(bad)?;
    let from = left[..at].char_indices().rev().nth(60).map_or(0, |(at, _)| at);
    Some(left[from..].chars().take(120).collect::<String>().escape_debug().to_string())
}

struct World {
    folder: Folder,
    /// The name of the folder with the manifests, and of the one that is trusted.
    named: String,
    trusted: String,
    wrong: Vec<String>,
    count: usize,
}

impl World {
    /// Manifests, settings and files whose names and texts are hostile.
    fn new() -> Self {
        let folder = Folder::new();
        // Paths with line breaks cannot be trusted.
        let (named, trusted) = (format!("n{}", EVIL.replace('/', "_")), format!("t{}", EVIL.replace('\r', "")));
        let evil = quoted(EVIL);
        let fails = format!("printf '{}' >&2; exit 3", octal());
        // Mistakes that can be fixed, that cannot, and that are about names.
        let typo = flow("x").replace("transitions: []", &format!("transitons: [], {evil}: 1"));
        let (target, nothing) = (quoted(&step('C')), quoted(&step('D')));
        let lost = flow("x").replace(&format!("target: {target}"), &format!("target: {nothing}"));
        let raw = format!(
            "id: a\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: |\n  Say {EVIL}\nzz: {EVIL}\n"
        );
        let agent = format!(
            "id: teller\nname: {evil}\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: {}\n",
            quoted(&format!("Say {EVIL} {{{{userQuery}}}}"))
        );
        let siren = format!(
            "version: \"0.1\"\nagents:\n  w: {{ model: \"openai:m\", system: {evil} }}\nnodes:\n  {}: {{ agent: w, writes: output.x }}\n",
            quoted(&format!("n{EVIL}"))
        );
        let good = flow(&format!("printf '{}'", octal()));
        let manifests = [good, flow(&fails), typo, lost, raw, agent, siren];
        for (name, text) in MANIFESTS.iter().zip(manifests) {
            folder.write(&format!("{named}/{name}.yaml"), text);
        }
        folder.write("script.yaml", format!("answers:\n  teller: [{evil}, {evil}]\n  w: [{evil}, {evil}]\n"));
        let settings = format!("[run]\nallow-command = true\n[models]\nfast = {}\n", quoted("openai:m"));
        folder.write(&format!("{trusted}/trefoil.toml"), settings);
        folder.write("state.json", format!("{{\"x\": {}}}", serde_json::to_string(EVIL).unwrap()));
        Self { folder, named, trusted, wrong: Vec::new(), count: 0 }
    }

    fn file(&self, name: &str) -> String {
        format!("{}/{name}.yaml", self.named)
    }

    /// Runs a command on a terminal, with and without colours. `types`: what is awaited, and the keys then.
    fn shows(&mut self, args: &[&str], types: &[(&str, &str)]) -> String {
        let mut all = String::new();
        for plain in [false, true] {
            let mut command = self.folder.command(args);
            command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", self.folder.path().join("runs.db"));
            command.env("TREFOIL_CONFIG_DIR", self.folder.path().join("config")).env("BROWSER", "true");
            command.env("XDG_RUNTIME_DIR", self.folder.path());
            if plain {
                command.env("NO_COLOR", "1");
            }
            if args.first() == Some(&"dev") {
                // It begins with the last run of its file.
                command.env("TREFOIL_STORE", self.folder.path().join(format!("dev-{plain}.db")));
            }
            let screen = Screen::of(command, 100);
            for (text, keys) in types {
                screen.waits_for(text).types(keys);
            }
            let (_, seen) = screen.ends();
            assert!(!seen.contains("panicked"), "{args:?}: {seen}");
            self.count += 1;
            self.wrong.extend(found(&seen).map(|bad| format!("{args:?}: {bad}")));
            all.push_str(&seen);
        }
        all
    }

    /// No screen showed anything that a terminal would obey.
    fn is_clean(&self, least: usize) {
        let (wrong, count) = (&self.wrong, self.count);
        assert!(wrong.is_empty(), "{} of {count} screens:\n{}", wrong.len(), wrong.join("\n"));
        assert!(count >= least, "{count}");
    }
}

const MANIFESTS: [&str; 7] = ["good", "fails", "bad", "lost", "raw", "agent", "siren"];

/// The text for `printf`.
fn octal() -> String {
    EVIL.bytes().map(|byte| format!("\\{byte:03o}")).collect()
}

fn step(name: char) -> String {
    format!("{name}{EVIL}")
}

fn state(kind: &str, to: Option<&str>) -> String {
    let to = to.map_or_else(|| "[]".to_owned(), |to| format!("[{{ condition: always, target: {} }}]", quoted(to)));
    format!("{{ {kind}, transitions: {to} }}")
}

/// A command, a question, and a last command.
fn flow(last: &str) -> String {
    let evil = quoted(EVIL);
    let head = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow, version: 1.0.0, description: {evil} }}\nspec:\n"
    );
    let command = |text: &str| format!("kind: System, command: {}", quoted(text));
    let states = [
        (step('A'), state(&command(&format!("printf '{}'", octal())), Some(&step('B')))),
        (step('B'), state(&format!("kind: Human, prompt: {evil}"), Some(&step('C')))),
        (step('C'), state(&command(last), None)),
    ];
    let states: String = states.iter().map(|(name, state)| format!("    {}: {state}\n", quoted(name))).collect();
    format!("{head}  initial_state: {}\n  states:\n{states}", quoted(&step('A')))
}

/// All commands, with those below others. `dev` does not end by itself.
fn commands(folder: &Folder) -> Vec<String> {
    let below = |command: &[&str]| -> Vec<String> {
        let help = folder.trefoil(&[command, &["--help"]].concat()).out;
        // Commands come in groups, before arguments and options.
        let list = help.lines().take_while(|line| !["Arguments:", "Options:"].contains(line));
        let list = list.filter(|line| line.starts_with("  "));
        // The others continue a description.
        let names = list.filter_map(|line| line[2..].split(' ').next().filter(|name| !name.is_empty()));
        names.filter(|name| !["help", "dev"].contains(name)).map(ToOwned::to_owned).collect()
    };
    let mut all = Vec::new();
    for command in below(&[]) {
        let inner = below(&[&command]);
        all.extend(inner.iter().map(|one| format!("{command} {one}")));
        all.push(command);
    }
    assert!(
        ["check", "runs show", "secrets set", "lsp"].iter().all(|one| all.iter().any(|command| command == one)),
        "{all:?}"
    );
    all
}

#[test]
fn what_a_terminal_would_obey_is_found() {
    assert_eq!(found("\u{1b}[1mbold\u{1b}[0m\r\n\u{1b}[2A\u{1b}[K"), None);
    for bad in EVIL.chars().filter(|c| is_tricky(*c)) {
        // A carriage return at the start of a line is the movement of a picture.
        assert!(found(&format!("a{bad}b")).is_some(), "{bad:?}");
    }
    assert!(found("a\u{1b}[8mhidden").is_some() && found("a\u{1b}[2J").is_some());
}

#[test]
fn a_session_sends_a_terminal_nothing_that_it_would_obey() {
    let mut world = World::new();
    let good = world.file("good");
    world.shows(&["dev", EVIL], &[("q quit", "q")]);
    let dev = ["dev", &good, "--allow-command", "--model", "embedded", "--input", EVIL];
    let keys = [
        ("q quit", "a"),
        ("> ", "yes\n"),
        ("result:", "f"),
        ("number or name)> ", "3\n"),
        ("y allow it", "y"),
        ("up to date", "d"),
        ("q quit", "t"),
        ("trace page", "q"),
    ];
    let seen = world.shows(&dev, &keys);
    assert!(seen.contains("asks: "), "{seen}");
    world.is_clean(4);
}

#[test]
fn a_pipe_gets_the_text_as_it_is() {
    let folder = Folder::new();
    folder.write("a.yaml", "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: x\n");
    folder.write("script.yaml", format!("answers:\n  a: [{}]\n", quoted(EVIL)));
    let run = |options: &[&str]| {
        folder.trefoil(&[&["run", "a.yaml", "-q", "--model", "scripted=script.yaml", "-i", "x"], options].concat())
    };
    assert_eq!(run(&[]).exits(0).out, format!("{EVIL}\n"));
    let json = run(&["--output", "json"]);
    assert_eq!(json.json(), serde_json::json!(EVIL));
    assert!(json.out.is_ascii() && !json.out.contains('\u{1b}'), "{}", json.out);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn no_command_that_reads_files_sends_a_terminal_what_it_would_obey() {
        let mut world = World::new();
        let [good, _, bad, lost, raw, agent, siren] = MANIFESTS.map(|name| world.file(name));
        let named = world.named.clone();
        for file in [&good, &bad, &lost, &raw, &agent, &siren, &named] {
            for options in [
                &["--format", "text", "--strict"][..],
                &["--format", "json"],
                &["--format", "sarif"],
                &["--format", "github"],
                &["--fix", "--diff"],
            ] {
                world.shows(&[&["check", file, "--no-config"], options].concat(), &[]);
            }
            for args in [
                &["plan", file][..],
                &["plan", file, "--format", "json"],
                &["graph", file],
                &["graph", file, "--format", "dot"],
                &["graph", file, "--format", "svg"],
                &["graph", file, "-o", "x.svg"],
                &["ir", file],
                &["models", file],
                &["models", file, "--format", "json"],
                &["doctor", file],
                &["doctor", file, "--format", "json"],
            ] {
                world.shows(args, &[]);
            }
        }
        world.shows(&["check", "--fix", &bad, "--no-config"], &[]);
        world.is_clean(200);
    }

    #[test]
    fn no_option_or_template_sends_a_terminal_what_it_would_obey() {
        let mut world = World::new();
        let (good, agent) = (world.file("good"), world.file("agent"));
        let (good, agent) = (good.as_str(), agent.as_str());
        // Every command, with something that is not there.
        for command in commands(&world.folder) {
            let args: Vec<&str> = command.split(' ').chain([EVIL]).collect();
            let typed: &[(&str, &str)] = if command == "secrets set" { &[("while you type", "x\n")] } else { &[] };
            world.shows(&args, typed);
        }
        // Options: what is not there, what is wrong, and what is said about the words.
        for args in [
            &["check", good, EVIL][..],
            &[EVIL],
            &["run", good, &format!("--{EVIL}")],
            &["run", good, "-i", "x", "--model", EVIL],
            &["run", good, "--answer", EVIL],
            &["run", agent, "--input-json", EVIL],
            &["run", agent, "--input-json", &format!("@{EVIL}")],
            &["run", agent, "-i", "x", "--model", &format!("scripted={EVIL}")],
            &["runs", "list", "--flow", EVIL],
            &["runs", "diff", EVIL, EVIL],
            &["runs", "list", "--store", EVIL],
            &["store", "--store", EVIL],
            &["store", "check", "--store", EVIL],
            &["init", EVIL, "--format", EVIL],
        ] {
            world.shows(args, &[]);
        }
        // Templates.
        let text = format!("{EVIL} {{{{x}}}}");
        for options in [&[][..], &["--value"], &["--provenance"], &["--condition"]] {
            let text = if options == ["--value"] { "{{x}}" } else { &text };
            let args = [&["render", "--dialect", "agntz", "--state", "state.json"], options, &[text]].concat();
            world.shows(&args, &[]);
        }
        // Trust and its list.
        let (named, trusted) = (world.named.clone(), world.trusted.clone());
        world.shows(&["trust", &named], &[]);
        world.shows(&["trust", &trusted], &[]);
        world.shows(&["trust", "--list"], &[]);
        world.is_clean(120);
    }

    #[test]
    fn no_run_sends_a_terminal_what_it_would_obey() {
        let mut world = World::new();
        let [good, fails, _, _, _, agent, siren] = MANIFESTS.map(|name| world.file(name));
        let [good, fails, agent, siren] = [&good, &fails, &agent, &siren].map(String::as_str);
        let (a, b) = (step('A'), step('B'));
        // Runs: answers of models, questions, outputs, errors, events, traces.
        let scripted = ["--model", "scripted=script.yaml", "--input", EVIL];
        for options in [&[][..], &["--output", "json"], &["--events", "jsonl"], &["--trace", "t.json"], &["-q"]] {
            for file in [agent, siren] {
                world.shows(&[&["run", file], &scripted[..], options].concat(), &[]);
            }
        }
        for args in [&["trace", "t.json"][..], &["trace", "t.json", "--json"], &["trace", "t.json", "--step", EVIL]] {
            world.shows(args, &[]);
        }
        for file in [good, fails] {
            let run = ["run", file, "--input", EVIL, "--allow-command"];
            world.shows(&run, &[("> ", "yes\n")]);
        }
        let mut waits = world.folder.command(&["run", good, "--input", "x", "--allow-command", "--store", "runs.db"]);
        waits.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_CONFIG_DIR", world.folder.path().join("config"));
        crate::world::finish(waits).exits(75);
        let runs = world.folder.trefoil(&["runs", "list", "--store", "runs.db", "--output", "json"]).json();
        let ids: Vec<String> =
            runs["runs"].as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap().to_owned()).collect();
        let open =
            runs["runs"].as_array().unwrap().iter().find(|run| run["status"] == "waiting").unwrap()["run"].clone();
        let open = open.as_str().unwrap();
        world.shows(&["runs", "list"], &[]);
        world.shows(&["runs", "list", "--output", "json"], &[]);
        // One run of each kind is enough.
        for id in ids.iter().take(4).map(String::as_str).chain([ids.last().unwrap().as_str(), open]) {
            for args in [
                &["runs", "show", id][..],
                &["runs", "show", id, "--output", "json"],
                &["runs", "events", id],
                &["runs", "export", id],
                &["trace", id],
                &["trace", id, "--json"],
                &["trace", id, "--step", &a],
                &["replay", id],
                &["runs", "diff", id, open],
                &["runs", "diff", id, open, "--output", "json"],
                &["resume", id, "--with", good, "--dry-run", "--allow-command"],
            ] {
                world.shows(args, &[]);
            }
        }
        world.shows(&["runs", "answer", open, EVIL, EVIL], &[]);
        world.shows(&["runs", "answer", open, &b, EVIL], &[]);
        world.shows(&["runs", "answer", open, &b, EVIL], &[]);
        world.shows(&["resume", open, "--allow-command"], &[]);
        world.shows(&["resume", "--all"], &[]);
        world.shows(&["worker", "--once"], &[]);
        world.shows(&["runs", "fork", open, "--explain", "--allow-command"], &[]);
        world.shows(&["store", "check"], &[]);
        world.shows(&["store"], &[]);
        world.is_clean(150);
    }
}
