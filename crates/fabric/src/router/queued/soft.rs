//! Soft errors in receivers' buffers (sections II.F and III.G): "all data paths and internal buffers are
//! covered by single bit correct, double bit detect ECC codes"; "upon detecting an uncorrectable bit error,
//! each submodule will stop operating to prevent the bit error from propagating". Present only if soft errors
//! are configured. The code itself is in `crate::link::hamming`, a buffer that uses it in
//! `crate::link::protected_fifo`.
//!
//! A packet's 64-bit words are checked when it leaves its VC. One wrong bit in a word is corrected; with
//! more, the packet does not leave, and the receiver sends nothing any more **(ours: the hardware would stop
//! at that word, in the middle of the packet)**.

use super::state::*;
use crate::config::{QueuedConfig, SoftError};
use crate::link::protected_fifo::WORD_BITS;
use crate::router::stall::StoppedUnit;
use crate::topology::torus::Torus;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Stream;
use netloom_engine::checkpoint::State;
use std::collections::BTreeMap;
use std::io;

/// State of a block whose receivers' buffers have soft errors.
pub(super) struct SoftErrors {
    /// Probability per tick that a bit flips.
    rate: f64,
    /// Bytes of a chunk, and of the trailer.
    chunk: u32,
    trailer: u32,
    /// A random stream per node.
    streams: Vec<Stream>,
    /// Errors configured at specific packets, by node and port.
    named: BTreeMap<(u32, usize), Vec<SoftError>>,
    /// Packets that each receiver has read: by node and port.
    read: Vec<[u64; PORTS]>,
    /// Words corrected since the statistics were restarted: by node and port.
    pub corrected: Vec<[u64; PORTS]>,
    /// Units that have stopped.
    pub stopped: Vec<StoppedUnit>,
}

impl State for SoftErrors {
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        let SoftErrors { rate: _, chunk: _, trailer: _, named: _, streams, read, corrected, stopped } = self;
        (streams, read, corrected, stopped).serialize(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        let SoftErrors { rate: _, chunk: _, trailer: _, named: _, streams, read, corrected, stopped } = self;
        (*streams, *read, *corrected, *stopped) = BorshDeserialize::deserialize(from)?;
        Ok(())
    }
}

impl SoftErrors {
    /// For the nodes of a block by their numbers; `None` without soft errors.
    pub fn new(config: &QueuedConfig, torus: &Torus, seed: u64, numbers: &[u32]) -> Option<Box<Self>> {
        let router = &config.router;
        if router.soft_error_rate == 0.0 && router.soft_errors.is_empty() {
            return None;
        }
        let mut named: BTreeMap<_, Vec<SoftError>> = BTreeMap::new();
        for (number, port, error) in router.placed_soft_errors(torus) {
            if let Some(here) = numbers.iter().position(|&n| n == number) {
                named.entry((here as u32, port)).or_default().push(error.clone());
            }
        }
        Some(Box::new(SoftErrors {
            rate: router.soft_error_rate,
            chunk: config.packet.chunk_B,
            trailer: config.packet.trailer_B,
            streams: numbers.iter().map(|&n| Stream::new(seed, 6, n.into())).collect(),
            named,
            read: vec![[0; PORTS]; numbers.len()],
            corrected: vec![[0; PORTS]; numbers.len()],
            stopped: vec![],
        }))
    }

    /// Reads a packet of `chunks` that has been in a receiver for `ticks`. Returns whether all errors could
    /// be corrected.
    pub fn reads(&mut self, node: u32, port: usize, chunks: u32, ticks: u64) -> bool {
        let read = &mut self.read[node as usize][port];
        *read += 1;
        let hits = self.named.get(&(node, port)).and_then(|list| list.iter().find(|e| e.packet == *read));
        let corrected = &mut self.corrected[node as usize][port];
        if let Some(error) = hits {
            *corrected += u64::from(error.bits == 1);
            if error.bits > 1 {
                return false;
            }
        }
        if self.rate == 0.0 {
            return true;
        }
        // One trial per bit and tick, in sequence: the distance to the next bit flip is geometrically
        // distributed.
        let words = u64::from((chunks * self.chunk + self.trailer).div_ceil(8));
        let of_word = u64::from(WORD_BITS) * ticks;
        let stream = &mut self.streams[node as usize];
        let mut step = || ((1.0 - stream.unit()).ln() / (-self.rate).ln_1p()) as u64;
        let (mut at, mut word, mut wrong) = (step(), u64::MAX, 0u128);
        let mut all_right = true;
        let mut look = |wrong: u128| match wrong.count_ones() {
            0 => {}
            1 => *corrected += 1,
            _ => all_right = false,
        };
        while at < words * of_word {
            if at / of_word != word {
                look(wrong);
                (word, wrong) = (at / of_word, 0);
            }
            // A bit that flips twice is correct.
            wrong ^= 1 << (at % u64::from(WORD_BITS));
            at = at.saturating_add(1).saturating_add(step());
        }
        look(wrong);
        all_right
    }
}
