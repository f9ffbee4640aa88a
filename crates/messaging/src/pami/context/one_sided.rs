//! Puts and gets, and the data of a rendezvous: what the device moves between this task's memory and
//! another's.
//!
//! A device that reaches all memory moves the data of a put or get in the call. Another one reaches only what
//! tasks have exposed, and finishes later: it moves a part at a time, so that other operations make progress
//! in between, and what it has no space for waits here. It reports a put as soon as this task's memory is
//! free; that the data is at its target is the end of a *flush* behind it. Memory that is not exposed takes
//! packets: see [`packing`](super::packing).

use super::*;
use smallvec::SmallVec;

/// Most pieces of a part.
const PIECES_MAX: usize = 256;

/// What data is moved for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// A message by rendezvous, or a get.
    Receive(Arriving),
    /// A put.
    Put { cookie: u64, is_acknowledged: bool },
    /// A flush, after a put that is to be acknowledged, or for a fence.
    Flush { put: Option<u64> },
}

/// Data that the device moves, a part at a time.
#[derive(Clone, Debug)]
pub(super) struct Movement {
    pub purpose: Purpose,
    pub with: Endpoint,
    pieces: Pieces<Piece>,
}

impl Movement {
    pub fn new(purpose: Purpose, with: Endpoint, pieces: &[Piece]) -> Self {
        Movement { purpose, with, pieces: Pieces::new(pieces) }
    }

    /// The next part, of at most this number of bytes.
    pub fn next_part(&self, bytes: u64) -> SmallVec<[Piece; 1]> {
        self.pieces.first(bytes, 0, PIECES_MAX)
    }

    /// A part, the first of what remained, has begun.
    pub fn take_part(&mut self, part: &[Piece]) {
        self.pieces.remove(part);
    }

    /// What has not begun is not moved.
    pub fn give_up(&mut self) {
        self.pieces = Pieces::new(&[]);
    }

    /// Whether all parts have begun.
    pub fn is_begun(&self) -> bool {
        self.pieces.is_empty()
    }
}

impl<D: PamiDevice> Context<D> {
    /// Starts a put or a get.
    ///
    /// # Errors
    /// If there is no such endpoint.
    pub fn rma(&mut self, rma: Rma) -> Result<(), Invalid> {
        self.check(rma.with, 0, 0, 0)?;
        self.device.spend(Step::Send);
        if self.device.reaches_all() && rma.prefers_packets {
            self.rma_by_packets(&rma);
        } else if self.device.reaches_all() {
            match self.move_at_once(&rma) {
                Err(Remote::Unsupported) => self.rma_by_packets(&rma),
                moved => self.end_rma(&rma, Outcome::of(moved)),
            }
        } else if rma.is_exposed && self.device.moves(rma.way) {
            let is_next = self.movements.is_empty();
            let movement = Movement::new(self.purpose_of(&rma), rma.with, rma.pieces);
            if self.is_paced(&movement) {
                self.pace(movement);
                return Ok(());
            }
            self.movements.push_back(movement);
            if is_next {
                self.begin_movement();
            }
        } else {
            self.rma_by_packets(&rma);
        }
        Ok(())
    }

    fn purpose_of(&self, rma: &Rma) -> Purpose {
        let Rma { cookie, is_acknowledged, .. } = *rma;
        match rma.way {
            Transfer::Put => Purpose::Put { cookie, is_acknowledged },
            Transfer::Get => {
                let bytes = rma.pieces.iter().map(|(local, _)| local.bytes).sum();
                let receive = Receive { address: 0, cookie };
                Purpose::Receive(Arriving { receive, bytes, arrived: 0, request: NO_REQUEST })
            }
        }
    }

    /// Moves all data of a put or get before it returns.
    fn move_at_once(&mut self, rma: &Rma) -> Result<(), Remote> {
        let (begun, count) = match *rma.pieces {
            [(local, remote)] => (self.device.transfer(rma.way, rma.with, local, remote)?, 1),
            _ => {
                let (count, begun) = self.device.transfer_pieces(rma.way, rma.with, rma.pieces)?;
                (begun, count)
            }
        };
        let is_done = begun == Begun::Done && count == rma.pieces.len();
        assert!(is_done, "a device that reaches all memory copies at once");
        Ok(())
    }

    fn rma_by_packets(&mut self, rma: &Rma) {
        let Rma { way, with: to, pieces, cookie, is_acknowledged, .. } = *rma;
        match way {
            Transfer::Put => {
                let data = Range { address: 0, bytes: 0 };
                let request = Request { to, data, cookie, is_rendezvous: true, is_acknowledged };
                let request = self.requests.insert(request);
                let (head, pieces) = (self.head(Kind::Store, 0, 0), Pieces::new(pieces));
                self.submit(to, Waiting::Store { head, pieces, request });
            }
            Transfer::Get => self.request_load(to, pieces, cookie),
        }
    }

    fn end_rma(&mut self, rma: &Rma, outcome: Outcome) {
        match rma.way {
            Transfer::Put => {
                self.events.push_back(Event::Sent(rma.cookie, outcome));
                if rma.is_acknowledged {
                    self.events.push_back(Event::Completed(rma.cookie, outcome));
                }
            }
            Transfer::Get => self.events.push_back(Event::Received(rma.cookie, outcome)),
        }
    }

