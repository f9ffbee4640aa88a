//! Requests, and how they are waited for (MPI 5.0, section 3.7).

mod freed;
mod several;
mod status;

pub use freed::*;
pub use several::*;
pub use status::*;

use crate::abi::*;
use crate::buffer::Unpacking;
use crate::generalized::Generalized;
use crate::library::{Library, USER_REQUEST};
use crate::numbers::Count;
use crate::partitioned::Active;
use crate::persistent::Plan;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::one_sided::Token;
use netloom_mpi::point_to_point::{Ended, Number};
use netloom_mpi::transport::{Step, Transport};
use std::ffi::c_int;
use std::future::Future;
use std::pin::Pin;

/// A collective, or a partitioned receive, that is under way.
pub type UnderWay = Pin<Box<dyn Future<Output = Result<(), Error>>>>;

/// What the program waits for.
pub enum Request {
    /// With the packed data, if the type has gaps.
    Send(Number, Option<Vec<u8>>),
    Receive(Number, Option<Box<Unpacking>>),
    /// A receive from `MPI_PROC_NULL`.
    NoReceive,
    /// An operation of a window, by its token.
    OneSided(Token),
    Collective(UnderWay),
    /// A send and a receive that end together.
    SendReceive(Box<[Request; 2]>),
    /// What is started again and again, and what it has started that has not been ended.
    Persistent(Box<Plan>, Option<Box<Request>>),
    /// The buffered sends of a communicator, or of those without a buffer of their own.
    Flush(Option<usize>),
    /// What the program carries out.
    Generalized(Box<Generalized>),
    Partitioned(Box<Active>),
    /// What has ended: a send, a collective, an access to a file.
    Ended(Result<Ended, Box<Error>>),
}
/// Each message writes one: what is rare and long is boxed.
const _: () = assert!(size_of::<Option<Request>>() <= 40);

/// The handle of all sends that ended within their call: their requests are one, which stays.
pub const ENDED_SEND: usize = USER_REQUEST;

/// The requests at first: that of [`ENDED_SEND`].
pub fn first_requests() -> Vec<Option<Request>> {
    vec![Some(Request::Ended(Ok(EMPTY)))]
}

/// The status of a receive from `MPI_PROC_NULL`.
pub const NO_MESSAGE: Ended = Ended { source: PROC_NULL, tag: ANY_TAG, ..EMPTY };
/// That of a send, of a collective and of `MPI_REQUEST_NULL`: empty.
pub const EMPTY: Ended = Ended {
    source: ANY_SOURCE,
    tag: ANY_TAG,
    bytes: 0,
    is_truncated: false,
    is_cut: false,
    is_cancelled: false,
};

/// Writes a status, but for its error, which only calls with several requests write.
///
/// # Safety
/// It is NULL, or the program's.
#[inline]
pub unsafe fn set_status(status: *mut Status, end: &Ended) {
    // SAFETY: the caller's promise.
    if let Some(status) = unsafe { status.as_mut() } {
        (status.source, status.tag) = (end.source, end.tag);
        status.internal = [0; 5];
        status.set_bytes(end.bytes);
        status.set_cancelled(end.is_cancelled);
    }
}

/// Writes an empty status: its error is one too.
///
/// # Safety
/// As [`set_status`].
unsafe fn set_empty(status: *mut Status) {
    // SAFETY: the caller's promise.
    unsafe {
        set_status(status, &EMPTY);
        if let Some(status) = status.as_mut() {
            status.error = SUCCESS;
        }
    }
}

#[inline(never)]
fn check(end: &Ended) -> Result<(), Error> {
    if end.is_cut {
        return Err(Error::new(Class::ProcAborted, "the other process has ended"));
    }
    if end.is_truncated {
        let text = format!(
            "the message of rank {} with tag {} is longer than the {} B of its receive",
            end.source, end.tag, end.bytes
        );
        return Err(Error::new(Class::Truncate, text));
    }
    Ok(())
}

