//! Dynamic processes (MPI 5.0, chapter 11.7 to 11.10): processes that are started while the job runs are a
//! world of their own, with intercommunicators to others.
//!
//! - `spawn` – a group has processes started.
//! - `commands` – which programs: what the program gave, and files that are found.
//! - `ports` – two groups connect to each other.
//! - `names` – ports are published under names.
//! - `join` – the two processes at the ends of a socket connect.
//!
//! # How worlds meet
//! The launcher of `netloom exec` starts processes and knows all names: a process asks it over a socket. All
//! processes of a job are tasks of PAMI, numbered through over all worlds, and a process sends to any other
//! by this number. So two processes of different worlds, the leaders of two groups, exchange messages in a
//! context that no communicator has ([`LEADERS`]), and agree on everything else as leaders of
//! `MPI_Intercomm_create` do.
//!
//! # How they part
//! A process counts, for each process of another world, the communicators that both are in and that have not
//! been disconnected. When it ends it says farewell to those that are left, and waits for theirs: then no
//! message between them is under way.

mod commands;
pub mod join;
pub mod names;
pub mod ports;
pub mod spawn;

use crate::abi::COMM_NULL;
use crate::intercommunicators::{Across, connect};
use crate::library::{CommId, Library, USER_COMM, poll};
use crate::pami::Pami;
use crate::threads;
use netloom_mpi::collective::{self, Operation, inter};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::{Group, Members, Processes};
use netloom_mpi::transport::{Process, Transport};
use netloom_shm::launch::{Answer, Request, ask};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

/// The context of messages between leaders that have no communicator yet: requests for connections; their
/// collectives, which are exchanges, have the next one. Contexts of communicators are less
/// ([`crate::contexts`]), those of windows and of answers greater.
const LEADERS: u32 = u32::MAX - 3;

/// Numbers of the exchanges between two leaders: what for, and which one of them.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Exchange {
    Spawn,
    Port,
    Join,
    Farewell,
}

impl Exchange {
    fn number(self, n: u32) -> u32 {
        (self as u32) << 28 | n & 0x0fff_ffff
    }
}

/// How long a process waits before it looks again at what another does.
const PAUSE: Duration = Duration::from_micros(50);

/// How often a process that waits for another looks whether that may still come.
const PATIENCE: Duration = Duration::from_millis(100);

/// What a process knows of other worlds.
pub struct Worlds {
    /// The process that had this world started, until they have met.
    awaited_parent: Option<Process>,
    /// The handle that `MPI_Comm_get_parent` gives.
    parent: usize,
    /// Processes of other worlds, with the number of communicators in common.
    met: BTreeMap<Process, u32>,
    /// Exchanges with leaders that this process has begun.
    exchanges: u32,
}

impl Worlds {
    pub fn new(parent: Option<Process>) -> Self {
        Worlds { awaited_parent: parent, parent: COMM_NULL, met: BTreeMap::new(), exchanges: 0 }
    }

    fn next_exchange(&mut self) -> u32 {
        self.exchanges += 1;
        self.exchanges
    }
}

/// Whether this process knows one of another world: then those may wait for it.
static IS_CONNECTED: AtomicBool = AtomicBool::new(false);

/// The same, without a lock.
pub fn is_connected() -> bool {
    IS_CONNECTED.load(Ordering::Relaxed)
}

/// The number of processes that the job is meant to have at most, if it can grow.
pub fn universe(pami: &Pami) -> Option<u32> {
    if pami.is_simulated() { None } else { netloom_shm::launch::universe() }
}

impl Library {
    /// The number of this process among all of the job.
    pub fn own_process(&self) -> Process {
        self.point_to_point.transport().own()
    }

    /// This process, in words.
    pub fn name_of_own(&self) -> String {
        let rank = self.comms[0].as_ref().expect("it stays until the end").group.rank;
        match self.point_to_point.transport().world() {
            None => format!("rank {rank}"),
            Some(world) => format!("rank {rank} of the processes that task {} spawned", world.parent),
        }
    }

    /// All processes of the job: rank r is process r. Nobody knows how many there are.
    pub fn all_processes(&self, context: u32) -> Group {
        Group { members: Members::World, rank: self.own_process(), size: u32::MAX, context }
    }

    /// Messages between leaders.
    fn between_leaders(&self, number: u32) -> Operation<Pami> {
        Operation::new(Rc::clone(&self.point_to_point), self.all_processes(LEADERS), number)
    }

    fn is_of_own_world(&self, process: Process) -> bool {
        let pami = self.point_to_point.transport();
        (pami.first()..pami.first() + pami.processes()).contains(&process)
    }

