//! The table of list prices: `data/prices.txt`, written by `cargo xtask prices`.
//!
//! A line that starts with `@` starts a provider. Every other line is a model: the names that it matches, a tab, its
//! prices. The first line that matches a name is used, as in the source.
//!
//! ```text
//! @openai
//! =gpt-6-sol =gpt-6-sol-####-##-## n400000<tab>2 10 r0.2 w2.5 >272000 4 15 r0.4 w5
//! =o3<tab>10 40 r0.5<tab>@2025-06-10 2 8 r0.5
//! ```
//!
//! Names are compared in lower case: `=` equals, `^` starts with, `$` ends with, `*` contains; `#` is any digit, and
//! `!` excludes names that match. `n` is the context window in tokens, if the source has it. Prices are dollars for a
//! million input and output tokens; `r` is read from the cache, `w` written to it, `c` dollars for each call, `>` the
//! rates of prompts with more tokens, `-` unknown. After another tab: the prices from a day on.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::dollars::parse_dollars;
use super::price::{ModelPrice, PriceTier, TokenRates};

/// The table.
const TABLE: &str = include_str!("../../data/prices.txt");

/// The lines of each provider. A check asks for every call of every file.
static SECTIONS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let sections = TABLE.split("\n@").skip(1);
    sections.filter_map(|section| section.split_once('\n')).collect()
});

/// The source of the table and its date: `genai-prices 0.2.1, 2026-10-30`. This is the table's first line.
pub fn table_source() -> &'static str {
    TABLE.lines().next().unwrap_or_default().trim_start_matches("# ")
}

/// The list price of a model on a day (days since 1970-01-01 UTC). `None` if the table has none, or if the cost does
/// not depend on tokens alone.
pub fn list_price(provider: &str, model: &str, day: u64) -> Option<ModelPrice> {
    price_on(find_row(provider, model)?.1, day)
}

/// The context window of a model in tokens. `None` if the table does not have it.
pub fn context_window(provider: &str, model: &str) -> Option<u64> {
    let (words, _) = find_row(provider, model)?;
    words.split(' ').find_map(|word| word.strip_prefix('n'))?.parse().ok()
}

/// Whether the table has a model, or does not know the provider.
pub fn is_known_model(provider: &str, model: &str) -> bool {
    section(provider).is_none() || find_row(provider, model).is_some()
}

/// The names of a provider's models in the table, without those of single versions.
pub fn known_models(provider: &str) -> impl Iterator<Item = &'static str> {
    let mut names = Vec::new();
    for line in section(provider).unwrap_or_default().lines() {
        let Some((words, _)) = line.split_once('\t') else { continue };
        for word in words.split(' ') {
            let Some(name) = word.strip_prefix(['=', '^']) else { continue };
            if !name.contains('#') && !name.ends_with(['-', '@', '.', ':']) {
                names.push(name);
            }
        }
    }
    names.into_iter()
}

/// The line of a model: its names and its prices.
fn find_row(provider: &str, model: &str) -> Option<(&'static str, &'static str)> {
    let name = model.to_lowercase();
    let section = section(provider)?;
    match row(section, &name) {
        Some(found) => Some(found),
        None => row(section, &with_dashes(&name)?),
    }
}

/// The lines of a provider.
fn section(provider: &str) -> Option<&'static str> {
    SECTIONS.get(provider).copied()
}

/// The first line that matches a name.
fn row(section: &'static str, name: &str) -> Option<(&'static str, &'static str)> {
    for line in section.lines() {
        let Some((words, prices)) = line.split_once('\t') else { continue };
        if words.split(' ').any(|rule| matches(rule, name)) && !excludes(words, name) {
            return Some((words, prices));
        }
    }
    None
}

fn excludes(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| match word.strip_prefix('!') {
        Some(rule) => matches(rule, name),
        None => false,
    })
}

fn matches(rule: &str, name: &str) -> bool {
    let Some((how, pattern)) = rule.as_bytes().split_first() else { return false };
    let name = name.as_bytes();
    let here = |at: usize| {
        let Some(part) = name.get(at..at + pattern.len()) else { return false };
        part.iter().zip(pattern).all(|(b, p)| if *p == b'#' { b.is_ascii_digit() } else { b == p })
    };
    match how {
        b'=' => name.len() == pattern.len() && here(0),
        b'^' => here(0),
        b'$' => name.len().checked_sub(pattern.len()).is_some_and(here),
        b'*' => (0..=name.len()).any(here),
        _ => false,
    }
}

/// Adds dashes to a date at the end of a name or before a colon: `model-20251211` becomes `model-2025-12-11`. The
/// source does the same for names that are otherwise unknown.
fn with_dashes(name: &str) -> Option<String> {
    let (stem, rest) = match name.find(':') {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    let (stem, date) = stem.rsplit_once('-')?;
    let is_date = date.len() == 8 && date.starts_with("20") && date.bytes().all(|b| b.is_ascii_digit());
    if !is_date {
        return None;
    }
    let (year, month, day) = (date.get(..4)?, date.get(4..6)?, date.get(6..)?);
    Some(format!("{stem}-{year}-{month}-{day}{rest}"))
}

/// The prices of a line that apply on a day: the last ones whose date is not later.
fn price_on(prices: &str, day: u64) -> Option<ModelPrice> {
    for prices in prices.split('\t').rev() {
        let Some(dated) = prices.strip_prefix('@') else { return price(prices) };
        if let Some((from, prices)) = dated.split_once(' ')
            && let Some(from) = day_of(from)
            && from <= day
        {
            return price(prices);
        }
    }
    None
}

fn price(text: &str) -> Option<ModelPrice> {
    let mut price = ModelPrice::default();
    for (n, part) in text.split(" >").enumerate() {
        let mut words = part.split(' ');
        let above = if n == 0 { None } else { Some(words.next()?.parse().ok()?) };
        let mut rates = TokenRates { input: parse_dollars(words.next()?)?, ..TokenRates::default() };
        rates.output = parse_dollars(words.next()?)?;
        for word in words {
            let amount = parse_dollars(word.get(1..)?)?;
            match word.as_bytes().first()? {
                b'r' => rates.cache_read = Some(amount),
                b'w' => rates.cache_write = Some(amount),
                b'c' => price.call = amount,
                _ => return None,
            }
        }
        match above {
            None => price.rates = rates,
            Some(above) => price.tiers.push(PriceTier { above, rates }),
        }
    }
    Some(price)
}

/// The number of days from 1970-01-01 to `YYYY-MM-DD`.
fn day_of(date: &str) -> Option<u64> {
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    // In a year that starts in March, the leap day is the last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    days.checked_sub(719_468)
}
