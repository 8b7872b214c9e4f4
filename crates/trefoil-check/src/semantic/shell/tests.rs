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
            ShellUseKind::Option(_) => "option",
            ShellUseKind::Name => "name",
            ShellUseKind::Setting(_) => "setting",
            ShellUseKind::Later(_) => "later",
            ShellUseKind::File => "file",
            ShellUseKind::Program => "program",
            ShellUseKind::Bare => "bare",
            ShellUseKind::Host => "host",
            ShellUseKind::Header => "header",
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
fn a_program_whose_name_is_not_written() {
    each(
        &["code"],
        &[
            "\"$SHELL\" -c \"$Q\"",
            "${SHELL:-sh} -c \"$Q\"",
            "$(which sh) -c \"${1}\"",
            "`command -v bash` -c \"${1}\"",
            "\"$PYTHON\" -c \"$Q\"",
            "\"$TOOL\" -e \"$Q\"",
            "\"$BIN/bash\" -c \"$Q\"",
            "env \"$SHELL\" -c \"$Q\"",
            "echo \"${1}\" | \"$SHELL\"",
            "find . -exec \"$SHELL\" -c \"$Q\" \\;",
        ],
    );
    each(
        &[],
        &[
            "\"$TOOL\" --name \"$Q\"",
            "\"$BIN/tool\" -c \"$Q\"",
            "\"$GREP\" -e \"$Q\" f",
            "\"$PYTHON\" main.py \"$Q\"",
            "echo \"$Q\" | \"$BIN/tool\"",
        ],
    );
}

#[test]
fn options_before_code_and_where_another_program_takes_it() {
    each(
        &["code"],
        &[
            "sh +e -c \"$Q\"",
            "bash +o posix -c \"$Q\"",
            "bash -ceuo pipefail \"$Q\"",
            "bash --rcfile x -c \"$Q\"",
            "csh -c \"$Q\"",
            "fish -c \"$Q\"",
            "script -qc \"$Q\"",
            "script -c\"$Q\"",
            "su me -c \"$Q\"",
            "flock /tmp/l -c \"$Q\"",
            "env -S \"$Q\"",
            "ls | entr -s \"$Q\"",
            "tmux new -d \"$Q\"",
            "vim -c \"$Q\" f",
            "vim +\"$Q\" f",
            "gdb -ex \"$Q\"",
            "expect -c \"$Q\"",
            "R -e \"$Q\"",
            "julia -e \"$Q\"",
            "git -c core.pager=\"$Q\" log",
            "git -c \"$Q\" log",
            "git clone -c core.sshCommand=\"$Q\" a b",
            "ssh -o \"ProxyCommand=$Q\" host ls",
            "tar --to-command=\"$Q\" -xf a.tar",
            "rsync -e \"$Q\" a b",
            "make --eval=\"$Q\"",
            "vim -es -c \"$Q\" f",
            "vim -e -s -c \"$Q\" f",
            "nvim --headless -c \"$Q\" f",
        ],
    );
    each(
        &["setting"],
        &[
            "MAKEFLAGS=\"$Q\" make",
            "export GNUMAKEFLAGS=\"$Q\"; make",
            "ENV=\"$Q\" sh -i",
            "export ENV=\"$Q\"; dash -ic ls",
            "BASH_FUNC_ls=\"$Q\" ls",
            "GIT_CONFIG_VALUE_0=\"$Q\" git log",
            "NPM_CONFIG_SCRIPT_SHELL=\"$Q\" npm test",
            "EDITOR=\"$Q\" git commit",
            "LESSOPEN=\"$Q\" less f",
            "GOFLAGS=\"$Q\" go build",
        ],
    );
    each(&[], &["ENV=\"$Q\" ./run.sh", "ENV=\"$Q\" sh -c ls", "vim -s keys f"]);
    each(
        &[],
        &[
            "git -c user.name=\"$Q\" log",
            "git commit -c \"$Q\"",
            "ssh -o \"ConnectTimeout=$Q\" host ls",
            "flock /tmp/l grep -c -e \"$Q\" f",
            "ls | entr grep -s -e \"$Q\" f",
            "tmux kill-session -t \"$Q\"",
        ],
    );
}

