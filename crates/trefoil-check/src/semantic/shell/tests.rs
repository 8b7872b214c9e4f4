//! What the readings of scripts find, script by script.

use std::collections::BTreeMap;

use super::How;
use super::uses::uses;

/// What is said first about each value of a script; parameters and `Q` are values.
fn said(script: &str) -> Vec<String> {
    let known = |name: &str| name == "Q" || name.parse::<u8>().is_ok_and(|n| n > 0);
    let all = uses(script, &known, BTreeMap::new());
    let mut names = Vec::new();
    for (name, how) in all {
        let word = match how {
            How::Code(_) => "code",
            How::Arithmetic => "arithmetic",
            How::Option(_) => "option",
            How::Setting(_) => "setting",
            How::Program => "program",
            How::Bare => "bare",
            How::Host => "host",
            How::Header => "header",
        };
        if !names.iter().any(|(n, _)| *n == name) {
            names.push((name, word));
        }
    }
    names.into_iter().map(|(_, word)| word.to_owned()).collect()
}

fn each(expected: &[&str], scripts: &[&str]) {
    for script in scripts {
        assert_eq!(said(script), expected, "{script}");
    }
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
            "watch ''\"${1}\"''",
            "watch -n 5 ls \"${1}\"",
            "eval \"$Q\"",
            "cd /tmp && bash -c \"$Q\"",
            "bash -x -c \"$Q\"",
            "/bin/bash -ec \"$Q\"",
            "python3 -c \"print($Q)\"",
            "perl -ne \"$Q\" f",
            "node --eval=\"$Q\"",
            "sudo -u me bash -c \"$Q\"",
            "sh -c 'eval \"$Q\"'",
            "sh -c 'eval \"$1\"' _ \"${1}\"",
            "sh -c 'eval \"$@\"' _ \"${1}\"",
            "find . -exec sh -c \"$Q\" \\;",
        ],
    );
}

#[test]
fn what_reaches_an_interpreter_by_a_pipe_a_file_or_a_variable() {
    each(
        &["code"],
        &[
            "echo \"${1}\" | sh",
            "echo ''\"${1}\"'' | bash",
            "echo \"${1}\" | tr a b | bash -s -- x",
            "{ echo a; echo \"${1}\"; } | sh",
            "printf '%s' \"${1}\" > /tmp/x && sh /tmp/x",
            "printf '%s' \"${1}\" > x; chmod +x x; ./x",
            "echo \"${1}\" | tee x.py; python x.py",
            "echo \"${1}\" > x; . ./x",
            "X=\"${1}\"; $X",
            "X=\"${1}\"; eval \"$X\"",
            "python3 - <<< \"${1}\"",
            "bash <<EOF\n$Q\nEOF",
            "bash -c \"$(echo \"${1}\")\"",
            "echo \"${1}\" | while read line; do $line; done",
            "$Q a",
            "echo \"${1}\" | xargs -I X sh -c 'ls X'",
        ],
    );
    each(&["setting"], &["PATH=\"${1}\" ls", "export LD_PRELOAD=\"${1}\"; ls", "env PATH=\"$Q\" ls"]);
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
            "printf '%s' \"${1}\" > f && grep a f",
            "jq . <<< \"${1}\"",
            "echo \"${1}\" | python3 main.py",
            "echo \"${1}\" | python3 -c 'import sys'",
            "python main.py -r \"${1}\"",
            "python -m pytest \"${1}\"",
            "bash run.sh \"${1}\"",
            "sh -c 'ls -- \"$1\"' _ \"${1}\"",
            "sh -c 'ls' _ \"${1}\"",
            "./run.sh \"${1}\"",
            "timeout 5 python main.py \"${1}\"",
            "rm -rf ./\"${1}\"",
            "rm -rf -- \"${1}\"",
            "git log -n \"${1}\"",
            "printf '%s' \"${1}\"",
            "[ \"${1}\" -eq 3 ]",
            "[[ \"${1}\" == a ]]",
            "E=eval; F=echo; $F \"${1}\"",
            "echo $((1 + 2)) \"${1}\"",
            "((a > 1)) && echo \"${1}\"",
            "ls a; # $Q | sh",
            "cat <<EOF\n$Q\nEOF",
            "git log --grep=\"${1}\"",
            "Q=a; eval \"$Q\"",
            "cmd -- ${1:+\"${1}\"} b",
            "psql -v x=\"${1}\" -f q.sql",
            "echo \"${1}\" | wc -c | sh",
            "echo \"${1}\" | xargs -I X sh -c 'ls'",
            "find . -name \"${1}\"",
            "case $Q in a) ls;; esac",
            "cat -- \"${1}\" 2>/dev/null || sh fallback.sh",
        ],
    );
    each(&["bare"], &["grep -- $Q notes", "grep -- ${Q} notes"]);
    each(&["program"], &["\"$Q\" a", "bash \"${1}\""]);
}

