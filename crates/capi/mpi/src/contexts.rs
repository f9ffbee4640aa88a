//! How processes agree on the context of a communicator, a window or a file. Contexts count up, and each
//! process has used all below its next one.
//!
//! Each offers its next one, and the greatest is taken: no process has used that. A process whose threads
//! make calls at a time may be in several agreements, in another order than other processes, and these may
//! come to the same context. So where any process has such threads, all say whether the context is still
//! unused when they hear of it, and have used it from then on; if it is not, the agreement is tried again.
//! What one has used in vain is lost: there are many.

use crate::abi::THREAD_MULTIPLE;
use crate::library::{CONTEXTS, Library};
use netloom_mpi::error::{Class, Error};

/// Contexts of those that were agreed on among processes of which one at least has several threads.
pub const THREADED: u32 = 1 << 30;

/// How much higher a second offer may be, so that two agreements that failed for each other differ.
const SPREAD: u32 = 64;

/// A context that no member of an agreement has used. `greatest` makes an offer the greatest of all members'.
pub fn agree(
    library: &mut Library,
    mut greatest: impl FnMut(&mut Library, &mut [u8; 4]) -> Result<(), Error>,
) -> Result<u32, Error> {
    let mut greatest = |library: &mut Library, offer: u32| -> Result<u32, Error> {
        let mut bytes = offer.to_ne_bytes();
        greatest(library, &mut bytes)?;
        Ok(u32::from_ne_bytes(bytes))
    };
    let threaded = if library.thread_level == THREAD_MULTIPLE { THREADED } else { 0 };
    let mut offered = greatest(library, library.next_context | threaded)?;
    let mut context = offered & !THREADED;
    if offered & THREADED != 0 {
        while offered != 0 {
            context = offered & !THREADED;
            let answer = if context >= library.next_context {
                library.next_context = checked(context)?;
                // It is unused here.
                0
            } else {
                let spread = CONTEXTS * (library.random.next() % SPREAD);
                THREADED | checked(library.next_context)?.saturating_add(spread).min(THREADED - CONTEXTS)
            };
            offered = greatest(library, answer)?;
        }
        return Ok(context | THREADED);
    }
    library.next_context = checked(context)?;
    Ok(context)
}

/// The context after this one.
fn checked(context: u32) -> Result<u32, Error> {
    let next = context + CONTEXTS;
    let none_left = || Error::new(Class::Other, "no context is left for another communicator or window");
    if next < THREADED { Ok(next) } else { Err(none_left()) }
}

/// Numbers that differ from process to process and from call to call, by an LCG.
#[derive(Debug)]
pub struct Random(u32);

impl Random {
    /// Of a process.
    pub fn new(process: u32) -> Self {
        Random(process.wrapping_mul(0x9e37_79b9))
    }

    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 16
    }
}
