//! Data that is not contiguous, in packets: each packet has as many pieces as it holds.

use super::*;
use smallvec::SmallVec;
use std::mem::size_of;

/// Bytes of an integer.
const WORD: usize = size_of::<u64>();
/// Integers before the data of each piece of a put: its address and its length.
const PLACE_B: usize = 2 * WORD;

/// A contiguous piece that can be cut.
pub(super) trait Part: Copy {
    fn bytes(&self) -> u64;
    fn part(self, from: u64, bytes: u64) -> Self;
}

impl Part for Range {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn part(self, from: u64, bytes: u64) -> Self {
        Range::part(self, from, bytes)
    }
}

impl Part for Piece {
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    fn part(self, from: u64, bytes: u64) -> Self {
        (self.0.part(from, bytes), self.1 + from)
    }
}

/// Pieces of which the first are taken, a part at a time.
#[derive(Clone, Debug)]
pub(super) struct Pieces<P> {
    list: SmallVec<[P; 1]>,
    at: usize,
}

impl<P: Part> Pieces<P> {
    pub fn new(list: &[P]) -> Self {
        Pieces { list: list.iter().copied().collect(), at: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.at == self.list.len()
    }

    /// As much as has room, at most `count` pieces; each takes `extra` bytes more than its data.
    pub fn first(&self, mut room: u64, extra: u64, count: usize) -> SmallVec<[P; 1]> {
        let mut taken = SmallVec::new();
        for piece in self.list[self.at..].iter().take(count) {
            if room <= extra {
                break;
            }
            let bytes = piece.bytes().min(room - extra);
            taken.push(piece.part(0, bytes));
            room -= extra + bytes;
        }
        taken
    }

    /// Whether nothing would be left without these, the first.
    pub fn ends_with(&self, taken: &[P]) -> bool {
        let last = taken.last().map_or(0, Part::bytes);
        self.at + taken.len() == self.list.len() && self.list.last().is_none_or(|piece| piece.bytes() == last)
    }

    /// These, the first, are taken.
    pub fn remove(&mut self, taken: &[P]) {
        for part in taken {
            let first = &mut self.list[self.at];
            let left = first.bytes() - part.bytes();
            if left == 0 {
                self.at += 1;
            } else {
                *first = first.part(part.bytes(), left);
            }
        }
    }
}

impl<D: PamiDevice> Context<D> {
    /// Sends all data of a put; the last packet has the request.
    pub(super) fn inject_stores(
        &mut self,
        to: Endpoint,
        head: Head,
        request: u64,
        pieces: &mut Pieces<Piece>,
    ) -> Result<(), Full> {
        while !pieces.is_empty() {
            let room = (self.device.data_max(to) - WORD) as u64;
            let taken = pieces.first(room, PLACE_B as u64, usize::MAX);
            let is_last = pieces.ends_with(&taken);
            let mut packet = self.spare.packet();
            packet.extend(if is_last { request } else { NO_REQUEST }.to_le_bytes());
            let place = |(data, remote): Piece| [remote, data.bytes].map(u64::to_le_bytes);
            for &piece in &taken[..taken.len() - 1] {
                packet.extend(place(piece).as_flattened());
                self.device.load(piece.0, &mut packet);
            }
            let last = taken[taken.len() - 1];
            packet.extend(place(last).as_flattened());
            let injected = self.device.inject_memory(to, head, &packet, last.0);
            self.spare.keep_packet(packet);
            injected?;
            pieces.remove(&taken);
        }
        Ok(())
    }

    /// A packet of a put has arrived.
    pub(super) fn store_pieces(&mut self, origin: Endpoint, payload: D::Payload) {
        let length = self.device.bytes(payload).len();
        let word = |device: &D, at: usize| integer(&device.bytes(payload)[at..], 0);
        let mut at = WORD;
        while at + PLACE_B <= length {
            let [address, bytes] = [at, at + WORD].map(|at| word(&self.device, at));
            let from = at + PLACE_B;
            at = from + (bytes as usize).min(length - from);
            self.device.store(payload, from..at, address);
        }
        let request = word(&self.device, 0);
        self.acknowledge(origin, request, Outcome::Done);
    }

