//! The data representation `external32` (MPI 5.0, section 14.5.2): the most significant byte first, and
//! numbers with a binary point as IEEE 754 has them.

use super::elements::Element;
use super::{Datatype, Kind};
use crate::error::{Class, Error};

/// The x87's numbers of 80 bits, which C calls `long double` here, and Fortran's `real(16)` have this length
/// too; the latter are IEEE 754's already, but no predefined type of C is.
const LONG_DOUBLE_BYTES: usize = 16;

/// Appends an element.
///
/// # Errors
/// `MPI_ERR_CONVERSION` if the element does not fit the length that it has there.
pub fn append(element: &Element, native: &[u8], external: &mut Vec<u8>) -> Result<(), Error> {
    let Element { kind, bytes, external_bytes } = *element;
    debug_assert_eq!(native.len(), bytes);
    match kind {
        Kind::Complex => {
            let (half, external_half) = (bytes / 2, external_bytes / 2);
            let part = Element { kind: Kind::Float, bytes: half, external_bytes: external_half };
            append(&part, &native[..half], external)?;
            append(&part, &native[half..], external)
        }
        Kind::Float if bytes == LONG_DOUBLE_BYTES && cfg!(target_arch = "x86_64") => {
            external.extend(quadruple(native).to_be_bytes());
            Ok(())
        }
        _ => {
            // Little-endian: what is beyond the length must be the sign.
            let (kept, cut) = native.split_at(external_bytes);
            let is_negative = kind == Kind::Signed && kept.last().is_some_and(|&top| top >= 0x80);
            if cut.iter().any(|&byte| byte != if is_negative { 0xff } else { 0 }) {
                let text =
                    format!("an integer of {bytes} B does not fit in the {external_bytes} B of external32");
                return Err(Error::new(Class::Conversion, text));
            }
            external.extend(kept.iter().rev());
            Ok(())
        }
    }
}

/// The reverse of [`append`]; how many bytes were read.
pub fn read(element: &Element, external: &[u8], native: &mut Vec<u8>) -> usize {
    let Element { kind, bytes, external_bytes } = *element;
    match kind {
        Kind::Complex => {
            let part = Element { kind: Kind::Float, bytes: bytes / 2, external_bytes: external_bytes / 2 };
            let first = read(&part, external, native);
            first + read(&part, &external[first..], native)
        }
        Kind::Float if bytes == LONG_DOUBLE_BYTES && cfg!(target_arch = "x86_64") => {
            let value = external[..LONG_DOUBLE_BYTES].try_into().expect("sixteen bytes");
            native.extend(extended(u128::from_be_bytes(value)));
            LONG_DOUBLE_BYTES
        }
        _ => {
            let own = &external[..external_bytes];
            let fill = if kind == Kind::Signed && own[0] >= 0x80 { 0xff } else { 0 };
            native.extend(own.iter().rev());
            native.extend(std::iter::repeat_n(fill, bytes - external_bytes));
            external_bytes
        }
    }
}

/// The data of elements of a type, converted.
///
/// # Errors
/// As [`append`].
///
/// # Panics
/// If the last element is not whole.
pub fn convert(of: &Datatype, native: &[u8]) -> Result<Vec<u8>, Error> {
    let (mut rest, mut external) = (native, vec![]);
    while !rest.is_empty() {
        of.each_element(|element| {
            let own = rest.split_off(..element.bytes).expect("the data is whole elements");
            append(element, own, &mut external)
        })?;
    }
    Ok(external)
}

/// The reverse of [`convert`]: as many whole elements as there are.
pub fn revert(of: &Datatype, external: &[u8]) -> Vec<u8> {
    let (mut rest, mut native) = (external, vec![]);
    let mut is_whole = true;
    while is_whole && !rest.is_empty() {
        let end = of.each_element(|element| {
            if rest.len() < element.external_bytes {
                return Err(());
            }
            let bytes = read(element, rest, &mut native);
            rest = &rest[bytes..];
            Ok(())
        });
        is_whole = end.is_ok();
    }
    native
}

const FRACTION_BITS: u32 = 112;

/// A number of 80 bits with an explicit leading bit, as one of 128 bits without: the exponents are alike.
fn quadruple(native: &[u8]) -> u128 {
    let mantissa = u64::from_le_bytes(native[..8].try_into().expect("eight bytes"));
    let top = u16::from_le_bytes(native[8..10].try_into().expect("two bytes"));
    let fraction = u128::from(mantissa << 1) << (FRACTION_BITS - 64);
    u128::from(top) << FRACTION_BITS | fraction
}

/// The reverse; what is beyond 64 bits is cut.
fn extended(value: u128) -> [u8; LONG_DOUBLE_BYTES] {
    let top = (value >> FRACTION_BITS) as u16;
    // Zero and denormals have no leading bit.
    let leading = u64::from(top & 0x7fff != 0) << 63;
    let mantissa = leading | (value >> (FRACTION_BITS - 63)) as u64 & (u64::MAX >> 1);
    let mut native = [0; LONG_DOUBLE_BYTES];
    native[..8].copy_from_slice(&mantissa.to_le_bytes());
    native[8..10].copy_from_slice(&top.to_le_bytes());
    native
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(kind: Kind, external_bytes: usize, native: &[u8]) -> Vec<u8> {
        let element = Element { kind, bytes: native.len(), external_bytes };
        let (mut external, mut back) = (vec![], vec![]);
        append(&element, native, &mut external).unwrap();
        assert_eq!(read(&element, &external, &mut back), external_bytes);
        assert_eq!(back, native);
        external
    }

    #[test]
    fn numbers_are_those_of_the_standard() {
        assert_eq!(convert(Kind::Signed, 4, &(-2i32).to_le_bytes()), [0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(convert(Kind::Signed, 4, &(-2i64).to_le_bytes()), [0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(convert(Kind::Unsigned, 4, &0xffff_fffeu64.to_le_bytes()), [0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(convert(Kind::Float, 8, &1.5f64.to_le_bytes()), 1.5f64.to_be_bytes());
        let pair = [1f32.to_le_bytes(), 2f32.to_le_bytes()].concat();
        assert_eq!(convert(Kind::Complex, 8, &pair), [1f32.to_be_bytes(), 2f32.to_be_bytes()].concat());
        let too_large = Element { kind: Kind::Signed, bytes: 8, external_bytes: 4 };
        for value in [1i64 << 31, -(1 << 31) - 1] {
            let end = append(&too_large, &value.to_le_bytes(), &mut vec![]);
            assert_eq!(end.unwrap_err().class, Class::Conversion);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn long_doubles_are_quadruple() {
        let of = |mantissa: u64, top: u16| {
            let mut native = [0; 16];
            native[..8].copy_from_slice(&mantissa.to_le_bytes());
            native[8..10].copy_from_slice(&top.to_le_bytes());
            native
        };
        // One, minus one and a half, zero.
        for (native, high) in [
            (of(1 << 63, 0x3fff), 0x3fff_0000_0000_0000u64),
            (of(3 << 62, 0xbfff), 0xbfff_8000_0000_0000),
            (of(0, 0), 0),
        ] {
            let external = convert(Kind::Float, 16, &native);
            assert_eq!(external, (u128::from(high) << 64).to_be_bytes());
        }
        convert(Kind::Float, 16, &of(0xdead_beef_0123_4567, 0x4001));
    }
}
