//! A command that is started without a shell: a list of words, with values in them.

use std::collections::{BTreeMap, BTreeSet};

use super::value_uses::{ShellUseKind, find_uses};

/// A part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgPart<'a> {
    /// Text.
    Text(&'a str),
    /// A value that is inserted, by its name.
    Value(&'a str),
}

/// A value that decides what runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutedValue {
    /// The index of its word.
    pub word: usize,
    /// Its name.
    pub name: String,
    /// The program that reads it as code; `None`: it names a program or a script, or a setting or variable that decides which
    /// code runs.
    pub program: Option<String>,
}

/// The values that are code, or that decide which code runs. The words are read as a script in which every word is quoted.
pub fn values_that_run(words: &[Vec<ArgPart<'_>>]) -> Vec<ExecutedValue> {
    let mut script = String::new();
    // A name of its own for each place, and the place.
    let mut places: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    for (at, parts) in words.iter().enumerate() {
        script.push_str("''");
        for part in parts {
            match part {
                ArgPart::Text(text) => script.push_str(&format!("'{}'", text.replace('\'', "'\\''"))),
                ArgPart::Value(name) => {
                    let place = format!("TREFOIL_VALUE_{:05}", places.len());
                    script.push_str(&format!("\"${place}\""));
                    places.insert(place, (at, name));
                }
            }
        }
        script.push(' ');
    }
    let mut seen = BTreeSet::new();
    let all = find_uses(&script, &|name| places.contains_key(name), BTreeMap::new()).into_iter();
    let found = all.filter_map(|(place, how)| {
        let program = match how {
            ShellUseKind::Code(program) => Some(program),
            ShellUseKind::Arithmetic => Some("the shell".to_owned()),
            ShellUseKind::Setting(_) | ShellUseKind::Program => None,
            // What a tool writes or reads is its purpose.
            ShellUseKind::File | ShellUseKind::Bare | ShellUseKind::Host => return None,
        };
        let (word, name) = *places.get(&place).filter(|_| seen.insert(place.clone()))?;
        Some(ExecutedValue { word, name: name.to_owned(), program })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program that runs the value `v`, or `a program` if it names one. A word is text with `{}` for the value.
    fn run(words: &[&str]) -> Vec<String> {
        let parts = |word: &&'static str| -> Vec<ArgPart<'static>> {
            let mut parts = Vec::new();
            for (at, text) in word.split("{}").enumerate() {
                parts.extend((at > 0).then_some(ArgPart::Value("v")));
                parts.extend((!text.is_empty()).then_some(ArgPart::Text(text)));
            }
            parts
        };
        // Leaked, because a test has no reason to free a few words.
        let words: Vec<&'static str> = words.iter().map(|word| &*String::from(*word).leak()).collect();
        let words: Vec<Vec<ArgPart<'_>>> = words.iter().map(parts).collect();
        values_that_run(&words).into_iter().map(|found| found.program.unwrap_or("a program".to_owned())).collect()
    }

    #[test]
    fn a_value_in_the_code_of_an_interpreter_is_found() {
        for (words, program) in [
            (&["sh", "-c", "echo got {}"][..], "sh"),
            (&["/bin/bash", "-ec", "{}"], "bash"),
            (&["sh", "-c", "eval \"$1\"", "x", "{}"], "eval"),
            (&["sh", "-c", "sh -c \"$0\"", "{}"], "sh"),
            (&["python3.12", "-c", "print('{}')"], "python3.12"),
            (&["env", "A=b", "python3", "-c", "{}"], "python3"),
            (&["sudo", "-u", "me", "sh", "-c", "{}"], "sh"),
            (&["timeout", "5", "perl", "-e", "{}"], "perl"),
            (&["xargs", "-n", "1", "sh", "-c", "{}"], "sh"),
            (&["find", ".", "-exec", "sh", "-c", "{}", ";"], "sh"),
            (&["node", "--eval={}"], "node"),
            (&["deno", "eval", "{}"], "deno"),
            (&["ruby", "-e", "{}"], "ruby"),
            (&["php", "-r", "{}"], "php"),
            (&["awk", "{}", "file"], "awk"),
            (&["sed", "s/a/{}/", "file"], "sed"),
            (&["powershell.exe", "-Command", "{}"], "powershell.exe"),
            (&["ssh", "host", "ls {}"], "ssh"),
        ] {
            assert_eq!(run(words), [program], "{words:?}");
        }
    }

    #[test]
    fn a_value_that_names_a_program_is_found() {
        for words in [
            &["env", "{}"][..],
            &["nice", "-n", "5", "{}"],
            &["nohup", "{}"],
            &["timeout", "5", "{}"],
            &["xargs", "{}"],
            &["sudo", "{}"],
            &["time", "{}"],
            &["setsid", "{}", "x"],
            &["find", ".", "-exec", "{}", ";"],
            &["python3", "{}"],
            &["bash", "{}"],
            &["env", "PATH={}", "x"],
        ] {
            assert_eq!(run(words), ["a program"], "{words:?}");
        }
    }

    #[test]
    fn a_value_that_stays_an_argument_is_fine() {
        for words in [
            &["sh", "-c", "echo \"$1\" '$x' it's", "x", "{}"][..],
            &["sh", "-c", "echo $0", "{}"],
            &["sh", "look.sh", "--name={}", "{}"],
            &["python3", "-c", "import sys; print(sys.argv[1])", "{}"],
            &["env", "A={}", "x", "{}"],
            &["git", "log", "-n", "{}", "--", "{}"],
            &["grep", "-e", "{}", "file"],
            &["./tool", "-c", "{}", "-e", "{}"],
            &["find", "{}", "-name", "{}"],
            &["rg", "--max-count={}", "--", "{}", "notes/"],
            &["deno", "run", "x.ts", "{}"],
            &["timeout", "{}", "ls"],
            &["awk", "-f", "x.awk", "{}"],
        ] {
            assert_eq!(run(words), [""; 0], "{words:?}");
        }
    }
}
