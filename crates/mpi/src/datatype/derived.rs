//! Types that a program makes of others (MPI 5.0, section 5.1).

use super::elements::{Element, Elements};
use super::{Kind, Layout, Predefined};
use crate::error::{Class, Error};
use std::sync::Arc;

/// A type.
#[derive(Clone, Debug)]
pub struct Datatype {
    /// The lower bound, bytes.
    pub lower: i64,
    /// The upper bound, bytes.
    pub upper: i64,
    /// Where data begins.
    pub true_lower: i64,
    /// Where data ends.
    pub true_upper: i64,
    /// Whether `MPI_Type_create_resized` gave the bounds, its own or those of a part: then they are not
    /// rounded, and other parts do not count.
    is_bounded: bool,
    /// The strictest alignment of an element, bytes.
    alignment: i64,
    elements: Arc<Elements>,
    basic: Basic,
    layout: Layout,
}

/// The predefined types of which a type consists.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Basic {
    None,
    One(&'static Predefined),
    Several,
}

impl Basic {
    fn and(self, other: Basic) -> Basic {
        match (self, other) {
            (Basic::None, of) | (of, Basic::None) => of,
            (Basic::One(a), Basic::One(b)) if a.handle == b.handle => self,
            _ => Basic::Several,
        }
    }
}

fn too_long() -> Error {
    Error::new(Class::Count, "the type would be longer than memory")
}

/// The sum of products, if it fits.
fn sum(products: [[i64; 2]; 2]) -> Result<i64, Error> {
    let [a, b] = products.map(|[a, b]| a.checked_mul(b));
    a.and_then(|a| a.checked_add(b?)).ok_or_else(too_long)
}

impl From<&Predefined> for Datatype {
    fn from(of: &Predefined) -> Self {
        let mut layout = Layout::run(0, of.size);
        let mut end = of.size;
        if of.name == "SHORT_INT" {
            // The only one with a gap within.
            layout = Layout::run(0, 2);
            layout.append(&Layout::run(4, 4), 0);
            end = 8;
        }
        // Pairs and complex numbers are aligned as the larger of their parts is.
        let has_parts = matches!(of.kind, Kind::Complex | Kind::PairFloat | Kind::PairSigned);
        let alignment = if has_parts { of.extent / 2 } else { of.size };
        Datatype {
            lower: 0,
            upper: of.extent as i64,
            true_lower: 0,
            true_upper: end as i64,
            is_bounded: false,
            alignment: alignment as i64,
            elements: Arc::new(Elements::of(of)),
            basic: super::predefined(of.handle).map_or(Basic::Several, Basic::One),
            layout,
        }
    }
}

impl Datatype {
    /// Bytes of data.
    pub fn size(&self) -> usize {
        self.layout.bytes()
    }

    /// Bytes from one to the next in an array.
    pub fn extent(&self) -> i64 {
        self.upper - self.lower
    }

