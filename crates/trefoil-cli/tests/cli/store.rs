//! `trefoil store`: the location of the store, and its maintenance.

use trefoil::store::without_password;

use crate::world::{Folder, Ran, finish};

const HELLO: &str =
    "id: hello\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Say hello.\nprompt: Please.\n";

fn trefoil(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", folder.path().join("runs.db"));
    finish(command)
}

#[test]
fn a_store_is_shown_checked_copied_and_shrunk() {
    let folder = Folder::new();
    folder.write("hello.yaml", HELLO);
    for _ in 0..2 {
        trefoil(&folder, &["run", "hello.yaml", "--model", "embedded", "--quiet"]).exits(0);
    }
    let shown = trefoil(&folder, &["store"]);
    shown.exits(0);
    let path = folder.path().join("runs.db").display().to_string();
    assert!(shown.out.contains(&path) && shown.out.contains("2 runs, "), "{shown:?}");
    trefoil(&folder, &["store", "check"]).exits(0).says(&["no problems in 2 runs with "]);
    trefoil(&folder, &["store", "backup", "copy.db"]).exits(0).says(&["copied to copy.db"]);
    trefoil(&folder, &["store", "backup", "copy.db"]).exits(2).says(&["`copy.db` already exists"]);
    trefoil(&folder, &["store", "prune"]).exits(0).says(&["deleted 0 runs, freed "]);
    trefoil(&folder, &["store", "prune", "--keep", "0s"]).exits(0).says(&["deleted 2 runs, freed "]);
    trefoil(&folder, &["store", "check"]).exits(0).says(&["no problems in 0 runs with 0 entries"]);
    // The copy still has them; the option may be first or last.
    trefoil(&folder, &["store", "--store", "copy.db", "check"]).exits(0).says(&["no problems in 2 runs"]);
    trefoil(&folder, &["store", "check", "--store", "copy.db"]).exits(0).says(&["no problems in 2 runs"]);
    for wrong in [["--keep", "soon"], ["--max-size", "much"], ["--max-size", "2X"]] {
        trefoil(&folder, &["store", "prune", wrong[0], wrong[1]]).exits(2).says(&["write `"]);
    }
}

#[test]
fn a_damaged_store_is_told_and_what_can_be_read_of_it_is() {
    let folder = Folder::new();
    folder.write("hello.yaml", HELLO);
    for _ in 0..2 {
        trefoil(&folder, &["run", "hello.yaml", "--model", "embedded", "--quiet"]).exits(0);
    }
    let path = folder.path().join("runs.db");
    trefoil(&folder, &["store", "backup", "copy.db"]).exits(0);
    let whole = std::fs::read(folder.path().join("copy.db")).unwrap();
    ["runs.db-wal", "runs.db-shm"].iter().for_each(|name| drop(std::fs::remove_file(folder.path().join(name))));
    let mut bytes = whole.clone();
    // Pages of journals, which may also contain older data.
    let mark = b"\"finished\":{";
    let ends: Vec<usize> = (0..whole.len() - mark.len()).filter(|at| whole[*at..].starts_with(mark)).collect();
    for page in ends.iter().map(|at| at - at % 4_096) {
        bytes[page..page + 4_096].fill(0x5a);
    }
    std::fs::write(&path, bytes).unwrap();
    let checked = trefoil(&folder, &["store", "check"]);
    checked.exits(1).says(&["the store has ", "of 2 runs can be read", "restore a backup", "trefoil runs export RUN"]);
    assert!(!checked.out.is_empty() && !checked.err.contains("store check"), "{checked:?}");
    // The file is not even recognized as a database.
    let mut bytes = whole.clone();
    bytes[..16].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    let checked = trefoil(&folder, &["store", "check"]);
    checked.exits(1).says(&["the store has 1 problem", "restore a backup"]);
    assert!(!checked.err.contains("store check"), "{checked:?}");
    trefoil(&folder, &["runs", "list"]).silent(2).says(&["is damaged", "trefoil store check"]);
    // A journal is printed up to the damage.
    std::fs::write(&path, &whole).unwrap();
    let listed = trefoil(&folder, &["runs", "list", "--output", "json"]).json();
    let run = listed["runs"][0]["run"].as_str().unwrap().to_owned();
    let entries = trefoil(&folder, &["runs", "export", &run]).lines().len();
    let mut bytes = whole;
    ends.iter().for_each(|at| bytes[*at..*at + mark.len()].fill(b' '));
    std::fs::write(&path, bytes).unwrap();
    let exported = trefoil(&folder, &["runs", "export", &run]);
    exported.exits(1).says(&[&format!("entry {} of `{run}` cannot be read", entries - 1)]);
    assert_eq!(exported.lines().len(), entries - 1);
    folder.write("runs.db", "not a store, but a text\n".repeat(50));
    trefoil(&folder, &["store", "check"]).exits(2).says(&["is not a Trefoil store", "--store PATH"]);
}

