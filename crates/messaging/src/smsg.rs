//! Short messages (`GNI_Smsg…`): a library over FMA puts. Each side has a mailbox of slots, to which the
//! other side puts messages as long as it has credits for free slots; credits are returned by puts of a word.
//!
//! The layout of a mailbox is **(ours)**: a message is at the end of its slot, with its lengths and number
//! last, so that its last packet marks its arrival. Its packets are therefore routed in order, and a mailbox
//! should be within one page.

use crate::device::GniDevice;
use crate::gni::device::AriesDevice;
use crate::gni::{Endpoint, Gni, Post, PostKind, Step};
use netloom_fabric::router::tiled::Mode;
use netloom_nic::aries::LINE_B;
use netloom_nic::aries::address::MemHandle;
use netloom_nic::aries::status::Refusal;

/// A receive mailbox.
#[derive(Clone, Copy, Debug)]
pub struct Mailbox {
    /// The registered memory that contains it.
    pub memory: MemHandle,
    /// Its offset there, a multiple of 64 B.
    pub address: u64,
    /// Its number of slots.
    pub slots: u64,
    /// Maximum size of a message with its header, bytes.
    pub message_max: u64,
}

/// Size of a message's trailer, bytes.
const HEAD_B: u64 = 16;

impl Mailbox {
    fn slot_bytes(&self) -> u64 {
        (self.message_max + HEAD_B).next_multiple_of(LINE_B)
    }

    /// Total size, bytes.
    pub fn bytes(&self) -> u64 {
        self.slots * self.slot_bytes() + LINE_B
    }

    /// The end of a message's slot.
    fn end_of(&self, message: u64) -> u64 {
        self.address + (message % self.slots + 1) * self.slot_bytes()
    }

    /// Where the other side stores its number of taken messages.
    fn credits(&self) -> u64 {
        self.address + self.slots * self.slot_bytes()
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sender's tag.
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
    /// Connects two mailboxes known to both sides.
    ///
    /// # Errors
    /// If a mailbox has no slots, or is not within its memory at a multiple of 64 B.
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

    /// Sends a message. `queue` and `id` are for the event at the end of the put; the receiver gets an event
    /// if its mailbox's memory has a queue.
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

    /// If the other side has no free slot for the next message, the address of the word that reports one.
    pub fn needs_credit(&self) -> Option<u64> {
        let taken = self.device.load_word(self.mine.credits());
        (self.sent - taken >= self.theirs.slots).then(|| self.mine.credits())
    }

    /// The next message, if it has arrived. It stays until it is released.
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

    /// Address of the next message's number, once it has arrived, and that number.
    fn awaits(&self) -> (u64, u64) {
        (self.mine.end_of(self.taken) - 8, self.taken + 1)
    }

    /// Returns the slot of the message: a put of a word **(ours: for each)**.
    ///
    /// # Errors
    /// If the process is not attached.
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
    /// Connects two mailboxes known to both sides.
    ///
    /// # Errors
    /// If a mailbox has no slots, or is not within its memory at a multiple of 64 B.
    pub fn init(gni: &Gni, to: Endpoint, mine: Mailbox, theirs: Mailbox) -> Result<Self, Refusal> {
        let connection = Connection::new(gni.device().clone(), to, mine, theirs)?;
        Ok(Smsg { gni: gni.clone(), connection })
    }

    /// Sets the routing mode of later messages (`GNI_SmsgSetDeliveryMode`).
    ///
    /// # Errors
    /// If packets could overtake one another: a message's last packet marks its arrival.
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

    /// If the other side has no free slot for the next message, the address of the word that reports one.
    pub fn needs_credit(&self) -> Option<u64> {
        self.connection.needs_credit()
    }

    /// Tests once whether the next message has arrived. It stays until it is released.
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if it has not.
    pub async fn get_next(&self) -> Result<Message, Refusal> {
        self.gni.step(Step::Poll).await;
        self.connection.next().ok_or(Refusal::NotDone)
    }

    /// Tests once whether the next message has arrived with the given tag (`GNI_SmsgGetNextWTag`).
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if it has not; [`Refusal::NoMatch`] if it has another tag.
    pub async fn get_next_with_tag(&self, tag: u8) -> Result<Message, Refusal> {
        let message = self.get_next().await?;
        if message.tag == tag { Ok(message) } else { Err(Refusal::NoMatch) }
    }

    /// Polls the mailbox until the next message has arrived. It stays until it is released.
    ///
    /// # Panics
    /// Never: the message is there when the wait ends.
    pub async fn wait_next(&self) -> Message {
        let (at, number) = self.connection.awaits();
        self.gni.wait_memory(at, 8, |b| b == number.to_le_bytes()).await;
        self.connection.next().expect("it has come")
    }

    /// Returns the slot of the message.
    ///
    /// # Errors
    /// If the process is not attached.
    pub async fn release(&mut self) -> Result<(), Refusal> {
        let asked = self.connection.release();
        self.gni.after(asked).await
    }
}