#[test]
fn what_a_program_takes_for_an_option_and_which_one_another_starts() {
    each(
        &["option"],
        &[
            "grep \"$Q\" notes",
            "rm -rf \"${1}\"",
            "tar \"${1}\"",
            "git clone \"${1}\"",
            "find \"${1}\" -name x",
            "timeout 5 grep \"${1}\" f",
            "sudo -u me rm \"${1}\"",
            "find . -exec grep \"${1}\" {} +",
            "printf \"${1}\"",
            "echo \"${1}\" | xargs rm",
            "sed -e 's/a/b/' f \"${1}\"",
            "sh -c 'ls \"$1\"' _ \"${1}\"",
            "cat \"${1}\"",
            "X=\"${1}\"; sort \"$X\"",
            "R=rm; $R \"${1}\"",
        ],
    );
    each(
        &["program"],
        &[
            "timeout 5 \"${1}\" a",
            "timeout -k 1 5 \"${1}\"",
            "nohup \"$Q\"",
            "env A=b \"$Q\"",
            "env -u A \"$Q\"",
            "nice -n 5 \"$Q\"",
            "nice \"$Q\"",
            "ls | xargs \"${1}\"",
            "ls | xargs -n 1 \"${1}\"",
            "find . -exec \"${1}\" {} +",
            "find . -name x -execdir \"$Q\" {} +",
            "sudo \"$Q\"",
        ],
    );
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
            "echo $(($Q + 1))",
            "[[ \"${1}\" -eq 3 ]]",
            "[[ 3 -lt $Q ]]",
            "[[ Q -gt 3 ]]",
            "[[ -v ${1} ]]",
            "[ -v \"${1}\" ]",
            "test -v \"$Q\"",
            "let n=\"${1}\"",
            "let n=Q+1",
            "declare -i n=\"${1}\"",
            "typeset -i n; declare -ix m=Q",
            "N=\"${1}\"; ((N++))",
        ],
    );
}

#[test]
fn code_in_variables() {
    each(
        &["code"],
        &[
            "E=eval; $E \"${1}\"",
            "E='sh -c'; $E \"${1}\"",
            "E=\"eval\"; \"$E\" \"${1}\"",
            "S=sh; echo \"${1}\" | $S",
            "F=-c; bash $F \"${1}\"",
            "v=\"${1}\"; export v; sh -c 'eval \"$v\"'",
        ],
    );
}

#[test]
fn what_decides_a_host_or_a_header() {
    each(
        &["host"],
        &[
            "curl https://\"${1}\"/x",
            "curl -s \"${1}\"",
            "curl -sSo out \"https://a.${1}/x\"",
            "wget -q \"http://${1}\"",
            "curl --url=\"https://$Q\"",
        ],
    );
    each(&["header"], &["curl -H 'Auth: '\"${1}\"'' https://a.b", "wget --header=\"X: ${1}\" https://a.b"]);
    each(
        &[],
        &[
            "curl https://a.b/\"${1}\"",
            "curl \"https://a.b?q=${1}\"",
            "curl -d \"${1}\" https://a.b",
            "curl --data-raw \"${1}\" https://a.b",
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
