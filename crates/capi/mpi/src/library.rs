//! The library of this process: its handles, and what is told of errors.

use crate::abi::*;
use crate::attributes::Keyval;
use crate::buffered::Attached;
use crate::comm::{Comm, Origin};
use crate::dynamic::{self, Worlds};
use crate::entry::tell;
use crate::files::{FILE_NULL, File, USER_FILE};
use crate::groups::USER_GROUP;
use crate::handoff;
use crate::matched::USER_MESSAGE;
use crate::operations::{OP_NULL, Reduction, USER_OP};
use crate::pami::Pami;
use crate::requests::{EMPTY, Request, UnderWay, first_requests};
use crate::sessions::{Session, USER_SESSION};
use crate::threads::{self, Held};
use crate::windows::{USER_WIN, Win};
use netloom_mpi::collective::Operation;
use netloom_mpi::collective::inter::Inter;
use netloom_mpi::contexts::{Contexts, OVERLAPPING};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::{Group, Members, Processes};
use netloom_mpi::handles::Handles;
use netloom_mpi::op;
use netloom_mpi::point_to_point::{PointToPoint, Taken};
use netloom_mpi::transport::{Team, Transport};
use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

/// See [`crate::handles`].
pub const USER_COMM: usize = 0x0100_0000;
pub const USER_REQUEST: usize = 0x0200_0000;
const NUMBERS: usize = 0x00ff_ffff;

/// Contexts of each communicator: those of its messages and of its collectives, and those within the groups
/// of an intercommunicator.
pub use netloom_mpi::waits::CONTEXTS;
const WITHIN: u32 = 2;

/// What the library of this process has.
pub struct State {
    pub point_to_point: Rc<PointToPoint<Pami>>,
    /// World, self, and those that the program made.
    pub comms: Vec<Option<Comm>>,
    /// Places in it of those that were freed.
    pub free_comms: Vec<usize>,
    pub requests: Vec<Option<Request>>,
    pub free_requests: Vec<usize>,
    /// The communicator, window or file of the call, or 0; and those of requests, by their places, since an
    /// error of a request is told to the error handler of its object.
    pub call_object: usize,
    pub request_objects: Vec<usize>,
    /// How many handles of [`ENDED_SEND`](crate::requests::ENDED_SEND) the program has, besides those
    /// of [`handoff`].
    pub ended_sends: i64,
    /// Those that the program has freed before they have ended.
    pub freed_requests: Vec<usize>,
    /// Buffers of buffered sends.
    pub attached: Vec<Attached>,
    /// Messages that the program has probed and not received.
    pub messages: Handles<Taken>,
    /// Collectives among them that have not ended.
    pub collectives_under_way: usize,
    /// Groups that the program made.
    pub groups: Handles<Processes>,
    pub sessions: Handles<Session>,
    /// Attributes of types, by handle.
    pub type_attributes: BTreeMap<usize, Vec<(c_int, usize)>>,
    /// Keys of attributes.
    pub keyvals: Vec<Keyval>,
    /// Open files.
    pub files: Handles<File>,
    /// The error handler of `MPI_FILE_NULL`, which files have at first.
    pub null_file_errhandler: usize,
    /// Windows.
    pub windows: Handles<Win>,
    /// How many calls of windows could have looked for messages.
    pub looks: u32,
    /// Reduction operations that the program made.
    pub operations: Handles<Reduction>,
    pub contexts: Rc<Contexts>,
    pub thread_level: c_int,
    /// The attribute `MPI_UNIVERSE_SIZE`.
    pub universe_size: c_int,
    /// The attribute `MPI_APPNUM`.
    pub appnum: c_int,
    /// Processes of other worlds, and those of this one.
    pub worlds: Worlds,
    pub main_thread: std::thread::ThreadId,
}

struct Global(UnsafeCell<Option<State>>);
// SAFETY: it is used by one thread at a time: see `threads`.
unsafe impl Sync for Global {}
static STATE: Global = Global(UnsafeCell::new(None));
static IS_RUNNING: AtomicBool = AtomicBool::new(false);