    /// A communicator has these members.
    pub fn note_members(&mut self, members: impl Iterator<Item = Process>) {
        for process in members {
            if !self.is_of_own_world(process) {
                *self.worlds.met.entry(process).or_default() += 1;
                IS_CONNECTED.store(true, Ordering::Relaxed);
            }
        }
    }

    /// The same; nothing where it cannot have any of another world.
    #[inline]
    pub fn note_group(&mut self, group: &Group) {
        if !self.worlds.met.is_empty() {
            self.note_members(Processes::from(group).iter());
        }
    }

    /// A communicator is about to be freed.
    pub fn forget_parent(&mut self, CommId(at): CommId) {
        if self.worlds.parent == USER_COMM | at {
            self.worlds.parent = COMM_NULL;
        }
    }

    /// That this process can have dealings with others of its job.
    fn check_native(&self) -> Result<(), Error> {
        match self.point_to_point.transport().is_simulated() {
            false => Ok(()),
            true => Err(Error::new(
                Class::UnsupportedOperation,
                "the processes of a simulated machine neither start others nor connect to others",
            )),
        }
    }

    /// Has the launcher do something; others make progress meanwhile.
    fn launcher(&mut self, request: &Request, class: Class) -> Result<Answer, Error> {
        let failed = |why: String| Error::new(class, why);
        let mut asked = ask(request).map_err(failed)?;
        loop {
            match asked.answer().map_err(failed)? {
                Some(Answer::Refused(why)) => return Err(failed(why)),
                Some(answer) => return Ok(answer),
                None => self.pause(),
            }
        }
    }

    /// Makes progress and waits a moment for what PAMI does not report: for that alone, [`Self::progress`]
    /// would sleep too long.
    fn pause(&mut self) {
        self.poll();
        // SAFETY: this borrows the library as a whole, so nobody has a reference to anything of it.
        unsafe { threads::unlocked(|| std::thread::sleep(PAUSE)) };
    }

    /// Waits for an exchange with another leader as long as that may still come.
    fn wait_for_leader<T>(
        &mut self,
        exchange: impl Future<Output = Result<T, Error>>,
        mut is_possible: impl FnMut(&mut Library) -> Result<(), Error>,
    ) -> Result<T, Error> {
        let (mut exchange, mut looked, mut failed) = (pin!(exchange), Instant::now(), None);
        loop {
            if let Poll::Ready(end) = poll(exchange.as_mut()) {
                return end;
            }
            self.pause();
            if looked.elapsed() >= PATIENCE {
                // What it has sent before it ended may be about to arrive.
                if let Some(error) = failed {
                    return Err(error);
                }
                failed = is_possible(self).err();
                looked = Instant::now();
            }
        }
    }

    /// What the root does alone, and then the others of a communicator know: bytes, or an error of all.
    fn at_root(
        &mut self,
        comm: CommId,
        root: c_int,
        act: impl FnOnce(&mut Library) -> Result<Vec<u8>, Error>,
    ) -> Result<Vec<u8>, Error> {
        let mut own = None;
        if self.of(comm).group.rank == root as u32 {
            own = Some(act(self));
        }
        let (class, mut bytes) = match &own {
            Some(Ok(bytes)) => (0, bytes.clone()),
            Some(Err(error)) => (error.class as i32, error.text.as_bytes().to_vec()),
            None => (0, vec![]),
        };
        let mut head = [0; 8];
        head[..4].copy_from_slice(&class.to_ne_bytes());
        head[4..].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
        let operation = self.operation(comm);
        self.block_on(collective::broadcast(&operation, &mut head, root as u32))?;
        let word = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().expect("four bytes"));
        bytes.resize(word(4) as usize, 0);
        let operation = self.operation(comm);
        self.block_on(collective::broadcast(&operation, &mut bytes, root as u32))?;
        match own {
            Some(own) => own,
            None if word(0) == 0 => Ok(bytes),
            None => {
                let known = [
                    Class::Arg,
                    Class::Info,
                    Class::Name,
                    Class::Port,
                    Class::ProcAborted,
                    Class::Spawn,
                    Class::UnsupportedOperation,
                ];
                let class = known.into_iter().find(|&of| of as u32 == word(0)).unwrap_or(Class::Other);
                Err(Error::new(class, format!("rank {root}: {}", String::from_utf8_lossy(&bytes))))
            }
        }
    }

    /// An intercommunicator of a communicator's group and the group of another leader.
    fn connect_to(
        &mut self,
        comm: CommId,
        root: c_int,
        leader: Process,
        number: u32,
    ) -> Result<usize, Error> {
        let (group, origin) = (self.of(comm).group.clone(), self.of(comm).origin());
        let across: Option<Result<Across, Error>> =
            (group.rank == root as u32).then(|| Ok((self.between_leaders(number), leader)));
        let within = |library: &mut Library| library.operation(comm);
        connect(self, &group, root as u32, within, across, origin)
    }

    /// That a communicator has one group, in which the root is.
    fn check_root(&mut self, comm: CommId, root: c_int) -> Result<(), Error> {
        self.check_intra(comm)?;
        let size = self.of(comm).group.size;
        match u32::try_from(root) {
            Ok(root) if root < size => Ok(()),
            _ => {
                let text = format!("root is {root}, and the communicator has the ranks 0 to {}", size - 1);
                Err(Error::new(Class::Root, text))
            }
        }
    }
}

