use super::*;
use proptest::prelude::*;

/// A plain description of a type, and its expansion into the offset of each byte.
#[derive(Clone, Debug)]
struct Plan(Vec<(Part, i64, u64, i64)>);

#[derive(Clone, Debug)]
enum Part {
    Bytes(u64),
    Typed(Plan),
}

impl Plan {
    fn build(&self, atom: u64) -> Type {
        let mut builder = TypeBuilder::default();
        for (part, offset, count, stride) in &self.0 {
            match part {
                Part::Bytes(bytes) => builder.add_simple(*bytes, *offset, *count, *stride),
                Part::Typed(plan) => builder.add_typed(&Arc::new(plan.build(1)), *offset, *count, *stride),
            }
            .unwrap();
        }
        builder.complete(atom).unwrap()
    }

    /// Offsets of all bytes of data, and the extent.
    fn expand(&self) -> (Vec<i64>, i64) {
        let (mut offsets, mut cursor) = (vec![], 0);
        for (part, offset, count, stride) in &self.0 {
            cursor += offset;
            let inner = match part {
                Part::Bytes(bytes) => (0..*bytes as i64).collect(),
                Part::Typed(plan) => plan.expand().0,
            };
            for _ in 0..*count {
                offsets.extend(inner.iter().map(|at| cursor + at));
                cursor += stride;
            }
        }
        (offsets, cursor)
    }
}

fn plans() -> impl Strategy<Value = Plan> {
    let part = (0u64..9).prop_map(Part::Bytes);
    let item = |part| (part, -20i64..20, 0u64..4, -12i64..30);
    let leaf = prop::collection::vec(item(part.boxed()), 0..4).prop_map(Plan);
    leaf.prop_recursive(3, 12, 4, move |inner| {
        let part = prop_oneof![(0u64..9).prop_map(Part::Bytes), inner.prop_map(Part::Typed)];
        prop::collection::vec(item(part.boxed()), 0..4).prop_map(Plan)
    })
}

fn bytes_of(pieces: impl Iterator<Item = Piece>) -> Vec<i64> {
    pieces.flat_map(|piece| (0..piece.bytes as i64).map(move |n| piece.offset + n)).collect()
}

/// Offsets of bytes of data, from the expansion.
fn naive((offsets, extent): &(Vec<i64>, i64), from: u64, bytes: u64) -> Vec<i64> {
    let one = offsets.len() as u64;
    let at = |n: u64| offsets[(n % one) as usize] + (n / one) as i64 * extent;
    (from..from + bytes).map(at).collect()
}

proptest! {
    #[test]
    fn pieces_are_those_of_the_expansion(plan in plans(), from in 0u64..400, bytes in 0u64..400) {
        let (kind, expanded) = (plan.build(1), plan.expand());
        prop_assert_eq!(kind.data_bytes(), expanded.0.len() as u64);
        prop_assert_eq!(kind.extent(), expanded.1);
        let pieces: Vec<Piece> = kind.pieces(from, bytes).collect();
        prop_assert!(pieces.iter().all(|piece| piece.bytes > 0));
        prop_assert!(pieces.windows(2).all(|two| two[0].offset + two[0].bytes as i64 != two[1].offset));
        if kind.data_bytes() > 0 {
            prop_assert_eq!(bytes_of(pieces.into_iter()), naive(&expanded, from, bytes));
        } else {
            prop_assert_eq!(pieces, vec![]);
        }
    }

    #[test]
    fn pairs_move_each_byte(a in plans(), b in plans(), from in [0u64..100, 0u64..100], bytes in 0u64..300) {
        let [source, target] = [a.build(1), b.build(1)];
        prop_assume!(source.data_bytes() > 0 && target.data_bytes() > 0);
        let [a, b] = [naive(&a.expand(), from[0], bytes), naive(&b.expand(), from[1], bytes)];
        let moved: Vec<(i64, i64)> = pairs(source.pieces(from[0], bytes), target.pieces(from[1], bytes))
            .flat_map(|p| (0..p.bytes as i64).map(move |n| (p.source + n, p.target + n)))
            .collect();
        prop_assert_eq!(moved, a.into_iter().zip(b).collect::<Vec<_>>());
    }

    #[test]
    fn types_survive_serialization(plan in plans(), from in 0u64..100, bytes in 0u64..300) {
        let kind = plan.build(1);
        let read = Type::deserialize(&kind.serialize()).unwrap();
        prop_assert_eq!([read.bytes, read.extent as u64, read.atom], [kind.bytes, kind.extent as u64, 1]);
        prop_assert!(read.pieces(from, bytes).eq(kind.pieces(from, bytes)));
        prop_assert_eq!(read.serialize(), kind.serialize());
    }

    #[test]
    fn damaged_bytes_are_refused(plan in plans(), at: prop::sample::Index, bit in 0u8..8, cut: prop::sample::Index) {
        let mut bytes = plan.build(1).serialize();
        prop_assert!(Type::deserialize(&bytes[..cut.index(bytes.len())]).is_err());
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(Type::deserialize(&bytes).is_err());
    }

    #[test]
    fn garbage_with_a_valid_checksum_does_not_panic(types in 0u64..4, words in prop::collection::vec(0u64..4, 0..40)) {
        let start = [MAGIC, VERSION, checksum(&words), types];
        let bytes: Vec<u8> = start.into_iter().chain(words).flat_map(u64::to_le_bytes).collect();
        if let Ok(kind) = Type::deserialize(&bytes) {
            kind.pieces(3, 50).for_each(drop);
        }
    }
}

