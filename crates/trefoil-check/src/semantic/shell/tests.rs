//! The analysis of scripts, one by one.

use std::collections::BTreeMap;

use super::ShellUseKind;
use super::value_uses::find_uses;

/// The first use of each value in a script; parameters and `Q` are values.
fn said(script: &str) -> Vec<String> {
    let known = |name: &str| name == "Q" || name.parse::<u8>().is_ok_and(|n| n > 0);
    let all = find_uses(script, &known, BTreeMap::new());
    let mut names = Vec::new();
    for (name, how) in all {
        let word = match how {
            ShellUseKind::Code(_) => "code",
            ShellUseKind::Arithmetic => "arithmetic",
            ShellUseKind::Setting(_) => "setting",
            ShellUseKind::File => "file",
            ShellUseKind::Program => "program",
            ShellUseKind::Bare => "bare",
            ShellUseKind::Host => "host",
        };
        if !names.iter().any(|(n, _)| *n == name) {
            names.push((name, word));
        }
    }
    names.into_iter().map(|(_, word)| word.to_owned()).collect()
}

fn each(expected: &[&str], scripts: &[&str]) {
    let all = scripts.iter().map(|script| (script, said(script)));
    let wrong: Vec<_> = all.filter(|(_, said)| said != expected).collect();
    assert!(wrong.is_empty(), "not {expected:?}: {wrong:#?}");
}

#[test]
fn what_a_program_reads_as_code() {
    each(
        &["code"],
        &[
            "awk ''\"${1}\"'' f",
            "awk -F , -v a=b \"$Q\" f",
            "sed -e ''\"${1}\"'' f",
            "sed -ne \"s/a/${1}/p\" f",
            "sed \"s/a/${1}/\" f",
            "psql -c \"select ${1}\"",
            "sqlite3 my.db \"select ${1}\"",
            "mysql -uroot -e \"$Q\"",
            "source \"${1}\"",
            ". \"${1}\"",
            "ssh -t host \"ls ${1}\"",
            "eval \"$Q\"",
            "cd /tmp && bash -c \"$Q\"",
            "bash -x -c \"$Q\"",
            "/bin/bash -ec \"$Q\"",
            "sh +e -c \"$Q\"",
            "bash -ceuo pipefail \"$Q\"",
            "su me -c \"$Q\"",
            "python3 -c \"print($Q)\"",
            "python3 -W ignore -c \"$Q\"",
            "perl -ne \"$Q\" f",
            "node --eval=\"$Q\"",
            "node -pe \"$Q\"",
            "julia -e \"$Q\"",
            "vim -c \"$Q\" f",
            "vim -es -c \"$Q\" f",
            "nvim --headless -c \"$Q\" f",
            "sh -c 'eval \"$Q\"'",
            "sh -c 'eval \"$1\"' _ \"${1}\"",
            "sh -c 'eval \"$@\"' _ \"${1}\"",
        ],
    );
}

#[test]
fn programs_that_start_others() {
    each(
        &["code"],
        &[
            "sudo -u me bash -c \"$Q\"",
            "timeout -k 1 5 python3 -c \"$Q\"",
            "nohup nice -n 5 perl -e \"$Q\"",
            "find . -exec sh -c \"$Q\" \\;",
            "X=\"$Q\" sh -c 'eval \"$X\"'",
            "env X=\"$Q\" sh -c 'eval \"$X\"'",
        ],
    );
    each(
        &["program"],
        &[
            "timeout 5 \"${1}\" a",
            "nohup \"$Q\"",
            "env A=b \"$Q\"",
            "env -u A \"$Q\"",
            "nice -n 5 \"$Q\"",
            "ls | xargs \"${1}\"",
            "ls | xargs -n 1 \"${1}\"",
            "find . -exec \"${1}\" {} +",
            "sudo \"$Q\"",
        ],
    );
    each(
        &[],
        &["sudo -u \"$Q\" ls", "find \"$Q\" -name x", "timeout 5 python main.py \"$Q\"", "env A=\"$Q\" ./run.sh"],
    );
}

#[test]
fn what_reaches_an_interpreter_by_a_pipe_or_a_variable() {
    each(
        &["code"],
        &[
            "echo \"${1}\" | sh",
            "echo ''\"${1}\"'' | bash",
            "echo \"${1}\" | tr a b | bash -s -- x",
            "{ echo a; echo \"${1}\"; } | sh",
            "echo \"$Q\" | ssh host",
            "echo \"$Q\" | bash -c 'cat | sh'",
            "X=\"${1}\"; $X",
            "X=\"${1}\"; eval \"$X\"",
            "V=\"${1}\"; X=$V sh -c 'eval \"$X\"'",
            "python3 - <<< \"${1}\"",
            "bash <<EOF\n$Q\nEOF",
            "bash -c \"$(echo \"${1}\")\"",
            "echo \"${1}\" | while read line; do $line; done",
            "$Q a",
            "E=eval; $E \"${1}\"",
            "E='sh -c'; $E \"${1}\"",
            "S=sh; echo \"${1}\" | $S",
            "v=\"${1}\"; export v; sh -c 'eval \"$v\"'",
        ],
    );
    each(&[], &["X=\"$Q\" sh -c 'echo \"$X\"'; eval \"$X\"", "echo \"$Q\" | ssh host 'cat > f'"]);
}

