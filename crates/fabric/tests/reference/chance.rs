//! Random decisions, used only by BlueGene/L's reference.

use super::random::Random;

impl Random {
    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        ((self.bits() >> 11) as f64) < p * (1u64 << 53) as f64
    }
}
