//! Follows a page as a reader would: writes the files that it shows, makes its edits, and enters its commands on a terminal.

use std::collections::HashMap;
use std::process::Command;

use serde_json::Value as Json;

use super::alike::{alike, with_shown_ids};
use super::block::{Block, Shown, commands, edited, transcript};
use super::screen::drawn;
use crate::provider::Provider;
use crate::terminal::Screen;
use crate::world::{Folder, bare, root};

/// Printed at the end of each turn of `trefoil dev`.
const TURN: &str = "save a file, or press";
/// How a page writes the reader's home.
const HOME: &str = "/home/ada";
/// The width of the terminal.
const COLUMNS: u16 = 100;

pub struct Session {
    home: Folder,
    provider: Provider,
    env: Vec<(String, String)>,
    /// The exit code of the last command.
    code: i32,
    /// The ids in the page, and the real ones.
    ids: HashMap<String, String>,
    /// `trefoil dev`, and its turns so far.
    live: Option<(Screen, usize)>,
    /// The number of commands that were entered.
    pub entered: usize,
}

impl Session {
    /// A home with the folder in which the commands are entered. It may have the examples.
    pub fn new(has_examples: bool) -> Self {
        let home = Folder::new();
        let flows = home.path().join("flows");
        std::fs::create_dir(&flows).unwrap();
        if has_examples {
            // A copy, so that commands do not write to the checkout.
            let copied = Command::new("cp").arg("-r").arg(root().join("examples")).arg(&flows).status();
            assert!(copied.unwrap().success());
        }
        let provider = Provider::that_writes(written);
        provider.hang(false);
        Self { home, provider, env: Vec::new(), code: 0, ids: HashMap::new(), live: None, entered: 0 }
    }

    /// What the body of a block must be, if it is something else.
    pub fn follow(&mut self, block: &Block, body: &str) -> Option<String> {
        match (&*block.kind, &*block.file) {
            ("console", _) => {
                let mut is_right = true;
                let mut all = String::new();
                for Shown { command, output } in transcript(body) {
                    let real = match &command {
                        Some(command) => self.enter(command),
                        None => self.turn(),
                    };
                    let right = alike(&output, &real, &mut self.ids);
                    is_right &= right;
                    all.extend(command.map(|command| format!("$ {command}\n")));
                    all.push_str(&if right { output } else { with_shown_ids(&output, &real, &mut self.ids) });
                }
                return (!is_right).then_some(all);
            }
            ("sh", _) => {
                for command in commands(body) {
                    let said = self.enter(&command);
                    assert_eq!(self.code, 0, "{command}\n{said}");
                }
            }
            ("diff", file) if !file.is_empty() => {
                let path = format!("flows/{file}");
                let text = std::fs::read_to_string(self.home.path().join(&path)).unwrap();
                self.home.write(&path, edited(&text, body));
            }
            (_, file) if !file.is_empty() => {
                self.home.write(&format!("flows/{file}"), body);
            }
            _ => {}
        }
        None
    }