#[cold]
fn no_request(handle: usize) -> Error {
    Error::new(Class::Request, format!("request is {handle:#x}, which is no request"))
}

impl Library {
    /// Stores a new request and returns its handle. Inlined: a request is built word by word, and a copy by
    /// longer words would wait until these stores have completed.
    #[inline(always)]
    pub fn insert(&mut self, request: Request) -> usize {
        self.collectives_under_way += usize::from(matches!(request, Request::Collective(_)));
        let object = self.call_object;
        let at = match self.free_requests.pop() {
            Some(at) => {
                self.requests[at] = Some(request);
                self.request_objects[at] = object;
                at
            }
            None => {
                self.requests.push(Some(request));
                self.request_objects.push(object);
                self.requests.len() - 1
            }
        };
        USER_REQUEST | at
    }

    /// Gives the program the request of a send that has ended.
    ///
    /// # Safety
    /// It gave the place.
    #[inline]
    pub unsafe fn hand_out_ended_send(&mut self, place: *mut usize) {
        self.ended_sends += 1;
        // SAFETY: the caller's promise.
        unsafe { *place = ENDED_SEND };
    }

    /// Gives the program a new request.
    ///
    /// # Safety
    /// It gave the place.
    #[inline(always)]
    pub unsafe fn hand_out(&mut self, request: Request, place: *mut usize) -> Result<(), Error> {
        let handle = self.insert(request);
        // SAFETY: the caller's promise.
        unsafe { *place = handle };
        Ok(())
    }

    /// Makes progress without waiting.
    pub fn poll(&mut self) {
        // SAFETY: this borrows the library as a whole, so nobody has a reference to anything of it.
        if !unsafe { crate::threads::poll() } {
            self.point_to_point.transport().poll();
        }
        self.poll_collectives();
        self.end_freed_requests();
    }

    /// How a request has ended, if it has: its status, or its error.
    fn ended(&self, request: &Request) -> Option<Result<Ended, Error>> {
        match request {
            Request::Send(number, _) => {
                self.point_to_point.test(*number).map(|end| check(&end).map(|()| EMPTY))
            }
            Request::Receive(number, _) => {
                self.point_to_point.test(*number).map(|end| check(&end).map(|()| end))
            }
            Request::NoReceive => Some(Ok(NO_MESSAGE)),
            Request::OneSided(token) => {
                self.point_to_point.operation_ended(*token).map(|end| end.map(|()| EMPTY))
            }
            Request::Collective(_) => None,
            Request::SendReceive(both) => {
                let [send, receive] = &**both;
                self.ended(send).and_then(|end| self.ended(receive).map(|received| end.and(received)))
            }
            Request::Persistent(_, None) => Some(Ok(EMPTY)),
            Request::Persistent(plan, Some(active)) => {
                let end = self.ended(active)?;
                Some(match &**plan {
                    Plan::PartitionedReceive(message) => end.map(|_| message.status()),
                    _ => end,
                })
            }
            Request::Partitioned(active) => {
                active.all_sent()?.iter().try_fold(Ok(EMPTY), |others: Result<Ended, Error>, sent| {
                    Some(others.and(self.ended(sent)?))
                })
            }
            Request::Flush(of) => self.is_flushed(*of).then_some(Ok(EMPTY)),
            Request::Generalized(generalized) => generalized.ended(),
            Request::Ended(end) => Some(end.clone().map_err(|error| *error)),
        }
    }

    /// The message that a request has received, which may be longer than its buffer.
    fn received(&self, request: &Request) -> Option<Ended> {
        match request {
            Request::Receive(number, _) => self.point_to_point.test(*number).filter(|end| !end.is_cut),
            Request::SendReceive(both) => self.received(&both[1]),
            Request::Persistent(_, Some(active)) => self.received(active),
            _ => None,
        }
    }

    pub fn has_ended(&self, request: &Request) -> bool {
        match request {
            Request::Send(number, _) => self.point_to_point.test(*number).is_some(),
            Request::Generalized(generalized) => generalized.is_complete,
            request => self.ended(request).is_some(),
        }
    }