    /// The predefined type of all its elements, if it is one: what an accumulate needs.
    pub fn basic(&self) -> Option<&'static Predefined> {
        match self.basic {
            Basic::One(of) => Some(of),
            Basic::None | Basic::Several => None,
        }
    }

    /// Calls this for each predefined element, in order; pairs are two.
    ///
    /// # Errors
    /// That of the call.
    pub fn each_element<E>(&self, mut f: impl FnMut(&Element) -> Result<(), E>) -> Result<(), E> {
        self.elements.each(&mut f)
    }

    /// The bytes of its data in `external32`.
    pub fn external_bytes(&self) -> u64 {
        self.elements.external_bytes()
    }

    /// How many predefined elements so many bytes of data of this type are; `None` if the last is not whole.
    pub fn elements_within(&self, bytes: u64) -> Option<u64> {
        self.elements.within(bytes)
    }

    /// The bytes of so many predefined elements of this type, the reverse; `None` if it is longer than
    /// memory.
    pub fn bytes_of_elements(&self, count: u64) -> Option<u64> {
        self.elements.bytes_of(count)
    }

    /// Where the data of so many of this type is.
    pub fn layout(&self, count: usize) -> Layout {
        self.layout.repeated(count, self.extent() as isize)
    }

    /// Whether the data of an array of this type is all that is between its bounds.
    pub fn is_dense(&self) -> bool {
        self.layout.as_run() == Some(0) && self.lower == 0 && self.size() as i64 == self.upper
    }

    /// Whether the data of each element of an array lies between its first byte and the next element, so that
    /// as many bytes as extents and elements hold it all.
    pub fn is_within_extent(&self) -> bool {
        self.lower == 0 && self.true_lower >= 0 && self.true_upper <= self.upper
    }

    /// Blocks of other types, each so many of them at a displacement in bytes (`MPI_Type_create_struct`).
    ///
    /// # Errors
    /// If it would be longer than memory.
    pub fn of_blocks<'a>(blocks: impl Iterator<Item = (u64, i64, &'a Datatype)>) -> Result<Self, Error> {
        let (mut layout, mut elements) = (Layout::default(), Elements::default());
        let (mut alignment, mut basic) = (1, Basic::None);
        // Lower and upper: of what has bounds, and of the data.
        let mut bounds: [Option<[i64; 2]>; 2] = [None; 2];
        let mut size = 0u64;
        let has_bounds = |of: &Datatype| of.size() > 0 || of.is_bounded;
        for (count, at, of) in blocks.filter(|block| block.0 > 0 && has_bounds(block.2)) {
            let count_signed = i64::try_from(count).map_err(|_| too_long())?;
            let last = sum([[count_signed - 1, of.extent()], [at, 1]])?;
            let more = count.checked_mul(of.size() as u64);
            size = more
                .and_then(|more| size.checked_add(more))
                .filter(|&all| all < 1 << 62)
                .ok_or_else(too_long)?;
            let span = |lower: i64, upper: i64| {
                Ok::<_, Error>([sum([[at.min(last), 1], [lower, 1]])?, sum([[at.max(last), 1], [upper, 1]])?])
            };
            let own = span(of.lower, of.upper)?;
            let data = span(of.true_lower, of.true_upper)?;
            let of_this = [of.is_bounded.then_some(own), (of.size() > 0).then_some(data)];
            for (all, one) in bounds.iter_mut().zip(of_this) {
                let both = all.zip(one).map(|(a, b)| [a[0].min(b[0]), a[1].max(b[1])]);
                *all = both.or(*all).or(one);
            }
            alignment = alignment.max(of.alignment);
            basic = basic.and(of.basic);
            elements.append(count, &of.elements);
            layout.append(&of.layout(count as usize), at as isize);
        }
        let is_bounded = bounds[0].is_some();
        let [lower, mut upper] = bounds[0].or(bounds[1]).unwrap_or_default();
        if !is_bounded {
            upper += (lower - upper).rem_euclid(alignment);
        }
        let [true_lower, true_upper] = bounds[1].unwrap_or_default();
        let elements = Arc::new(elements);
        Ok(Datatype { lower, upper, true_lower, true_upper, is_bounded, alignment, elements, basic, layout })
    }

    /// So many blocks of so many, a stride in bytes apart (`MPI_Type_create_hvector`).
    ///
    /// # Errors
    /// As [`Self::of_blocks`].
    pub fn vector(&self, count: u64, length: u64, stride: i64) -> Result<Self, Error> {
        let block = Datatype::of_blocks([(length, 0, self)].into_iter())?;
        if count == 0 || length == 0 {
            return Datatype::of_blocks(std::iter::empty());
        }
        let count_signed = i64::try_from(count).map_err(|_| too_long())?;
        let last = sum([[count_signed - 1, stride], [0, 0]])?;
        // The bounds are those of the first block and of the last; what is between adds nothing.
        let ends = [(1, 0, &block), (u64::from(count > 1), last, &block)];
        let bounds = Datatype::of_blocks(ends.into_iter())?;
        let size = (block.size() as u64).checked_mul(count).filter(|&all| all < 1 << 62);
        size.ok_or_else(too_long)?;
        let mut elements = Elements::default();
        elements.append(count, &block.elements);
        let layout = block.layout.repeated(count as usize, stride as isize);
        Ok(Datatype { elements: Arc::new(elements), layout, ..bounds })
    }

    /// The same with other bounds (`MPI_Type_create_resized`).
    ///
    /// # Errors
    /// As [`Self::of_blocks`].
    pub fn resized(&self, lower: i64, extent: i64) -> Result<Self, Error> {
        let upper = sum([[lower, 1], [extent, 1]])?;
        Ok(Datatype { lower, upper, is_bounded: true, ..self.clone() })
    }

    /// The elements of one dimension of a distributed array: runs of indices with their lengths, `stride`
    /// bytes from each index to the next.
    ///
    /// # Errors
    /// As [`Self::of_blocks`].
    pub fn spread(&self, runs: &[[i64; 2]], stride: i64) -> Result<Self, Error> {
        let one = self.resized(0, stride)?;
        let place = |&[from, length]: &[i64; 2]| Ok((length as u64, sum([[from, stride], [0, 0]])?, &one));
        let places = runs.iter().map(place).collect::<Result<Vec<_>, Error>>()?;
        Datatype::of_blocks(places.into_iter())
    }

    /// A part of an array, whose last index is the next in memory: for each dimension the array's length, the
    /// part's, and where it starts (`MPI_Type_create_subarray` with `MPI_ORDER_C`).
    ///
    /// # Errors
    /// As [`Self::of_blocks`].
    pub fn subarray(&self, dimensions: &[[i64; 3]]) -> Result<Self, Error> {
        let mut part = self.clone();
        let (mut start, mut stride) = (0, self.extent());
        for &[whole, length, from] in dimensions.iter().rev() {
            part = part.vector(length as u64, 1, stride)?;
            start = sum([[start, 1], [from, stride]])?;
            stride = sum([[stride, whole], [0, 0]])?;
        }
        let moved = Datatype::of_blocks([(1, start, &part)].into_iter())?;
        moved.resized(0, stride)
    }
}

