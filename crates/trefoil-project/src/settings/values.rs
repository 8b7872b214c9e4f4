//! Values in a settings file, as Rust types. An error is what is wrong, and its place.

use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use trefoil_template::{Masked, Value};
use trefoil_tools::process::ProcessEnvironment;

/// The maximum timeout of a call: a day.
const LONGEST: Duration = Duration::from_secs(86_400);

/// What is wrong with a value, and its place.
pub type WrongValue = (Range<usize>, String);
/// A value with its place.
pub type TableEntry<'t> = Spanned<DeValue<'t>>;

fn wrong(value: &TableEntry<'_>, why: &str) -> WrongValue {
    (value.span(), why.to_owned())
}

/// The value of a key in a table.
pub fn value_of<'v, 't>(table: &'v DeTable<'t>, key: &str) -> Option<&'v TableEntry<'t>> {
    let (_, value) = table.iter().find(|(known, _)| &**known.get_ref() == key)?;
    Some(value)
}

pub fn read_table<'v, 't>(value: &'v TableEntry<'t>) -> Result<&'v DeTable<'t>, WrongValue> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(table),
        _ => Err(wrong(value, "it must be a table")),
    }
}

pub fn read_text<'v>(value: &'v TableEntry<'_>) -> Result<&'v str, WrongValue> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text),
        _ => Err(wrong(value, "it must be a string")),
    }
}

pub fn read_words(value: &TableEntry<'_>) -> Result<Vec<String>, WrongValue> {
    let no_list = || wrong(value, "it must be a list of strings");
    let DeValue::Array(items) = value.get_ref() else { return Err(no_list()) };
    let mut words = Vec::new();
    for item in items {
        let Some(word) = item.get_ref().as_str() else { return Err(no_list()) };
        words.push(word.to_owned());
    }
    Ok(words)
}

/// A program and its arguments as a list. A single text would need a shell to be parsed.
pub fn read_command(value: &TableEntry<'_>) -> Result<Vec<String>, WrongValue> {
    match read_words(value) {
        Ok(words) if !words.is_empty() => Ok(words),
        _ => Err(wrong(value, "`command` must be a list: `[\"program\", \"argument\"]`")),
    }
}

pub fn read_duration(value: &TableEntry<'_>) -> Result<Duration, WrongValue> {
    if let Some(text) = value.get_ref().as_str()
        && let Ok(time) = humantime::parse_duration(text)
        && !time.is_zero()
        && time <= LONGEST
    {
        return Ok(time);
    }
    Err(wrong(value, "invalid `timeout`: write `30s` or `5m`"))
}

pub fn read_word<T: Copy>(value: &TableEntry<'_>, known: &[(&str, T)]) -> Result<T, WrongValue> {
    if let Some(text) = value.get_ref().as_str()
        && let Some((_, meaning)) = known.iter().find(|(name, _)| *name == text)
    {
        return Ok(*meaning);
    }
    let names: Vec<String> = known.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
    Err(wrong(value, &format!("it must be one of {}", names.join(", "))))
}

/// `["NAME"]`: variables passed on; `{ NAME = "text" }`: variables set, which may contain `{{secrets.NAME}}` and
/// `{{env.NAME}}`.
pub fn read_environment(value: &TableEntry<'_>) -> Result<ProcessEnvironment, WrongValue> {
    if value.get_ref().is_array() {
        return Ok(ProcessEnvironment { pass: read_words(value)?, ..ProcessEnvironment::default() });
    }
    Ok(ProcessEnvironment { set: read_texts(value)?, ..ProcessEnvironment::default() })
}

/// Names and texts with holes.
pub fn read_texts(value: &TableEntry<'_>) -> Result<Vec<(String, Value)>, WrongValue> {
    let mut texts = Vec::new();
    for (key, value) in read_table(value)? {
        let text = Masked::parse_text(read_text(value)?).map_err(|why| (value.span(), why))?;
        texts.push((key.get_ref().to_string(), text));
    }
    Ok(texts)
}

/// A TOML value as JSON.
pub fn read_json(value: &TableEntry<'_>) -> Result<serde_json::Value, WrongValue> {
    Ok(match value.get_ref() {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(truth) => (*truth).into(),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => number.into(),
            Err(_) => return Err(wrong(value, "the number is too large")),
        },
        DeValue::Float(number) => match number.as_str().parse().ok().and_then(serde_json::Number::from_f64) {
            Some(number) => number.into(),
            None => return Err(wrong(value, "JSON has no such number")),
        },
        DeValue::Datetime(_) => return Err(wrong(value, "JSON has no dates")),
        DeValue::Array(items) => items.iter().map(read_json).collect::<Result<Vec<_>, _>>()?.into(),
        DeValue::Table(members) => {
            let mut object = serde_json::Map::new();
            for (key, value) in members {
                object.insert(key.get_ref().to_string(), read_json(value)?);
            }
            object.into()
        }
    })
}
