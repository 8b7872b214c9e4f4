//! Folders and files that others can write to.

use std::os::unix::fs::PermissionsExt as _;

use crate::terminal::Screen;
use crate::world::{Folder, Ran, finish};

fn trefoil(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    finish(command)
}

fn allows(folder: &Folder, path: &str, mode: u32) {
    std::fs::set_permissions(folder.path().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

const FLOW: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: a, version: \"1.0.0\" }\nspec:\n  \
    initial_state: A\n  states:\n    A: { kind: System, command: echo ran > $MARK, env: {}, transitions: [] }\n";

#[test]
fn what_anybody_can_write_belongs_to_no_project_around_it() {
    // The folder whose mode is set, and the manifest.
    let places = [("top/s", "top/s/a.yaml"), ("top/s", "top/s/deep/er/a.yaml"), ("top/s/repo", "top/s/repo/a.yaml")];
    for (shared, file) in places {
        for mode in [0o1777, 0o777, 0o1757, 0o702] {
            for repository in [true, false] {
                let folder = Folder::new();
                let marker = folder.path().join("ran");
                folder.write("top/trefoil.toml", "[run]\nallow-command = true\n");
                folder.write(file, FLOW.replace("$MARK", marker.to_str().unwrap()).replace("env: {}, ", ""));
                trefoil(&folder, &["trust", "top"]).exits(0);
                trefoil(&folder, &["run", "-q", file, "-i", "x"]).exits(0);
                assert!(std::fs::remove_file(&marker).is_ok(), "a private folder belongs to the project");
                if repository {
                    std::fs::create_dir(folder.path().join(shared).join(".git")).unwrap();
                }
                allows(&folder, shared, mode);
                let ran = trefoil(&folder, &["run", "-q", file, "-i", "x"]);
                assert!(ran.code != 0 && !marker.exists(), "{mode:o} {shared} {file} {repository}: {ran:?}");
                // What is not the folder's own is not read either.
                folder.write("top/secret.txt", "canary");
                allows(&folder, shared, 0o755);
            }
        }
    }
}

#[test]
fn a_project_file_in_a_folder_of_everybody_is_not_trusted_and_that_is_said() {
    let folder = Folder::new();
    folder.write("p/trefoil.toml", "[run]\nallow-command = true\n").write("p/a.yaml", FLOW.replace("$MARK", "ran"));
    trefoil(&folder, &["trust", "p"]).exits(0);
    for mode in [0o777, 0o1777] {
        allows(&folder, "p", mode);
        trefoil(&folder, &["run", "p/a.yaml", "-i", "x"])
            .exits(2)
            .says(&["anybody can write to the folder", "chmod o-w"]);
        trefoil(&folder, &["trust", "p"]).exits(2).says(&["anybody can write to the folder", "chmod o-w"]);
    }
}

#[test]
fn the_trace_page_of_dev_is_a_new_private_file() {
    for runtime in [true, false] {
        let folder = Folder::new();
        folder
            .write("a.yaml", "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: x\n")
            .write("own/x", "")
            .write("tmp/x", "");
        let (own, tmp) = (folder.path().join("own"), folder.path().join("tmp"));
        let mut command = folder.command(&["dev", "a.yaml", "--input", "x", "--model", "embedded"]);
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", folder.path().join("runs.db"));
        command.env("BROWSER", "true").env("TMPDIR", &tmp).env("NO_COLOR", "1");
        if runtime {
            command.env("XDG_RUNTIME_DIR", &own);
        }
        let screen = Screen::of(command, 200);
        screen.waits_for("q quit").types("t").waits_for("trace page: file://");
        std::thread::sleep(std::time::Duration::from_millis(200));
        screen.types("t");
        screen.waits_for_nth("trace page: file://", 2).types("q");
        screen.ends();
        let pages = |folder: &std::path::Path| -> Vec<std::path::PathBuf> {
            let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            all.filter(|path| path.extension().is_some_and(|ending| ending == "html")).collect()
        };
        let (found, others) = if runtime { (pages(&own), pages(&tmp)) } else { (pages(&tmp), pages(&own)) };
        assert!(found.len() == 2 && others.is_empty(), "{found:?} {others:?}");
        for page in found {
            let mode = std::fs::metadata(&page).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{page:?}");
            let name = page.file_stem().unwrap().to_str().unwrap().to_owned();
            assert!(name.len() >= "trefoil-".len() + 16, "{name} can be guessed");
        }
    }
}
