//! Files that a manifest names but must not read: its folder is a project, and everything else on the machine is
//! secret.

use std::path::Path;

use crate::world::{AGENT, Folder};

/// A text that must never be shown.
const CANARY: &str = "canary-7f3a9c";

/// A folder with a project in `flows` and a secret next to it.
fn world() -> Folder {
    let folder = Folder::new();
    folder.write("flows/trefoil.toml", "").write("secret.yaml", format!("{CANARY}: yes\nid: {CANARY}\nkind: llm\n"));
    folder.write("secret.env", format!("NAME={CANARY}\n"));
    folder
}

fn aegis(path: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: helper, version: 1.0.0 }}\nspec:\n  runtime: \
         {{ language: python, version: \"3.11\" }}\n  task:\n    instruction: Help.\n    prompt_template: \"Task: \
         {{{{instruction}}}} {{{{context}}}} {{{{input}}}}\"\n  context:\n    - {{ type: file, path: \"{path}\" }}\n"
    )
}

fn workflow(env_file: &str, reference: &str) -> String {
    let env_file = if env_file.is_empty() { String::new() } else { format!("env_file: \"{env_file}\"\n") };
    let node = if reference.is_empty() {
        "{ agent: writer, writes: output.text }".to_owned()
    } else {
        format!("{{ type: workflow, ref: \"{reference}\", writes: output.text }}")
    };
    format!(
        "version: \"0.1\"\n{env_file}agents:\n  writer: {{ model: \"openai:gpt-4o-mini\", system: \"Write.\" }}\nnodes:\n  \
         other: {{ agent: writer, writes: output.other }}\n  draft: {node}\ninput: {{ message: \"{{{{ env.NAME }}}}\" }}\n"
    )
}

/// Every command that loads a file, in every output format.
fn asked(file: &str) -> Vec<Vec<String>> {
    let commands = [
        "check FILE",
        "check --format json FILE",
        "check --format sarif FILE",
        "check --format github FILE",
        "check --diff FILE",
        "check --fix FILE",
        "check --no-config --no-inline FILE",
        "check --allow outside-project FILE",
        "check flows",
        "check --fix flows",
        "run --model embedded FILE",
        "run --no-check --model embedded FILE",
        "plan FILE",
        "graph FILE",
        "ir FILE",
    ];
    let words = |command: &str| command.split(' ').map(|w| if w == "FILE" { file } else { w }.to_owned()).collect();
    commands.map(words).to_vec()
}

/// Requires that every command rejects the file with these words and shows nothing from outside the project.
fn refused(folder: &Folder, file: &str, says: &[&str]) {
    for command in asked(file) {
        let args: Vec<&str> = command.iter().map(String::as_str).collect();
        let ran = folder.trefoil(&args);
        let all = format!("{}{}", ran.out, ran.err);
        assert!(!all.contains(CANARY), "{args:?} tells what is outside:\n{all}");
        assert!(!all.contains("root:"), "{args:?} shows a file of the system:\n{all}");
        assert!(!all.contains("panicked"), "{all}");
        let code = if args[0] == "check" { 1 } else { 2 };
        assert_eq!(ran.code, code, "{args:?}\n{all}");
        for part in says.iter().filter(|_| !args.contains(&"json") && !args.contains(&"sarif")) {
            assert!(all.contains(part), "{args:?}: `{part}` is not in\n{all}");
        }
    }
}

#[test]
fn the_message_says_how_to_allow_it_and_that_works() {
    let folder = world();
    folder.write("shared/notes.md", "Be brief.").write("flows/a.yaml", aegis("../shared/notes.md"));
    let ran = folder.trefoil(&["run", "--model", "embedded", "flows/a.yaml", "-i", "x"]);
    let shared = folder.path().join("shared").display().to_string();
    let project = format!("the project is `{}`", folder.path().join("flows").display());
    let line = "flows/a.yaml:10:";
    ran.silent(2).says(&[line, "`context`", "`../shared/notes.md`", &project, &format!("--allow-path {shared}")]);
    let allowed = ["run", "--model", "embedded", "flows/a.yaml", "--allow-path", &shared, "-i", "x"];
    folder.trefoil(&allowed).exits(0);
    folder.trefoil(&["check", "flows/a.yaml", "--allow-path", "shared"]).exits(0);
    // The owner may make the project larger.
    std::fs::remove_file(folder.path().join("flows/trefoil.toml")).unwrap();
    folder.write("trefoil.toml", "");
    folder.trefoil(&["check", "flows/a.yaml"]).exits(0);
    folder.trefoil(&["check", "flows/a.yaml", "--allow-path", "nowhere"]).silent(2);
}