#[cfg(test)]
#[allow(unsafe_code)] // Layouts access memory.
mod tests {
    use super::*;
    use crate::datatype::{PREDEFINED, predefined};
    use proptest::prelude::*;

    /// How a type is made.
    #[derive(Clone, Debug)]
    enum Tree {
        Basic(usize),
        Vector { count: u64, length: u64, stride: i64, of: Box<Tree> },
        Blocks(Vec<(u64, i64, Tree)>),
        Resized { lower: i64, extent: i64, of: Box<Tree> },
        Subarray { dimensions: Vec<[i64; 3]>, of: Box<Tree> },
    }

    /// The standard's type map: elements with displacement, size and alignment, and the marks of bounds.
    #[derive(Clone, Default)]
    struct Map {
        entries: Vec<[i64; 3]>,
        marks: Vec<[i64; 2]>,
    }

    impl Map {
        fn add(&mut self, other: &Map, by: i64) {
            self.entries
                .extend(other.entries.iter().map(|&[at, size, alignment]| [at + by, size, alignment]));
            self.marks.extend(other.marks.iter().map(|mark| mark.map(|at| at + by)));
        }

        fn bounds(&self) -> [i64; 2] {
            if !self.marks.is_empty() {
                return [0, 1].map(|end| {
                    let ends = self.marks.iter().map(|mark| mark[end]);
                    if end == 0 { ends.min() } else { ends.max() }.unwrap()
                });
            }
            let [lower, upper] = self.true_bounds();
            let alignment = self.entries.iter().map(|entry| entry[2]).max().unwrap_or(1);
            [lower, lower + (upper - lower + alignment - 1) / alignment * alignment]
        }

        fn true_bounds(&self) -> [i64; 2] {
            let lower = self.entries.iter().map(|entry| entry[0]).min();
            let upper = self.entries.iter().map(|entry| entry[0] + entry[1]).max();
            [lower.unwrap_or(0), upper.unwrap_or(0)]
        }

        fn extent(&self) -> i64 {
            self.bounds()[1] - self.bounds()[0]
        }
    }

    /// Predefined types of each shape: handle, and elements with size and alignment.
    const BASIC: [(usize, &[[i64; 3]]); 8] = [
        (0x247, &[[0, 1, 1]]),
        (0x208, &[[0, 2, 2]]),
        (0x209, &[[0, 4, 4]]),
        (0x214, &[[0, 8, 8]]),
        (0x216, &[[0, 16, 8]]),
        (0x22c, &[[0, 2, 2], [4, 4, 4]]),
        (0x229, &[[0, 8, 8], [8, 4, 4]]),
        (0x22d, &[[0, 16, 16], [16, 4, 4]]),
    ];

