//! What a target does with an operation, and which memory it gives.
#![allow(unsafe_code)] // The memory of windows is the program's.

use super::message::{Header, Kind};
use crate::datatype::{Datatype, Layout, Predefined, predefined};
use crate::op::{self, Op};
use crate::transport::Memory;
use std::iter::successors;
use std::sync::atomic::{AtomicU32, Ordering};

/// Error: an access outside of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange;

/// The memory of a window at this process.
#[derive(Clone, Debug)]
pub enum Exposed {
    /// One piece, from which displacements count.
    Static(Memory),
    /// What is attached; displacements are addresses.
    Dynamic(Vec<Memory>),
}

impl Exposed {
    /// The address of an offset, if all data of a layout is within.
    pub fn locate(&self, offset: i64, layout: &Layout) -> Result<u64, OutOfRange> {
        let Some([first, end]) = layout.span() else {
            return Ok(match self {
                Exposed::Static(memory) => memory.address,
                Exposed::Dynamic(_) => offset as u64,
            });
        };
        let base = match self {
            Exposed::Static(_) => i128::from(offset),
            // An address is not negative.
            Exposed::Dynamic(_) => i128::from(offset as u64),
        };
        let (first, end) = (base + first as i128, base + end as i128);
        let is_within = |first: i128, end: i128, start: u64, bytes: u64| {
            first >= start.into() && end <= i128::from(start) + i128::from(bytes)
        };
        match self {
            Exposed::Static(memory) if is_within(first, end, 0, memory.bytes) => {
                Ok(memory.address.wrapping_add_signed(offset))
            }
            Exposed::Static(_) => Err(OutOfRange),
            Exposed::Dynamic(list) => {
                // Pieces that lie side by side are as one.
                let attached = |first: i128, end: i128| {
                    let after = |at: i128| {
                        let piece = list.iter().find(|of| is_within(at, at + 1, of.address, of.bytes))?;
                        Some(i128::from(piece.address) + i128::from(piece.bytes))
                    };
                    let reached = successors(Some(first), |&at| if at < end { after(at) } else { None });
                    reached.last().is_some_and(|last| last >= end)
                };
                let run = |at: isize, bytes: usize| {
                    let first = base + at as i128;
                    attached(first, first + bytes as i128)
                };
                if attached(first, end) || layout.all_runs(run) { Ok(offset as u64) } else { Err(OutOfRange) }
            }
        }
    }
}

/// The data of a result.
#[derive(Debug)]
pub enum Reply {
    /// Where it is in the window.
    Memory(Memory),
    /// A copy.
    Bytes(Vec<u8>),
}

fn packed(layout: &Layout, address: u64) -> Vec<u8> {
    let mut bytes = vec![0; layout.bytes()];
    // SAFETY: the layout is within the window, which is memory of the program.
    unsafe { layout.pack(address as *const u8, &mut bytes) };
    bytes
}

/// Writes packed data, as much as there is.
pub fn write(layout: &Layout, address: u64, data: &[u8]) {
    // SAFETY: as above; the data is in a message, or in a buffer of the program that does not overlap the
    // target's.
    unsafe { layout.unpack(data, address as *mut u8) };
}

/// Carries out an operation as it arrives, with header and data; `None` for operations without a result.
///
/// # Errors
/// If it is not within the window, or is no operation.
pub fn carry_out_message(exposed: &Exposed, kind: Kind, message: &[u8]) -> Result<Option<Reply>, OutOfRange> {
    let (header, data) = Header::decode(message).ok_or(OutOfRange)?;
    carry_out(exposed, kind, &header, data)
}

/// Carries out an operation on the memory of a window; `None` for operations without a result.
///
/// # Errors
/// If it is not within the window.
pub fn carry_out(
    exposed: &Exposed,
    kind: Kind,
    header: &Header,
    data: &[u8],
) -> Result<Option<Reply>, OutOfRange> {
    let Header { offset, layout, .. } = header;
    let address = exposed.locate(*offset, layout)?;
    Ok(match kind {
        Kind::Put => {
            write(layout, address, data);
            None
        }
        Kind::Get => Some(match layout.as_run() {
            Some(at) => {
                let bytes = layout.bytes() as u64;
                Reply::Memory(Memory { address: address.wrapping_add_signed(at as i64), bytes })
            }
            None => Reply::Bytes(packed(layout, address)),
        }),
        Kind::GetAccumulate => {
            let old = packed(layout, address);
            accumulate(header, address, data);
            Some(Reply::Bytes(old))
        }
        Kind::CompareAndSwap => {
            let old = packed(layout, address);
            let (new, compared) = data.split_at(data.len() / 2);
            if old == compared {
                write(layout, address, new);
            }
            Some(Reply::Bytes(old))
        }
        _ => {
            accumulate(header, address, data);
            None
        }
    })
}

/// Combines data into the memory of the target. Only operations that are defined for their type are sent.
fn accumulate(header: &Header, address: u64, data: &[u8]) {
    let Header { op, element, layout, .. } = header;
    match op {
        Op::NoOp => return,
        Op::Replace => return write(layout, address, data),
        _ => {}
    }
    let Some(of) = predefined(*element as usize) else { return };
    if let Some(at) = layout.as_run()
        && of.size == of.extent
        && data.len() == layout.bytes()
        && !data.is_empty()
    {
        let place = address.wrapping_add_signed(at as i64) as *mut u8;
        // SAFETY: the run is within the window; the data of an operation does not overlap it.
        let own = unsafe { std::slice::from_raw_parts_mut(place, data.len()) };
        op::reduce(*op, of, own, data);
        return;
    }
    let mut own = packed(layout, address);
    own.truncate(data.len());
    reduce(*op, of, &mut own, data);
    write(layout, address, &own);
}

