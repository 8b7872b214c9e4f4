//! `trefoil store`: where runs are, and looking after them.

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
    // The copy still has them; the option may come first or last.
    trefoil(&folder, &["store", "--store", "copy.db", "check"]).exits(0).says(&["no problems in 2 runs"]);
    trefoil(&folder, &["store", "check", "--store", "copy.db"]).exits(0).says(&["no problems in 2 runs"]);
    for wrong in [["--keep", "soon"], ["--max-size", "much"], ["--max-size", "2X"]] {
        trefoil(&folder, &["store", "prune", wrong[0], wrong[1]]).exits(2).says(&["write `"]);
    }
}

#[test]
fn a_damaged_store_is_told() {
    let folder = Folder::new();
    folder.write("hello.yaml", HELLO);
    trefoil(&folder, &["run", "hello.yaml", "--model", "embedded", "--quiet"]).exits(0);
    let path = folder.path().join("runs.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 8_192;
    bytes[last..].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    trefoil(&folder, &["store", "check"]).exits(1).says(&["the store has ", "restore a backup"]);
    folder.write("runs.db", "not a store, but a text\n".repeat(50));
    trefoil(&folder, &["store", "check"]).exits(2).says(&["is not a store of Trefoil", "--store PATH"]);
}