    /// Makes a step of the movement that is next.
    pub(super) fn move_next(&mut self) -> Option<Event<D::Payload>> {
        let has_begun = self.paced.is_blocked && self.begin_paced();
        if self.begin_movement() || has_begun { Some(self.next_event()) } else { None }
    }

    /// Begins a part of the movement that is next; returns whether there was space.
    fn begin_movement(&mut self) -> bool {
        let Some(mut movement) = self.movements.pop_front() else { return false };
        match self.begin_part(&mut movement) {
            Ok(begun) => {
                self.follow_put(&movement);
                match begun {
                    Begun::Done => self.moved(movement),
                    Begun::Later(ticket) => {
                        self.pending.insert(ticket, Pending::Movement(movement));
                    }
                }
            }
            Err(Remote::Full) => {
                self.movements.push_front(movement);
                return false;
            }
            Err(Remote::Unsupported) => self.request_stream(movement),
            Err(error) => self.end_movement(&movement, Outcome::of(Err(error))),
        }
        true
    }

    fn begin_part(&mut self, movement: &mut Movement) -> Result<Begun, Remote> {
        let (with, way) = match movement.purpose {
            Purpose::Flush { .. } => return self.device.flush(movement.with),
            Purpose::Receive(_) => (movement.with, Transfer::Get),
            Purpose::Put { .. } => (movement.with, Transfer::Put),
        };
        let part = movement.next_part(self.limits.piece_bytes);
        let (count, begun) = match part[..] {
            [(local, remote)] if self.device.shares(local.bytes) && self.fetches(with.task()) => {
                (1, self.device.transfer_alone(way, with, local, remote)?)
            }
            [(local, remote)] => (1, self.device.transfer(way, with, local, remote)?),
            _ => self.device.transfer_pieces(way, with, &part)?,
        };
        movement.pieces.remove(&part[..count]);
        Ok(begun)
    }

    /// Whether another task has data of this one to fetch.
    fn fetches(&self, task: u32) -> bool {
        let mut requests = self.requests.values.iter().flatten();
        requests.any(|request| request.is_rendezvous && request.to.task() == task)
    }

    /// The last part of a put has begun: its flush may begin behind it, or the next fence will.
    fn follow_put(&mut self, movement: &Movement) {
        let Purpose::Put { cookie, is_acknowledged } = movement.purpose else { return };
        if !movement.pieces.is_empty() {
            return;
        }
        if is_acknowledged {
            let flush = Purpose::Flush { put: Some(cookie) };
            self.movements.push_front(Movement::new(flush, movement.with, &[]));
            self.begin_movement();
        } else {
            self.unflushed.insert(movement.with);
        }
    }

    /// The device has moved a part.
    pub(super) fn moved(&mut self, movement: Movement) {
        match movement.purpose {
            Purpose::Receive(_) | Purpose::Put { .. } if !movement.pieces.is_empty() => {
                self.movements.push_back(movement);
            }
            // The flush reports the rest.
            Purpose::Put { cookie, .. } => self.events.push_back(Event::Sent(cookie, Outcome::Done)),
            _ => self.end_movement(&movement, Outcome::Done),
        }
    }

    pub(super) fn end_movement(&mut self, movement: &Movement, outcome: Outcome) {
        match movement.purpose {
            Purpose::Receive(arriving) => self.finish(movement.with, arriving, outcome),
            Purpose::Put { cookie, is_acknowledged } => {
                self.events.push_back(Event::Sent(cookie, outcome));
                if is_acknowledged {
                    self.events.push_back(Event::Completed(cookie, outcome));
                }
            }
            Purpose::Flush { put } => {
                self.events.extend(put.map(|cookie| Event::Completed(cookie, outcome)));
            }
        }
    }

    /// The device cannot read a sender's memory: the sender must stream it. Memory that was exposed is never
    /// so.
    fn request_stream(&mut self, movement: Movement) {
        let from = movement.with;
        match movement.purpose {
            Purpose::Receive(arriving) if arriving.request != NO_REQUEST => {
                let place = Range { address: arriving.receive.address, bytes: arriving.bytes };
                let stream = Streamed { from, arriving, places: Pieces::new(&[place]) };
                let bytes = integers([arriving.request, self.streams.insert(stream)]);
                let head = self.head(Kind::StreamRequest, 0, 0);
                self.submit(from, Waiting::Packet { head, bytes });
            }
            _ => self.end_movement(&movement, Outcome::Fault),
        }
    }

    /// [`Event::Sent`] will report that all operations so far are complete at their targets.
    pub fn fence(&mut self, cookie: u64) {
        self.fences.push(cookie);
        self.pass_fences();
    }

    /// Fences wait until nothing is under way, also of what was started after them.
    pub(super) fn pass_fences(&mut self) {
        for with in std::mem::take(&mut self.unflushed) {
            self.movements.push_back(Movement::new(Purpose::Flush { put: None }, with, &[]));
        }
        let is_done = self.requests.is_empty()
            && self.waiting.is_empty()
            && self.pending.is_empty()
            && self.movements.is_empty()
            && self.paced.is_empty()
            && !self.is_getting_packets();
        if is_done {
            let passed = self.fences.drain(..).map(|cookie| Event::Sent(cookie, Outcome::Done));
            self.events.extend(passed);
        }
    }

    /// Whether a get of this context waits for packets.
    fn is_getting_packets(&self) -> bool {
        self.streams.values.iter().flatten().any(|stream| stream.arriving.request == NO_REQUEST)
    }
}