/// Whether it is between `MPI_Init` and `MPI_Finalize`.
#[inline]
pub fn is_running() -> bool {
    IS_RUNNING.load(Ordering::Relaxed)
}

/// The right to use the library, which a thread has during a call. All use goes through it, so while it is
/// borrowed as a whole ([`Library::progress`]) no reference to anything of the library is left, and another
/// thread may have it.
pub struct Library {
    _held: Held,
}

impl Deref for Library {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        // SAFETY: the state is there while there is a `Library`, and no other thread uses it: see `library`.
        unsafe { (*STATE.0.get()).as_ref().unwrap_unchecked() }
    }
}

impl DerefMut for Library {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: as above; this borrows the right as a whole.
        unsafe { (*STATE.0.get()).as_mut().unwrap_unchecked() }
    }
}

/// The library, between `MPI_Init` and `MPI_Finalize`.
///
/// # Safety Below `MPI_THREAD_MULTIPLE` the program makes one call at a time. A call that is in another one
/// has nothing of the library borrowed there.
#[inline]
pub unsafe fn library() -> Option<Library> {
    let held = threads::enter();
    is_running().then_some(Library { _held: held })
}

/// This process's rank among all processes, and how many there are, while the library runs. Needs no lock:
/// both stay.
pub fn world() -> Option<[u32; 2]> {
    is_running().then(|| [&WORLD_RANK, &WORLD_SIZE].map(|of| of.load(Ordering::Relaxed)))
}

static WORLD_RANK: AtomicU32 = AtomicU32::new(0);
static WORLD_SIZE: AtomicU32 = AtomicU32::new(0);

/// Begins it.
///
/// # Safety
/// As [`library`], and there is none.
pub unsafe fn set_state(state: State) {
    let transport = state.point_to_point.transport();
    WORLD_RANK.store(transport.own() - transport.first(), Ordering::Relaxed);
    WORLD_SIZE.store(transport.processes(), Ordering::Relaxed);
    // SAFETY: the caller's promise.
    unsafe { *STATE.0.get() = Some(state) };
    IS_RUNNING.store(true, Ordering::Relaxed);
}

/// Ends it.
///
/// # Safety
/// No other thread is in a call.
pub unsafe fn end(library: Library) {
    IS_RUNNING.store(false, Ordering::Relaxed);
    let point_to_point = Rc::clone(&library.point_to_point);
    // SAFETY: nothing is borrowed.
    unsafe { threads::unlocked(|| point_to_point.transport().stop_threads()) };
    threads::end();
    drop(library);
    point_to_point.transport().end();
    // What arrives during the end of the context may still be reported to it.
    // SAFETY: the caller's promise; nothing is borrowed.
    unsafe { *STATE.0.get() = None };
}

impl State {
    pub fn new(pami: Pami, thread_level: c_int) -> Self {
        let (own, first, size) = (pami.own(), pami.first(), pami.processes());
        let spawned = pami.world();
        let members = match first {
            0 => Members::World,
            _ => Members::List((first..first + size).collect()),
        };
        let comm = |members, rank, size, context, team| {
            Some(Comm::new(
                Group { members, rank, size, context },
                team,
                Origin { errhandler: ERRORS_ARE_FATAL, session: None },
            ))
        };
        let world = comm(members, own - first, size, 0, pami.world_team());
        let own_only = comm(Members::List(Rc::new([own])), 0, 1, CONTEXTS, None);
        State {
            comms: vec![world, own_only],
            free_comms: vec![],
            requests: first_requests(),
            free_requests: vec![],
            call_object: 0,
            request_objects: vec![0; first_requests().len()],
            ended_sends: 0,
            freed_requests: vec![],
            attached: vec![],
            messages: Handles::new(USER_MESSAGE),
            collectives_under_way: 0,
            groups: Handles::new(USER_GROUP),
            sessions: Handles::new(USER_SESSION),
            type_attributes: BTreeMap::new(),
            keyvals: vec![],
            files: Handles::new(USER_FILE),
            null_file_errhandler: ERRORS_RETURN,
            operations: Handles::new(USER_OP),
            windows: Handles::new(USER_WIN),
            looks: 0,
            contexts: Rc::new(Contexts::new(2 * CONTEXTS, own, thread_level == THREAD_MULTIPLE)),
            thread_level,
            universe_size: dynamic::universe(&pami).unwrap_or(size) as c_int,
            appnum: spawned.map_or(0, |world| world.command as c_int),
            worlds: Worlds::new(spawned.map(|world| world.parent)),
            main_thread: std::thread::current().id(),
            point_to_point: Rc::new(PointToPoint::new(pami)),
        }
    }
}

