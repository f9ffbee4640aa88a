//! Random numbers for the reference: SplitMix64, written out so that the reference depends on nothing.

/// A stream of random numbers, determined by its seed.
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `n - 1`; its bias, `n` in 2^32, is far below what any run here can show.
    pub fn below(&mut self, n: usize) -> usize {
        (((self.bits() >> 32) * n as u64) >> 32) as usize
    }

    /// One of the entries whose `key` is highest; all of them are equally likely.
    pub fn highest<'a, T>(&mut self, entries: &'a [T], key: impl Fn(&T) -> u32) -> &'a T {
        let most = entries.iter().map(&key).max().expect("something to choose from");
        let best: Vec<&T> = entries.iter().filter(|&e| key(e) == most).collect();
        best[self.below(best.len())]
    }
}
