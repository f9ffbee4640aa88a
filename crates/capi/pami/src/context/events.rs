//! Events of the protocols: callbacks and dispatch functions of the program are called.

use super::Context;
use crate::abi::*;
use crate::collectives;
use crate::device::Payload;
use crate::dispatch::Dispatch;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::{self, Event, Message, Outcome};
use netloom_messaging::pami::packet::Head;
use std::ffi::c_void;
use std::ptr::null_mut;

fn result(outcome: Outcome) -> Result {
    match outcome {
        Outcome::Done => SUCCESS,
        Outcome::Gone => SHUTDOWN,
        Outcome::Fault => ERROR,
    }
}

impl Context {
    /// Tells the program of an event.
    pub(super) fn handle_event(&self, event: Event<Payload>) {
        match event {
            Event::Message(message) => self.dispatch_message(&message),
            Event::Sent(at, outcome) | Event::Received(at, outcome) => {
                let callback = self.callbacks().report(at);
                // SAFETY: the program gave them.
                unsafe { self.call(callback.local_fn, callback.cookie, result(outcome)) };
            }
            Event::Completed(at, outcome) => {
                let callback = self.callbacks().report(at);
                // SAFETY: the program gave them.
                unsafe { self.call(callback.remote_fn, callback.cookie, result(outcome)) };
            }
            Event::Fetched(at, value) => {
                let callback = self.callbacks().report(at);
                let (to, bytes) = callback.fetched;
                // SAFETY: the program gave them; the operation's type says how long the value is.
                unsafe {
                    if !to.is_null() {
                        to.copy_from_nonoverlapping(value.to_ne_bytes().as_ptr(), bytes.into());
                    }
                    self.call(callback.local_fn, callback.cookie, SUCCESS);
                }
            }
            Event::Progress => {}
            Event::Collected(key) => self.one_done(key, SUCCESS),
            Event::Rmw { origin, request, rmw } => {
                let old = crate::rma::execute(&rmw);
                self.core().answer_rmw(origin, request, old);
            }
        }
    }

    /// Calls a dispatch function, with its cookie, for a message: its header and its data, and their lengths.
    ///
    /// # Safety
    /// The program gave the function; header and data, which may be NULL if they come later, can be read.
    #[inline(always)]
    unsafe fn call_dispatch(
        &self,
        (function, cookie): (DispatchFunction, *mut c_void),
        header: (*const u8, usize),
        data: (*const u8, usize),
        origin: Endpoint,
        receive: *mut Receive,
    ) {
        let (context, origin) = (self.handle(), origin.plain().0);
        // SAFETY: the caller's promise.
        unsafe {
            function(context, cookie, header.0.cast(), header.1, data.0.cast(), data.1, origin, receive)
        };
    }

    /// Calls the dispatch function of a message that is whole in its packet; `false` if it is to be handled
    /// as others are.
    #[inline(always)]
    pub(super) fn dispatch_immediate(&self, head: Head, payload: Payload) -> bool {
        let Some(&Some(Dispatch { function, cookie, hints })) =
            self.dispatches().get(usize::from(head.dispatch()))
        else {
            return false;
        };
        if hints.recv_immediate() == HINT_DISABLE {
            return false;
        }
        let header_bytes = usize::from(head.header_bytes()).min(payload.length);
        let header = if header_bytes == 0 { std::ptr::null() } else { payload.address.cast() };
        let size = payload.length - header_bytes;
        // SAFETY: the program gave the function; header and data stay in their slot until it is released.
        unsafe {
            let data: *const u8 = payload.address.add(header_bytes).cast();
            let function = (function, cookie);
            self.call_dispatch(function, (header, header_bytes), (data, size), head.origin(), null_mut());
        }
        self.core().release();
        true
    }

    /// Calls the dispatch function of a message.
    fn dispatch_message(&self, message: &Message<Payload>) {
        let Some(Dispatch { function, cookie, hints }) = self.dispatch(message.dispatch) else {
            if message.dispatch == collectives::DISPATCH {
                return self.collective_message(message);
            }
            // Programs register functions when others send already.
            self.watch_postponed(message.dispatch);
            return self.core().postpone();
        };
        let (header, header_bytes) = match message.has_long_header {
            true => (self.core().long_header().as_ptr(), self.core().long_header().len()),
            false if message.header_bytes == 0 => (std::ptr::null(), 0),
            false => (message.payload.at(message.header_from), message.header_bytes),
        };
        let data = message.payload.at(message.header_from + message.header_bytes);
        let size = message.data_bytes as usize;
        let is_short = header_bytes + size <= crate::dispatch::IMMEDIATE_MAX;
        if message.is_whole && is_short && hints.recv_immediate() != HINT_DISABLE {
            // SAFETY: the program gave the function; header and data stay in their slot until `consumed`.
            unsafe {
                let (function, header) = ((function, cookie), (header, header_bytes));
                self.call_dispatch(function, header, (data, size), message.origin, null_mut());
            }
            return self.core().consumed();
        }
        let mut receive = Receive {
            cookie: null_mut(),
            local_fn: None,
            addr: null_mut(),
            kind: crate::symbols::byte(),
            offset: 0,
            data_fn: crate::symbols::copy_function(),
            data_cookie: null_mut(),
        };
        // SAFETY: as above.
        unsafe {
            let (function, header) = ((function, cookie), (header, header_bytes));
            self.call_dispatch(function, header, (std::ptr::null(), size), message.origin, &raw mut receive);
        }
        let (address, callback) = crate::typed::target(receive, hints, size);
        let cookie = self.callbacks().insert(callback);
        self.core().accept(context::Receive { address, cookie });
    }
}