impl Library {
    /// The index of a communicator's handle.
    #[inline]
    pub fn comm_at(handle: usize) -> Option<usize> {
        match handle {
            COMM_WORLD | COMM_SELF => Some(handle - COMM_WORLD),
            _ if handle & !NUMBERS == USER_COMM => Some(handle & NUMBERS),
            _ => None,
        }
    }

    fn find_comm(&self, handle: usize) -> Option<&Comm> {
        self.comms.get(Self::comm_at(handle)?)?.as_ref()
    }

    /// The error handler of a communicator, a window or a file.
    pub fn errhandler_of(&self, handle: usize) -> Option<usize> {
        let of_comm = self.find_comm(handle).map(|comm| comm.errhandler);
        let of_win = || self.find_win(handle).map(|win| win.errhandler);
        let of_session = || self.sessions.get(handle).map(|session| session.errhandler);
        let of_file = || self.errhandler_of_file(handle);
        of_comm.or_else(of_win).or_else(of_session).or_else(of_file)
    }

    /// The number of a communicator.
    #[inline]
    pub fn comm(&self, name: &str, handle: usize) -> Result<CommId, Error> {
        let is_there = |at: &usize| matches!(self.comms.get(*at), Some(Some(comm)) if !comm.is_freed);
        match Self::comm_at(handle).filter(is_there) {
            Some(at) => Ok(CommId(at)),
            None => Err(bad_handle(Class::Comm, name, handle, "MPI_COMM_NULL", COMM_NULL, "communicator")),
        }
    }

    #[inline]
    pub fn of(&mut self, CommId(at): CommId) -> &mut Comm {
        self.comms[at].as_mut().expect("it is there while the program makes a call with it")
    }

    pub fn op(&self, name: &str, handle: usize) -> Result<Reduction, Error> {
        let user = || self.operations.get(handle).copied();
        op::predefined(handle)
            .map(Reduction::Predefined)
            .or_else(user)
            .ok_or_else(|| bad_handle(Class::Op, name, handle, "MPI_OP_NULL", OP_NULL, "reduction operation"))
    }

    /// A handle for a communicator. All its members make it at the same time.
    pub fn add_comm(&mut self, group: Group, origin: Origin) -> usize {
        // Other threads may make some before this one has its team.
        let handle = self.place_comm(Comm::new(group.clone(), None, origin));
        self.set_context(handle, group.context);
        let team = self.create_team(&group);
        self.of(CommId(handle & NUMBERS)).team = team;
        handle
    }

    /// A handle for a communicator that has no context yet.
    pub fn place_comm(&mut self, comm: Comm) -> usize {
        self.remove_unused_comms();
        let at = self.free_comms.pop().unwrap_or(self.comms.len());
        if at == self.comms.len() {
            self.comms.push(None);
        }
        self.note_group(&comm.group);
        self.comms[at] = Some(comm);
        handoff::note_change();
        USER_COMM | at
    }

    /// Gives a communicator its context.
    pub fn set_context(&mut self, handle: usize, context: u32) {
        let comm = CommId(handle & NUMBERS);
        self.of(comm).group.context = context;
        handoff::note_change();
        let (group, remote) = (self.of(comm).group.clone(), self.of(comm).remote.clone());
        self.note_communicator(&group);
        self.note_remote(context, remote.as_ref());
    }