#[test]
fn what_decides_which_code_runs() {
    each(
        &["setting"],
        &[
            "PATH=\"${1}\" ls",
            "export LD_PRELOAD=\"${1}\"; ls",
            "env PATH=\"$Q\" ls",
            "MAKEFLAGS=\"$Q\" make",
            "ENV=\"$Q\" sh -i",
            "export ENV=\"$Q\"; dash -ic ls",
            "GIT_CONFIG_VALUE_0=\"$Q\" git log",
            "EDITOR=\"$Q\" git commit",
        ],
    );
    each(
        &["program"],
        &[
            "\"$Q\" a",
            "bash \"${1}\"",
            "cd \"$Q\"; ./run.sh",
            "cd \"${1}\" && bin/run",
            "cd -- \"$Q\" && sh run.sh",
            "cd \"out/$Q\"; python3 main.py",
            "cd \"$Q\"; . ./env.sh",
            "pushd \"$Q\"; make",
            "cd \"$Q\"; cd sub; npm test",
            "cd \"$Q\" && timeout 5 ./run.sh",
            "cd \"$Q\" && cargo build",
        ],
    );
    each(
        &[],
        &[
            "ENV=\"$Q\" ./run.sh",
            "ENV=\"$Q\" sh -c ls",
            "cd \"$Q\"; ls",
            "cd \"$Q\"; /usr/bin/run",
            "cd \"$Q\"; cd /srv; ./run.sh",
            "cd \"$Q\"; cd; make",
            "cd src; ./run.sh \"$Q\"",
            "cd \"$Q\" && git log",
        ],
    );
}

#[test]
fn what_is_data() {
    each(
        &[],
        &[
            "grep -e \"$Q\" notes",
            "Q2=$Q; grep -- \"$Q2\" notes",
            "grep $QUERY notes",
            "sh -c 'grep -e \"$Q\" notes'",
            "echo '$Q'",
            "echo \"${1}\" | grep foo",
            "awk '{print $1}' \"${1}\"",
            "awk -v x=\"${1}\" '{print x}' f",
            "sed -e 's/a/b/' -- \"${1}\"",
            "sed -i.bak -- 's/a/b/' \"${1}\"",
            "sed -f x.sed -- \"${1}\"",
            "printf '%s' \"${1}\" > f",
            "jq . <<< \"${1}\"",
            "echo \"${1}\" | python3 main.py",
            "echo \"${1}\" | python3 -c 'import sys'",
            "python main.py -c \"${1}\"",
            "python -m pytest \"${1}\"",
            "bash run.sh \"${1}\"",
            "sh -c 'ls -- \"$1\"' _ \"${1}\"",
            "sh -c 'ls' _ \"${1}\"",
            "./run.sh \"${1}\"",
            "git commit -m \"${1}\"",
            "[ \"${1}\" -eq 3 ]",
            "[[ \"${1}\" == a ]]",
            "E=eval; F=echo; $F \"${1}\"",
            "echo $((1 + 2)) \"${1}\"",
            "((a > 1)) && echo \"${1}\"",
            "ls a; # $Q | sh",
            "cat <<EOF\n$Q\nEOF",
            "Q=a; eval \"$Q\"",
            "cmd -- ${1:+\"${1}\"} b",
            "psql -v x=\"${1}\" -f q.sql",
            "echo \"${1}\" | wc -c | sh",
            "case $Q in a) ls;; esac",
            "echo \"${Q:0:20}\" \"${Q:-none}\" \"${A:-$Q}\" \"${Q#a}\" \"${Q%.*}\" \"${Q//a/b}\" \"${#Q}\" \"${Q@Q}\"",
            "declare -A m; echo \"${m[$Q]}\"",
        ],
    );
    each(&["bare"], &["grep -- $Q notes", "grep -- ${Q} notes"]);
}

#[test]
fn what_is_written_where() {
    each(&["file"], &["ls > \"${1}\"", "ls >> \"$Q\"", "ls | tee -- \"$Q\"", "ls | dd of=\"$Q\"", "dd if=a of=\"$Q\""]);
    each(&[], &["ls > \"out/$Q.txt\"", "echo \"$Q\" >> notes.txt", "dd if=\"$Q\" of=a"]);
}

#[test]
fn what_a_shell_computes_with() {
    each(
        &["arithmetic"],
        &[
            "(( ${1} > 1 )) && ls",
            "((Q > 1)) && ls",
            "if ((Q)); then ls; fi",
            "echo $((Q + 1))",
            "N=\"${1}\"; ((N++))",
            "echo \"${A:0:$Q}\"",
            "echo \"$[Q + 1]\"",
        ],
    );
    each(&["code"], &["echo \"${A[$(eval \"$Q\")]}\"", "echo \"${A#$(eval \"$Q\")}\""]);
}

#[test]
fn what_decides_a_host() {
    each(
        &["host"],
        &[
            "curl https://\"${1}\"/x",
            "curl -s -- \"${1}\"",
            "curl -fsS --location \"${1}\" -o f",
            "curl -sSo out \"https://a.${1}/x\"",
            "wget -q \"http://${1}\"",
            "curl --url=\"https://$Q\"",
            "curl --url \"https://$Q\"",
        ],
    );
    each(
        &[],
        &[
            "curl https://a.b/\"${1}\"",
            "curl \"https://a.b?q=${1}\"",
            "curl -d \"${1}\" https://a.b",
            "curl --data-raw \"${1}\" https://a.b",
            "curl -H 'Auth: '\"${1}\"'' https://a.b",
            "curl -s -o \"${1}\" https://a.b",
            "curl \"$BASE/x?q=${1}\"",
        ],
    );
}

#[test]
fn commands_in_commands_end_somewhere() {
    for open in ["$(", "\"$(", "${a:-", "<(", "(", "`"] {
        assert!(said(&format!("echo {}", open.repeat(20_000))).is_empty(), "{open}");
    }
}
