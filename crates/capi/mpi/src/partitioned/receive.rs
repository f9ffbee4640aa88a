//! The side that receives.

use super::{Header, Message, Way};
use crate::abi::*;
use crate::buffer::{Buffer, Unpacking};
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
    /// The header of a number, once it is here. Those before it are received first, whether their receives are
    /// started or not.
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

/// What has arrived of a receive that is started.
#[derive(Default)]
pub struct Arrivals {
    /// Receives of the sender's partitions, in order, once it is known how many there are.
    pieces: Option<Vec<Number>>,
    /// Where all are received to be unpacked, if the type has gaps.
    unpacking: Option<Unpacking>,
    /// Partitions that are unpacked.
    unpacked: Vec<bool>,
}

impl Message {
    /// Plans a receive.
    ///
    /// # Errors
    /// If the arguments are wrong.
    pub(super) fn plan_receive(
        library: &mut Library,
        buf: &Buffer,
        partitions: c_int,
        source: c_int,
        tag: c_int,
        comm: CommId,
    ) -> Result<Self, Error> {
        let (all, partitions) = Message::check(library, buf, partitions, ("source", source), tag, comm)?;
        let headers = Rc::clone(library.of(comm).planned.headers.entry((source, tag)).or_default());
        let number = headers.borrow().planned;
        headers.borrow_mut().planned += 1;
        let way = Way::Received { headers, number, arrivals: Rc::default() };
        Ok(Message { buf: all, partitions, count: buf.count(), peer: source, tag, comm, way })
    }

    fn arrivals(&self) -> &Rc<RefCell<Arrivals>> {
        let Way::Received { arrivals, .. } = &self.way else { unreachable!("it is received") };
        arrivals
    }

    /// The status of a receive whose partitions have all arrived.
    pub fn status(&self) -> Ended {
        if self.peer == PROC_NULL {
            return NO_MESSAGE;
        }
        let bytes = self.buf.layout().map_or(0, |layout| layout.bytes() as u64);
        Ended { source: self.peer, tag: self.tag, bytes, ..EMPTY }
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
        let (source, tag) = (self.peer, self.tag);
        if u64::from(partitions).checked_mul(bytes) != Some(space.bytes) {
            let own = space.bytes.checked_div(self.partitions.into()).unwrap_or(0);
            let text = format!(
                "the message of rank {source} with tag {tag} has {partitions} partitions of {bytes} B, and its \
                 receive {} of {own} B: together they must be as long",
                self.partitions
            );
            return Err(Error::new(Class::Truncate, text));
        }
        header.note(point_to_point, context, Some(source), tag);
        let receive = |at: u32| {
            let pattern = Pattern { context, source, tag: first.wrapping_add_unsigned(at) };
            let address = space.address + u64::from(at) * bytes;
            point_to_point.receive(pattern, Memory { address, bytes })
        };
        self.arrivals().borrow_mut().pieces = Some((0..partitions).map(receive).collect());
        Ok(())
    }

    /// Whether a partition of this receive has arrived; then it is in the program's buffer.
    fn has_arrived(&self, point_to_point: &PointToPoint<Pami>, partition: u32) -> Result<bool, Error> {
        let arrivals = &mut *self.arrivals().borrow_mut();
        let Some(pieces) = &arrivals.pieces else { return Ok(false) };
        // The partitions of both sides are as long together, so these share data, or stand for it where there is none.
        let share = |partition: u32| u64::from(partition) * pieces.len() as u64;
        let own = u64::from(self.partitions);
        let [first, end] = [share(partition) / own, share(partition + 1).div_ceil(own)].map(|at| at as usize);
        let is_here = |&number: &Number| point_to_point.test(number).is_some_and(|end| !end.is_cut);
        if !pieces[first..end].iter().all(is_here) {
            return Ok(false);
        }
        if let Some(unpacking) = &arrivals.unpacking
            && !std::mem::replace(&mut arrivals.unpacked[partition as usize], true)
        {
            let part = self.partition(partition);
            let start = partition as usize * self.buf.of_count(self.count).layout()?.bytes();
            // SAFETY: the program gave the buffer, and leaves it alone until the receive has ended.
            unsafe { unpacking.finish_part(start, &self.buf, part)? };
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
        let Way::Received { headers, number, .. } = &self.way else { unreachable!("it is received") };
        let pattern = Pattern { context, source: self.peer, tag: self.tag };
        let header = poll_fn(|_| headers.borrow_mut().get(&point_to_point, pattern, *number)).await?;
        self.expect(&point_to_point, context, header, space)?;
        let mut here = 0;
        poll_fn(|_| {
            let arrivals = self.arrivals().borrow();
            let pieces = arrivals.pieces.as_ref().expect("they are expected");
            here +=
                pieces[here..].iter().take_while(|&&number| point_to_point.test(number).is_some()).count();
            if here < pieces.len() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        let mut end = Ok(());
        for partition in 0..self.partitions {
            if !self.has_arrived(&point_to_point, partition)? {
                end = Err(cut());
            }
        }
        let pieces = std::mem::take(&mut *self.arrivals().borrow_mut()).pieces.expect("they are expected");
        pieces.into_iter().for_each(|number| end_receive(&point_to_point, number));
        end
    }
}

impl Library {
    pub fn start_partitioned_receive(&mut self, message: Message) -> Result<Request, Error> {
        if message.peer == PROC_NULL {
            return Ok(Request::NoReceive);
        }
        let (space, unpacking) = message.buf.incoming()?;
        let unpacked = vec![false; message.partitions as usize];
        *message.arrivals().borrow_mut() = Arrivals { unpacking, unpacked, ..Arrivals::default() };
        let context = self.partitioned_context(message.comm);
        let receiving: UnderWay = Box::pin(message.receive(Rc::clone(&self.point_to_point), context, space));
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
        let Plan::PartitionedReceive(message) = &**plan else { return Err(wrong()) };
        let partition = message.check_partition(partition)?;
        match active.as_deref() {
            Some(Request::Collective(_)) => message.has_arrived(&self.point_to_point, partition),
            Some(Request::Ended(Err(error))) => Err((**error).clone()),
            // What is not started has arrived.
            _ => Ok(true),
        }
    }
}
