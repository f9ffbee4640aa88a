//! Ports (MPI 5.0, section 11.9): one process opens a port and accepts, others connect to it. Its name says
//! whose it is; a request for a connection is a message to that process, with the port's number as its tag.

use super::{Exchange, LEADERS, text, words, write_port};
use crate::info;
use crate::library::{CommId, Library};
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::matching::{ANY_SOURCE, Envelope, Pattern};
use netloom_mpi::transport::{Memory, Process};
use netloom_shm::launch::{Answer, Request};
use std::ffi::{c_char, c_int};

pub unsafe fn open(library: &mut Library, info: usize, port_name: *mut c_char) -> Result<(), Error> {
    library.check_native()?;
    info::check(info)?;
    match library.launcher(&Request::OpenPort(library.own_process()), Class::Port)? {
        // SAFETY: the program gave the place.
        Answer::Name(name) => unsafe { write_port(&name, port_name) },
        other => return Err(Error::new(Class::Intern, format!("the launcher answers {other:?}"))),
    }
    Ok(())
}

/// Those that wait to be accepted are refused.
pub unsafe fn close(library: &mut Library, port_name: *const c_char) -> Result<(), Error> {
    library.check_native()?;
    // SAFETY: the program gave the string.
    let port = unsafe { text(Class::Port, "port_name", port_name)? };
    library.launcher(&Request::ClosePort(library.own_process(), port.clone()), Class::Port)?;
    let [_, number] = parts(&port)?;
    library.poll();
    while let Some(caller) = library.take_caller(number) {
        library.answer(caller, false)?;
    }
    Ok(())
}

/// Who opened a port, and its number.
fn parts(port: &str) -> Result<[u32; 2], Error> {
    let mut parts = port.rsplit(':').map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(Ok(number)), Some(Ok(process))) => Ok([process, number]),
        _ => Err(Error::new(Class::Port, format!("`{port}` is no name of a port"))),
    }
}

/// A process that wants to connect, and the number of its request there.
#[derive(Clone, Copy)]
struct Caller(Process, u32);

impl Caller {
    /// The number of what both exchange. A process may call, and be called by, the same other one at a time.
    fn exchange(self, own: Process, caller: Process) -> u32 {
        let Caller(other, number) = self;
        let callee = if caller == own { other } else { own };
        Exchange::Port.number(number << 1 | u32::from(caller < callee))
    }
}

/// What a request for a connection has.
const REQUEST_B: usize = 4;

impl Library {
    fn pattern_of_callers(number: u32) -> Pattern {
        Pattern { context: LEADERS, source: ANY_SOURCE, tag: number as c_int }
    }

    /// The next process that wants to connect, if one has called.
    fn take_caller(&mut self, number: u32) -> Option<Caller> {
        let taken = self.point_to_point.take(&Self::pattern_of_callers(number))?;
        let source = taken.envelope.source as Process;
        let mut space = [0; REQUEST_B];
        let memory = Memory { address: space.as_mut_ptr() as u64, bytes: REQUEST_B as u64 };
        let received = self.point_to_point.receive_taken(taken, memory);
        while self.point_to_point.test(received).is_none() {
            self.progress();
        }
        self.point_to_point.free(received);
        Some(Caller(source, u32::from_ne_bytes(space)))
    }

    fn answer(&mut self, caller: Caller, is_accepted: bool) -> Result<(), Error> {
        let operation = self.between_leaders(caller.exchange(self.own_process(), caller.0));
        let answer = [u8::from(is_accepted)];
        self.block_on(collective::exchange(&operation, &[(caller.0, &answer)], vec![]))
    }
}

/// The other leader and the number of the exchange, as bytes.
fn to_bytes(leader: Process, exchange: u32) -> Vec<u8> {
    [leader, exchange].into_iter().flat_map(u32::to_ne_bytes).collect()
}

impl Library {
    /// The open port of a name, and its process and number.
    ///
    /// # Safety
    /// The program gave the name.
    unsafe fn find_port(&mut self, name: *const c_char, info: usize) -> Result<(String, [u32; 2]), Error> {
        info::check(info)?;
        // SAFETY: the caller's promise.
        let port = unsafe { text(Class::Port, "port_name", name)? };
        self.launcher(&Request::FindPort(port.clone()), Class::Port)?;
        let found = parts(&port)?;
        Ok((port, found))
    }
}

pub unsafe fn accept(
    library: &mut Library,
    port_name: *const c_char,
    info: usize,
    root: c_int,
    comm: CommId,
    made: *mut usize,
) -> Result<(), Error> {
    library.check_native()?;
    library.check_root(comm, root)?;
    let told = library.at_root(comm, root, |library| {
        // SAFETY: the program gave the string at the root.
        let (port, [process, number]) = unsafe { library.find_port(port_name, info)? };
        if process != library.own_process() {
            return Err(Error::new(Class::Port, format!("another process has opened port `{port}`")));
        }
        let caller = loop {
            match library.take_caller(number) {
                Some(caller) => break caller,
                None => library.pause(),
            }
        };
        library.answer(caller, true)?;
        Ok(to_bytes(caller.0, caller.exchange(process, caller.0)))
    })?;
    let [leader, exchange] = words(&told);
    let handle = library.connect_to(comm, root, leader, exchange)?;
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}

pub unsafe fn connect(
    library: &mut Library,
    port_name: *const c_char,
    info: usize,
    root: c_int,
    comm: CommId,
    made: *mut usize,
) -> Result<(), Error> {
    library.check_native()?;
    library.check_root(comm, root)?;
    let told = library.at_root(comm, root, |library| {
        // SAFETY: the program gave the string at the root.
        let (port, [process, number]) = unsafe { library.find_port(port_name, info)? };
        let find = Request::FindPort(port.clone());
        let own = library.own_process();
        if process == own {
            return Err(Error::new(Class::Port, format!("port `{port}` is this process's own")));
        }
        let request = library.worlds.next_exchange();
        let exchange = Caller(process, request).exchange(own, own);
        call(library, process, number, request)?;
        // If the wait is given up, the answer may still come: it has a place for ever.
        let answer: &'static mut [u8; 1] = Box::leak(Box::new([0]));
        let place = std::ptr::from_mut(answer);
        let operation = library.between_leaders(exchange);
        let answered = collective::exchange(&operation, &[], vec![(process, answer)]);
        library.wait_for_leader(answered, |library| library.launcher(&find, Class::Port).map(|_| ()))?;
        // SAFETY: the box that was leaked; the exchange has ended.
        match *unsafe { Box::from_raw(place) } {
            [0] => Err(Error::new(Class::Port, format!("port `{port}` has been closed"))),
            _ => Ok(to_bytes(process, exchange)),
        }
    })?;
    let [leader, exchange] = words(&told);
    let handle = library.connect_to(comm, root, leader, exchange)?;
    // SAFETY: the program gave the place.
    unsafe { *made = handle };
    Ok(())
}

/// Sends a request for a connection.
fn call(library: &mut Library, process: Process, number: u32, request: u32) -> Result<(), Error> {
    let data = request.to_ne_bytes();
    let envelope = Envelope {
        context: LEADERS,
        source: library.own_process() as i32,
        tag: number as i32,
        bytes: REQUEST_B as u64,
        acknowledge: 0,
    };
    let memory = Memory { address: data.as_ptr() as u64, bytes: REQUEST_B as u64 };
    let sent = library.point_to_point.send(process, envelope, memory)?;
    if let Some(sent) = sent {
        while library.point_to_point.test(sent).is_none() {
            library.progress();
        }
        library.point_to_point.free(sent);
    }
    Ok(())
}