    /// Enters a command. What it prints, as a reader sees it.
    fn enter(&mut self, command: &str) -> String {
        self.quit();
        self.entered += 1;
        if let Some((name, value)) = command.strip_prefix("export ").and_then(|rest| rest.split_once('=')) {
            self.env.push((name.to_owned(), value.to_owned()));
            if name == "OPENAI_API_KEY" {
                self.env.push(("OPENAI_BASE_URL".to_owned(), self.provider.address().to_owned()));
            }
            return String::new();
        }
        let real = self.ids.iter().fold(command.to_owned(), |text, (shown, real)| text.replace(shown, real));
        // The README says what to enter in a checkout. Building and installing is Cargo's job.
        let real = real.strip_prefix("cargo run -- ").map_or(real.clone(), |rest| format!("trefoil {rest}"));
        if real.starts_with("cargo ") {
            return String::new();
        }
        let live = real.starts_with("trefoil dev ");
        let mut shell = Command::new("sh");
        bare(&mut shell);
        let home = self.home.path();
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_trefoil")).parent().unwrap().to_owned();
        let path = std::env::join_paths([bin, "/usr/bin".into(), "/bin".into()]).unwrap();
        shell.env_remove("TREFOIL_EPHEMERAL").env_remove("TREFOIL_CONFIG_DIR");
        shell.env("PATH", path).env("HOME", home).env("NO_COLOR", "1").env("BROWSER", "true");
        shell.envs(self.env.iter().map(|(name, value)| (name, value))).current_dir(home.join("flows"));
        let stdin = if live { "exec" } else { "exec < /dev/null;" };
        shell.arg("-c").arg(if live {
            format!("{stdin} {real}")
        } else {
            format!("{stdin} (exit {}); {real}", self.code)
        });
        let screen = Screen::of(shell, COLUMNS);
        if live {
            self.live = Some((screen, 0));
            return self.turn();
        }
        let (code, seen) = screen.ends();
        self.code = code;
        self.readable(&drawn(&seen))
    }

    /// Waits for the end of the next turn of `trefoil dev`. What it has printed.
    fn turn(&mut self) -> String {
        let (screen, turns) = self.live.as_mut().unwrap_or_else(|| panic!("output that belongs to no command"));
        *turns += 1;
        screen.waits_for_nth(TURN, *turns);
        let (seen, turns) = (drawn(&screen.seen()), *turns);
        let lines = seen.split(TURN).nth(turns - 1).unwrap().lines();
        // The first line is the end of the line with the keys.
        let text: String = lines.skip(usize::from(turns > 1)).map(|line| format!("{line}\n")).collect();
        self.readable(&text)
    }

    /// Ends `trefoil dev`.
    pub fn quit(&mut self) {
        if let Some((screen, _)) = self.live.take() {
            screen.types("q");
            let (code, seen) = screen.ends();
            assert_eq!(code, 0, "{seen}");
        }
    }

    /// Without the temporary folder, and without the address of the provider.
    fn readable(&self, text: &str) -> String {
        let text = text.replace(&self.home.path().display().to_string(), HOME);
        let lines = text.lines().filter(|line| !line.contains("OPENAI_BASE_URL"));
        let text: String = lines.map(|line| format!("{}\n", line.trim_end())).collect();
        format!("{}\n", text.trim_end()).trim_start_matches('\n').to_owned()
    }
}

/// The answers of the provider.
fn written(request: &Json) -> String {
    let system = request["messages"][0]["content"].as_str().unwrap_or_default();
    let again = request["messages"].to_string().contains("came back with this feedback");
    match () {
        () if system.starts_with("Approve a draft") && !request["messages"].to_string().contains("Harbours") => {
            r#"{"approved": false, "feedback": "Say who needs a tide table."}"#.to_owned()
        }
        () if system.starts_with("Approve a draft") => r#"{"approved": true, "feedback": ""}"#.to_owned(),
        () if system.starts_with("Translate") => {
            let words = [("High water", "Haute mer"), ("Low water", "Basse mer"), ("Spring tide", "Grande marée")];
            let text = request["messages"].to_string();
            words.iter().find(|(word, _)| text.contains(word)).map_or("Marée", |(_, word)| word).to_owned()
        }
        () if system.starts_with("Make one page") => {
            "The tide has three names: haute mer, basse mer and grande marée.".to_owned()
        }
        () if system.starts_with("Make a short page") => "Three names: haute mer, basse mer, grande marée.".to_owned(),
        () if request["messages"].to_string().contains("12 * 12") => {
            "144: ten times twelve and two times twelve.".to_owned()
        }
        () if again => {
            "A tide table lists the times and heights of high and low water. Harbours and walkers need it.".to_owned()
        }
        () => "A tide table lists the times and heights of high and low water.".to_owned(),
    }
}