#[test]
fn nobody_learns_whether_a_file_outside_is_there() {
    let folder = world();
    let mut said = Vec::new();
    for path in ["../secret.yaml", "../sacred.yaml"] {
        for make in [aegis as fn(&str) -> String, |p| workflow("", p), |p| workflow(p, "")] {
            folder.write("flows/a.yaml", make(path));
            let ran = folder.trefoil(&["check", "--format", "json", "flows/a.yaml"]);
            said.push((path, ran.out.replace("sacred", "secret")));
        }
    }
    let (there, absent) = said.split_at(3);
    assert_eq!(there.iter().map(|s| &s.1).collect::<Vec<_>>(), absent.iter().map(|s| &s.1).collect::<Vec<_>>());
}

#[cfg(unix)]
#[test]
fn a_link_in_a_folder_is_not_followed_out_of_it() {
    use std::os::unix::fs::symlink;
    let folder = world();
    folder.write("flows/a.yaml", AGENT).write("elsewhere/b.yaml", format!("id: {CANARY}\nkindd: llm\nkind: llm\n"));
    symlink("../secret.yaml", folder.path().join("flows/b.yaml")).unwrap();
    symlink("/etc/passwd", folder.path().join("flows/c.yml")).unwrap();
    symlink("../elsewhere", folder.path().join("flows/more")).unwrap();
    for args in [&["check", "flows"][..], &["check", "--fix", "flows"], &["check", "--format", "sarif", "flows"]] {
        let ran = folder.trefoil(args);
        let all = format!("{}{}", ran.out, ran.err);
        assert!(!all.contains(CANARY) && !all.contains("root:"), "{all}");
        assert!(all.contains("b.yaml") && all.contains("c.yml"), "{args:?}: what was not looked at is said:\n{all}");
        ran.exits(0);
    }
    let before = std::fs::read_to_string(folder.path().join("elsewhere/b.yaml")).unwrap();
    assert!(before.contains("kindd"), "nothing outside is edited");
    // A path from the operator may be anywhere.
    folder.trefoil(&["check", "flows/b.yaml"]).exits(1);
    let allowed = folder.trefoil(&["check", "flows", "--allow-path", "elsewhere"]);
    assert!(allowed.out.contains("kindd"), "{}", allowed.out);
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = world();
    folder.write("flows/large.env", "A=b\n".repeat(300_000)).write("flows/large.md", "x".repeat(40 << 20));
    folder.write("flows/a.yaml", workflow("large.env", ""));
    let ran = folder.trefoil(&["run", "--model", "embedded", "flows/a.yaml"]);
    ran.silent(2).says(&["large.env", "the limit is"]);
    folder.write("flows/b.yaml", aegis("large.md"));
    let ran = folder.trefoil(&["check", "flows/b.yaml"]);
    ran.exits(1);
    assert!(ran.out.contains("the limit is"), "{}", ran.out);
}

#[cfg(unix)]
#[test]
fn fixes_change_only_what_was_named() {
    use std::os::unix::fs::symlink;
    let folder = world();
    let text = AGENT.replace("instruction", "instrction");
    folder.write("flows/inner/a.yaml", &text).write("flows/other.yaml", text.replace("helper", "other"));
    symlink("../other.yaml", folder.path().join("flows/inner/b.yaml")).unwrap();
    let ran = folder.trefoil(&["check", "--fix", "flows/inner"]);
    let now = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(now("flows/inner/a.yaml"), AGENT);
    assert_eq!(now("flows/other.yaml"), text.replace("helper", "other"), "{}", ran.err);
    ran.says(&["changed 1 file: flows/inner/a.yaml"]);
}

