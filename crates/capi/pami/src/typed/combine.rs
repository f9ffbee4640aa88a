//! Data functions on contiguous pieces, and buffers for packed data.

use crate::abi::*;
use crate::symbols;
use crate::types::{complete, element};
use netloom_messaging::pami::device;
use netloom_messaging::pami::reduce::{Element, Operation, Reduction, reduction};
use netloom_messaging::pami::types::Type;
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// The operation of a data function on a contiguous piece.
#[derive(Clone, Copy)]
pub enum Combine {
    Copy,
    Noop,
    Reduce { reduction: Reduction, operation: Operation, element: Element },
    Program(DataPointer, *mut c_void),
}

impl Combine {
    /// The operation of a data function; `None` if it is a reduction that the types do not allow. The
    /// elements are those of the first type that consists of elements other than bytes, or else of bytes;
    /// data of other types comes in whole elements.
    pub fn new(data_fn: DataFunction, cookie: *mut c_void, kinds: [*mut c_void; 2]) -> Option<Self> {
        let Some(function) = data_fn else { return Some(Combine::Copy) };
        match symbols::operation(function) {
            None => Some(Combine::Program(function, cookie)),
            Some(Operation::Copy) => Some(Combine::Copy),
            Some(Operation::Noop) => Some(Combine::Noop),
            Some(operation) => {
                // SAFETY: the program gave the types.
                let elements = kinds.map(|kind| unsafe { element(kind) });
                let known = || elements.into_iter().flatten();
                let element = known().find(|&element| element != Element::Byte).or_else(|| known().next())?;
                let is_whole = |(kind, own): (*mut c_void, Option<Element>)| {
                    // SAFETY: the same.
                    own.is_some()
                        || unsafe { complete(kind) }
                            .is_some_and(|kind| kind.atom_bytes().is_multiple_of(element.bytes() as u64))
                };
                let are_whole = kinds.into_iter().zip(elements).all(is_whole);
                let reduction = reduction(operation, element).filter(|_| are_whole)?;
                Some(Combine::Reduce { reduction, operation, element })
            }
        }
    }

    /// The length that parts of data of these types must be multiples of, so that each can be combined by
    /// itself, bytes. It is the same at all members of a collective.
    pub fn unit_bytes(self, kinds: [&Type; 2]) -> usize {
        match self {
            Combine::Copy | Combine::Noop => 1,
            Combine::Reduce { element, .. } => element.bytes(),
            Combine::Program(..) => kinds.map(Type::data_bytes).into_iter().fold(1, u64::max) as usize,
        }
    }

    /// How the collective network of Blue Gene/Q does it: integers of 4 B and more, and doubles (Chen et al.,
    /// section II.C). `None` if it cannot.
    pub fn words(self) -> Option<device::Combine> {
        use Element::*;
        use Operation::*;
        use device::Operation as Words;
        let Combine::Reduce { operation, element, .. } = self else { return None };
        let is_signed = match element {
            SignedInt | SignedLong | SignedLongLong => Some(true),
            UnsignedInt | UnsignedLong | UnsignedLongLong => Some(false),
            Double => None,
            _ => return None,
        };
        let [integers, doubles] = match operation {
            Band => [Some([Words::And; 2]), None],
            Bor => [Some([Words::Or; 2]), None],
            Bxor => [Some([Words::Xor; 2]), None],
            Sum => [Some([Words::AddUnsigned, Words::AddSigned]), Some([Words::AddDouble; 2])],
            Min => [Some([Words::MinUnsigned, Words::MinSigned]), Some([Words::MinDouble; 2])],
            Max => [Some([Words::MaxUnsigned, Words::MaxSigned]), Some([Words::MaxDouble; 2])],
            _ => return None,
        };
        let operation = match is_signed {
            Some(is_signed) => integers?[usize::from(is_signed)],
            None => doubles?[0],
        };
        Some(device::Combine { operation, word_B: element.bytes() as u32 })
    }

    /// Combines a piece of the source into the target.
    ///
    /// # Safety
    /// Both are valid for `bytes` and do not overlap, and no reference to them exists.
    pub unsafe fn run(self, target: *mut u8, source: *const u8, bytes: usize) {
        // SAFETY: the caller's promise. The program gave its function.
        unsafe {
            match self {
                Combine::Copy => target.copy_from_nonoverlapping(source, bytes),
                Combine::Noop => {}
                Combine::Reduce { reduction, .. } => {
                    let target = std::slice::from_raw_parts_mut(target, bytes);
                    reduction(target, std::slice::from_raw_parts(source, bytes));
                }
                Combine::Program(function, cookie) => {
                    function(target.cast(), source.cast_mut().cast(), bytes, cookie);
                }
            }
        }
    }
}

/// A buffer that is aligned for any element.
pub struct Buffer(Box<[MaybeUninit<u128>]>);

impl Buffer {
    /// A buffer of zeros.
    pub fn new(bytes: usize) -> Self {
        Buffer(Box::new_zeroed_slice(bytes.div_ceil(size_of::<u128>())))
    }

    /// A buffer that is written before it is read.
    pub fn uninitialised(bytes: usize) -> Self {
        Buffer(Box::new_uninit_slice(bytes.div_ceil(size_of::<u128>())))
    }

    pub fn address(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}
