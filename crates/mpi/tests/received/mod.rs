//! What this library reads of what others send, from any bytes: it is refused, or what it says is done,
//! within the memory that it may access. For the test of corrupt messages, and the fuzz target `mpi`.
#![allow(unsafe_code)] // Layouts access memory.

use netloom_mpi::datatype::{Datatype, Layout, PREDEFINED, external};
use netloom_mpi::matching::Envelope;
use netloom_mpi::one_sided::{Exposed, Kind, Label, Reply, carry_out_message};
use netloom_mpi::transport::Memory;

/// More data than this is not moved.
const DATA_MAX: usize = 1 << 16;

/// Any of the checks, chosen by the first byte.
pub fn check(bytes: &[u8]) {
    let Some((&which, bytes)) = bytes.split_first() else { return };
    match which % 4 {
        0 => envelope(bytes),
        1 => layout(bytes),
        2 => operation(bytes),
        _ => external32(bytes),
    }
}

/// An envelope, and what it is as a message of a window.
pub fn envelope(bytes: &[u8]) {
    let Some(envelope) = Envelope::of_bytes(bytes) else { return assert_ne!(bytes.len(), Envelope::BYTES) };
    assert_eq!(envelope.to_bytes(), bytes);
    if let Some(label) = Label::of(&envelope) {
        assert_eq!(Label::of(&label.envelope(envelope.bytes as usize)), Some(label));
    }
}

/// A layout: it comes back the same, and its runs are where it says.
pub fn layout(bytes: &[u8]) {
    let Some(layout) = Layout::decode(bytes) else { return };
    let mut again = vec![];
    layout.encode(&mut again);
    assert_eq!(again, bytes);
    let Some([first, end]) = layout.span() else { return assert_eq!(layout.bytes(), 0) };
    assert!(layout.bytes() > 0);
    if layout.bytes() > DATA_MAX {
        return;
    }
    let (mut sum, mut ends) = (0, [isize::MAX, isize::MIN]);
    assert!(layout.all_runs(|at, bytes| {
        sum += bytes;
        ends = [ends[0].min(at), ends[1].max(at + bytes as isize)];
        bytes > 0
    }));
    assert_eq!((sum, ends), (layout.bytes(), [first, end]));
}

/// An operation on a window, after a byte for its kind: what is beside the window stays.
pub fn operation(bytes: &[u8]) {
    const BESIDE: usize = 4096;
    const WINDOW: usize = 256;
    const KINDS: [Kind; 5] =
        [Kind::Put, Kind::Accumulate, Kind::Get, Kind::GetAccumulate, Kind::CompareAndSwap];
    let Some((&kind, message)) = bytes.split_first() else { return };
    // The layout's bytes lie behind three words and four bytes.
    let other = message.get(20..28).map_or(0, |word| u64::from_le_bytes(word.try_into().expect("a word")));
    let other = usize::try_from(other).unwrap_or(usize::MAX);
    let layout = message.get(28..).and_then(|rest| Layout::decode(rest.get(..other)?));
    if layout.is_some_and(|layout| layout.bytes() > DATA_MAX) {
        return;
    }
    let mut memory = vec![0xa5u8; BESIDE + WINDOW + BESIDE];
    memory[BESIDE..][..WINDOW].fill(0);
    let address = memory.as_mut_ptr() as u64 + BESIDE as u64;
    let exposed = Exposed::Static(Memory { address, bytes: WINDOW as u64 });
    if let Ok(Some(Reply::Memory(of))) = carry_out_message(&exposed, KINDS[usize::from(kind) % 5], message) {
        assert!(of.bytes == 0 || of.address >= address && of.address + of.bytes <= address + WINDOW as u64);
    }
    let beside = memory[..BESIDE].iter().chain(&memory[BESIDE + WINDOW..]);
    assert!(beside.copied().all(|byte| byte == 0xa5));
}

/// Data in `external32`, after a byte for its type: whole elements come, and they have the same form again.
pub fn external32(bytes: &[u8]) {
    let Some((&of, external)) = bytes.split_first() else { return };
    let of = &PREDEFINED[usize::from(of) % PREDEFINED.len()];
    let datatype = Datatype::from(of);
    let native = external::revert(&datatype, external);
    assert!(native.len() <= external.len() * 2);
    // A pair may be cut between its parts.
    let native = &native[..native.len() / of.size * of.size];
    // What is beyond the precision of 80 bits is cut.
    if !of.name.contains("LONG_DOUBLE") && !["REAL16", "COMPLEX32"].contains(&of.name) {
        let again = external::convert(&datatype, native).expect("it had the length of external32");
        assert_eq!(again, external[..again.len()]);
    }
}
