//! What a shell script changes outside of the machine, as far as the programs in it are known for that. Files that it writes do
//! not count, and neither do programs that are not known.

use trefoil_shell::{ShellCommand, ShellWord, ShellWordPart, assigned_variable, is_keyword, parse_script, word_text};

use super::{CallEffect, READS, WRITES, words};

/// The programs that send something whenever they are called.
const MAILS: &[&str] = &["mail", "mailx", "mutt", "msmtp", "sendmail", "swaks"];
/// Programs with the words of their command line that change something each time, and those of which a repeated call changes nothing
/// more.
const KNOWN: &[(&str, &[&str], &[&str])] = &[
    ("cargo", &[], &["publish", "yank"]),
    ("docker", &[], &["push"]),
    ("podman", &[], &["push"]),
    ("gem", &[], &["push"]),
    ("git", &[], &["push"]),
    ("helm", &[], &["install", "upgrade", "uninstall", "rollback"]),
    ("kubectl", &["create"], &["apply", "delete", "patch", "replace", "scale", "set"]),
    ("npm", &[], &["publish", "unpublish"]),
    ("pnpm", &[], &["publish"]),
    ("yarn", &[], &["publish"]),
    ("poetry", &[], &["publish"]),
    ("terraform", &[], &["apply", "destroy"]),
    ("tofu", &[], &["apply", "destroy"]),
    ("twine", &[], &["upload"]),
    ("uv", &[], &["publish"]),
];
/// Programs whose subcommands say what they do: `gh pr create`, `aws sns publish`, `gcloud pubsub topics publish`.
const BY_NAME: &[&str] = &["aws", "az", "gcloud", "gh", "glab", "stripe"];
/// Options of `curl` that send data, which makes the request a POST, and those of `wget`.
const CURL_DATA: &[&str] =
    &["--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "--form", "--form-string", "--json"];
const WGET_DATA: &[&str] = &["--post-data", "--post-file"];

/// The first change that is made each time, or else the first one at all.
pub fn script_effect(script: &str) -> CallEffect {
    let script = parse_script(script, &[]);
    let mut all = Vec::new();
    for command in &script.commands {
        add(command, &mut all);
    }
    let each_time = all.iter().position(|one| matches!(one, CallEffect::Writes(_))).unwrap_or(0);
    if all.is_empty() { CallEffect::Unknown } else { all.swap_remove(each_time) }
}

fn add(command: &ShellCommand, all: &mut Vec<CallEffect>) {
    for word in command.words.iter().chain(command.redirects.iter().map(|(_, word)| word)) {
        add_substituted_commands(word, all);
    }
    let texts: Vec<String> = command.words.iter().map(lead).collect();
    let is_before = |text: &&String| is_keyword(text) || assigned_variable(text).is_some();
    let skipped = texts.iter().take_while(is_before).count();
    if let Some((program, operands)) = texts.get(skipped..).and_then(<[String]>::split_first) {
        let program = program.rsplit('/').next().unwrap_or_default();
        all.extend(call(program, operands).filter(|effect| effect.change_text().is_some()));
    }
}

/// The commands whose output is a part of a word.
fn add_substituted_commands(word: &ShellWord, all: &mut Vec<CallEffect>) {
    for part in word {
        match part {
            ShellWordPart::Commands(_, commands) => commands.iter().for_each(|command| add(command, all)),
            ShellWordPart::Expansion { parts, .. }
            | ShellWordPart::Arithmetic(parts)
            | ShellWordPart::Subscript(_, parts) => add_substituted_commands(parts, all),
            _ => {}
        }
    }
}

/// The text of a word, up to the first value in it.
fn lead(word: &ShellWord) -> String {
    word_text(word).unwrap_or_else(|| {
        let text = word
            .iter()
            .map_while(|part| if let ShellWordPart::Text(text, _) = part { Some(text.as_str()) } else { None });
        text.collect()
    })
}

fn call(program: &str, operands: &[String]) -> Option<CallEffect> {
    match program {
        "sudo" | "env" | "nohup" | "nice" => {
            let inner = operands.iter().position(|word| !word.starts_with('-') && assigned_variable(word).is_none())?;
            let (program, operands) = operands.get(inner..)?.split_first()?;
            call(program, operands)
        }
        "curl" => Some(curl(operands)),
        "wget" => Some(wget(operands)),
        "http" | "https" | "xh" => {
            let method = operands.iter().find(|word| !word.starts_with('-'))?;
            method.chars().all(|c| c.is_ascii_uppercase()).then(|| request(method, false))
        }
        _ if MAILS.contains(&program) => Some(CallEffect::Writes(format!("`{program}`"))),
        _ if BY_NAME.contains(&program) => Some(by_subcommand(program, operands)),
        _ => {
            let (_, each_time, once) = KNOWN.iter().find(|(name, ..)| *name == program)?;
            let first = subcommand(operands)?;
            if !each_time.iter().chain(*once).any(|known| *known == first) {
                return None;
            }
            let what = format!("`{program} {first}`");
            Some(if each_time.contains(&first) { CallEffect::Writes(what) } else { CallEffect::Repeatable(what) })
        }
    }
}

/// The first operand. `git -C FOLDER`, `git -c KEY=VALUE` and `kubectl -n NAME` have a value before it.
fn subcommand(operands: &[String]) -> Option<&str> {
    let mut rest = operands.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word {
            "-C" | "-c" | "-n" => drop(rest.next()),
            _ if word.starts_with('-') => {}
            word => return Some(word),
        }
    }
    None
}

