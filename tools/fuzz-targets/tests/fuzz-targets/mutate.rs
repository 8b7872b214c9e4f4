//! A small deterministic mutator, like a fuzzer without coverage. Mutates bytes; `lines` and `json` mutate structure.

use std::borrow::Cow;

use fuzz_targets::{Shape, Target};

use crate::{json, lines};

/// A pseudo-random number generator.
pub(crate) struct Random(u64);

impl Random {
    /// xorshift64*
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let n = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        n as usize % end.max(1)
    }
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    pub(crate) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        let at = self.below(list.len());
        list.get(at).copied().unwrap_or("")
    }
}

/// Generates inputs from seeds and words.
pub(crate) struct Mutator {
    random: Random,
    seeds: Vec<Cow<'static, str>>,
    words: &'static [&'static str],
    shape: Shape,
}

impl Mutator {
    pub(crate) fn new(seed: u64, target: &Target, seeds: Vec<Cow<'static, str>>) -> Self {
        Self { random: Random(seed | 1), seeds, words: target.words, shape: target.shape }
    }

    /// The next input: a seed with a few changes.
    pub(crate) fn next_input(&mut self) -> Vec<u8> {
        match self.shape {
            Shape::Bytes => self.bytes(),
            Shape::Manifests { keys, broken } => {
                let (text, other) = (self.seed(), self.seed());
                let words = if self.random.one_in(8) && !broken.is_empty() { broken } else { self.words };
                let text = lines::change(&text, &other, keys, words, &mut self.random);
                if broken.is_empty() { text.into_bytes() } else { self.sometimes_bytes(text) }
            }
            Shape::JsonLines => {
                let (text, other) = (self.seed(), self.seed());
                let text = json::change(&text, &other, self.words, &mut self.random);
                self.sometimes_bytes(text)
            }
        }
    }

    fn seed(&mut self) -> Cow<'static, str> {
        let at = self.random.below(self.seeds.len());
        self.seeds.get(at).cloned().unwrap_or_default()
    }

    fn sometimes_bytes(&mut self, text: String) -> Vec<u8> {
        let mut input = text.into_bytes();
        if self.random.one_in(12) {
            self.change(&mut input);
        }
        input.truncate(1 << 16);
        input
    }

    /// A seed, or only words, with one to eight changes.
    fn bytes(&mut self) -> Vec<u8> {
        let mut input: Vec<u8> = match self.random.below(5) {
            0 => (0..self.random.below(30)).map(|_| self.random.pick(self.words)).collect::<String>().into_bytes(),
            _ => self.seed().as_bytes().to_vec(),
        };
        for _ in 0..=self.random.below(8) {
            self.change(&mut input);
        }
        input.truncate(8192);
        input
    }

    /// A random range.
    fn range(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let a = self.random.below(input.len() + 1);
        let b = self.random.below(input.len() + 1);
        // Mostly short ranges.
        let b = if self.random.below(4) > 0 { (a + self.random.below(12)).min(input.len()) } else { b };
        a.min(b)..a.max(b)
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let range = self.range(input);
        match self.random.below(8) {
            0 => {
                input.drain(range);
            }
            1 => {
                let copy = input.get(range).unwrap_or_default().to_vec();
                let at = self.random.below(input.len() + 1);
                input.splice(at..at, copy);
            }
            2 => {
                let other = self.seed();
                let from = self.range(other.as_bytes());
                input.splice(range, other.as_bytes().get(from).unwrap_or_default().iter().copied());
            }
            3 => {
                let at = self.random.below(input.len());
                let bit = self.random.below(8);
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            4 => input.truncate(range.end),
            _ => {
                let word = self.random.pick(self.words);
                input.splice(range.start..range.start, word.bytes());
            }
        }
    }
}
