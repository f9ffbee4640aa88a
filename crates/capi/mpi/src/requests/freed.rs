//! Requests that the program cancels, or frees before they have ended.

use super::Request;
use crate::abi::REQUEST_NULL;
use crate::library::Library;
use crate::persistent::Plan;
use crate::threads;
use netloom_mpi::error::{Class, Error};

impl Library {
    /// Ends those that can be of the requests that the program has freed.
    #[inline]
    pub fn end_freed_requests(&mut self) {
        if !self.freed_requests.is_empty() {
            self.end_some_freed_requests();
        }
    }

    /// Waits for the sends among them, whose data is in this process's memory: a receiver that has freed its
    /// request, too, does not wait for it.
    pub fn wait_for_freed_sends(&mut self) {
        while self.has_freed_sends() {
            self.progress();
        }
    }

    fn has_freed_sends(&self) -> bool {
        self.freed_requests.iter().filter_map(|&at| self.requests[at].as_ref()).any(|of| self.is_sending(of))
    }

    fn is_sending(&self, request: &Request) -> bool {
        match request {
            Request::Send(..) => !self.has_ended(request),
            Request::SendReceive(both) => both.iter().any(|one| self.is_sending(one)),
            Request::Persistent(_, Some(started)) => self.is_sending(started),
            _ => false,
        }
    }

    #[inline(never)]
    fn end_some_freed_requests(&mut self) {
        let mut left = std::mem::take(&mut self.freed_requests);
        left.retain(|&at| {
            let has_ended = self.requests[at].as_ref().is_none_or(|request| self.has_ended(request));
            if has_ended {
                // Nobody waits for it, so nobody hears of an error.
                self.requests[at].take().into_iter().for_each(|request| drop(self.release_request(request)));
                self.free_requests.push(at);
            }
            !has_ended
        });
        // Other threads may have freed some.
        self.freed_requests.extend(left);
    }
}

/// Cancels a receive that no message has matched. Sends are not cancelled, which the standard allows.
pub unsafe fn cancel(library: &mut Library, request: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave it.
    let handle = unsafe { *request };
    let Some(at) = library.request_at(handle)? else {
        return Err(Error::new(Class::Request, "request is MPI_REQUEST_NULL"));
    };
    // Another thread may wait for it.
    threads::note_change();
    let request = match library.requests[at].as_ref().expect("it was found") {
        Request::Persistent(_, None) => {
            return Err(Error::new(Class::Request, format!("request {handle:#x} is not started")));
        }
        // By its plan: whether it has ended already is a matter of time.
        Request::Persistent(plan, Some(_))
            if matches!(**plan, Plan::PartitionedSend(_) | Plan::PartitionedReceive(_)) =>
        {
            let text = format!("request {handle:#x} is a partitioned message, which cannot be cancelled");
            return Err(Error::new(Class::Request, text));
        }
        Request::Persistent(_, Some(active)) => active,
        request => request,
    };
    match request {
        Request::Receive(number, _) => library.point_to_point.cancel(*number),
        Request::Generalized(generalized) => {
            let generalized = **generalized;
            return generalized.cancel();
        }
        Request::Collective(_) => {
            return Err(Error::new(
                Class::Request,
                format!("request {handle:#x} is a collective, which cannot be cancelled"),
            ));
        }
        _ => {}
    }
    Ok(())
}

/// The program will not ask for it again. What has not ended goes on.
pub unsafe fn free(library: &mut Library, request: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave it.
    unsafe {
        let Some(at) = library.request_at(*request)? else {
            return Err(Error::new(Class::Request, "request is MPI_REQUEST_NULL"));
        };
        let has_ended = library.try_end(&mut *request, std::ptr::null_mut()).is_some();
        if !has_ended || *request != REQUEST_NULL {
            // It goes on, or it is a persistent one.
            library.freed_requests.push(at);
            *request = REQUEST_NULL;
        }
    }
    Ok(())
}
