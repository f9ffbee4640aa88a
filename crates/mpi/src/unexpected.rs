//! Messages that arrived before a receive of theirs was posted, by number.

use crate::matching::Envelope;
use crate::transport::Process;

/// Longest memory that a message leaves to the next one of its number, bytes: short messages need no new
/// memory.
const KEPT_BYTES: usize = 8 << 10;

/// A message that nobody has waited for.
#[derive(Debug, Default)]
pub(crate) struct Unexpected {
    pub from: Process,
    pub data: Vec<u8>,
    pub is_complete: bool,
    pub is_cut: bool,
    /// The receive that has taken it before it was complete, by its number.
    pub receive: Option<(u32, Envelope)>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    list: Vec<Unexpected>,
    free: Vec<u32>,
}

impl Messages {
    /// A message whose data is all here.
    pub fn insert(&mut self, from: Process, data: &[u8]) -> u32 {
        let at = self.place();
        let message = &mut self.list[at as usize];
        (message.from, message.is_complete) = (from, true);
        message.data.extend_from_slice(data);
        at
    }

    /// A message whose data will be written to a buffer, and the address of that.
    pub fn announce(&mut self, from: Process, bytes: usize) -> (u32, u64) {
        let at = self.place();
        let message = &mut self.list[at as usize];
        message.from = from;
        if bytes > message.data.capacity() {
            // The system gives much memory cleared.
            message.data = vec![0; bytes];
        } else {
            message.data.resize(bytes, 0);
        }
        (at, message.data.as_mut_ptr() as u64)
    }

    /// An empty one.
    fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.list.push(Unexpected::default());
            self.list.len() as u32 - 1
        })
    }

    /// It has been received.
    pub fn remove(&mut self, at: u32) {
        let mut data = std::mem::take(&mut self.list[at as usize].data);
        data.clear();
        if data.capacity() > KEPT_BYTES {
            data = vec![];
        }
        self.list[at as usize] = Unexpected { data, ..Unexpected::default() };
        self.free.push(at);
    }
}

impl std::ops::Index<u32> for Messages {
    type Output = Unexpected;

    fn index(&self, at: u32) -> &Unexpected {
        &self.list[at as usize]
    }
}

impl std::ops::IndexMut<u32> for Messages {
    fn index_mut(&mut self, at: u32) -> &mut Unexpected {
        &mut self.list[at as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_messages_use_the_memory_of_those_before_them_and_long_ones_give_it_back() {
        let mut messages = Messages::default();
        let first = messages.insert(3, &[7; 100]);
        let address = messages[first].data.as_ptr();
        assert_eq!((messages[first].from, &*messages[first].data), (3, &[7; 100][..]));
        messages.remove(first);
        let (second, announced) = messages.announce(4, 50);
        assert_eq!((second, announced, messages[second].is_complete), (first, address as u64, false));
        assert_eq!(*messages[second].data, [0; 50]);
        messages[second].receive = Some((1, Envelope::of_bytes(&[0; Envelope::BYTES]).unwrap()));
        messages.remove(second);
        let (long, _) = messages.announce(5, 1 << 20);
        messages.remove(long);
        assert_eq!((messages[long].data.capacity(), messages[long].receive), (0, None));
    }
}