/// A string of the program.
///
/// # Safety
/// It is NULL, or a string.
unsafe fn text(class: Class, name: &str, string: *const c_char) -> Result<String, Error> {
    if string.is_null() {
        return Err(Error::new(class, format!("{name} is NULL")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned())
}

/// The first words of what a root has told.
fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let (words, _) = bytes.as_chunks::<4>();
    std::array::from_fn(|at| words.get(at).map_or(0, |&word| u32::from_ne_bytes(word)))
}

pub unsafe fn parent(library: &mut Library, parent: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *parent = library.worlds.parent };
    Ok(())
}

/// If others had this world started: an intercommunicator with them.
pub fn meet_parent(library: &mut Library) -> Result<(), Error> {
    const ALL: CommId = CommId(0);
    let Some(leader) = library.worlds.awaited_parent.take() else { return Ok(()) };
    // They wait for all of this world: one that ends before ends their wait.
    let operation = library.operation(ALL);
    library.block_on(collective::barrier(operation))?;
    let number = Exchange::Spawn.number(0);
    if library.of(ALL).group.rank == 0 {
        let operation = library.between_leaders(number);
        library.block_on(collective::exchange(&operation, &[(leader, &[])], vec![]))?;
    }
    let handle = library.connect_to(ALL, 0, leader, number)?;
    library.worlds.parent = handle;
    let comm = library.comm("parent", handle)?;
    const NAME: &str = "MPI_COMM_PARENT";
    let comm = library.of(comm);
    comm.name = Some(NAME.into());
    let context = comm.group.context;
    library.note_name(context, NAME);
    Ok(())
}

/// Waits for all members of a communicator; those of other worlds are in one communicator less.
pub fn disconnect(library: &mut Library, comm: CommId) -> Result<(), Error> {
    let of = library.of(comm);
    let remote = of.remote.clone();
    let mut members: Vec<Process> = Processes::from(&of.group).iter().collect();
    match &remote {
        None => {
            let operation = library.operation(comm);
            library.block_on(collective::barrier(operation))?;
        }
        Some(remote) => {
            members.extend(remote.iter());
            let inter = library.inter_operation(comm);
            library.block_on(inter::barrier(&inter))?;
        }
    }
    for process in members {
        if let Some(count) = library.worlds.met.get_mut(&process) {
            *count = count.saturating_sub(1);
        }
    }
    Ok(())
}

/// The process is about to end: says farewell to those of other worlds that it is connected to, and waits for
/// theirs.
pub fn part(library: &mut Library) -> Result<(), Error> {
    if library.worlds.met.is_empty() {
        return Ok(());
    }
    let left: Vec<Process> = library.worlds.met.iter().filter(|of| *of.1 > 0).map(|of| *of.0).collect();
    let sends: Vec<(u32, &[u8])> = left.iter().map(|&process| (process, &[][..])).collect();
    let receives = left.iter().map(|&process| (process, &mut [][..])).collect();
    let operation = library.between_leaders(Exchange::Farewell.number(0));
    library.block_on(collective::exchange(&operation, &sends, receives))?;
    library.worlds.met.clear();
    IS_CONNECTED.store(false, Ordering::Relaxed);
    Ok(())
}

/// The greatest length of a port's name, with the zero at its end.
const MAX_PORT_NAME: usize = 1024;

/// Gives the program a port's name.
///
/// # Safety
/// The program gave the place.
unsafe fn write_port(name: &str, to: *mut c_char) {
    // SAFETY: the caller's promise.
    unsafe { crate::environment::write(name, MAX_PORT_NAME, to, &mut 0) };
}