    /// Requests the data of a get.
    pub(super) fn request_load(&mut self, from: Endpoint, pieces: &[Piece], cookie: u64) {
        let places: SmallVec<[Range; 1]> = pieces.iter().map(|&(local, _)| local).collect();
        let bytes = places.iter().map(|place| place.bytes).sum();
        let receive = Receive { address: 0, cookie };
        let arriving = Arriving { receive, bytes, arrived: 0, request: NO_REQUEST };
        let stream = self.streams.insert(Streamed { from, arriving, places: Pieces::new(&places) });
        for some in pieces.chunks((self.device.packet_max() - WORD) / PLACE_B) {
            let mut bytes = integers([stream]);
            bytes.extend(some.iter().flat_map(|&(local, remote)| integers([remote, local.bytes])));
            self.submit(from, Waiting::Packet { head: self.head(Kind::Load, 0, 0), bytes });
        }
    }

    /// The request of a get has arrived.
    pub(super) fn load_pieces(&mut self, origin: Endpoint, payload: D::Payload) {
        let bytes = self.device.bytes(payload);
        let receiver = integer(bytes, 0);
        let of = |place: &[u8]| Range { address: integer(place, 0), bytes: integer(place, 1) };
        let list: Vec<Range> = bytes[WORD.min(bytes.len())..].chunks_exact(PLACE_B).map(of).collect();
        let (head, data) = (self.head(Kind::Stream, 0, 0), Pieces::new(&list));
        self.submit(origin, Waiting::Stream { head, receiver, data, request: NO_REQUEST });
    }

    /// Sends all data of a stream.
    pub(super) fn inject_stream(
        &mut self,
        to: Endpoint,
        head: Head,
        receiver: u64,
        data: &mut Pieces<Range>,
    ) -> Result<(), Full> {
        while !data.is_empty() {
            let room = (self.device.data_max(to) - WORD) as u64;
            let taken = data.first(room, 0, usize::MAX);
            let mut packet = self.spare.packet();
            packet.extend(receiver.to_le_bytes());
            for &range in &taken[..taken.len() - 1] {
                self.device.load(range, &mut packet);
            }
            let injected = self.device.inject_memory(to, head, &packet, taken[taken.len() - 1]);
            self.spare.keep_packet(packet);
            injected?;
            data.remove(&taken);
        }
        Ok(())
    }

    /// A packet of a stream has arrived.
    pub(super) fn streamed(&mut self, payload: D::Payload) {
        let bytes = self.device.bytes(payload);
        let (stream, length) = (integer(bytes, 0), bytes.len());
        let Some(Streamed { from, arriving, places }) = self.streams.get_mut(stream) else { return };
        let taken = places.first((length - WORD) as u64, 0, usize::MAX);
        let mut at = WORD;
        for place in &taken {
            let end = at + place.bytes as usize;
            self.device.store(payload, at..end, place.address);
            at = end;
        }
        places.remove(&taken);
        arriving.arrived += (length - WORD) as u64;
        let (from, arriving) = (*from, *arriving);
        if arriving.arrived >= arriving.bytes {
            self.streams.remove(stream);
            self.finish(from, arriving, Outcome::Done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_cut_to_the_room() {
        let range = |address, bytes| Range { address, bytes };
        let mut pieces = Pieces::new(&[(range(0, 10), 100), (range(20, 5), 200), (range(30, 40), 300)]);
        let taken = pieces.first(30, 4, 9);
        assert_eq!(taken[..], [(range(0, 10), 100), (range(20, 5), 200), (range(30, 3), 300)]);
        assert!(!pieces.ends_with(&taken));
        pieces.remove(&taken);
        assert_eq!(pieces.first(5, 4, 9)[..], [(range(33, 1), 303)]);
        assert_eq!(pieces.first(4, 4, 9)[..], []);
        let rest = pieces.first(u64::MAX, 0, 9);
        assert_eq!(rest[..], [(range(33, 37), 303)]);
        assert!(pieces.ends_with(&rest));
        pieces.remove(&rest);
        assert!(pieces.is_empty());
    }
}
