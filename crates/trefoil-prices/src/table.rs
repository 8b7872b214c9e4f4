//! The table of list prices: `data/prices.txt`, which `cargo xtask prices` writes.
//!
//! A line that begins with `@` opens a provider. Every other line is a model: the names that it matches, a tab, its prices.
//! The first line that matches a name counts, as in the source.
//!
//! ```text
//! @openai
//! =gpt-6-sol =gpt-6-sol-####-##-## n400000<tab>2 10 r0.2 w2.5 >272000 4 15 r0.4 w5
//! =o3<tab>10 40 r0.5<tab>@2025-06-10 2 8 r0.5
//! ```
//!
//! Names are compared in lower case: `=` equals, `^` begins with, `$` ends with, `*` contains; `#` is any digit. `!` before it:
//! the line does not match such a name. `n` is the context window in tokens, where the source has it. Prices are dollars for a million tokens in and out; `r` read from the cache, `w` written to
//! it, `c` dollars for each call, `>` the rates of prompts with more tokens, `-` nobody can tell. After a further tab: prices from a
//! day on.

use crate::dollars::parse_dollars;
use crate::price::{Price, Rates, Tier};

/// The table.
const TABLE: &str = include_str!("../data/prices.txt");

/// Where the table is from, and of which day: `genai-prices 0.2.1, 2026-10-30`. It is the table's first line.
pub fn source() -> &'static str {
    TABLE.lines().next().unwrap_or_default().trim_start_matches("# ")
}

/// The list price of a model on a day (days since 1970-01-01 UTC). None: the table has none, or what the model costs
/// cannot be told from its tokens.
pub fn listed(provider: &str, model: &str, day: u64) -> Option<Price> {
    price_on(found(provider, model)?.1, day)
}

/// The context window of a model: how many tokens a prompt has at most. None: the table does not say.
pub fn window(provider: &str, model: &str) -> Option<u64> {
    found(provider, model)?.0.split(' ').find_map(|word| word.strip_prefix('n'))?.parse().ok()
}

/// The line of a model: its rules, its prices.
fn found(provider: &str, model: &str) -> Option<(&'static str, &'static str)> {
    let name = model.to_lowercase();
    let section = section(provider)?;
    row(section, &name).or_else(|| row(section, &with_dashes(&name)?))
}

/// The lines of a provider.
fn section(provider: &str) -> Option<&'static str> {
    let mut at = 0;
    for line in TABLE.split_inclusive('\n') {
        at += line.len();
        if line.strip_prefix('@').is_some_and(|name| name.trim_end() == provider) {
            let rest = TABLE.get(at..)?;
            return Some(rest.find("\n@").map_or(rest, |end| rest.get(..end).unwrap_or(rest)));
        }
    }
    None
}

/// The first line that matches.
fn row(section: &'static str, name: &str) -> Option<(&'static str, &'static str)> {
    section.lines().find_map(|line| {
        let (words, prices) = line.split_once('\t')?;
        let (not, rules): (Vec<&str>, Vec<&str>) = words.split(' ').partition(|rule| rule.starts_with('!'));
        let matched = rules.iter().any(|rule| matches(rule, name));
        (matched && !not.iter().any(|rule| matches(rule.trim_start_matches('!'), name))).then_some((words, prices))
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

/// A date without dashes at the end of a name, or before a colon, with dashes: `model-20251211` as `model-2025-12-11`. As
/// the source does for names that it does not know otherwise.
fn with_dashes(name: &str) -> Option<String> {
    let (stem, rest) = name.split_once(':').map_or((name, None), |(stem, rest)| (stem, Some(rest)));
    let (stem, date) = stem.rsplit_once('-')?;
    let is_date = date.len() == 8 && date.starts_with("20") && date.bytes().all(|b| b.is_ascii_digit());
    let (year, month, day) = is_date.then(|| Some((date.get(..4)?, date.get(4..6)?, date.get(6..)?)))??;
    let rest = rest.map(|rest| format!(":{rest}")).unwrap_or_default();
    Some(format!("{stem}-{year}-{month}-{day}{rest}"))
}

/// The prices of a line that hold on a day: of those that have begun, the last.
fn price_on(prices: &str, day: u64) -> Option<Price> {
    let begun = prices.split('\t').rev().find_map(|prices| match prices.strip_prefix('@') {
        None => Some(prices),
        Some(dated) => {
            let (from, prices) = dated.split_once(' ')?;
            (day_of(from)? <= day).then_some(prices)
        }
    })?;
    price(begun)
}

fn price(text: &str) -> Option<Price> {
    let mut price = Price::default();
    for (n, part) in text.split(" >").enumerate() {
        let mut words = part.split(' ');
        let above = if n == 0 { None } else { Some(words.next()?.parse().ok()?) };
        let mut rates = Rates { input: parse_dollars(words.next()?)?, ..Rates::default() };
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
            Some(above) => price.tiers.push(Tier { above, rates }),
        }
    }
    Some(price)
}

/// Days since 1970-01-01 of `YYYY-MM-DD`.
fn day_of(date: &str) -> Option<u64> {
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    // A year that begins in March has its leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    days.checked_sub(719_468)
}