    /// Waits for a receive of a message that needs no unpacking.
    #[inline]
    pub fn finish_receive(&mut self, number: Number) -> Result<Ended, Error> {
        loop {
            if let Some(end) = self.point_to_point.take_good(number) {
                self.point_to_point.transport().spend(Step::Free);
                return Ok(end);
            }
            if let Some(end) = self.point_to_point.test(number) {
                self.point_to_point.transport().spend(Step::Free);
                self.point_to_point.free(number);
                return check(&end).map(|()| end);
            }
            self.progress();
        }
    }

    /// Waits for a request that the program has no handle of.
    pub fn finish(&mut self, request: Request) -> Result<Ended, Error> {
        loop {
            if let Some(end) = self.ended(&request) {
                self.release_request(request)?;
                return end;
            }
            self.progress();
        }
    }

    /// Unpacks what a receive that can be ended has received, once.
    fn deliver(&self, request: &mut Request) {
        if let Request::Persistent(_, Some(active)) = request {
            return self.deliver(active);
        }
        if let Request::SendReceive(both) = request {
            return self.deliver(&mut both[1]);
        }
        if let Request::Receive(number, unpacking) = request
            && let Some(unpacking) = unpacking.take()
        {
            let bytes = self.point_to_point.test(*number).map_or(0, |end| end.bytes);
            // SAFETY: the program gave the buffer, and leaves it alone until now.
            unsafe { unpacking.finish(bytes as usize) };
        }
    }

    /// Ends a request that can be; an error is that of a function of the program.
    pub fn release_request(&self, mut request: Request) -> Result<(), Error> {
        self.deliver(&mut request);
        match request {
            Request::Send(number, _) | Request::Receive(number, _) => {
                self.point_to_point.transport().spend(Step::Free);
                self.point_to_point.free(number);
            }
            Request::OneSided(token) => self.point_to_point.forget_operation(token),
            Request::Persistent(_, Some(active)) => return self.release_request(*active),
            Request::SendReceive(both) => {
                let [send, receive] = *both;
                return self.release_request(send).and(self.release_request(receive));
            }
            Request::Generalized(generalized) => return generalized.free(),
            Request::Partitioned(active) => {
                return active.into_sent().into_iter().try_for_each(|sent| self.release_request(sent));
            }
            _ => {}
        }
        Ok(())
    }

    /// The index of a handle; `None` for `MPI_REQUEST_NULL`.
    #[inline]
    pub fn request_at(&self, handle: usize) -> Result<Option<usize>, Error> {
        let at = handle.wrapping_sub(USER_REQUEST);
        match handle {
            REQUEST_NULL => Ok(None),
            _ if self.requests.get(at).is_some_and(Option::is_some) => Ok(Some(at)),
            _ => Err(no_request(handle)),
        }
    }

    /// How the request of a handle has ended, if it has; it stays.
    pub fn end_of(&mut self, handle: usize) -> Result<Option<Result<Ended, Error>>, Error> {
        let Some(at) = self.request_at(handle)? else { return Ok(Some(Ok(EMPTY))) };
        let mut request = self.requests[at].take().expect("it was found");
        let end = self.ended(&request);
        if end.is_some() {
            self.deliver(&mut request);
        }
        self.requests[at] = Some(request);
        Ok(end)
    }

    /// Whether a handle is `MPI_REQUEST_NULL` or that of a persistent request that is not started: calls for
    /// one of several requests leave such out.
    fn is_inactive(&self, handle: usize) -> bool {
        let request = self.requests.get(handle.wrapping_sub(USER_REQUEST)).and_then(Option::as_ref);
        handle == REQUEST_NULL || matches!(request, Some(Request::Persistent(_, None)))
    }

