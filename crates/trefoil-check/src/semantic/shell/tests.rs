//! What the readings of scripts find, script by script.

use super::{How, uses};

/// What is said first about each value of a script; parameters and `Q` are values.
fn said(script: &str) -> Vec<String> {
    let all = uses(script, &|name| name == "Q" || name.parse::<u8>().is_ok_and(|n| n > 0));
    let mut names = Vec::new();
    for (name, how) in all {
        let word = match how {
            How::Code(_) => "code",
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
            "grep \"$Q\" notes",
            "Q2=$Q; grep \"$Q2\" notes",
            "grep $QUERY notes",
            "sh -c 'grep \"$Q\" notes'",
            "echo '$Q'",
            "echo \"${1}\" | grep foo",
            "awk '{print $1}' \"${1}\"",
            "awk -v x=\"${1}\" '{print x}' f",
            "sed -e 's/a/b/' \"${1}\"",
            "sed -i.bak 's/a/b/' \"${1}\"",
            "sed -f x.sed \"${1}\"",
            "printf '%s' \"${1}\" > f",
            "printf '%s' \"${1}\" > f && grep a f",
            "jq . <<< \"${1}\"",
            "echo \"${1}\" | python3 main.py",
            "echo \"${1}\" | python3 -c 'import sys'",
            "python main.py -r \"${1}\"",
            "python -m pytest \"${1}\"",
            "bash run.sh \"${1}\"",
            "sh -c 'ls \"$1\"' _ \"${1}\"",
            "sh -c 'ls' _ \"${1}\"",
            "ls a; # $Q | sh",
            "cat <<EOF\n$Q\nEOF",
            "git log --grep=\"${1}\"",
            "Q=a; eval \"$Q\"",
            "cmd ${1:+\"${1}\"} b",
            "psql -v x=\"${1}\" -f q.sql",
            "echo \"${1}\" | wc -c | sh",
            "echo \"${1}\" | xargs -I X sh -c 'ls'",
            "find . -name \"${1}\"",
            "case $Q in a) ls;; esac",
            "cat \"${1}\" 2>/dev/null || sh fallback.sh",
        ],
    );
    each(&["bare"], &["grep $Q notes", "grep ${Q} notes"]);
    each(&["program"], &["\"$Q\" a", "bash \"${1}\""]);
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