    /// Gives a communicator the other group and the topology of another one.
    pub fn set_parts(&mut self, handle: usize, of: CommId) {
        let (remote, topology) = (self.of(of).remote.clone(), self.of(of).topology.clone());
        self.set_remote(handle, remote);
        self.set_topology(handle, topology);
    }

    /// The next collective operation of a communicator.
    #[inline(always)]
    pub fn operation(&mut self, comm: CommId) -> Operation<Pami> {
        let point_to_point = Rc::clone(&self.point_to_point);
        let comm = self.of(comm);
        // Persistent collectives are started in any order.
        let team = comm.team.filter(|_| comm.repeated.is_none());
        let number = comm.repeated.unwrap_or_else(|| comm.next_collective());
        let flags = comm.flags.as_ref().filter(|_| comm.remote.is_none());
        Operation::between(point_to_point, comm.group.clone(), comm.remote.clone(), team, number)
            .with_flags(flags)
    }

    /// The same of an intercommunicator, whose groups have contexts of their own.
    pub fn inter_operation(&mut self, comm: CommId) -> Inter<Pami> {
        let across = self.operation(comm);
        let point_to_point = Rc::clone(&self.point_to_point);
        let comm = self.of(comm);
        let group = Group { context: comm.group.context + WITHIN, ..comm.group.clone() };
        let number = comm.repeated.unwrap_or(comm.collectives);
        Inter { across, within: Operation::new(point_to_point, group, number) }
    }

    /// Whether a handle is that of an intercommunicator.
    pub fn is_inter(&self, handle: usize) -> bool {
        self.find_comm(handle).is_some_and(|comm| comm.remote.is_some())
    }

    /// Makes a team for collectives of a group, whose other members do so, too.
    fn create_team(&mut self, group: &Group) -> Option<Team> {
        // A network does collectives one after the other, and threads start those of several communicators in
        // any order: then MPI_COMM_WORLD alone has a team.
        if group.context & OVERLAPPING != 0 {
            return None;
        }
        let (team, number) = self.point_to_point.create_team(group)?;
        while self.point_to_point.test(number).is_none() {
            self.progress();
        }
        self.point_to_point.free(number);
        Some(team)
    }

    /// Makes progress until a future has ended.
    #[inline(always)]
    pub fn block_on<T>(&mut self, future: impl Future<Output = T>) -> T {
        self.block_on_pinned(pin!(future))
    }

    /// Carries out a collective where it was planned: to move the plan costs a short one a tenth of its time.
    #[inline]
    pub fn carry_out(
        &mut self,
        planned: Pin<&mut Result<impl Future<Output = Result<(), Error>>, Error>>,
    ) -> Result<(), Error> {
        // SAFETY: what is in it is not moved out, but for an error, which may be.
        match unsafe { planned.get_unchecked_mut() } {
            // SAFETY: it is pinned with the result that it is in.
            Ok(plan) => self.block_on_pinned(unsafe { Pin::new_unchecked(plan) }),
            Err(error) => Err(error.clone()),
        }
    }

    #[inline]
    fn block_on_pinned<T>(&mut self, mut future: Pin<&mut impl Future<Output = T>>) -> T {
        loop {
            self.point_to_point.set_blocking(true);
            let polled = poll(future.as_mut());
            self.point_to_point.set_blocking(false);
            if let Poll::Ready(value) = polled {
                // Other threads may have got what they wait for, such as a lock of a window.
                threads::note_change();
                return value;
            }
            self.progress();
        }
    }

    /// Gives the program a collective as a request.
    ///
    /// # Safety
    /// It gave the place.
    pub unsafe fn start(
        &mut self,
        future: impl Future<Output = Result<(), Error>> + 'static,
        request: *mut usize,
    ) -> Result<(), Error> {
        let started = self.insert(Request::Collective(Box::pin(future)));
        self.poll_collectives();
        // SAFETY: the caller's promise.
        unsafe { *request = started };
        Ok(())
    }

