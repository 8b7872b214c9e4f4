//! What a crashed process leaves: in its output and its store, and no core dump.

use std::path::Path;

use super::*;

/// The store and the trace of a process that has ended.
fn files(folder: &Path) -> String {
    let mut left = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(!name.starts_with("core"), "{name}");
        if (name.starts_with("runs.db") || name.contains("t.json")) && path.is_file() {
            left += &String::from_utf8_lossy(&std::fs::read(&path).unwrap());
        }
    }
    left
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn a_process_that_crashes_leaves_nothing_of_them() {
        let project = Project::new();
        std::fs::write(project.folder.path().join("secrets.command"), COMMAND).unwrap();
        // There is no answer, so the data is in memory when the process is killed.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap().to_string();
        let text = std::fs::read_to_string(project.folder.path().join("call.yaml")).unwrap();
        project.folder.write("call.yaml", text.replace(&project.echo.address, &address));
        let folder = project.folder.path();
        silent.set_nonblocking(true).unwrap();
        for signal in ["-ABRT", "-SEGV", "-BUS"] {
            let trefoil = env!("CARGO_BIN_EXE_trefoil");
            let script = format!(
                "ulimit -c unlimited; exec {trefoil} run main.yaml --input x --store runs.db --allow-host {address}"
            );
            let mut command = Command::new("sh");
            crate::world::bare(&mut command);
            project.environment(&mut command);
            let child = command.args(["-c", &script]).current_dir(folder).spawn().unwrap();
            let began = std::time::Instant::now();
            let stream = loop {
                match silent.accept() {
                    Ok((stream, _)) => break stream,
                    Err(_) if began.elapsed().as_secs() < 60 => {
                        std::thread::sleep(std::time::Duration::from_millis(10))
                    }
                    Err(error) => panic!("nobody called: {error}: {:?}", wait(child)),
                }
            };
            stream.set_nonblocking(false).unwrap();
            let mut head = String::new();
            BufReader::new(&stream).read_line(&mut head).unwrap();
            assert!(forms(VAULT).iter().any(|form| head.contains(form)), "it has read its secrets: {head}");
            assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
            let ran = wait(child);
            let mut left = format!("{ran:?}");
            left += &files(folder);
            clean(&left, signal);
        }
    }

    /// A tool panics with its arguments, all of them secrets, while a model answers a prompt with an environment value.
    #[test]
    fn a_panic_with_all_of_them_in_its_message_says_none() {
        let project = Project::new();
        std::fs::write(project.folder.path().join("secrets.command"), COMMAND).unwrap();
        let folder = project.folder.path();
        let address = &project.echo.address;
        let names = ["VAULT", "FILE", "FOLDER", "COMMAND", "VARIABLE", "TOOL"];
        let params: Vec<_> = names.iter().map(|name| format!("{name}: \"{{{{secrets.{name}}}}}\"")).collect();
        project.folder.write(
            "panics.yaml",
            format!(
                "id: panics\nkind: parallel\nbranches:\n  - agent:\n      id: stays\n      kind: llm\n      \
                 model: {{ provider: openai, name: m }}\n      instruction: This stays.\n      prompt: \"{{{{env.SEEN}}}}\"\n  \
                 - agent:\n      id: later\n      kind: sequential\n      steps:\n        \
                 - agent: {{ id: after, kind: tool, tool: {{ kind: http, name: after, url: \"http://{address}/after\" }} }}\n        \
                 - agent: {{ id: panic, kind: tool, tool: {{ kind: local, name: panics, params: {{ {}, SEEN: \"{{{{env.SEEN}}}}\" }} }} }}\n",
                params.join(", ")
            ),
        );
        let args =
            ["run", "panics.yaml", "--input", "x", "--store", "runs.db", "--trace", "t.json", "--events", "jsonl"];
        for what in ["message", "slice"] {
            let mut command = project.folder.command(&args);
            project.environment(&mut command);
            let ran = finish({
                command.env("TREFOIL_PANIC", what);
                command
            });
            assert_eq!(ran.code, 101, "{}\n{}", ran.out, ran.err);
            ran.says(&["panicked at", "crash::with_panicking_tool", "the message is not shown", "stack backtrace"]);
            assert!(project.echo.heard(ENVIRONMENT) && project.echo.heard(KEY), "the prompt was sent");
            let run = ran.lines()[0]["run"].as_str().unwrap().to_owned();
            let mut left = format!("{ran:?}\n{}\n{}\n{}", ran.out, ran.err, files(folder));
            assert!(left.contains("begun"), "the model had begun: {left}");
            for command in ["show", "events", "export"] {
                let ran = project.trefoil(&["runs", command, &run, "--store", "runs.db"]);
                left += &format!("{}\n{}", ran.out, ran.err);
            }
            clean(&left, what);
        }
    }
}
