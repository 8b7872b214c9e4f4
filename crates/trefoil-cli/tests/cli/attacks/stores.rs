//! Stores from somebody else: what they name gives no permission.

use std::path::PathBuf;

use crate::world::{Folder, Ran, finish};

/// A flow whose second step runs a command after a question.
fn flow(folder: &Folder, pays: bool) -> String {
    let paid = folder.path().join("PAID");
    let command = if pays { format!("echo done >> {}", paid.display()) } else { "echo harmless".to_owned() };
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: pay, version: \"1.0.0\" }}\nspec:\n  initial_state: ASK\n  \
         states:\n    ASK:\n      kind: Human\n      prompt: ok?\n      transitions: [{{ condition: always, target: PAY }}]\n    PAY:\n      \
         kind: System\n      command: {command}\n      transitions: []\n"
    )
}

/// A trusted project, and a store with a run of its path.
struct World {
    folder: Folder,
    run: String,
}

const PROJECT: &str = "[run]\nallow-command = true\n";

impl World {
    /// The run is made of `stored`; afterwards the file of the project is the harmless one, or as `then` makes it.
    fn new(then: impl Fn(&Folder)) -> Self {
        let folder = Folder::new();
        folder.write("p/a.yaml", flow(&folder, true));
        let mut world = Self { folder, run: String::new() };
        world.trefoil(&["run", "p/a.yaml", "-i", "x", "--allow-command"]).exits(75);
        let list = world.trefoil(&["runs", "list", "--output", "json"]).json();
        world.run = list["runs"][0]["run"].as_str().unwrap().to_owned();
        world.trefoil(&["runs", "answer", &world.run, "ASK", "yes"]).exits(0);
        then(&world.folder);
        world.folder.write("p/trefoil.toml", PROJECT);
        world.trefoil(&["trust", "p"]).exits(0);
        world
    }

    fn within(&self, folder: &str, args: &[&str]) -> Ran {
        let mut command = self.folder.command(args);
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", self.folder.path().join("runs.db"));
        command.env("TREFOIL_CONFIG_DIR", self.folder.path().join("config"));
        command.current_dir(self.folder.path().join(folder));
        finish(command)
    }

    fn trefoil(&self, args: &[&str]) -> Ran {
        self.within(".", args)
    }

    fn paid(&self) -> usize {
        let path: PathBuf = self.folder.path().join("PAID");
        std::fs::read_to_string(path).unwrap_or_default().lines().count()
    }
}

/// What it is, and how it is written.
type OtherFile = (&'static str, fn(&Folder));

/// What the disk has instead of the stored file.
const OTHERS: [OtherFile; 4] = [
    ("a harmless file", |folder| _ = folder.write("p/a.yaml", flow(folder, false))),
    ("one more byte", |folder| _ = folder.write("p/a.yaml", flow(folder, true) + "\n")),
    ("nothing", |folder| std::fs::remove_file(folder.path().join("p/a.yaml")).unwrap()),
    ("a link to another file", |folder| {
        std::fs::remove_file(folder.path().join("p/a.yaml")).unwrap();
        folder.write("p/b.yaml", flow(folder, false));
        std::os::unix::fs::symlink("b.yaml", folder.path().join("p/a.yaml")).unwrap();
    }),
];

/// The commands that continue a stored run. `RUN` stands for its id.
const COMMANDS: [(&str, &[&str]); 5] = [
    (".", &["resume", "RUN"]),
    ("p", &["resume", "RUN"]),
    (".", &["resume", "--all"]),
    (".", &["runs", "fork", "RUN", "--from", "PAY", "--rerun", "PAY"]),
    ("p", &["worker", "--once"]),
];

fn words<'a>(words: &[&'a str], run: &'a str) -> Vec<&'a str> {
    words.iter().map(|word| if *word == "RUN" { run } else { word }).collect()
}

#[test]
fn a_worker_knows_the_files_of_its_project_at_another_place() {
    // As on another computer: the same project in another folder.
    let world = World::new(|folder| {
        folder.write("q/srv/p/a.yaml", flow(folder, true) + "\n");
        folder.write("q/srv/p/trefoil.toml", PROJECT);
        std::fs::remove_file(folder.path().join("p/a.yaml")).unwrap();
    });
    world.trefoil(&["trust", "q/srv/p"]).exits(0);
    // Not the same file.
    let ran = world.within("q/srv/p", &["worker", "--once"]);
    assert_eq!(world.paid(), 0, "{ran:?}");
    world.folder.write("q/srv/p/a.yaml", flow(&world.folder, true));
    let ran = world.within("q/srv/p", &["worker", "--once"]);
    assert_eq!((ran.code, world.paid()), (0, 1), "{ran:?}");
}

#[test]
fn a_stored_program_does_not_read_the_environment_file_of_another_one() {
    let folder = Folder::new();
    let flow = |text: &str| {
        format!(
            "version: \"0.1\"\nenv_file: vars.env\nagents:\n  a: {{ model: \"openai:m\", system: \"{text}\" }}\nnodes:\n  n: {{ agent: a, writes: output.n }}\n"
        )
    };
    let trefoil = |args: &[&str]| {
        let mut command = folder.command(args);
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", folder.path().join("runs.db"));
        // Nobody listens there.
        command.env("OPENAI_API_KEY", "sk-canary-0123456789").env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
        finish(command)
    };
    folder.write("a.yaml", flow("Say {{ env.PLACE }}.")).write("vars.env", "PLACE=here\n");
    // It fails, so that it can be resumed.
    trefoil(&["run", "a.yaml", "-i", "x"]).exits(1);
    let list = trefoil(&["runs", "list", "--output", "json"]).json();
    let run = list["runs"][0]["run"].as_str().unwrap();
    let resume = ["resume", run, "--model", "embedded"];
    folder.write("a.yaml", flow("Say nothing."));
    trefoil(&resume).says(&["PLACE"]);
    folder.write("a.yaml", flow("Say {{ env.PLACE }}."));
    trefoil(&resume).exits(0);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn a_stored_program_has_the_permissions_of_a_project_only_if_its_files_are_that_projects() {
        for (folder, command) in COMMANDS {
            let is_fork = command.contains(&"fork");
            let same = World::new(|_| {});
            if is_fork {
                same.trefoil(&["resume", &same.run]).exits(0);
            }
            let before = same.paid();
            let ran = same.within(folder, &words(command, &same.run));
            assert_eq!((ran.code, same.paid()), (0, before + 1), "{command:?} of the project's own files: {ran:?}");
            for (what, then) in OTHERS {
                let other = World::new(then);
                let ran = other.within(folder, &words(command, &other.run));
                assert_eq!(other.paid(), 0, "{command:?} with {what}: {ran:?}");
                if !is_fork {
                    ran.says(&["a.yaml"]);
                }
                assert_ne!(ran.code, 0, "{command:?} with {what}: {ran:?}");
                // Whoever says so on the command line allows it.
                let allowed = [&words(command, &other.run)[..], &["--allow-command"]].concat();
                let ran = other.within(folder, &allowed);
                assert_eq!(other.paid(), usize::from(!is_fork), "{command:?} with {what}, allowed: {ran:?}");
            }
        }
    }
}