    /// Ends the request of a handle if it can be.
    ///
    /// # Safety
    /// The program gave the handle and the place of the status, which may be NULL.
    #[inline]
    unsafe fn try_end(&mut self, handle: &mut usize, status: *mut Status) -> Option<Result<(), Error>> {
        // Most requests are these two.
        if *handle == ENDED_SEND {
            // On the simulated machine it is a request as any other: its library makes one for each send.
            self.point_to_point.transport().spend(Step::Handle);
            self.point_to_point.transport().spend(Step::Free);
            self.ended_sends -= 1;
            *handle = REQUEST_NULL;
            // SAFETY: the caller's promise.
            unsafe { set_status(status, &EMPTY) };
            return Some(Ok(()));
        }
        let at = handle.wrapping_sub(USER_REQUEST);
        if let Some(Some(Request::Receive(number, None))) = self.requests.get(at)
            && let Some(end) = self.point_to_point.take_good(*number)
        {
            self.point_to_point.transport().spend(Step::Handle);
            // A number and no box: there is nothing to be dropped.
            std::mem::forget(self.requests[at].take());
            self.free_requests.push(at);
            *handle = REQUEST_NULL;
            self.point_to_point.transport().spend(Step::Free);
            // SAFETY: the caller's promise.
            unsafe { set_status(status, &end) };
            return Some(Ok(()));
        }
        // SAFETY: the caller's promise.
        unsafe { self.try_end_any(handle, status) }
    }

    /// The same of any request.
    ///
    /// # Safety
    /// As [`Self::try_end`].
    #[inline(never)]
    unsafe fn try_end_any(&mut self, handle: &mut usize, status: *mut Status) -> Option<Result<(), Error>> {
        let at = match self.request_at(*handle) {
            Ok(Some(at)) => at,
            Ok(None) => {
                // SAFETY: the caller's promise.
                unsafe { set_empty(status) };
                return Some(Ok(()));
            }
            Err(error) => return Some(Err(error)),
        };
        let end = match self.requests[at].as_ref().expect("it was found") {
            // Its function is the program's: nothing is borrowed meanwhile.
            Request::Generalized(generalized) => {
                let generalized = **generalized;
                generalized.ended()?
            }
            request => self.ended(request)?,
        };
        if end.is_err()
            && let Some(received) = self.requests[at].as_ref().and_then(|request| self.received(request))
        {
            // SAFETY: the caller's promise.
            unsafe { set_status(status, &received) };
        }
        self.point_to_point.transport().spend(Step::Handle);
        let was_inactive = self.is_inactive(*handle);
        let freed = match self.requests[at].take().expect("it was found") {
            // It stays, inactive.
            Request::Persistent(plan, active) => {
                self.requests[at] = Some(Request::Persistent(plan, None));
                active.map_or(Ok(()), |active| self.release_request(*active))
            }
            request => {
                self.free_requests.push(at);
                *handle = REQUEST_NULL;
                self.release_request(request)
            }
        };
        let end = end.and_then(|end| freed.map(|()| end));
        if let Ok(end) = &end {
            // SAFETY: the caller's promise.
            unsafe { if was_inactive { set_empty(status) } else { set_status(status, end) } };
        }
        Some(end.map(|_| ()).map_err(|error| error.with_object(self.request_objects[at])))
    }
}

// Into the loop of `wait_all`: a call for each request takes a tenth of the message rate.
#[inline(always)]
pub unsafe fn wait(library: &mut Library, request: *mut usize, status: *mut Status) -> Result<(), Error> {
    loop {
        // SAFETY: the program gave both.
        if let Some(end) = unsafe { library.try_end(&mut *request, status) } {
            return end;
        }
        library.progress();
    }
}

pub unsafe fn test(
    library: &mut Library,
    request: *mut usize,
    flag: *mut c_int,
    status: *mut Status,
) -> Result<(), Error> {
    library.poll();
    // SAFETY: the program gave all three.
    unsafe {
        let end = library.try_end(&mut *request, status);
        *flag = end.is_some().into();
        end.unwrap_or(Ok(()))
    }
}
