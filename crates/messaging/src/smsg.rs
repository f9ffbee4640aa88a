//! Short messages (`GNI_Smsg…`): software over FMA puts. Each side has a mailbox of slots, into which the other puts a message as long as
//! it has credits for free slots; credits come back by puts of a word.
//!
//! How a mailbox is laid out is **(ours)**: a message lies at the end of its slot, with its lengths and number last, so that the last packet of it says that it is
//! there. Its packets are routed in order for that, and a mailbox should lie within one page.

use crate::device::GniDevice;
use crate::gni::device::AriesDevice;
use crate::gni::{Endpoint, Gni, Post, PostKind, Step};
use netloom_fabric::router::tiled::Mode;
use netloom_nic::aries::LINE_B;
use netloom_nic::aries::address::MemHandle;
use netloom_nic::aries::status::Refusal;

/// A mailbox.
#[derive(Clone, Copy, Debug)]
pub struct Mailbox {
    /// The registered memory in which it lies.
    pub memory: MemHandle,
    /// Where in it, at a multiple of 64 B.
    pub address: u64,
    /// Messages that it holds.
    pub slots: u64,
    /// Most bytes of a message, with its header.
    pub message_max: u64,
}

/// Bytes of what is behind a message.
const HEAD_B: u64 = 16;

impl Mailbox {
    fn slot_bytes(&self) -> u64 {
        (self.message_max + HEAD_B).next_multiple_of(LINE_B)
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        self.slots * self.slot_bytes() + LINE_B
    }

    /// Where the slot of a message ends.
    fn end_of(&self, message: u64) -> u64 {
        self.address + (message % self.slots + 1) * self.slot_bytes()
    }

    /// Where the other side says how many messages it has taken.
    fn credits(&self) -> u64 {
        self.address + self.slots * self.slot_bytes()
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What its sender called it.
    pub tag: u8,
    /// Its header and its data.
    pub header: Vec<u8>,
    /// See `header`.
    pub data: Vec<u8>,
}

/// A connection between two processes. Nothing here waits.
pub struct Connection<D> {
    device: D,
    to: Endpoint,
    mine: Mailbox,
    theirs: Mailbox,
    sent: u64,
    taken: u64,
    mode: Mode,
}

impl<D: GniDevice> Connection<D> {
    /// Joins two mailboxes, of which both sides know.
    ///
    /// # Errors
    /// If a mailbox has no slots, or does not lie within its memory at a multiple of 64 B.
    pub fn new(device: D, to: Endpoint, mine: Mailbox, theirs: Mailbox) -> Result<Self, Refusal> {
        for m in [&mine, &theirs] {
            let end = m.memory.address + m.memory.bytes;
            let fits = m.address >= m.memory.address && m.address + m.bytes() <= end;
            if m.slots == 0 || !fits {
                return Err(Refusal::InvalidParam);
            }
            if !m.address.is_multiple_of(LINE_B) || !m.memory.address.is_multiple_of(LINE_B) {
                return Err(Refusal::Alignment);
            }
        }
        Ok(Connection { device, to, mine, theirs, sent: 0, taken: 0, mode: Mode::MinimalHash })
    }

    /// Sends a message. `queue` and `id` are of the event that tells when the put has ended; the receiver has an event where its mailbox' memory has a queue.
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if there is no credit for a slot; if the message is too long.
    pub fn send(
        &mut self,
        header: &[u8],
        data: &[u8],
        tag: u8,
        queue: Option<u16>,
        id: u64,
    ) -> Result<(), Refusal> {
        let length = (header.len() + data.len()) as u64;
        if length > self.theirs.message_max {
            return Err(Refusal::Size);
        }
        if self.needs_credit().is_some() {
            return Err(Refusal::NotDone);
        }
        let mut bytes = [header, data].concat();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let lengths = header.len() as u64 | (data.len() as u64) << 24 | u64::from(tag) << 48;
        bytes.extend_from_slice(&lengths.to_le_bytes());
        bytes.extend_from_slice(&(self.sent + 1).to_le_bytes());
        let at = self.theirs.end_of(self.sent) - bytes.len() as u64;
        self.sent += 1;
        let post = Post {
            queue,
            id,
            remote_event: true,
            mode: self.mode,
            ..Post::new(PostKind::FmaPut, 0, at, self.theirs.memory, bytes.len() as u64)
        };
        self.device.put_bytes(self.to, post, &bytes)
    }