#[test]
fn looking_at_a_store_that_does_not_exist_says_where_it_looked_and_creates_nothing() {
    let folder = Folder::new();
    let path = folder.path().join("runs.db");
    let nothing = format!("no runs yet: `{}` does not exist", path.display());
    trefoil(&folder, &["runs", "list"]).silent(0).says(&[&nothing]);
    trefoil(&folder, &["store", "check"]).silent(0).says(&[&nothing]);
    trefoil(&folder, &["store", "prune"]).silent(0).says(&[&nothing]);
    assert!(trefoil(&folder, &["store"]).exits(0).out.contains("runs.db\nno runs yet\n"));
    assert_eq!(trefoil(&folder, &["runs", "list", "--output", "json"]).json()["runs"], serde_json::json!([]));
    for args in [
        &["runs", "show", "r"][..],
        &["runs", "events", "r"],
        &["runs", "export", "r"],
        &["runs", "answer", "r", "s", "yes"],
        &["runs", "cancel", "r"],
        &["runs", "delete", "r"],
        &["resume", "r"],
        &["store", "backup", "copy.db"],
    ] {
        let ran = trefoil(&folder, args);
        ran.silent(2).says(&["no store at `", "runs.db` yet"]);
        assert!(!ran.err.contains("--ephemeral"), "{args:?}: {ran:?}");
    }
    trefoil(&folder, &["resume", "--all"]).silent(0).says(&["no runs yet"]);
    assert!(!path.exists());
}

#[test]
#[cfg(unix)]
fn a_store_that_may_only_be_read_can_be_looked_at() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    let folder = Folder::new();
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    folder.write("hello.yaml", HELLO);
    trefoil(&folder, &["run", "hello.yaml", "--model", "embedded", "--quiet"]).exits(0);
    let path = folder.path().join("runs.db");
    let run = trefoil(&folder, &["runs", "list", "--output", "json"]).json()["runs"][0]["run"].clone();
    let run = run.as_str().unwrap();
    // Root can write every file, so another user runs the command.
    let program = folder.path().join("program");
    // In a process of its own: a child of another test, begun meanwhile, would hold this one's handle open for writing,
    // and a program that is open for writing cannot run ("Text file busy").
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_trefoil")).arg(&program).status();
    assert!(copied.unwrap().success());
    [(&program, 0o755), (&path, 0o444), (&folder.path().to_owned(), 0o555)]
        .iter()
        .for_each(|(path, mode)| set(path, *mode));
    let denied = std::fs::File::options().append(true).open(&path).is_err();
    let ran = |args: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command.args(args).current_dir(folder.path());
        crate::world::bare(&mut command);
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", &path);
        if !denied {
            command.uid(65_534);
        }
        finish(command)
    };
    for args in
        [&["runs", "list"][..], &["runs", "show", run], &["runs", "events", run], &["runs", "export", run], &["store"]]
    {
        assert!(ran(args).exits(0).out.lines().count() > 0, "{args:?}");
    }
    ran(&["store", "check"]).exits(0).says(&["no problems in 1 run"]);
    let started = ran(&["run", "hello.yaml", "--model", "embedded"]);
    started.silent(2).says(&["is read-only", "writable", "--store PATH`, or store nothing with `--ephemeral`"]);
    let deleted = ran(&["runs", "delete", run]);
    deleted.silent(2).says(&["is read-only"]);
    assert!(!deleted.err.contains("--ephemeral"), "{deleted:?}");
    set(folder.path(), 0o755);
}