fn built(add: impl FnOnce(&mut TypeBuilder)) -> Arc<Type> {
    let mut builder = TypeBuilder::default();
    add(&mut builder);
    Arc::new(builder.complete(1).unwrap())
}

#[test]
fn memory_does_not_grow_with_counts() {
    let columns = built(|t| t.add_simple(8, 0, 1 << 40, 64).unwrap());
    let planes = built(|t| t.add_typed(&columns, 0, 1 << 10, 16).unwrap());
    assert_eq!(planes.data_bytes(), 1 << 53);
    assert_eq!([columns.runs.len(), planes.runs.len()], [1, 1]);
    let far = (1 << 53) + (1 << 43) + 8 + 3;
    let first = planes.pieces(far, 100).next().unwrap();
    assert_eq!(first, Piece { offset: 16 * 1024 + 16 + 64 + 3, bytes: 5 });
    // Blocks that are added one by one, at equal distances.
    let steps = built(|t| (0..1000).for_each(|_| t.add_simple(8, 0, 1, 64).unwrap()));
    assert_eq!(steps.runs.len(), 1);
    assert_eq!(steps.pieces(8 * 999, 16).last(), Some(Piece { offset: 64_000, bytes: 8 }));
}

#[test]
fn contiguous_data_is_one_piece() {
    let many = built(|t| t.add_simple(4, 0, 1 << 20, 4).unwrap());
    assert_eq!(many.contiguous_part(6, 1 << 40), Some(6));
    assert_eq!(Type::contiguous(8).contiguous_part(1 << 33, 1 << 33), Some(1 << 33));
    let padded = built(|t| t.add_simple(12, 4, 1, 16).unwrap());
    assert_eq!(padded.contiguous_part(20 + 14, 8), None);
    assert_eq!(padded.contiguous_part(14, 8), Some(26));
    assert_eq!(padded.contiguous_part(3, 0), Some(0));
    // Four times as a subtype, its copies adjoining.
    let wrapped = built(|t| t.add_typed(&many, 0, 4, 4 << 20).unwrap());
    assert_eq!((wrapped.runs.len(), wrapped.contiguous_part(0, 1 << 50)), (1, Some(0)));
}

#[test]
fn an_atom_divides_all_blocks() {
    let mut builder = TypeBuilder::default();
    assert_eq!(builder.complete(0).unwrap_err(), TypeError::Atom(0));
    assert!(builder.complete(16).is_ok());
    // Adjoining blocks count one by one.
    builder.add_simple(12, 0, 1, 12).unwrap();
    builder.add_simple(20, 0, 1, 20).unwrap();
    assert_eq!(builder.complete(8).unwrap_err(), TypeError::Atom(8));
    assert_eq!(builder.complete(4).unwrap().atom_bytes(), 4);
    // Blocks without data do not count.
    builder.add_simple(3, 0, 0, 0).unwrap();
    assert!(builder.complete(4).is_ok());
}

#[test]
fn sizes_do_not_overflow() {
    let mut builder = TypeBuilder::default();
    assert_eq!(builder.add_simple(1 << 40, 0, 1 << 40, 0), Err(TypeError::Overflow));
    assert_eq!(builder.add_simple(1, i64::MAX, 2, 1), Err(TypeError::Overflow));
    assert_eq!(builder.complete(1).unwrap().data_bytes(), 0);
}

#[test]
fn types_are_nested_up_to_a_limit_and_shared() {
    // Each contains the one before twice, at distances that do not make it one loop.
    let mut kind = built(|t| t.add_simple(1, 0, 2, 3).unwrap());
    let mut error = None;
    for n in 0..2 * DEPTH_MAX {
        let mut builder = TypeBuilder::default();
        if n < 40 {
            builder.add_typed(&kind, 0, 2, 5).unwrap();
        } else if let Err(reason) = builder.add_typed(&kind, 0, 1, 5).and_then(|()| {
            builder.add_simple(1, 1, 3, 7)?;
            (0..INLINE_MAX).try_for_each(|n| builder.add_simple(1 + n as u64, 11, 2, 100))
        }) {
            error = Some(reason);
            break;
        }
        kind = Arc::new(builder.complete(1).unwrap());
    }
    assert_eq!(error, Some(TypeError::Depth));
    let bytes = kind.serialize();
    assert!(bytes.len() < 1 << 20, "{}", bytes.len());
    assert_eq!(Type::deserialize(&bytes).unwrap().data_bytes(), kind.data_bytes());
}