    /// Whether the other side has no slot free for the next message; and the address of the word that says when it has.
    pub fn needs_credit(&self) -> Option<u64> {
        let taken = self.device.load_word(self.mine.credits());
        (self.sent - taken >= self.theirs.slots).then(|| self.mine.credits())
    }

    /// The next message, if it has come. It stays until it is released.
    pub fn next(&self) -> Option<Message> {
        let end = self.mine.end_of(self.taken);
        if self.device.load_word(end - 8) != self.taken + 1 {
            return None;
        }
        let lengths = self.device.load_word(end - HEAD_B);
        let (header, data) = (lengths as usize & 0xff_ffff, (lengths >> 24) as usize & 0xff_ffff);
        let start = end - HEAD_B - ((header + data) as u64).next_multiple_of(8);
        let mut bytes = self.device.load(start, header + data);
        let data = bytes.split_off(header);
        Some(Message { tag: (lengths >> 48) as u8, header: bytes, data })
    }

    /// Where the number of the next message will lie when it has come.
    fn awaits(&self) -> (u64, u64) {
        (self.mine.end_of(self.taken) - 8, self.taken + 1)
    }

    /// Gives the slot of the message back: a put of a word **(ours: for each)**.
    ///
    /// # Errors
    /// If the process has not signed on.
    pub fn release(&mut self) -> Result<(), Refusal> {
        self.taken += 1;
        let post = Post {
            mode: self.mode,
            ..Post::new(PostKind::FmaPut, 0, self.theirs.credits(), self.theirs.memory, 8)
        };
        self.device.put_bytes(self.to, post, &self.taken.to_le_bytes())
    }
}

/// A connection as programs use it (`GNI_Smsg…`).
pub struct Smsg {
    gni: Gni,
    connection: Connection<AriesDevice>,
}

impl Smsg {
    /// Joins two mailboxes, of which both sides know.
    ///
    /// # Errors
    /// If a mailbox has no slots, or does not lie within its memory at a multiple of 64 B.
    pub fn init(gni: &Gni, to: Endpoint, mine: Mailbox, theirs: Mailbox) -> Result<Self, Refusal> {
        let connection = Connection::new(gni.device().clone(), to, mine, theirs)?;
        Ok(Smsg { gni: gni.clone(), connection })
    }

    /// Chooses how messages are routed from now on (`GNI_SmsgSetDeliveryMode`).
    ///
    /// # Errors
    /// If packets could overtake one another: a message's last packet tells that it is there.
    pub fn set_delivery_mode(&mut self, mode: Mode) -> Result<(), Refusal> {
        if !mode.is_in_order() {
            return Err(Refusal::InvalidParam);
        }
        self.connection.mode = mode;
        Ok(())
    }

    /// Sends a message.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub async fn send(
        &mut self,
        header: &[u8],
        data: &[u8],
        tag: u8,
        queue: Option<u16>,
        id: u64,
    ) -> Result<(), Refusal> {
        let asked = self.connection.send(header, data, tag, queue, id);
        self.gni.after(asked).await
    }

    /// Whether the other side has no slot free for the next message; and the address of the word that says when it has.
    pub fn needs_credit(&self) -> Option<u64> {
        self.connection.needs_credit()
    }

    /// Looks once whether the next message has come. It stays until it is released.
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if it has not.
    pub async fn get_next(&self) -> Result<Message, Refusal> {
        self.gni.step(Step::Poll).await;
        self.connection.next().ok_or(Refusal::NotDone)
    }

    /// Looks once whether the next message has come with a tag that is asked for (`GNI_SmsgGetNextWTag`).
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if it has not; [`Refusal::NoMatch`] if its tag is another.
    pub async fn get_next_with_tag(&self, tag: u8) -> Result<Message, Refusal> {
        let message = self.get_next().await?;
        if message.tag == tag { Ok(message) } else { Err(Refusal::NoMatch) }
    }

    /// Polls the mailbox until the next message has come. It stays until it is released.
    ///
    /// # Panics
    /// Never: what has come is there.
    pub async fn wait_next(&self) -> Message {
        let (at, number) = self.connection.awaits();
        self.gni.wait_memory(at, 8, |b| b == number.to_le_bytes()).await;
        self.connection.next().expect("it has come")
    }

    /// Gives the slot of the message back.
    ///
    /// # Errors
    /// If the process has not signed on.
    pub async fn release(&mut self) -> Result<(), Refusal> {
        let asked = self.connection.release();
        self.gni.after(asked).await
    }
}
