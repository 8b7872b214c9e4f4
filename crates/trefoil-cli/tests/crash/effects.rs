//! Steps with an effect that are retried, renamed, paused or decided, in each format: the process is killed between any two appends.
//! The effect appends a line to the file `done`. It never happens more often than somebody has permitted.

use std::process::Command;

use crate::journal::Journal;
use crate::place::{Place, Prepared};
use crate::strace::{self, Point, What};
use crate::world::{Folder, Ran, finish};

/// A format, and a flow whose step has an effect.
struct Format {
    name: &'static str,
    /// The flow, with the name of the step.
    flow: fn(&str) -> String,
    config: &'static str,
    /// The kind of the step in the journal.
    sort: &'static str,
}

const SCRIPT: &str = "printf 'paid\\n' >> done; echo paid";

const FORMATS: &[Format] = &[
    Format {
        name: "agntz",
        flow: |step| {
            format!(
                "id: flow\nkind: sequential\nsteps:\n  - agent: {{ id: {step}, kind: tool, name: pay, tool: {{ kind: local, name: pay }} }}\n"
            )
        },
        config: "[tools.pay]\nfolder = \"..\"\ncommand = [\"sh\", \"-c\", \"printf 'paid\\\\n' >> done; echo paid\"]\n",
        sort: "tool",
    },
    Format {
        name: "AEGIS",
        flow: |step| {
            format!(
                "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow }}\nspec:\n  initial_state: {step}\n  states:\n    {step}: {{ kind: System, command: \"{}\" }}\n",
                SCRIPT.replace('\\', "\\\\")
            )
        },
        config: "",
        sort: "command",
    },
    Format {
        name: "SirenSpec",
        flow: |step| {
            format!(
                "version: \"0.1\"\nagents: {{}}\nnodes:\n  {step}: {{ type: tool, tool: python, config: {{ module: shop, function: pay }}, output_key: paid }}\n"
            )
        },
        config: "[python]\npath = [\"..\"]\n",
        sort: "tool",
    },
];

const SHOP: &str =
    "def pay():\n    with open('done', 'a') as done:\n        done.write('paid\\n')\n    return 'paid'\n";

/// What the process does that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// It resumes a run whose effect is unknown, so it pauses.
    Paused,
    /// It repeats the effect, as decided.
    Retried,
    /// It stores the decision that the effect happened.
    Decided,
    /// It continues after that decision.
    Done,
    /// It runs the edited flow, in which the step that had its effect has another name.
    Renamed,
    /// The same, but the effect is unknown.
    RenamedUnknown,
    /// It repeats the renamed effect, as allowed.
    RenamedAgain,
}

const ALL: &[Deed] =
    &[Deed::Paused, Deed::Retried, Deed::Decided, Deed::Done, Deed::Renamed, Deed::RenamedUnknown, Deed::RenamedAgain];

struct Scene<'f> {
    format: &'f Format,
    folder: Folder,
    place: Place,
}

impl<'f> Scene<'f> {
    fn new(format: &'f Format, store: &Prepared) -> Self {
        let (folder, place) = (Folder::new(), store.place(false));
        folder.write("flow.yaml", (format.flow)("PAY"));
        folder.write("renamed.yaml", (format.flow)("SEND"));
        folder.write("config/config.toml", format.config);
        folder.write("shop.py", SHOP);
        Self { format, folder, place }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.folder.command(args);
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", self.place.store());
        command.env("TREFOIL_CONFIG_DIR", self.folder.path().join("config")).current_dir(self.folder.path());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        finish(self.command(args))
    }

