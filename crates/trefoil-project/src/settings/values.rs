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

pub fn read_table<'v, 't>(value: &'v TableEntry<'t>) -> Result<&'v DeTable<'t>, WrongValue> {
    value.get_ref().as_table().ok_or_else(|| (value.span(), "it must be a table".to_owned()))
}

pub fn read_text<'v>(value: &'v TableEntry<'_>) -> Result<&'v str, WrongValue> {
    value.get_ref().as_str().ok_or_else(|| (value.span(), "it must be a string".to_owned()))
}

pub fn read_words(value: &TableEntry<'_>) -> Result<Vec<String>, WrongValue> {
    let all = value.get_ref().as_array().map(|all| all.iter().map(|one| one.get_ref().as_str()).collect());
    let all: Option<Vec<&str>> = all.flatten();
    all.map(|all| all.into_iter().map(str::to_owned).collect())
        .ok_or_else(|| (value.span(), "it must be a list of strings".to_owned()))
}

/// A program and its arguments as a list. A single text would need a shell to be parsed.
pub fn read_command(value: &TableEntry<'_>) -> Result<Vec<String>, WrongValue> {
    let form = "`command` must be a list: `[\"program\", \"argument\"]`";
    read_words(value).ok().filter(|words| !words.is_empty()).ok_or_else(|| (value.span(), form.to_owned()))
}

pub fn read_duration(value: &TableEntry<'_>) -> Result<Duration, WrongValue> {
    let time = value.get_ref().as_str().and_then(|text| humantime::parse_duration(text).ok());
    time.filter(|time| !time.is_zero() && *time <= LONGEST)
        .ok_or_else(|| (value.span(), "invalid `timeout`: write `30s` or `5m`".to_owned()))
}

pub fn read_word<T: Copy>(value: &TableEntry<'_>, known: &[(&str, T)]) -> Result<T, WrongValue> {
    let found = value.get_ref().as_str().and_then(|text| known.iter().find(|(name, _)| *name == text));
    let names: Vec<String> = known.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
    found.map(|(_, of)| *of).ok_or_else(|| (value.span(), format!("it must be one of {}", names.join(", "))))
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
    let all = read_table(value)?.iter();
    all.map(|(key, value)| {
        Ok((key.get_ref().to_string(), Masked::parse_text(read_text(value)?).map_err(|why| (value.span(), why))?))
    })
    .collect()
}

/// A TOML value as JSON.
pub fn read_json(value: &TableEntry<'_>) -> Result<serde_json::Value, WrongValue> {
    Ok(match value.get_ref() {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(truth) => (*truth).into(),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_err(|_| (value.span(), "the number is too large".to_owned()))?
            .into(),
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .ok_or_else(|| (value.span(), "JSON has no such number".to_owned()))?
            .into(),
        DeValue::Datetime(_) => return Err((value.span(), "JSON has no dates".to_owned())),
        DeValue::Array(items) => items.iter().map(read_json).collect::<Result<Vec<_>, _>>()?.into(),
        DeValue::Table(members) => {
            let members = members.iter().map(|(key, value)| Ok((key.get_ref().to_string(), read_json(value)?)));
            serde_json::Value::Object(members.collect::<Result<_, WrongValue>>()?)
        }
    })
}