#[test]
fn a_variable_without_a_value_is_as_if_it_were_not_set() {
    let folder = Folder::new();
    folder.write("hello.yaml", HELLO);
    let mut command = folder.command(&["run", "hello.yaml", "--model", "embedded", "--quiet"]);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", "").env("XDG_DATA_HOME", folder.path().join("data"));
    command.env("HOME", folder.path());
    finish(command).exits(0);
    assert!(cfg!(not(target_os = "linux")) || folder.path().join("data/trefoil/runs.db").exists());
}

#[test]
fn help_offers_what_a_command_has() {
    let folder = Folder::new();
    for (args, durability) in [
        (&["run"][..], true),
        (&["resume"], true),
        (&["runs", "list"], false),
        (&["runs", "answer"], false),
        (&["store"], false),
        (&["store", "check"], false),
    ] {
        let help = trefoil(&folder, &[args, &["--help"]].concat()).exits(0).out.clone();
        assert!(help.contains("--store <PATH|URL>"), "{args:?}: {help}");
        assert_eq!(help.contains("--durability"), durability, "{args:?}: {help}");
    }
}

#[test]
fn runs_that_ended_long_ago_go_when_another_one_starts_and_those_that_can_go_on_stay() {
    let folder = Folder::new();
    folder.write("hello.yaml", HELLO).write("gate.yaml", GATE);
    folder.write("script.yaml", "answers:\n  sum: { error: { status: 400, message: no } }\n");
    let ran = |args: &[&str]| {
        let mut command = folder.command(args);
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", folder.path().join("runs.db"));
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        finish(command)
    };
    let hello = ["run", "hello.yaml", "--model", "embedded"];
    ran(&hello).exits(0);
    ran(&["run", "gate.yaml", "--model", "embedded", "-q"]).exits(75);
    assert!(!ran(&hello).exits(0).err.contains("deleted"), "nothing ended 30 days ago");
    folder.write("config/config.toml", "[store]\nkeep = \"0s\"\nmax_size = \"2GB\"\n");
    ran(&hello).exits(0).says(&["deleted 2 runs past the retention period"]);
    let listed = ran(&["runs", "list", "--output", "json"]).json();
    let statuses: Vec<_> =
        listed["runs"].as_array().unwrap().iter().map(|run| run["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["completed", "waiting"]);
    // `prune` uses the same settings; its options override them.
    ran(&["store", "prune", "--keep", "forever"]).exits(0).says(&["deleted 0 runs"]);
    ran(&["store", "prune"]).exits(0).says(&["deleted 1 run, freed "]);
    for (wrong, says) in [
        ("keep = 3", "invalid `keep`: write `12h`, `30days` or `forever`"),
        ("max_size = \"much\"", "invalid `max_size`: write `500M` or `2G`"),
        ("kep = \"1d\"", "`[store]` has no key `kep`; its keys are `keep`, `keep_failed`, `max_size`"),
    ] {
        folder.write("config/config.toml", format!("[store]\n{wrong}\n"));
        ran(&hello).silent(2).says(&[says]);
    }
    // A failed run could have been resumed, so its deletion is reported.
    folder.write("config/config.toml", "[store]\nkeep_failed = \"0s\"\n").write("sum.yaml", SUM);
    ran(&["run", "sum.yaml", "--model", "scripted=script.yaml", "-q"]).exits(1);
    ran(&hello)
        .exits(0)
        .says(&["deleted 1 run past the retention period; 1 of them had failed and can no longer be resumed"]);
    // A project file must not decide which runs are deleted.
    folder.write("config/config.toml", "").write("trefoil.toml", "[store]\nkeep = \"0s\"\n");
    ran(&hello).silent(2).says(&["`[store]` would delete old runs, but you have not trusted"]);
}

const SUM: &str = "id: sum\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: P\n";

const GATE: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: gate }\nspec:\n  initial_state: ASK\n  \
                    states:\n    ASK: { kind: Human, prompt: Ship it?, transitions: [] }\n";

#[test]
fn a_run_that_is_deleted_gives_back_its_space() {
    let folder = Folder::new();
    folder.write("hello.yaml", HELLO);
    // Random text, which cannot be compressed.
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + (state >> 33) as u8 % 90)
    };
    let text: String = (0..2_000_000).map(|_| letter()).collect();
    folder.write("input.json", serde_json::to_vec(&text).unwrap());
    let size = || std::fs::metadata(folder.path().join("runs.db")).unwrap().len();
    trefoil(&folder, &["run", "hello.yaml", "--model", "embedded", "--quiet"]).exits(0);
    let before = size();
    let run = ["run", "hello.yaml", "--model", "embedded", "--quiet", "--no-check", "--input-json", "@input.json"];
    trefoil(&folder, &run).exits(0);
    assert!(size() > before + 1_000_000, "{before} {}", size());
    let listed = trefoil(&folder, &["runs", "list", "--output", "json"]).json();
    trefoil(&folder, &["runs", "delete", listed["runs"][0]["run"].as_str().unwrap()]).exits(0);
    assert!(size() < before + 100_000, "{before} {}", size());
    trefoil(&folder, &["store", "check"]).exits(0).says(&["no problems in 1 run"]);
}

