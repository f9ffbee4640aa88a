//! What the transport reports: messages that arrive, data that is in its place, sends that have ended.

use super::{ANSWERS, Ended, Number, ONE_SIDED, Place, PointToPoint, State, UNEXPECTED, ended};
use crate::matching::Envelope;
use crate::one_sided;
use crate::transport::{MessageEvent, Process, Step, Transport};

impl<T: Transport> PointToPoint<T> {
    /// A message has arrived whose data is all here; the receive that it ends.
    #[inline]
    pub fn arrived(&self, from: Process, envelope: Envelope, data: &[u8]) -> Option<Number> {
        if envelope.context == one_sided::CONTEXT {
            self.one_sided.borrow_mut().arrived(from, &{ envelope }, data);
            self.send_of_windows();
            return None;
        }
        let mut tables = self.tables.borrow_mut();
        let tables = &mut *tables;
        if envelope.context == ANSWERS {
            tables.end_synchronous(envelope.acknowledge - 1, |is_sent, _| (is_sent, true));
            return None;
        }
        let found = tables.matching.arrived(&envelope);
        self.transport.spend(Step::Search(tables.matching.searched()));
        let Some(number) = found else {
            self.counters.count_unexpected();
            let at = tables.unexpected.insert(from, data);
            tables.matching.add_unexpected(envelope, u64::from(at));
            return None;
        };
        let State::Receiving(space) = tables.requests[number as usize] else { unreachable!("it waited") };
        let end = ended(&envelope, space.bytes);
        self.transport.spend(Step::Complete);
        self.taken(from, &envelope, None);
        self.transport.store(&data[..end.bytes as usize], space.address);
        tables.requests[number as usize] = State::Ended(end);
        Some(number as Number)
    }

    /// A message has arrived whose data comes later: where it is to go.
    pub fn announced(&self, from: Process, envelope: Envelope) -> Place {
        if envelope.context == one_sided::CONTEXT {
            let one_sided::Announced { address, number } =
                self.one_sided.borrow_mut().announced(from, &envelope);
            return Place { address, number: ONE_SIDED | number, is_buffer: false };
        }
        let mut tables = self.tables.borrow_mut();
        let tables = &mut *tables;
        let found = tables.matching.arrived(&envelope);
        self.transport.spend(Step::Search(tables.matching.searched()));
        let Some(number) = found else {
            self.counters.count_unexpected();
            let (at, address) = tables.unexpected.announce(from, envelope.bytes as usize);
            tables.matching.add_unexpected(envelope, u64::from(at));
            return Place { address, number: UNEXPECTED | u64::from(at), is_buffer: true };
        };
        let State::Receiving(space) = tables.requests[number as usize] else { unreachable!("it waited") };
        let end = ended(&envelope, space.bytes);
        self.transport.spend(Step::Complete);
        self.taken(from, &envelope, Some(number as Number));
        let (state, address) = if end.is_truncated {
            let mut buffer = vec![0; envelope.bytes as usize].into_boxed_slice();
            let address = buffer.as_mut_ptr() as u64;
            tables.buffers.insert(number as Number, buffer);
            (State::ReceivingLong(space, end), address)
        } else {
            (State::Arriving(end), space.address)
        };
        tables.requests[number as usize] = state;
        Place { address, number, is_buffer: end.is_truncated }
    }

    /// The data of an announced message that the transport has put elsewhere than in the buffer that it was
    /// given.
    pub fn fill(&self, number: u64, bytes: &[u8]) {
        let mut tables = self.tables.borrow_mut();
        let tables = &mut *tables;
        let buffer = match number & UNEXPECTED {
            0 => &mut tables.buffers.get_mut(&(number as Number)).expect("it has one")[..],
            _ => &mut tables.unexpected[number as u32].data[..],
        };
        buffer.copy_from_slice(bytes);
    }

    /// All data of an announced message is in its place, or will never be.
    pub fn received(&self, number: u64, is_cut: bool) {
        if number & ONE_SIDED != 0 {
            self.one_sided.borrow_mut().received(number & !ONE_SIDED, is_cut);
            return self.send_of_windows();
        }
        let mut tables = self.tables.borrow_mut();
        let tables = &mut *tables;
        if number & UNEXPECTED == 0 {
            self.transport.observe(|| MessageEvent::Received(number as Number));
            let end = match tables.requests[number as usize] {
                State::Arriving(end) => end,
                State::ReceivingLong(space, end) => {
                    let buffer = tables.buffers.remove(&(number as Number)).expect("it has one");
                    self.transport.store(&buffer[..end.bytes as usize], space.address);
                    end
                }
                other => unreachable!("{other:?} receives"),
            };
            tables.requests[number as usize] = State::Ended(Ended { is_cut, ..end });
            return;
        }
        let at = number as u32;
        let message = &mut tables.unexpected[at];
        message.is_complete = true;
        message.is_cut = is_cut;
        let Some((number, envelope)) = message.receive else { return };
        self.transport.observe(|| MessageEvent::Received(number));
        let State::Receiving(space) = tables.requests[number as usize] else { unreachable!("it waited") };
        let end = Ended { is_cut, ..ended(&envelope, space.bytes) };
        self.transport.store(&message.data[..end.bytes as usize], space.address);
        tables.unexpected.remove(at);
        tables.requests[number as usize] = State::Ended(end);
    }

    /// The data of a send may be reused, or the other process has ended.
    pub fn sent(&self, number: u64, is_cut: bool) {
        let mut tables = self.tables.borrow_mut();
        if !is_cut && matches!(tables.requests[number as usize], State::SendingSynchronous(_)) {
            return tables.end_synchronous(number as Number, |_, is_taken| (true, is_taken));
        }
        if matches!(tables.requests[number as usize], State::SendingKept(_)) {
            tables.buffers.remove(&(number as Number));
            tables.free(number as Number);
            return;
        }
        tables.requests[number as usize] = State::Ended(Ended { is_cut, ..Ended::default() });
    }
}