    fn times(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("done")).unwrap_or_default().lines().count()
    }

    /// The runs, the newest first.
    fn runs(&self) -> Vec<String> {
        let listed = self.run(&["runs", "list", "--output", "json", "--store", &self.place.left()]);
        assert_eq!(listed.code, 0, "{}", listed.err);
        let listed = listed.json();
        listed["runs"].as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap().to_owned()).collect()
    }

    fn open(&self, run: &str) -> bool {
        let exported = self.run(&["runs", "export", run, "--store", &self.place.left()]);
        !Journal(exported.lines()).open(self.format.sort).is_empty()
    }

    fn first(&self) -> Command {
        self.command(&["run", "flow.yaml", "--allow-command"])
    }

    fn killed(&self, command: &Command, point: &Point) -> bool {
        let ran = finish(strace::stopped(command, point, &self.folder.path().join("strace.log")));
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        self.place.killed(None);
        ran.code == -1
    }

    /// A run whose process was killed after the effect and before its result was stored.
    fn unknown(&self, point: &Point) -> String {
        self.killed(&self.first(), point);
        let [run] = <[String; 1]>::try_from(self.runs()).unwrap();
        assert!(self.times() == 1 && self.open(&run), "{}: the effect is unknown", self.format.name);
        run
    }

    /// Prepares everything, and returns the command that will be killed, with the first run's id.
    fn set(&self, what: Deed, point: &Point) -> (Command, String) {
        let run = if what == Deed::Renamed {
            assert_eq!(finish(self.first()).code, 0);
            self.runs().remove(0)
        } else {
            self.unknown(point)
        };
        let decide = |word: &str| assert_eq!(self.run(&["runs", "answer", &run, "PAY", word]).code, 0);
        if matches!(what, Deed::Retried | Deed::Decided | Deed::Done) {
            assert_eq!(self.run(&["resume", &run, "--allow-command"]).code, 75);
        }
        match what {
            Deed::Retried => decide("retry"),
            Deed::Done => decide("done"),
            _ => {}
        }
        let command = match what {
            Deed::Paused | Deed::Retried | Deed::Done => self.command(&["resume", &run, "--allow-command"]),
            Deed::Decided => self.command(&["runs", "answer", &run, "PAY", "done"]),
            Deed::Renamed | Deed::RenamedUnknown => self.edited(&run),
            Deed::RenamedAgain => {
                assert_eq!(finish(self.edited(&run)).code, 75);
                let new = self.runs().into_iter().find(|one| *one != run).unwrap();
                self.command(&["resume", &new, "--rerun", "SEND", "--allow-command"])
            }
        };
        (command, run)
    }

    fn edited(&self, run: &str) -> Command {
        self.command(&["resume", run, "--with", "renamed.yaml", "--allow-command"])
    }

    /// Continues until the run has ended. The effect happens at most this often, and never unasked.
    fn end(&self, what: Deed, first: &str) {
        let permitted = 1 + usize::from(matches!(what, Deed::Retried | Deed::RenamedAgain));
        let at = |ran: &Ran| format!("{}, {what:?}: {}{}", self.format.name, ran.out, ran.err);
        let renames = matches!(what, Deed::Renamed | Deed::RenamedUnknown | Deed::RenamedAgain);
        for _ in 0..6 {
            let new = self.runs().into_iter().find(|one| one != first);
            let ran = match (&new, renames) {
                (None, true) => finish(self.edited(first)),
                (Some(new), true) => self.run(&["resume", new, "--allow-command"]),
                (_, false) => self.run(&["resume", first, "--allow-command"]),
            };
            assert!([0, 75].contains(&ran.code), "{}", at(&ran));
            assert!(self.times() <= permitted, "{} times: {}", self.times(), at(&ran));
            if ran.code == 0 {
                let checked = self.run(&["store", "check"]);
                assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
                return;
            }
            assert!(what != Deed::Renamed, "{}", at(&ran));
            // The run asks: somebody says that it was done, or allows it if it was not.
            let run = self.runs().into_iter().find(|one| one != first).filter(|_| renames).unwrap_or(first.to_owned());
            let step = if renames { "SEND" } else { "PAY" };
            if self.run(&["runs", "answer", &run, step, "done"]).code != 0 && renames {
                let times = self.times();
                let ran = self.run(&["resume", &run, "--rerun", "SEND", "--allow-command"]);
                assert!(ran.code == 0 && self.times() == times + 1, "{}", at(&ran));
                return;
            }
        }
        panic!("{}, {what:?}: the run does not end", self.format.name);
    }
}

/// Kills everything everywhere. Returns the number of points that were reached.
pub fn killed_everywhere(store: &Prepared, most: usize) -> usize {
    let beat = store.kept().beat();
    let beats = |command: &Command, folder: &Folder| -> Vec<Point> {
        let log = folder.path().join("watch.log");
        finish(strace::watched(command, &log));
        let all = strace::points(&std::fs::read_to_string(log).unwrap(), false, store.kept());
        all.into_iter().filter(|point| point.call == beat).collect()
    };
    let mut reached = 0;
    for format in FORMATS {
        // The commit that stores the result of the effect.
        let whole = Scene::new(format, store);
        let unknown = beats(&whole.first(), &whole.folder).into_iter().find(|point| {
            let scene = Scene::new(format, store);
            scene.killed(&scene.first(), point);
            scene.times() == 1 && scene.runs().first().is_some_and(|run| scene.open(run))
        });
        let unknown = unknown.unwrap_or_else(|| panic!("{}: no commit stores the result", format.name));
        for what in ALL {
            let scene = Scene::new(format, store);
            let (command, _) = scene.set(*what, &unknown);
            let points = beats(&command, &scene.folder);
            for point in strace::some(points, most) {
                let scene = Scene::new(format, store);
                let (command, run) = scene.set(*what, &unknown);
                reached += usize::from(scene.killed(&command, &Point { what: What::Kill, ..point }));
                scene.end(*what, &run);
            }
        }
    }
    reached
}