#[test]
fn the_password_of_a_server_is_never_shown() {
    let folder = Folder::new();
    folder.write("hello.yaml", HELLO);
    // No server listens there. `run` waits for it for a while.
    let urls = ["postgres://me:Kx7Kx7@127.0.0.1:1/runs", "postgresql://me@127.0.0.1:1/runs?password=Kx7Kx7"];
    let tried = |url: &str| {
        let shown = without_password(url);
        let commands: [&[&str]; 6] = [
            &["run", "hello.yaml", "--model", "embedded"],
            &["resume", "0123"],
            &["runs", "list"],
            &["runs", "show", "0123"],
            &["store"],
            &["store", "backup", "copy.db"],
        ];
        for command in commands {
            let ran = trefoil(&folder, &[command, &["--store", url]].concat());
            ran.exits(2).says(&[&format!("`{shown}`")]);
            assert!(!ran.err.contains("Kx7") && !ran.out.contains("Kx7"), "{ran:?}");
        }
        let mut by_variable = folder.command(&["doctor"]);
        by_variable.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", url);
        let ran = finish(by_variable);
        assert!(!ran.err.contains("Kx7") && !ran.out.contains("Kx7"), "{ran:?}");
        assert!(ran.out.contains(&shown) || ran.err.contains(&shown), "{ran:?}");
    };
    std::thread::scope(|scope| {
        urls.map(|url| scope.spawn(move || tried(url))).into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn an_address_of_another_kind_is_not_a_file() {
    let folder = Folder::new();
    folder.write("hello.yaml", HELLO);
    for address in ["mysql://me:Kx7Kx7@h/d", "postgres:/me:Kx7Kx7@h/d", "host=h password=Kx7Kx7", "me:Kx7Kx7@h/d"] {
        let ran = trefoil(&folder, &["run", "hello.yaml", "--model", "embedded", "--store", address]);
        ran.exits(2).says(&["the address of the store is not supported", "write `postgres://USER@HOST/DATABASE`"]);
        assert!(!ran.err.contains("Kx7") && !ran.out.contains("Kx7"), "{ran:?}");
        let mut by_variable = folder.command(&["runs", "list"]);
        by_variable.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", address);
        finish(by_variable).exits(2).says(&["the address of the store is not supported"]);
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("Kx7")), "{left:?}");
}

/// SQLite takes a file that is shorter than a page for an empty one, and writes over it.
#[test]
fn a_file_that_is_too_short_for_a_store_is_neither_missing_nor_written_over() {
    let folder = Folder::new();
    folder.write("one.db", "x").write("none.db", "").write("a.yaml", HELLO);
    for args in [
        &["runs", "list", "--store", "one.db"][..],
        &["store", "check", "--store", "one.db"],
        &["run", "a.yaml", "--input", "x", "--model", "embedded", "--store", "one.db"],
    ] {
        trefoil(&folder, args).exits(2).says(&["one.db` is not a Trefoil store: it is too short for a database"]);
    }
    assert_eq!(std::fs::read(folder.path().join("one.db")).unwrap(), b"x");
    trefoil(&folder, &["runs", "list", "--store", "none.db"]).exits(0).says(&["no runs yet: `none.db` is empty\n"]);
}
