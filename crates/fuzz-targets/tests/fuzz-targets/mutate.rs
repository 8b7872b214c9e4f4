//! A small deterministic mutator: what a fuzzer does without coverage.

/// Makes inputs out of seeds and words.
pub(crate) struct Mutator {
    state: u64,
    seeds: &'static [&'static str],
    words: &'static [&'static str],
}

impl Mutator {
    pub(crate) fn new(seed: u64, seeds: &'static [&'static str], words: &'static [&'static str]) -> Self {
        Self { state: seed | 1, seeds, words }
    }
    /// xorshift64*
    fn random(&mut self, below: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let n = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        n as usize % below.max(1)
    }
    fn pick(&mut self, list: &'static [&'static str]) -> &'static str {
        let at = self.random(list.len());
        list.get(at).copied().unwrap_or("")
    }
    /// Two places in order.
    fn range(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let a = self.random(input.len() + 1);
        let b = self.random(input.len() + 1);
        // Mostly short ones.
        let b = if self.random(4) > 0 { (a + self.random(12)).min(input.len()) } else { b };
        a.min(b)..a.max(b)
    }
    /// The next input: a seed, or words alone, after one to eight changes.
    pub(crate) fn next_input(&mut self) -> Vec<u8> {
        let mut input: Vec<u8> = match self.random(5) {
            0 => (0..self.random(30)).map(|_| self.pick(self.words)).collect::<String>().into_bytes(),
            _ => self.pick(self.seeds).as_bytes().to_vec(),
        };
        for _ in 0..=self.random(8) {
            self.change(&mut input);
        }
        input.truncate(8192);
        input
    }
    fn change(&mut self, input: &mut Vec<u8>) {
        let range = self.range(input);
        match self.random(8) {
            0 => {
                input.drain(range);
            }
            1 => {
                let copy = input.get(range).unwrap_or_default().to_vec();
                let at = self.random(input.len() + 1);
                input.splice(at..at, copy);
            }
            2 => {
                let other = self.pick(self.seeds).as_bytes();
                let from = self.range(other);
                input.splice(range, other.get(from).unwrap_or_default().iter().copied());
            }
            3 => {
                let at = self.random(input.len());
                let bit = self.random(8);
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            4 => input.truncate(range.end),
            _ => {
                let word = self.pick(self.words);
                input.splice(range.start..range.start, word.bytes());
            }
        }
    }
}
