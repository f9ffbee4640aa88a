//! Persistent sends, receives (MPI 5.0, section 3.9) and collectives (section 6.13).

use crate::abi::*;
use crate::buffer::Buffer;
use crate::collectives;
use crate::library::{CommId, Library};
use crate::partitioned::{Incoming, Outgoing};
use crate::requests::Request;
use crate::sends::Mode;
use netloom_mpi::error::{Class, Error};
use std::ffi::c_int;
use std::pin::Pin;
use std::rc::Rc;

/// What is started again and again.
#[derive(Clone)]
pub enum Plan {
    Send(Mode, Buffer, c_int, c_int, CommId),
    Receive(Buffer, c_int, c_int, CommId),
    PartitionedSend(Outgoing),
    PartitionedReceive(Incoming),
    /// A collective, and its number: it was planned in the same order at all ranks, but is started in any.
    Collective(CommId, u32, Rc<PlanCollective>),
}

/// Plans a collective for one start of it.
pub type PlanCollective = dyn Fn(&mut Library) -> Result<Pin<Box<dyn collectives::Plan>>, Error>;

impl Library {
    /// Begins what is planned.
    fn begin(&mut self, plan: Plan) -> Result<Request, Error> {
        let comm = match &plan {
            Plan::Send(.., comm) | Plan::Receive(.., comm) | Plan::Collective(comm, ..) => *comm,
            Plan::PartitionedSend(of) => of.comm(),
            Plan::PartitionedReceive(of) => of.comm(),
        };
        if self.comms.get(comm.0).is_none_or(Option::is_none) {
            return Err(Error::new(Class::Comm, "the communicator of the request has been freed"));
        }
        match plan {
            Plan::Send(mode, buf, dest, tag, comm) => self.start_send(mode, buf, dest, tag, comm),
            Plan::Receive(buf, source, tag, comm) => self.start_receive(buf, source, tag, comm),
            Plan::PartitionedSend(of) => self.start_partitioned_send(of),
            Plan::PartitionedReceive(of) => self.start_partitioned_receive(of),
            Plan::Collective(comm, number, plan) => {
                self.of(comm).repeated = Some(number);
                let planned = plan(self);
                self.of(comm).repeated = None;
                self.collectives_under_way += 1;
                Ok(Request::Collective(planned?))
            }
        }
    }

    fn start_again(&mut self, handle: usize) -> Result<(), Error> {
        let at = self.request_at(handle)?;
        let found = at.and_then(|at| self.requests[at].as_ref().map(|request| (at, request)));
        let Some((at, Request::Persistent(plan, active))) = found else {
            return Err(Error::new(
                Class::Request,
                format!("request is {handle:#x}, which is not persistent"),
            ));
        };
        if active.is_some() {
            return Err(Error::new(
                Class::Request,
                format!("request {handle:#x} is started and has not been ended"),
            ));
        }
        let plan = plan.clone();
        let begun =
            self.begin((*plan).clone()).map_err(|error| error.with_object(self.request_objects[at]))?;
        self.requests[at] = Some(Request::Persistent(plan, Some(Box::new(begun))));
        Ok(())
    }

    /// # Safety
    /// The program gave the place.
    unsafe fn plan(&mut self, plan: Plan, request: *mut usize) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        unsafe { self.hand_out(Request::Persistent(Box::new(plan), None), request) }
    }

    /// # Safety
    /// The program gave the place.
    pub unsafe fn plan_collective(
        &mut self,
        comm: CommId,
        plan: impl Fn(&mut Library) -> Result<Pin<Box<dyn collectives::Plan>>, Error> + 'static,
        request: *mut usize,
    ) -> Result<(), Error> {
        let number = self.of(comm).next_collective();
        // SAFETY: the caller's promise.
        unsafe { self.plan(Plan::Collective(comm, number, Rc::new(plan)), request) }
    }

    /// How many ranks a collective sends to and receives from with arrays that are read here, and how many
    /// this group has; none, if the arrays are the root's and this rank is another.
    pub fn significant(
        &mut self,
        comm: CommId,
        root: Option<c_int>,
        is_neighborhood: bool,
    ) -> [Option<u32>; 3] {
        let comm = self.of(comm);
        let rank = comm.group.rank;
        let own = if comm.remote.is_some() { crate::intercollectives::ROOT } else { rank as c_int };
        match (is_neighborhood, comm.topology.as_ref()) {
            (true, Some(topology)) => {
                let [to, from] = [topology.destinations(rank), topology.sources(rank)];
                [Some(to.len() as u32), Some(from.len() as u32), None]
            }
            (true, None) => [None; 3],
            (false, _) if root.is_some_and(|root| root != own) => [None; 3],
            (false, _) => [Some(comm.peers()), Some(comm.peers()), Some(comm.group.size)],
        }
    }

    unsafe fn plan_send(
        &mut self,
        mode: Mode,
        buf: Buffer,
        (dest, tag): (c_int, c_int),
        comm: CommId,
        request: *mut usize,
    ) -> Result<(), Error> {
        buf.check()?;
        self.check_send(dest, tag, comm)?;
        // SAFETY: the program gave the place.
        unsafe { self.plan(Plan::Send(mode, buf, dest, tag, comm), request) }
    }
}

macro_rules! planned_sends {
    ($($function:ident = $mode:ident;)*) => {$(
        pub unsafe fn $function(
            library: &mut Library,
            buf: Buffer,
            dest: c_int,
            tag: c_int,
            comm: CommId,
            request: *mut usize,
        ) -> Result<(), Error> {
            // SAFETY: the program gave the place.
            unsafe { library.plan_send(Mode::$mode, buf, (dest, tag), comm, request) }
        }
    )*};
}
planned_sends! {
    send_init = Standard;
    ssend_init = Synchronous;
    bsend_init = Buffered;
}

pub unsafe fn recv_init(
    library: &mut Library,
    buf: Buffer,
    source: c_int,
    tag: c_int,
    comm: CommId,
    request: *mut usize,
) -> Result<(), Error> {
    buf.check()?;
    if source != PROC_NULL {
        library.pattern(source, tag, comm)?;
    }
    // SAFETY: the program gave the place.
    unsafe { library.plan(Plan::Receive(buf, source, tag, comm), request) }
}

pub unsafe fn start(library: &mut Library, request: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave it.
    library.start_again(unsafe { *request })?;
    library.poll_collectives();
    Ok(())
}

pub unsafe fn start_all(library: &mut Library, count: c_int, requests: *mut usize) -> Result<(), Error> {
    let count = crate::numbers::Count::check("count", count)?.0;
    // SAFETY: the program gave so many.
    (0..count).try_for_each(|at| library.start_again(unsafe { *requests.add(at) }))?;
    library.poll_collectives();
    Ok(())
}