fn request(method: &str, has_key: bool) -> CallEffect {
    let what = format!("this {method} request");
    match method {
        "GET" | "HEAD" | "OPTIONS" | "" => CallEffect::Reads,
        "PUT" | "DELETE" => CallEffect::Repeatable(what),
        _ if has_key => CallEffect::Repeatable(what),
        _ => CallEffect::Writes(what),
    }
}

fn curl(operands: &[String]) -> CallEffect {
    let (mut method, mut sends, mut gets) = (None, None, false);
    let has_key = operands.iter().any(|word| word.to_ascii_lowercase().contains("idempotency-key:"));
    for (at, word) in operands.iter().enumerate() {
        let value = || operands.get(at + 1).cloned();
        let (name, attached) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if name == "--request" {
            method = attached.map(str::to_owned).or_else(value);
        } else if CURL_DATA.contains(&name) {
            sends = sends.or(Some("POST"));
        } else if name == "--upload-file" {
            sends = Some("PUT");
        } else if name == "--get" {
            gets = true;
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            // The first option with a value ends the letters.
            for (i, letter) in letters.char_indices() {
                match letter {
                    'X' => {
                        method = letters.get(i + 1..).filter(|rest| !rest.is_empty()).map(str::to_owned).or_else(value)
                    }
                    'd' | 'F' => sends = sends.or(Some("POST")),
                    'T' => sends = Some("PUT"),
                    'G' => gets = true,
                    _ => {}
                }
                if "XdFTHAbcCDeEKmoPrtuUwxyYz".contains(letter) {
                    break;
                }
            }
        }
    }
    let sends = sends.filter(|_| !gets).unwrap_or("GET");
    request(method.as_deref().unwrap_or(sends), has_key)
}

fn wget(operands: &[String]) -> CallEffect {
    let name = |word: &String| word.split_once('=').map_or(word.clone(), |(name, _)| name.to_owned());
    let method = operands.iter().find_map(|word| word.strip_prefix("--method="));
    let sends = operands.iter().any(|word| WGET_DATA.contains(&name(word).as_str()));
    request(method.unwrap_or(if sends { "POST" } else { "GET" }), false)
}