    /// Makes progress, and waits for some. All waits come here: other threads use the library meanwhile.
    pub fn progress(&mut self) {
        // SAFETY: this borrows the library as a whole, so nobody has a reference to anything of it.
        if !unsafe { threads::wait() } {
            self.point_to_point.transport().advance();
        }
        self.poll_collectives();
        self.end_freed_requests();
    }

    /// Goes on with collectives that do not block.
    #[inline]
    pub fn poll_collectives(&mut self) {
        if self.collectives_under_way > 0 {
            self.poll_all_collectives();
        }
    }

    #[inline(never)]
    fn poll_all_collectives(&mut self) {
        let mut at = 0;
        while at < self.requests.len() {
            if let Some(future) = self.collective_at(at) {
                // Operations of the program may run, and other threads meanwhile: they find a collective here
                // that does not end.
                let mut taken = std::mem::replace(future, Box::pin(std::future::pending()));
                let is_blocking = self.point_to_point.is_blocking();
                self.point_to_point.set_blocking(false);
                let polled = poll(taken.as_mut());
                self.point_to_point.set_blocking(is_blocking);
                let place = self.request_under_way(at).expect("a request is freed when it has ended");
                match polled {
                    Poll::Pending => *place = Request::Collective(taken),
                    Poll::Ready(end) => {
                        threads::note_change();
                        *place = Request::Ended(end.map(|()| EMPTY).map_err(Box::new));
                        self.collectives_under_way -= 1;
                    }
                }
            }
            at += 1;
        }
    }

    /// A request; of one that is persistent, what it has started.
    fn request_under_way(&mut self, at: usize) -> Option<&mut Request> {
        match self.requests[at].as_mut()? {
            Request::Persistent(_, Some(active)) => Some(active),
            request => Some(request),
        }
    }

    fn collective_at(&mut self, at: usize) -> Option<&mut UnderWay> {
        match self.request_under_way(at)? {
            Request::Collective(future) => Some(future),
            _ => None,
        }
    }

    /// What is to be done with an error: its code is returned, or the job has ended, or the program's handler
    /// is called first.
    #[cold]
    pub fn raise(&self, name: &str, comm: usize, error: &Error) -> Raised {
        let comm = if comm == 0 { error.object } else { comm };
        let own = self.comms[1].as_ref().expect("it stays until the end");
        let class = error.code();
        let (comm, handler) = match self.errhandler_of(comm) {
            Some(handler) => (comm, handler),
            None if error.class == Class::File => (FILE_NULL, self.null_file_errhandler),
            // Since MPI 4.0; before, that of MPI_COMM_WORLD.
            None => (COMM_SELF, own.errhandler),
        };
        let function = crate::errhandlers::user_handler(handler);
        if function.is_some() || handler == ERRORS_RETURN {
            crate::errhandlers::note(name, error);
        }
        if let Some(function) = function {
            return Raised::Handler { function, comm, code: class };
        }
        if handler == ERRORS_RETURN {
            return Raised::Code(class);
        }
        tell(&format!("{}: {name}: {error} ({})", self.name_of_own(), error.class.name()));
        std::process::exit(class);
    }
}

/// What is to be done with an error.
pub enum Raised {
    Code(c_int),
    /// A function of the program is called with the communicator, window or file and the code: the library
    /// must not be borrowed then.
    Handler {
        function: usize,
        comm: usize,
        code: c_int,
    },
}

/// A communicator by number.
#[derive(Clone, Copy, Debug)]
pub struct CommId(pub usize);

/// Polls a future that is polled again by whoever waits for it.
pub fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[cold]
pub fn bad_handle(
    class: Class,
    name: &str,
    handle: usize,
    null: &str,
    null_value: usize,
    what: &str,
) -> Error {
    let text = if handle == null_value {
        format!("{name} is {null}")
    } else if handle == 0 {
        format!("{name} is 0, which is no handle: {null} is {null_value:#x}; is it initialised?")
    } else {
        format!("{name} is {handle:#x}, which is no {what}")
    };
    Error::new(class, text)
}