    fn made(tree: &Tree) -> (Datatype, Map) {
        let (mut map, datatype) = match tree {
            Tree::Basic(at) => {
                let (handle, entries) = BASIC[*at];
                let map = Map { entries: entries.to_vec(), marks: vec![] };
                return (predefined(handle).unwrap().into(), map);
            }
            Tree::Vector { count, length, stride, of } => {
                let (of, one) = made(of);
                let mut map = Map::default();
                for block in 0..*count as i64 {
                    (0..*length as i64).for_each(|n| map.add(&one, block * stride + n * one.extent()));
                }
                (map, of.vector(*count, *length, *stride))
            }
            Tree::Blocks(blocks) => {
                let parts: Vec<(u64, i64, (Datatype, Map))> =
                    blocks.iter().map(|(count, at, of)| (*count, *at, made(of))).collect();
                let mut map = Map::default();
                for (count, at, (_, one)) in &parts {
                    (0..*count as i64).for_each(|n| map.add(one, at + n * one.extent()));
                }
                (map, Datatype::of_blocks(parts.iter().map(|(count, at, (of, _))| (*count, *at, of))))
            }
            Tree::Resized { lower, extent, of } => {
                let (of, map) = made(of);
                let map = Map { marks: vec![[*lower, lower + extent]], ..map };
                (map, of.resized(*lower, *extent))
            }
            Tree::Subarray { dimensions, of } => {
                let (of, one) = made(of);
                let mut places = vec![0];
                for &[whole, length, from] in dimensions {
                    let next =
                        |place: &i64| (from..from + length).map(|n| place * whole + n).collect::<Vec<_>>();
                    places = places.iter().flat_map(next).collect();
                }
                let mut map = Map::default();
                places.iter().for_each(|place| map.add(&one, place * one.extent()));
                let whole: i64 = dimensions.iter().map(|of| of[0]).product();
                map.marks = vec![[0, whole * one.extent()]];
                (map, of.subarray(dimensions))
            }
        };
        map.entries.truncate(100_000);
        (datatype.unwrap(), map)
    }

    fn tree() -> impl Strategy<Value = Tree> {
        let dimension = (1..4i64, 0..4i64, 0..4i64).prop_map(|(whole, length, from)| {
            let from = from.min(whole - 1);
            [whole, length.min(whole - from), from]
        });
        (0..BASIC.len()).prop_map(Tree::Basic).prop_recursive(3, 24, 3, move |of| {
            let one = of.clone().prop_map(Box::new);
            prop_oneof![
                (0..4u64, 0..4u64, -50..50i64, one.clone())
                    .prop_map(|(count, length, stride, of)| Tree::Vector { count, length, stride, of }),
                prop::collection::vec((0..4u64, -60..60i64, of), 0..4).prop_map(Tree::Blocks),
                (-20..20i64, 0..40i64, one.clone()).prop_map(|(lower, extent, of)| Tree::Resized {
                    lower,
                    extent,
                    of
                }),
                (prop::collection::vec(dimension.clone(), 1..4), one)
                    .prop_map(|(dimensions, of)| Tree::Subarray { dimensions, of }),
            ]
        })
    }