#[cfg(unix)]
#[test]
fn a_project_file_that_is_a_link_shows_nothing_of_what_it_leads_to() {
    let folder = world();
    folder.write("open/a.yaml", AGENT).write("secret.toml", format!("{CANARY} = {CANARY}\n"));
    for to in ["../secret.toml", "/proc/self/environ", "/dev/zero"] {
        let link = folder.path().join("open/trefoil.toml");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(to, &link).unwrap();
        for args in [
            &["check", "open"][..],
            &["check", "open/a.yaml"],
            &["run", "open/a.yaml", "--model", "embedded"],
            &["trust", "open"],
        ] {
            let mut command = folder.command(args);
            command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env("CANARY", CANARY);
            let ran = crate::world::finish(command);
            assert_ne!(ran.code, 0, "{to}: {args:?}");
            let said = format!("{}{}", ran.out, ran.err);
            assert!(said.contains("trefoil.toml"), "{to}: {said}");
            assert!(!said.contains(CANARY), "{to}: {said}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_repository_around_the_home_folder_or_in_a_folder_of_everybodys_is_no_project() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    folder.write("home/.git/HEAD", "").write("home/key.txt", CANARY).write("home/down/a.yaml", aegis("../key.txt"));
    folder.write("tmp/.git/HEAD", "").write("tmp/key.txt", CANARY).write("tmp/down/a.yaml", aegis("../key.txt"));
    folder.write("own/.git/HEAD", "").write("own/key.txt", CANARY).write("own/down/a.yaml", aegis("../key.txt"));
    folder.write("own/.ssh/id", CANARY).write("own/b.yaml", aegis(".ssh/id"));
    std::fs::set_permissions(folder.path().join("tmp"), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let check = |file: &str| {
        let mut command = folder.command(&["check", file]);
        command.env("HOME", folder.path().join("home"));
        crate::world::finish(command)
    };
    for file in ["home/down/a.yaml", "tmp/down/a.yaml", "own/b.yaml"] {
        let ran = check(file);
        ran.exits(1);
        assert!(ran.out.contains("key.txt") || ran.out.contains("folder for keys"), "{file}: {}", ran.out);
        assert!(!ran.out.contains(CANARY));
    }
    check("own/down/a.yaml").exits(0);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_before_it_is_judged() {
        use std::os::unix::fs::symlink;
        for target in ["/etc/passwd", "../secret.yaml", "../secret.env", "/proc/self/environ"] {
            let folder = world();
            symlink(target, folder.path().join("flows/notes.md")).unwrap();
            symlink("..", folder.path().join("flows/up")).unwrap();
            for text in
                [aegis("notes.md"), workflow("notes.md", ""), workflow("", "./notes.md"), aegis("up/secret.yaml")]
            {
                folder.write("flows/a.yaml", text);
                refused(&folder, "flows/a.yaml", &["outside-project", "through the link"]);
            }
        }
        // Inside the project, links work like files.
        let folder = world();
        folder.write("flows/texts/real.md", "Be brief.");
        symlink("texts/real.md", folder.path().join("flows/notes.md")).unwrap();
        folder.write("flows/a.yaml", aegis("notes.md"));
        folder.trefoil(&["check", "flows/a.yaml"]).exits(0);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_plain_file_is_not_opened() {
        for path in ["/proc/self/environ", "/dev/zero", "/sys/kernel/notes"] {
            let folder = world();
            folder.write("flows/a.yaml", aegis(path));
            refused(&folder, "flows/a.yaml", &["a.yaml"]);
            // Not even if the operator allows everything around it.
            let parent = Path::new(path).parent().unwrap().display().to_string();
            for root in [parent.as_str(), "/"] {
                let ran = folder.trefoil(&["check", "flows/a.yaml", "--allow-path", root]);
                ran.exits(1);
                assert!(ran.out.contains("`context`"), "{}", ran.out);
            }
        }
        let folder = world();
        let pipe = folder.path().join("flows/pipe.md");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("flows/socket.md")).unwrap();
        folder.write("flows/folder.md/x", "").write("flows/.git/config", format!("token = {CANARY}\n"));
        for path in ["pipe.md", "socket.md", "folder.md", ".git/config"] {
            for text in [aegis(path), workflow(path, ""), workflow("", &format!("./{path}"))] {
                folder.write("flows/a.yaml", text);
                refused(&folder, "flows/a.yaml", &["cannot be read"]);
            }
        }
    }

    #[test]
    fn a_manifest_reads_nothing_outside_its_project() {
        let absolute = |folder: &Folder, name: &str| folder.path().join(name).display().to_string();
        for (sort, make) in [("context", aegis as fn(&str) -> String), ("ref", |path| workflow("", path))] {
            let folder = world();
            let outside = absolute(&folder, "secret.yaml");
            for path in ["/etc/passwd", "/etc/shadow", "../secret.yaml", "./a/../../secret.yaml", &outside] {
                folder.write("flows/a.yaml", make(path));
                let key = format!("`{sort}` leads outside the project");
                refused(&folder, "flows/a.yaml", &["flows/a.yaml", "outside-project", &key]);
            }
        }
        let folder = world();
        for path in ["/etc/passwd", "../secret.env", "..//secret.env"] {
            folder.write("flows/a.yaml", workflow(path, ""));
            refused(&folder, "flows/a.yaml", &["outside-project", "`env_file` leads outside the project"]);
        }
    }
}