#[test]
fn what_reaches_code_by_the_input_or_the_environment() {
    each(
        &["code"],
        &[
            "echo \"$Q\" | make -f -",
            "echo \"$Q\" | make -f /dev/stdin",
            "echo \"$Q\" | ed -s f",
            "echo \"$Q\" | ssh host",
            "echo \"$Q\" | ssh host 'bash -s'",
            "echo \"$Q\" | bash -c 'cat | sh'",
            "echo \"$Q\" | xargs -I{} sh -c 'ls {}'",
            "echo \"$Q\" | xargs -i sh -c 'ls {}'",
            "echo \"$Q\" | xargs --replace=% sh -c 'ls %'",
            "echo \"$Q\" | xargs sh -c 'eval \"$0\"'",
            "echo \"$Q\" | xargs -n1 sh -c 'eval \"$1\"' _",
            "X=\"$Q\" sh -c 'eval \"$X\"'",
            "V=\"${1}\"; X=$V sh -c 'eval \"$X\"'",
            "env X=\"$Q\" sh -c 'eval \"$X\"'",
            "awk -v a=\"$Q\" 'BEGIN{system(a)}'",
            "awk -v a=\"$Q\" 'BEGIN{a | getline r}'",
            "awk '{system($1)}' a=\"$Q\" f",
            "awk 'BEGIN{system(ENVIRON[\"Q\"])}'",
            "echo \"$Q\" | awk '{print | $1}'",
            "echo \"$Q\" | awk '{print | \"sh\"}'",
            "T=$(mktemp); echo \"$Q\" > \"$T\"; sh \"$T\"",
            "bash <(echo \"$Q\")",
        ],
    );
    each(
        &[],
        &[
            "X=\"$Q\" sh -c 'echo \"$X\"'; eval \"$X\"",
            "awk -v a=\"$Q\" 'BEGIN{system(\"date\"); print a}'",
            "awk -v a=\"$Q\" '$1 == a || $2 == a {print a | \"sort\"}' f",
            "echo \"$Q\" | awk -F'|' '{print $1}'",
            "echo \"$Q\" | ssh host 'cat > f'",
            "echo \"$Q\" | xargs -I{} python main.py {}",
            "echo \"$Q\" | make build",
            "echo \"$Q\" > \"$A\"; sh \"$B\"",
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
            // An option that takes no value does not hide the next argument.
            "curl -s \"${1}\"",
            "curl -fsSL \"${1}\" -o f",
            "wget --quiet \"${1}\"",
            "git checkout -q \"${1}\"",
            "git push --force \"${1}\"",
            "grep -i \"${1}\" f",
            "sort -u \"${1}\"",
            "find -L \"${1}\"",
            "rsync -a \"${1}\" b",
            "tool --verbose \"${1}\"",
            "ssh -t \"${1}\"",
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
            "docker run \"$Q\"",
            "docker run --rm --name a alpine \"$Q\"",
            "kubectl exec pod -- \"$Q\"",
            "unshare -r \"$Q\"",
        ],
    );
    each(
        &[],
        &[
            "git checkout -b \"$Q\"",
            "git commit -am \"$Q\"",
            "git log --author \"$Q\"",
            "sort -k \"$Q\" f",
            "tar -xzf \"$Q\"",
            "tool --id \"$Q\"",
            "tool -x \"$Q\"",
            "jq --arg x \"$Q\" . f",
            "docker run --name \"$Q\" alpine ls",
            "docker logs \"$Q\"",
            "timeout --kill-after 5 10 python main.py \"$Q\"",
        ],
    );
}

#[test]
fn the_folder_decides_which_program_runs() {
    each(
        &["program"],
        &[
            "cd \"$Q\"; ./run.sh",
            "cd \"${1}\" && bin/run",
            "cd -- \"$Q\" && sh run.sh",
            "cd \"out/$Q\"; python3 main.py",
            "cd \"$Q\"; . ./env.sh",
            "pushd \"$Q\"; make",
            "cd \"$Q\"; cd sub; npm test",
            "cd \"$Q\" && timeout 5 ./run.sh",
            "cd \"$Q\" && cargo build",
            "make -C \"$Q\"",
        ],
    );
    each(
        &[],
        &[
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
fn what_a_shell_takes_for_the_name_of_a_variable() {
    each(
        &["name"],
        &[
            "echo ${!Q}",
            "printf -v \"$Q\" x",
            "read \"${1}\"",
            "read -ra \"$Q\"",
            "mapfile -t \"$Q\"",
            "declare \"${1}\"",
            "declare \"${1}\"=1",
            "typeset -x \"$Q\"",
            "local \"$Q\"",
            "export \"${1}\"=a",
            "unset \"$Q\"",
            "getopts ab \"$Q\"",
        ],
    );
    each(
        &[],
        &["export A=\"$Q\"", "local a=\"$Q\" b", "read -p \"$Q\" a", "printf '%s' \"$Q\"", "echo \"${!A[@]}\" \"$Q\""],
    );
}

#[test]
fn what_is_written_where() {
    each(&["file"], &["ls > \"${1}\"", "ls >> \"$Q\"", "ls | tee -- \"$Q\"", "ls | dd of=\"$Q\"", "dd if=a of=\"$Q\""]);
    each(
        &["later"],
        &[
            "echo \"$Q\" >> ~/.bashrc",
            "echo \"$Q\" > \"$HOME/.profile\"",
            "echo \"$Q\" > .git/hooks/pre-commit",
            "echo \"$Q\" | tee -a /etc/cron.d/a",
            "echo \"$Q\" | dd of=$HOME/.bashrc",
        ],
    );
    each(&[], &["ls > \"out/$Q.txt\"", "echo \"$Q\" >> notes.txt", "echo a >> ~/.bashrc; echo \"$Q\""]);
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
            "declare -n r=\"$Q\"",
            "echo \"${A:$Q}\"",
            "echo \"${A:Q}\"",
            "echo \"${A:0:$Q}\"",
            "echo \"${A[$Q]}\"",
            "echo \"${A[Q]}\"",
            "echo \"${#A[$Q]}\"",
            "A[$Q]=1",
            "A[Q]+=1",
            "readonly \"A[$Q]=1\"",
            "echo \"$[Q + 1]\"",
        ],
    );
    each(&["code"], &["echo \"${Q@P}\"", "echo \"${A[$(eval \"$Q\")]}\"", "echo \"${A#$(eval \"$Q\")}\""]);
    each(
        &[],
        &[
            "echo \"${Q:0:20}\" \"${Q:-none}\" \"${A:-$Q}\" \"${Q#a}\" \"${Q%.*}\" \"${Q//a/b}\" \"${#Q}\" \"${Q@Q}\"",
            "declare -A m; echo \"${m[$Q]}\"",
            "echo \"${A[@]}\" \"${A[0]}\" \"$Q\"",
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
            "curl -s -- \"${1}\"",
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