/// Combines packed elements.
fn reduce(op: Op, of: &Predefined, own: &mut [u8], other: &[u8]) {
    if of.size == of.extent {
        op::reduce(op, of, own, other);
        return;
    }
    // Pairs have gaps where they are reduced, and none where they are sent.
    let elements = own.len() / of.size;
    let layout = Datatype::from(of).layout(elements);
    let mut arrays = [&*own, other].map(|packed| {
        let mut array = vec![0u8; elements * of.extent];
        // SAFETY: the array has that many elements.
        unsafe { layout.unpack(packed, array.as_mut_ptr()) };
        array
    });
    let [first, second] = &mut arrays;
    op::reduce(op, of, first, second);
    // SAFETY: as above.
    unsafe { layout.pack(first.as_ptr(), &mut own[..elements * of.size]) };
}

/// Does something while no other process does something with the same lock.
pub fn exclusively<R>(lock: u64, f: impl FnOnce() -> R) -> R {
    const SPINS: u32 = 100;
    // SAFETY: the word is one of the memory that the processes of a window share, and is accessed here alone.
    let lock = unsafe { &*(lock as *const AtomicU32) };
    let mut spins = 0;
    while lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        spins += 1;
        // Whoever has it may wait for this core.
        if spins % SPINS == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
    let result = f();
    lock.store(0, Ordering::Release);
    result
}

/// Bytes that are read where they are.
///
/// # Safety
/// They can be read for as long as the result is used.
pub unsafe fn bytes_at<'a>(Memory { address, bytes }: Memory) -> &'a [u8] {
    match bytes {
        0 => &[],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(address as *const u8, bytes as usize) },
    }
}

/// Where the data of a result goes at the origin.
#[derive(Debug)]
pub struct Place {
    /// The address of the buffer.
    pub address: u64,
    /// Where data is from there on.
    pub layout: Layout,
}

impl Place {
    /// Where it goes if it is one piece of this length.
    pub fn as_run(&self, bytes: u64) -> Option<u64> {
        let at = self.layout.as_run().filter(|_| bytes <= self.layout.bytes() as u64)?;
        Some(self.address.wrapping_add_signed(at as i64))
    }

    /// Reads memory that this process has, of another layout.
    pub fn copy_from(&self, layout: &Layout, address: u64) {
        let bytes = layout.bytes() as u64;
        match layout.as_run() {
            // SAFETY: it is memory of a window, as much as the layout has.
            Some(at) => self.store(unsafe {
                bytes_at(Memory { address: address.wrapping_add_signed(at as i64), bytes })
            }),
            None => self.store(&packed(layout, address)),
        }
    }

    /// Writes a result, as much as there is space for.
    pub fn store(&self, data: &[u8]) {
        write(&self.layout, self.address, &data[..data.len().min(self.layout.bytes())]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_window_is_out_of_range() {
        let fixed = Exposed::Static(Memory { address: 1000, bytes: 100 });
        let column = Layout::run(0, 4).repeated(3, 20);
        assert_eq!(fixed.locate(56, &column), Ok(1056));
        assert_eq!(fixed.locate(57, &column), Err(OutOfRange));
        assert_eq!(fixed.locate(-1, &column), Err(OutOfRange));
        assert_eq!(fixed.locate(40, &Layout::run(0, 4).repeated(3, -20)), Ok(1040));
        assert_eq!(fixed.locate(39, &Layout::run(0, 4).repeated(3, -20)), Err(OutOfRange));
        assert_eq!(fixed.locate(i64::MAX, &Layout::run(0, 1)), Err(OutOfRange));
        assert!(fixed.locate(500, &Layout::default()).is_ok());
        let attached = [Memory { address: 1000, bytes: 10 }, Memory { address: 1020, bytes: 4 }];
        let dynamic = Exposed::Dynamic(attached.to_vec());
        assert_eq!(dynamic.locate(1002, &Layout::run(0, 8)), Ok(1002));
        assert_eq!(dynamic.locate(1003, &Layout::run(0, 8)), Err(OutOfRange));
        assert_eq!(dynamic.locate(1000, &Layout::run(0, 4).repeated(2, 20)), Ok(1000));
        assert_eq!(dynamic.locate(1000, &Layout::run(0, 4).repeated(2, 15)), Err(OutOfRange));
        let adjacent = [(1020, 4), (1000, 10), (1010, 5)].map(|(address, bytes)| Memory { address, bytes });
        let adjacent = Exposed::Dynamic(adjacent.to_vec());
        assert_eq!(adjacent.locate(1001, &Layout::run(0, 14)), Ok(1001));
        assert_eq!(adjacent.locate(1001, &Layout::run(0, 15)), Err(OutOfRange));
        // Addresses have 64 bits.
        let high = Exposed::Dynamic(vec![Memory { address: u64::MAX - 100, bytes: 50 }]);
        assert_eq!(high.locate(-100, &Layout::run(0, 8)), Ok(u64::MAX - 99));
    }
}
