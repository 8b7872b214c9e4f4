//! Mutates lines of JSON so that they stay valid JSON.

use serde_json::Value;

use crate::mutate::Random;

/// Applies one to four changes to a text; `other` supplies lines. The first line stays.
pub(crate) fn change(text: &str, other: &str, words: &[&str], random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let others: Vec<&str> = other.lines().collect();
    for _ in 0..=random.below(4) {
        // The second line identifies the program; most changes there make the input useless.
        let from = if random.one_in(12) { 1 } else { 2 };
        let at = from + random.below(lines.len().saturating_sub(from));
        let to = 1 + random.below(lines.len().saturating_sub(1));
        if at >= lines.len() || to >= lines.len() {
            break;
        }
        match random.below(20) {
            0 => {
                lines.remove(at);
            }
            1 => {
                let line = lines.get(at).cloned().unwrap_or_default();
                lines.insert(to, line);
            }
            2 => lines.swap(at, to),
            3 => lines.insert(to, random.pick(&others).to_owned()),
            4 => lines.truncate(at),
            _ => {
                let Some(line) = lines.get_mut(at) else { break };
                let Ok(mut value) = serde_json::from_str::<Value>(line) else { continue };
                // Mostly changes results, because everything else is compared with the program's requests.
                match value.get_mut("value").filter(|_| !random.one_in(4)) {
                    Some(answer) => inside(answer, words, random),
                    None => inside(&mut value, words, random),
                }
                *line = value.to_string();
            }
        }
    }
    lines.join("\n")
}

/// Changes something inside a value.
fn inside(value: &mut Value, words: &[&str], random: &mut Random) {
    match value {
        Value::Object(members) if !members.is_empty() && !random.one_in(8) => {
            let at = random.below(members.len());
            let Some(key) = members.keys().nth(at).cloned() else { return };
            match random.below(8) {
                0 => {
                    members.remove(&key);
                }
                1 => {
                    let inner = members.remove(&key).unwrap_or_default();
                    members.insert(random.pick(words).trim_matches('"').to_owned(), inner);
                }
                2 => {
                    members.insert(random.pick(words).trim_matches('"').to_owned(), random_value(words, random));
                }
                _ => {
                    if let Some(inner) = members.get_mut(&key) {
                        inside(inner, words, random);
                    }
                }
            }
        }
        Value::Array(items) if !items.is_empty() && !random.one_in(8) => {
            let at = random.below(items.len());
            match random.below(4) {
                0 => {
                    items.remove(at);
                }
                1 => items.push(random_value(words, random)),
                _ => {
                    if let Some(inner) = items.get_mut(at) {
                        inside(inner, words, random);
                    }
                }
            }
        }
        Value::String(text) if random.one_in(3) => {
            let place = random.below(text.len() + 1);
            if text.is_char_boundary(place) {
                text.insert_str(place, random.pick(words));
            }
        }
        Value::Number(n) if random.one_in(2) => {
            let near = n.as_u64().unwrap_or(0);
            *value = if random.one_in(2) { near.wrapping_add(1).into() } else { near.wrapping_sub(1).into() };
        }
        other => *other = random_value(words, random),
    }
}

fn random_value(words: &[&str], random: &mut Random) -> Value {
    serde_json::from_str(random.pick(words)).unwrap_or(Value::Null)
}