    proptest! {
        /// Bounds, data and elements are those of the type map.
        #[test]
        fn types_are_their_type_maps(tree in tree(), count in 0..4usize, seed: u8) {
            let (of, one) = made(&tree);
            prop_assert_eq!([of.lower, of.upper], one.bounds());
            prop_assert_eq!([of.true_lower, of.true_upper], one.true_bounds());
            prop_assert_eq!(of.size() as i64, one.entries.iter().map(|entry| entry[1]).sum::<i64>());
            let mut all = Map::default();
            (0..count as i64).for_each(|n| all.add(&one, n * one.extent()));
            let bytes: Vec<i64> = all.entries.iter().flat_map(|&[at, size, _]| at..at + size).collect();
            let layout = of.layout(count);
            prop_assert_eq!(layout.bytes(), bytes.len());
            let span = bytes.iter().min().zip(bytes.iter().max()).map(|(first, last)| [*first, last + 1]);
            prop_assert_eq!(layout.span().map(|span| span.map(|at| at as i64)), span);
            prop_assert!(layout.all_runs(|at, run| (at as i64..).take(run).all(|at| bytes.contains(&at))));
            let mut serialized = vec![];
            layout.encode(&mut serialized);
            prop_assert_eq!(Layout::decode(&serialized), Some(layout.clone()));
            prop_assert!(serialized.is_empty() || Layout::decode(&serialized[1..]).is_none());
            let sizes: Vec<[i64; 2]> = one.entries.iter().map(|&[_, size, alignment]| [size, alignment]).collect();
            if let Some(basic) = of.basic() {
                prop_assert!(basic.extent != basic.size || sizes.iter().all(|of| of[0] == basic.size as i64));
            }

            let start = bytes.iter().copied().min().unwrap_or(0).min(0);
            let end = bytes.iter().copied().max().unwrap_or(0).max(0) + 1;
            let memory: Vec<u8> = (start..end).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect();
            let mut packed = vec![0; bytes.len()];
            // SAFETY: the memory holds all that the type map names.
            unsafe { layout.pack(memory.as_ptr().wrapping_offset(-start as isize), &mut packed) };
            let expected: Vec<u8> = bytes.iter().map(|at| memory[(at - start) as usize]).collect();
            prop_assert_eq!(&packed, &expected);

            // A message may be shorter. Elements may overlap where they are not received.
            for length in [packed.len(), packed.len() / 2, packed.len().min(seed.into())] {
                let mut space = vec![0xaa; memory.len()];
                let mut plain = space.clone();
                // SAFETY: as above.
                unsafe {
                    layout.unpack(&packed[..length], space.as_mut_ptr().wrapping_offset(-start as isize));
                }
                for (at, byte) in bytes.iter().zip(&packed[..length]) {
                    plain[(at - start) as usize] = *byte;
                }
                prop_assert_eq!(space, plain);
            }
            let mut copy = vec![0xaa; memory.len()];
            // SAFETY: as above.
            unsafe {
                let [from, to] = [memory.as_ptr(), copy.as_mut_ptr().cast_const()]
                    .map(|start_of| start_of.wrapping_offset(-start as isize));
                layout.copy(from, to.cast_mut());
            }
            for at in start..end {
                let expected = if bytes.contains(&at) { memory[(at - start) as usize] } else { 0xaa };
                prop_assert_eq!(copy[(at - start) as usize], expected);
            }
            if let Some(at) = layout.as_run() {
                let plain: Vec<i64> = (at as i64..).take(bytes.len()).collect();
                prop_assert_eq!(bytes, plain);
            }
        }

        #[test]
        fn elements_are_counted(tree in tree(), bytes in 0..400u64) {
            let (of, one) = made(&tree);
            // A complex number is one element, as each predefined type that is no pair.
            let sizes: Vec<u64> = one.entries.iter().map(|entry| entry[1] as u64).collect();
            let (mut rest, mut number) = (bytes, 0);
            let is_whole = loop {
                let size = if sizes.is_empty() { 0 } else { sizes[number % sizes.len()] };
                if rest == 0 || size == 0 || rest < size {
                    break rest == 0;
                }
                (rest, number) = (rest - size, number + 1);
            };
            prop_assert_eq!(of.elements_within(bytes), is_whole.then_some(number as u64));
            prop_assert_eq!(of.bytes_of_elements(number as u64), Some(bytes - rest));
        }
    }

    #[test]
    fn predefined_types_have_their_size_and_extent() {
        for of in &PREDEFINED {
            let datatype = Datatype::from(of);
            assert_eq!((datatype.size(), datatype.extent()), (of.size, of.extent as i64), "{}", of.name);
            assert_eq!(
                datatype.elements_within(of.size as u64),
                Some(if of.name.contains("2") && of.name.starts_with('2') || of.name.ends_with("_INT") {
                    2
                } else {
                    1
                }),
                "{}",
                of.name
            );
        }
    }

    #[test]
    fn what_is_longer_than_memory_is_refused_and_loops_that_go_on_are_one() {
        let int = Datatype::from(predefined(0x209).unwrap());
        assert!(int.vector(1 << 40, 1 << 40, 4).is_err());
        assert!(int.vector(4, 1, i64::MAX / 2).is_err());
        assert!(int.resized(i64::MAX, 1).is_err());
        let column = int.vector(10, 1, 40).unwrap();
        assert_eq!(column.layout.repeated(3, 400), int.vector(30, 1, 40).unwrap().layout);
        assert_eq!(int.vector(10, 2, 8).unwrap().layout.as_run(), Some(0));
        assert!(int.vector(10, 2, 8).unwrap().is_dense() && !column.is_dense());
    }
}
