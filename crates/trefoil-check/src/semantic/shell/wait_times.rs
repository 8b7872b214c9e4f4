//! How long the commands of a script wait, as far as it says: `sleep 30`, `timeout 300 ...`, `curl --max-time 120`.

use trefoil_shell::{ShellCommand, assigned_variable, is_keyword, parse_script, word_text};

/// The options of `timeout` that have a value after them.
const TIMEOUT_VALUES: &[&str] = &["-k", "--kill-after", "-s", "--signal"];

/// The words that say so, the milliseconds, and whether the command takes all of that time, and not at most.
pub fn find_waits(script: &str) -> Vec<(String, u64, bool)> {
    parse_script(script, &[]).commands.iter().filter_map(of_command).collect()
}

fn of_command(command: &ShellCommand) -> Option<(String, u64, bool)> {
    let words: Vec<String> = command.words.iter().map(|word| word_text(word).unwrap_or_default()).collect();
    let before = words.iter().take_while(|word| is_keyword(word) || assigned_variable(word).is_some()).count();
    let (program, operands) = words.get(before..)?.split_first()?;
    match program.rsplit('/').next()? {
        "sleep" => {
            let ms: Option<Vec<u64>> = operands.iter().map(|word| milliseconds(word)).collect();
            Some((format!("sleep {}", operands.join(" ")), ms?.into_iter().sum(), true))
        }
        "timeout" => {
            let mut rest = operands.iter();
            let limit = loop {
                match rest.next()?.as_str() {
                    option if TIMEOUT_VALUES.contains(&option) => drop(rest.next()),
                    option if option.starts_with('-') => {}
                    limit => break limit,
                }
            };
            Some((format!("timeout {limit}"), milliseconds(limit)?, false))
        }
        "curl" => {
            let is = |word: &String| matches!(word.as_str(), "-m" | "--max-time");
            let limit = operands.get(operands.iter().position(is)? + 1)?;
            Some((format!("curl --max-time {limit}"), milliseconds(limit)?, false))
        }
        _ => None,
    }
}

/// `0.5`, `30s`, `5m`, `1h`, `1d`. None for zero, which is no limit.
fn milliseconds(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)? {
        "" | "s" => 1_000.0,
        "m" => 60_000.0,
        "h" => 3_600_000.0,
        "d" => 86_400_000.0,
        _ => return None,
    };
    let ms = digits.parse::<f64>().ok()? * unit;
    (1.0..1e15).contains(&ms).then_some(ms as u64)
}

#[cfg(test)]
mod tests {
    use super::find_waits;

    #[test]
    fn a_script_says_how_long_it_waits() {
        for (script, expected) in [
            ("sleep 30", "sleep 30 30000 true"),
            ("A=b sleep 1m 30s && ./run", "sleep 1m 30s 90000 true"),
            ("timeout -k 5 --foreground 300 ./load.sh", "timeout 300 300000 false"),
            ("if x; then /usr/bin/timeout 2h ./x; fi", "timeout 2h 7200000 false"),
            ("curl -fsS -m 2.5 http://localhost", "curl --max-time 2.5 2500 false"),
            ("sleep infinity; sleep $N; timeout 0 x; curl http://localhost; timeout", ""),
        ] {
            let found: Vec<String> =
                find_waits(script).into_iter().map(|(words, ms, exact)| format!("{words} {ms} {exact}")).collect();
            assert_eq!(found.join(", "), expected, "{script}");
        }
    }
}
