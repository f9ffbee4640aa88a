//! The side that receives.

use super::{Header, Message};
use crate::abi::*;
use crate::buffer::Unpacking;
use crate::library::{CommId, Library};
use crate::pami::Pami;
use crate::persistent::Plan;
use crate::requests::{EMPTY, NO_MESSAGE, Request, UnderWay};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::matching::Pattern;
use netloom_mpi::point_to_point::{Ended, Number, PointToPoint};
use netloom_mpi::transport::{Memory, Step, Transport};
use std::cell::RefCell;
use std::ffi::c_int;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// The headers of a source and tag.
#[derive(Default)]
pub struct Headers {
    /// How many receives are planned.
    planned: usize,
    /// Those that have been asked for, in order.
    list: Vec<Slot>,
}

enum Slot {
    /// It is received to here.
    Expected(Number, Box<[u8; Header::BYTES]>),
    Here(Header),
    /// The sender has ended.
    Cut,
}

impl Headers {
    /// The header of a number, once it is here. Those before it are received first, whether their receives
    /// are started or not.
    fn get(
        &mut self,
        point_to_point: &PointToPoint<Pami>,
        pattern: Pattern,
        number: usize,
    ) -> Poll<Result<Header, Error>> {
        while self.list.len() <= number {
            let mut space = Box::new([0; Header::BYTES]);
            let memory = Memory { address: space.as_mut_ptr() as u64, bytes: Header::BYTES as u64 };
            self.list.push(Slot::Expected(point_to_point.receive(pattern, memory), space));
        }
        let slot = &mut self.list[number];
        if let Slot::Expected(expected, space) = slot {
            let Some(end) = point_to_point.test(*expected) else { return Poll::Pending };
            let header = Header::of_bytes(**space);
            end_receive(point_to_point, *expected);
            *slot = if end.is_cut { Slot::Cut } else { Slot::Here(header) };
        }
        Poll::Ready(match *slot {
            Slot::Here(header) => Ok(header),
            _ => Err(cut()),
        })
    }
}

fn cut() -> Error {
    Error::new(Class::ProcAborted, "the other process has ended")
}

fn end_receive(point_to_point: &PointToPoint<Pami>, number: Number) {
    point_to_point.transport().spend(Step::Free);
    point_to_point.free(number);
}

/// A receive that is planned.
#[derive(Clone)]
pub struct Incoming {
    message: Message,
    headers: Rc<RefCell<Headers>>,
    /// The number of its header among them.
    number: usize,
    arrivals: Rc<RefCell<Arrivals>>,
}

/// What has arrived of a receive that is started.
#[derive(Default)]
struct Arrivals {
    /// Receives of the sender's partitions, in order, once it is known how many there are.
    sent: Option<Vec<Number>>,
    /// Where all are received to be unpacked, if the type has gaps.
    unpacking: Option<Unpacking>,
    /// Partitions that are unpacked.
    unpacked: Vec<bool>,
}

impl Incoming {
    /// Plans a receive.
    pub(super) fn plan(library: &mut Library, message: Message) -> Self {
        let Message { peer, tag, comm, .. } = message;
        let headers = Rc::clone(library.of(comm).planned.headers.entry((peer, tag)).or_default());
        let number = headers.borrow().planned;
        headers.borrow_mut().planned += 1;
        Incoming { message, headers, number, arrivals: Rc::default() }
    }

    pub fn comm(&self) -> CommId {
        self.message.comm
    }

    /// The status of a receive whose partitions have all arrived.
    pub fn status(&self) -> Ended {
        let &Message { ref buf, peer, tag, .. } = &self.message;
        if peer == PROC_NULL {
            return NO_MESSAGE;
        }
        let bytes = buf.layout().map_or(0, |layout| layout.bytes() as u64);
        Ended { source: peer, tag, bytes, ..EMPTY }
    }

    /// Receives the partitions of the sender as the header tells.
    fn expect(
        &self,
        point_to_point: &PointToPoint<Pami>,
        context: u32,
        header: Header,
        space: Memory,
    ) -> Result<(), Error> {
        let Header { first, partitions, bytes } = header;
        let &Message { peer: source, tag, partitions: own, .. } = &self.message;
        let sent = u64::from(partitions).saturating_mul(bytes);
        if sent != space.bytes {
            let own_bytes = self.message.bytes()?;
            let text = format!(
                "the message of rank {source} with tag {tag} has {partitions} partitions of {bytes} B, and its \
                 receive {own} of {own_bytes} B: together they must be as long"
            );
            let class = if sent > space.bytes { Class::Truncate } else { Class::Other };
            return Err(Error::new(class, text));
        }
        point_to_point.note_partitions(context, Some(source), header, tag);
        let receive = |at: u32| {
            let pattern = Pattern { context, source, tag: first.wrapping_add_unsigned(at) };
            let address = space.address + u64::from(at) * bytes;
            point_to_point.receive(pattern, Memory { address, bytes })
        };
        self.arrivals.borrow_mut().sent = Some((0..partitions).map(receive).collect());
        Ok(())
    }