/// By the words of the subcommands, up to the first option.
fn by_subcommand(program: &str, operands: &[String]) -> CallEffect {
    let names: Vec<&String> =
        operands.iter().take_while(|word| !word.starts_with('-') && !word.is_empty()).take(4).collect();
    // `gh api` and `aws s3` do not say it in a word.
    let is_sent = |words: &[&str]| operands.iter().any(|word| words.contains(&word.as_str()));
    let what = |names: &[&String]| {
        let names = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
        format!("`{program} {names}`")
    };
    match (program, names.first().map(|name| name.as_str()), names.get(1).map(|name| name.as_str())) {
        ("gh" | "glab", Some("api"), _) => {
            let at = operands.iter().position(|word| matches!(word.as_str(), "-X" | "--method"));
            let method = at.and_then(|at| operands.get(at + 1)).map(String::as_str);
            let sends = is_sent(&["-f", "-F", "--field", "--raw-field", "--input"]);
            return request(method.unwrap_or(if sends { "POST" } else { "GET" }), false);
        }
        ("aws", Some("s3"), Some("cp" | "mv" | "rm" | "sync")) => {
            return CallEffect::Repeatable(what(names.get(..2).unwrap_or(&names)));
        }
        _ => {}
    }
    for (at, name) in names.iter().enumerate() {
        let has = |known: &[&str]| words(name).any(|word| known.contains(&&*word));
        if has(READS) {
            return CallEffect::Reads;
        }
        // The first subcommand names a thing: `gh label list`.
        if has(WRITES) || (at > 0 && has(&["comment", "release", "run"])) {
            let what = what(names.get(..=at).unwrap_or(&names));
            let once = has(&["close", "delete", "edit", "merge", "put", "remove", "rename", "update"]);
            return if once { CallEffect::Repeatable(what) } else { CallEffect::Writes(what) };
        }
    }
    CallEffect::Unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_to_others_changes_something_each_time() {
        for (script, what) in [
            ("curl -X POST -d \"${1}\" https://x.example/", "this POST request"),
            ("curl -sS --request=PATCH https://x.example/", "this PATCH request"),
            ("curl -sd @- https://x.example/ < notes", "this POST request"),
            ("curl --json \"${1}\" https://x.example/", "this POST request"),
            ("wget --post-data=\"${1}\" https://x.example/", "this POST request"),
            ("http POST https://x.example/ a=b", "this POST request"),
            ("echo \"${1}\" | mail -s Hi a@x.example", "`mail`"),
            ("if true; then NAME=x gh pr create --title \"${1}\"; fi", "`gh pr create`"),
            ("gh issue comment 5 --body \"${1}\"", "`gh issue comment`"),
            ("gh api repos/o/r/issues -f title=\"${1}\"", "this POST request"),
            ("git push && kubectl create -f x.yaml", "`kubectl create`"),
            ("aws sns publish --message \"${1}\"", "`aws sns publish`"),
            ("X=$(curl -d a https://x.example/)", "this POST request"),
        ] {
            assert_eq!(script_effect(script), CallEffect::Writes(what.to_owned()), "{script}");
        }
    }

    #[test]
    fn some_changes_can_be_repeated() {
        for (script, what) in [
            ("curl -T file https://x.example/", "this PUT request"),
            ("curl -XDELETE https://x.example/", "this DELETE request"),
            ("curl -d a -H \"Idempotency-Key: ${1}\" https://x.example/", "this POST request"),
            ("sudo -E git -C repo push origin main", "`git push`"),
            ("aws s3 cp a s3://bucket/", "`aws s3 cp`"),
            ("gh pr merge 5 --squash", "`gh pr merge`"),
            ("terraform apply -auto-approve", "`terraform apply`"),
        ] {
            assert_eq!(script_effect(script), CallEffect::Repeatable(what.to_owned()), "{script}");
        }
    }

    #[test]
    fn what_reads_or_is_not_known_is_no_change() {
        for script in [
            "curl -sSf -o page.html https://x.example/post",
            "curl -G -d q=\"${1}\" https://x.example/",
            "curl -H 'X-Data: -d' https://x.example/",
            "curl -o data.json -u user:-d https://x.example/",
            "wget -q https://x.example/",
            "http https://x.example/",
            "gh pr list --json title",
            "gh api repos/o/r/issues",
            "aws s3 ls s3://bucket/",
            "git commit -m \"${1}\"",
            "git stash push",
            "git log --grep push",
            "git status; cargo test; echo push",
            "echo curl -d x",
            "python main.py \"${1}\" > out.txt",
            "",
        ] {
            assert_eq!(script_effect(script).change_text(), None, "{script}");
        }
    }
}