    /// Whether a partition of this receive has arrived; then it is in the program's buffer.
    fn has_arrived(&self, point_to_point: &PointToPoint<Pami>, partition: u32) -> Result<bool, Error> {
        let (message, arrivals) = (&self.message, &mut *self.arrivals.borrow_mut());
        let Some(sent) = &arrivals.sent else { return Ok(false) };
        // All together are as long at both sides, so these share data, or stand for it where there is none.
        let share = |partition: u32| u64::from(partition) * sent.len() as u64;
        let own = u64::from(message.partitions);
        let [first, end] = [share(partition) / own, share(partition + 1).div_ceil(own)].map(|at| at as usize);
        let is_here = |&number: &Number| point_to_point.test(number).is_some_and(|end| !end.is_cut);
        if !sent[first..end].iter().all(is_here) {
            return Ok(false);
        }
        if let Some(unpacking) = &arrivals.unpacking
            && !std::mem::replace(&mut arrivals.unpacked[partition as usize], true)
        {
            let (part, start) = (message.partition(partition), partition as usize * message.bytes()?);
            // SAFETY: the program gave the buffer, and leaves it alone until the receive has ended.
            unsafe { unpacking.finish_part(start, &message.buf, part)? };
        }
        Ok(true)
    }

    /// Receives all.
    async fn receive(
        self,
        point_to_point: Rc<PointToPoint<Pami>>,
        context: u32,
        space: Memory,
    ) -> Result<(), Error> {
        let pattern = Pattern { context, source: self.message.peer, tag: self.message.tag };
        let get = || self.headers.borrow_mut().get(&point_to_point, pattern, self.number);
        let header = poll_fn(|_| get()).await?;
        self.expect(&point_to_point, context, header, space)?;
        let mut here = 0;
        poll_fn(|_| {
            let arrivals = self.arrivals.borrow();
            let sent = arrivals.sent.as_ref().expect("they are expected");
            here += sent[here..].iter().take_while(|&&number| point_to_point.test(number).is_some()).count();
            if here < sent.len() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        let mut end = Ok(());
        for partition in 0..self.message.partitions {
            if !self.has_arrived(&point_to_point, partition)? {
                end = Err(cut());
            }
        }
        let sent = std::mem::take(&mut *self.arrivals.borrow_mut()).sent.expect("they are expected");
        sent.into_iter().for_each(|number| end_receive(&point_to_point, number));
        end
    }
}

impl Library {
    pub fn start_partitioned_receive(&mut self, of: Incoming) -> Result<Request, Error> {
        let &Message { ref buf, partitions, peer, comm, .. } = &of.message;
        if peer == PROC_NULL {
            return Ok(Request::NoReceive);
        }
        let (space, unpacking) = buf.incoming()?;
        let unpacked = vec![false; partitions as usize];
        *of.arrivals.borrow_mut() = Arrivals { unpacking, unpacked, ..Arrivals::default() };
        let context = self.partitioned_context(comm);
        let receiving: UnderWay = Box::pin(of.receive(Rc::clone(&self.point_to_point), context, space));
        self.collectives_under_way += 1;
        Ok(Request::Collective(receiving))
    }

    pub(super) fn has_arrived(&mut self, handle: usize, partition: c_int) -> Result<bool, Error> {
        let wrong =
            || Error::new(Class::Request, format!("request is {handle:#x}, which is no partitioned receive"));
        let at = self.request_at(handle)?.ok_or_else(wrong)?;
        self.poll();
        let Some(Request::Persistent(plan, active)) = self.requests[at].as_ref() else {
            return Err(wrong());
        };
        let Plan::PartitionedReceive(of) = &**plan else { return Err(wrong()) };
        let partition = of.message.check_partition(partition)?;
        match active.as_deref() {
            Some(Request::Collective(_)) => of.has_arrived(&self.point_to_point, partition),
            Some(Request::Ended(Err(error))) => Err((**error).clone()),
            // What is not started has arrived.
            _ => Ok(true),
        }
    }
}
