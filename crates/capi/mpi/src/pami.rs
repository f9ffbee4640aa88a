//! PAMI as the transport (section IV of the PAMI paper): one client, and one context unless the environment
//! asks for more; short messages are immediate sends, others are left to PAMI's own eager and rendezvous
//! protocols. The library is linked by name, so that a program that uses PAMI beside MPI has one.

mod algorithms;
mod arrivals;
mod contexts;
mod copies;
mod flags;
mod functions;
mod geometries;
mod polls;

pub use arrivals::listener;

use crate::pami_interface::abi::{
    Configuration, DispatchHints, HINT_DISABLE, HINT_ENABLE, MemoryRegion, RegionPart, Rget, Rma, Rput, Send,
    SendEvents, SendImmediate, attribute,
};
use arrivals::{LISTENER, arrived, sent, transferred, trial_arrived, trial_fetched};
use contexts::Contexts;
use copies::Copies;
use flags::SharedFlags;
use functions::*;
use geometries::{Geometries, Settings};
use netloom_mpi::fetched::Fetched;
use netloom_mpi::group::Group;
use netloom_mpi::matching::Envelope;
use netloom_mpi::paths::Path;
use netloom_mpi::point_to_point::PointToPoint;
use netloom_mpi::transport::{
    Collective, FlagAt, FlagSpace, Memory, MessageEvent, Process, Refused, Step, Team, Transport,
};
use netloom_shm::launch::World;
use polls::Polls;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const SUCCESS: c_int = 0;
const AGAIN: c_int = crate::pami_interface::abi::EAGAIN;
/// The dispatch identifier of messages.
const MESSAGE: usize = 1;
/// That of messages whose receiver fetches the data, whatever their length.
const FETCHED: usize = 2;
/// Header and data of an immediate send.
const IMMEDIATE_B: usize = 512;
/// Data of a message that PAMI sends whole where it can: 4 KiB, and the header of a put.
const WHOLE_B: usize = 4096 + 256;
/// Puts and gets that are shorter are natively messages, unless the kernel's copy is the faster path.
const SHORT_B: u64 = IMMEDIATE_B as u64;
/// Data of puts and gets that go natively through packets, if the target has a core to take them: more are
/// faster in one copy by the kernel.
const PACKETS_B: u64 = 64 << 10;
/// Data of a message that goes through packets, whose reader finds it in the caches.
const PIECE_B: usize = 32 << 10;
/// A hint of PAMI's: the field `use_rdma`, disabled and enabled.
const NO_RDMA: u32 = HINT_DISABLE << 16;
const RDMA: u32 = HINT_ENABLE << 16;
/// Polls after which a wait looks at other things again. On a simulated node they are one wait.
const POLLS: usize = 10_000;

/// PAMI's client and contexts.
#[derive(Debug)]
pub struct Pami {
    client: *mut c_void,
    /// Context 0.
    context: *mut c_void,
    /// Those of messages, if there are several contexts.
    contexts: Option<Contexts>,
    processes: u32,
    own: Process,
    /// The processes that were started with this one, if another process had them started.
    world: Option<World>,
    is_simulated: bool,
    short_max_bytes: Cell<usize>,
    /// Sends whole messages, where there is such an extension, of up to this length.
    send_whole: Option<SendWhole>,
    polls: Polls,
    whole_max_bytes: Cell<usize>,
    copies: Copies,
    flags: Option<SharedFlags>,
    fetched: Fetched,
    transfer_min_bytes: usize,
    /// Takes steps of this library's software, on a simulated machine.
    spend: Option<Spend>,
    /// Hears that this library does something by itself, likewise.
    acts: Option<unsafe extern "C" fn()>,
    geometries: Geometries,
    /// The endpoints of processes to which messages were sent last.
    endpoints: [Cell<Option<(Process, u32)>>; ENDPOINTS],
    /// The endpoint of which a message came last, and its process.
    origin: Cell<Option<(u32, Process)>>,
}

/// How many endpoints are kept: few, since a job may have many processes.
const ENDPOINTS: usize = 16;

pub type Spend = unsafe extern "C" fn(u64);
type HasOwnCore = unsafe extern "C" fn() -> bool;
type SendWhole = unsafe extern "C" fn(*mut c_void, *mut SendImmediate) -> c_int;

pub type Listener = PointToPoint<Pami>;

/// A symbol of an extension, if PAMI has it for this job.
fn symbol(client: *mut c_void, extension: &CStr, name: &CStr) -> Option<*mut c_void> {
    let mut opened = null_mut();
    // SAFETY: the client lives; a place for the result; an extension that is open.
    let symbol = unsafe {
        if PAMI_Extension_open(client, extension.as_ptr(), &mut opened) != SUCCESS {
            return None;
        }
        PAMI_Extension_symbol(opened, name.as_ptr())
    };
    (!symbol.is_null()).then_some(symbol)
}

/// What PAMI's name of a process on a simulated machine has: "netloom task 5 on 4x4x4x4x2".
const ON_MACHINE: &str = " on ";

/// The name of this process, and the first task of its node.
fn place(client: *mut c_void) -> (String, Process) {
    let ask = |name| Configuration { name, value: crate::pami_interface::abi::AttributeValue { intval: 0 } };
    let mut facts = [ask(attribute::CLIENT_PROCESSOR_NAME), ask(attribute::CLIENT_LOCAL_TASKS)];
    // SAFETY: the client lives, and so do the string and the array of one task at least.
    unsafe {
        PAMI_Client_query(client, facts.as_mut_ptr(), facts.len());
        let name = CStr::from_ptr(facts[0].value.chararray).to_string_lossy().into_owned();
        (name, *facts[1].value.intarray as Process)
    }
}

/// What PAMI said of its last error.
fn reason(call: &str) -> String {
    let mut text = [0u8; 512];
    // SAFETY: a place of that length.
    let length = unsafe { PAMI_Error_text(text.as_mut_ptr().cast(), text.len()) };
    let text = String::from_utf8_lossy(&text[..length.min(text.len())]);
    let text = text.trim_end_matches(['\0', '\n', '.']);
    if text.is_empty() { format!("{call} fails") } else { text.into() }
}

impl Pami {
    /// Takes part in the job. Whether the program asks for `MPI_THREAD_MULTIPLE` may decide about
    /// communication threads.
    pub fn start(is_multiple: bool) -> Result<Self, String> {
        let mut client = null_mut();
        let ask =
            |name| Configuration { name, value: crate::pami_interface::abi::AttributeValue { intval: 0 } };
        let mut facts = [ask(attribute::CLIENT_TASK_ID), ask(attribute::CLIENT_NUM_TASKS)];
        // SAFETY: calls with places for their results.
        unsafe {
            if PAMI_Client_create(c"MPI".as_ptr(), &mut client, null_mut(), 0) != SUCCESS {
                return Err(reason("PAMI_Client_create"));
            }
            if PAMI_Client_query(client, facts.as_mut_ptr(), facts.len()) != SUCCESS {
                return Err(reason("PAMI_Client_query"));
            }
            let [own, processes] = facts.map(|fact| fact.value.intval as u32);
            let is_simulated = place(client).0.contains(ON_MACHINE);
            let settings =
                contexts::Settings::new(is_simulated, Self::most_contexts(client), own, is_multiple);
            settings.check_alike(client)?;
            let mut all = vec![null_mut(); settings.contexts];
            if PAMI_Context_createv(client, null_mut(), 0, all.as_mut_ptr(), all.len()) != SUCCESS {
                return Err(reason("PAMI_Context_createv"));
            }
            let short_max_bytes = Cell::new(IMMEDIATE_B - Envelope::BYTES);
            let spend = symbol(client, c"NETLOOM_mpi_steps", c"spend");
            let spend = spend.map(|symbol| std::mem::transmute::<*mut c_void, Spend>(symbol));
            let send_whole = symbol(client, c"NETLOOM_whole_messages", c"send");
            let send_whole = send_whole.map(|symbol| std::mem::transmute::<*mut c_void, SendWhole>(symbol));
            let polls = Polls::new(client).ok_or_else(|| reason("NETLOOM_poll"))?;
            let acts = symbol(client, c"NETLOOM_mpi_steps", c"acts");
            let acts = acts.map(|symbol| std::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(symbol));
            let geometries = Geometries::new(Settings::new(is_simulated));
            let has_own_core = symbol(client, c"NETLOOM_whole_messages", c"has_own_core")
                .is_some_and(|symbol| std::mem::transmute::<*mut c_void, HasOwnCore>(symbol)());
            let copies = Copies::new(client, has_own_core);
            // A simulated network moves data by itself; the kernel of this computer takes longer than a
            // message.
            let transfer_min_bytes = if is_simulated { 0 } else { IMMEDIATE_B };
            Ok(Pami {
                client,
                context: all[0],
                contexts: Contexts::new(client, &all, settings),
                processes,
                own,
                // As PAMI has it.
                world: World::of_environment().filter(|of| (of.first..of.first + of.count).contains(&own)),
                is_simulated,
                short_max_bytes,
                send_whole,
                polls,
                whole_max_bytes: Cell::new(if send_whole.is_some() { WHOLE_B } else { 0 }),
                fetched: Fetched::new(copies.tries_messages()),
                copies,
                flags: SharedFlags::new(client, own, has_own_core, is_multiple),
                transfer_min_bytes,
                spend,
                acts,
                geometries,
                endpoints: [const { Cell::new(None) }; ENDPOINTS],
                origin: Cell::new(None),
            })
        }
    }

    /// Begins to take messages.
    pub fn listen(listener: &Rc<Listener>) {
        LISTENER.store(Rc::as_ptr(listener).cast_mut(), Ordering::Release);
        // SAFETY: the context lives; the function takes its arguments.
        unsafe {
            let context = listener.transport().context;
            let (joined, _) = listener.transport().joined();
            for context in std::iter::once(context).chain(joined) {
                for (dispatch, hints) in [(MESSAGE, 0), (FETCHED, RDMA)] {
                    PAMI_Dispatch_set(context, dispatch, Some(arrived), null_mut(), DispatchHints(hints));
                }
            }
            let value = crate::pami_interface::abi::AttributeValue { intval: 0 };
            let mut most = Configuration { name: attribute::DISPATCH_SEND_IMMEDIATE_MAX, value };
            if PAMI_Dispatch_query(context, MESSAGE, &mut most, 1) == SUCCESS {
                let short_max = most.value.intval.min(IMMEDIATE_B).saturating_sub(Envelope::BYTES);
                listener.transport().short_max_bytes.set(short_max);
            }
            type Write = unsafe extern "C" fn(*mut c_char, usize) -> usize;
            type Set = unsafe extern "C" fn(Option<Write>);
            let functions: [(&CStr, Write); 2] =
                [(c"describe", crate::waiting::describe), (c"state", crate::waiting::state)];
            for (name, function) in functions {
                if let Some(symbol) = symbol(listener.transport().client, c"NETLOOM_waiting", name) {
                    std::mem::transmute::<*mut c_void, Set>(symbol)(Some(function));
                }
            }
        }
    }

    /// What takes a profile's marks, if the run has a profile.
    pub fn profile(&self) -> Option<crate::profile::Functions> {
        let symbol = |name| symbol(self.client, c"NETLOOM_profile", name);
        use std::mem::transmute;
        // SAFETY: the symbols are functions of these types.
        unsafe {
            Some(crate::profile::Functions {
                call_begins: transmute::<*mut c_void, unsafe extern "C" fn(*const c_char, usize, c_int)>(
                    symbol(c"call_begins")?,
                ),
                call_ends: transmute::<*mut c_void, unsafe extern "C" fn()>(symbol(c"call_ends")?),
                sent: transmute::<*mut c_void, unsafe extern "C" fn(u32, u32, c_int, u64)>(symbol(c"sent")?),
                taken: transmute::<*mut c_void, unsafe extern "C" fn(u32, u32, c_int, u64, u64)>(symbol(
                    c"taken",
                )?),
                received: transmute::<*mut c_void, unsafe extern "C" fn(u64)>(symbol(c"received")?),
            })
        }
    }

    /// The context, and PAMI's functions by which threads share it: `lock`, `unlock`, `advance`, `poll`. From
    /// now on they make progress of the other contexts, too.
    pub fn sharing(&self) -> Option<(*mut c_void, [*mut c_void; 4])> {
        let symbol = |name| symbol(self.client, c"NETLOOM_threads", name);
        type Join = unsafe extern "C" fn(*mut c_void, *mut *mut c_void, usize, c_int);
        // SAFETY: a function of this type; the contexts live as long as the first of them.
        unsafe {
            let join = std::mem::transmute::<*mut c_void, Join>(symbol(c"join")?);
            let (mut others, have_threads) = self.joined();
            join(self.context, others.as_mut_ptr(), others.len(), have_threads.into());
        }
        Some((self.context, [symbol(c"lock")?, symbol(c"unlock")?, symbol(c"advance")?, symbol(c"poll")?]))
    }

    /// The function by which steps take their time, on a simulated machine.
    pub fn spends(&self) -> Option<Spend> {
        self.spend
    }

    /// From now on a send has ended only when its packets have left: what is sent last must not be lost.
    pub fn send_all(&self) {
        self.short_max_bytes.set(0);
        crate::handoff::set(None);
        self.whole_max_bytes.set(0);
    }

    /// Leaves the job.
    pub fn end(&self) {
        let mut client = self.client;
        let mut contexts = vec![self.context];
        contexts.extend(self.joined().0);
        // SAFETY: all live, and nobody uses them any more.
        unsafe {
            PAMI_Context_destroyv(contexts.as_mut_ptr(), contexts.len());
            PAMI_Client_destroy(&mut client);
        }
        LISTENER.store(null_mut(), Ordering::Release);
    }

    /// The processes that were started with this one, if another process had them started.
    pub fn world(&self) -> Option<World> {
        self.world
    }

    /// The first process that was started with this one.
    pub fn first(&self) -> Process {
        self.world.map_or(0, |world| world.first)
    }

    /// Whether it runs on a simulated machine.
    pub fn is_simulated(&self) -> bool {
        self.is_simulated
    }

    /// The node, by the first of its processes. Natively there is one.
    pub fn node(&self) -> Process {
        if self.is_simulated { place(self.client).1 } else { 0 }
    }

    /// The node of a simulated machine: the same for all ranks that run there, and for no others.
    pub fn simulated_node(&self) -> Option<String> {
        let (process, first) = place(self.client);
        let (_, machine) = process.split_once(ON_MACHINE)?;
        Some(format!("node of task {first} on {machine}"))
    }

    /// Time, s; and its resolution.
    pub fn time_s(&self) -> [f64; 2] {
        let value = crate::pami_interface::abi::AttributeValue { doubleval: 1e-9 };
        let mut tick = Configuration { name: attribute::CLIENT_WTICK, value };
        // SAFETY: the client lives; the attribute is a number with a point.
        unsafe {
            PAMI_Client_query(self.client, &mut tick, 1);
            [PAMI_Wtime(self.client), tick.value.doubleval]
        }
    }

    #[inline]
    fn endpoint(&self, of: Process) -> Result<u32, Refused> {
        match self.endpoints[of as usize % ENDPOINTS].get() {
            Some((process, endpoint)) if process == of => Ok(endpoint),
            _ => self.create_endpoint(of),
        }
    }

    #[cold]
    fn create_endpoint(&self, of: Process) -> Result<u32, Refused> {
        let mut endpoint = 0;
        // SAFETY: a place for the result.
        match unsafe { PAMI_Endpoint_create(self.client, of, 0, &mut endpoint) } {
            SUCCESS => {
                self.endpoints[of as usize % ENDPOINTS].set(Some((of, endpoint)));
                Ok(endpoint)
            }
            _ => Err(Refused(reason("PAMI_Endpoint_create"))),
        }
    }

    /// The process of an endpoint.
    #[inline]
    fn process(&self, origin: u32) -> Process {
        match self.origin.get() {
            Some((endpoint, process)) if endpoint == origin => process,
            _ => self.query_endpoint(origin),
        }
    }

    #[cold]
    fn query_endpoint(&self, origin: u32) -> Process {
        let (mut process, mut offset) = (0, 0);
        // SAFETY: places for the results.
        unsafe { PAMI_Endpoint_query(origin, &mut process, &mut offset) };
        self.origin.set(Some((origin, process)));
        process
    }

    #[inline(always)]
    fn immediate(&self, to: Process, header: &[u8], data: Memory) -> Result<SendImmediate, Refused> {
        let dest = self.endpoint(to)?;
        Ok(contexts::immediate(header, (data.address, data.bytes as usize), dest))
    }
}

impl Transport for Pami {
    fn processes(&self) -> u32 {
        self.processes
    }

    fn own(&self) -> Process {
        self.own
    }

    #[inline]
    fn short_max_bytes(&self) -> usize {
        self.short_max_bytes.get()
    }

    #[inline(always)]
    fn send_short(&self, to: Process, envelope: Envelope, data: Memory) -> Result<(), Refused> {
        if let Some(contexts) = &self.contexts {
            return self.send_hashed(contexts, to, (envelope.to_bytes(), envelope.context), data, None);
        }
        let header = envelope.to_bytes();
        let mut send = self.immediate(to, &header, data)?;
        // SAFETY: header and data are there during the call.
        match unsafe { PAMI_Send_immediate(self.context, &mut send) } {
            SUCCESS => Ok(()),
            _ => Err(Refused(reason("PAMI_Send_immediate"))),
        }
    }

    fn piece_bytes(&self) -> usize {
        if self.copies.packets_max_bytes == 0 { usize::MAX } else { PIECE_B }
    }

    #[inline]
    fn whole_max_bytes(&self) -> usize {
        self.whole_max_bytes.get()
    }

    #[inline(always)]
    fn send_whole(&self, to: Process, envelope: Envelope, data: Memory) -> Result<bool, Refused> {
        let Some(send_whole) = self.send_whole else { return Ok(false) };
        if let Some(contexts) = &self.contexts {
            return self.send_whole_hashed(contexts, to, (envelope.to_bytes(), envelope.context), data);
        }
        let header = envelope.to_bytes();
        let mut send = self.immediate(to, &header, data)?;
        // SAFETY: header and data are there during the call.
        match unsafe { send_whole(self.context, &mut send) } {
            SUCCESS => Ok(true),
            AGAIN => Ok(false),
            _ => Err(Refused(reason("a send of a whole message"))),
        }
    }

    fn send(&self, to: Process, envelope: Envelope, data: Memory, number: u64) -> Result<(), Refused> {
        if let Some(contexts) = &self.contexts {
            return self.send_hashed(
                contexts,
                to,
                (envelope.to_bytes(), envelope.context),
                data,
                Some(number),
            );
        }
        let header = envelope.to_bytes();
        let mut send = self.immediate(to, &header, data)?;
        let mut events = SendEvents { cookie: number as *mut c_void, local_fn: Some(sent), remote_fn: None };
        let path = self.fetched.begin(to, data.bytes, self.copies.packets_max_bytes);
        match path {
            None | Some((Path::Packets, false)) => {}
            Some((Path::Packets, true)) => events.remote_fn = Some(trial_arrived),
            Some((Path::Copy, is_trial)) => {
                send.dispatch = FETCHED;
                events.local_fn = Some(if is_trial { trial_fetched } else { sent });
            }
        }
        // SAFETY: the header is copied in the call; the data stays, as the caller promises.
        match unsafe { PAMI_Send(self.context, &mut Send { send, events }) } {
            SUCCESS => Ok(()),
            _ => {
                if path.is_some_and(|(_, is_trial)| is_trial) {
                    self.fetched.end(true);
                }
                Err(Refused(reason("PAMI_Send")))
            }
        }
    }

    fn create_team(&self, group: &Group, number: u64) -> Option<Team> {
        self.create_geometry(group, number)
    }

    fn free_team(&self, team: Team) {
        self.destroy_geometry(team);
    }

    fn start_collective(
        &self,
        team: Team,
        collective: &Collective,
        is_blocking: bool,
        number: u64,
    ) -> Result<bool, Refused> {
        self.collective(team, collective, is_blocking, number)
    }

    #[inline]
    fn flag_space(&self) -> Option<FlagSpace> {
        self.flags.as_ref().map(SharedFlags::space)
    }

    #[inline]
    fn write_flag(&self, at: FlagAt, data: &[u8], reader: Process) {
        if let Some(flags) = &self.flags {
            flags.write(at, data, reader);
        }
    }

    #[inline]
    fn read_flag(&self, at: FlagAt, of: Process, space: &mut [u8]) -> Option<usize> {
        self.flags.as_ref().and_then(|flags| flags.read(at, of, space))
    }

    fn await_flag(&self, awaited: Option<(FlagAt, Process)>) {
        if let Some(flags) = &self.flags {
            // SAFETY: the context lives.
            unsafe { flags.set_awaited(self.context, awaited) };
        }
    }

    fn has_left(&self, process: Process) -> bool {
        self.flags.as_ref().is_some_and(|flags| flags.has_left(process))
    }

    #[inline]
    fn advance(&self) {
        if let Some(contexts) = &self.contexts {
            return self.advance_hashed(contexts);
        }
        // SAFETY: the context lives.
        unsafe { PAMI_Context_advance(self.context, POLLS) };
    }

    fn poll(&self) {
        if let Some(contexts) = &self.contexts {
            return self.poll_hashed(contexts);
        }
        // SAFETY: the context lives.
        unsafe { self.polls.poll(self.context) };
    }

    fn expose(&self, memory: Memory) -> Option<u64> {
        self.region(memory).map(|region| region as u64)
    }

    fn transfer_min_bytes(&self) -> usize {
        self.transfer_min_bytes
    }

    #[inline(always)]
    fn put_path(&self, to: Process, bytes: u64, is_alone: bool) -> (Path, bool) {
        self.copies.put_path(to, bytes, is_alone)
    }

    #[cold]
    fn note_put(&self, to: Process, bytes: u64, path: Path, time: Option<Duration>) {
        self.copies.note_put(to, bytes, path, time);
    }

    #[inline(always)]
    fn copy_to(&self, to: Process, data: Memory, exposed: u64) -> bool {
        self.copy(to, data, exposed, true)
    }

    fn copy_from(&self, from: Process, exposed: u64, space: Memory) -> bool {
        // How long a get in packets takes is not noted: puts say which path is the faster one.
        self.copies.put_path(from, space.bytes, false) == (Path::Copy, false)
            && self.copy(from, space, exposed, false)
    }

    fn put(&self, to: Process, data: Memory, exposed: u64, number: u64) -> Result<(), Refused> {
        let (rma, mut local) = self.transfer(to, data, number)?;
        let mut remote = exposed as MemoryRegion;
        let [local, remote] = [&mut local, &mut remote]
            .map(|region| RegionPart { region: std::ptr::from_mut(region), offset: 0 });
        // It has ended when the data is at the target.
        let rma = Rma { done_fn: None, ..rma };
        let mut put = Rput { rma, local, remote, rdone_fn: Some(transferred) };
        // SAFETY: the regions are read in the call; the data stays, as the caller promises.
        match unsafe { PAMI_Rput(self.context, &mut put) } {
            SUCCESS => Ok(()),
            _ => Err(Refused(reason("PAMI_Rput"))),
        }
    }

    fn get(&self, from: Process, exposed: u64, space: Memory, number: u64) -> Result<(), Refused> {
        let (rma, mut local) = self.transfer(from, space, number)?;
        let mut remote = exposed as MemoryRegion;
        let [local, remote] = [&mut local, &mut remote]
            .map(|region| RegionPart { region: std::ptr::from_mut(region), offset: 0 });
        // SAFETY: as above.
        match unsafe { PAMI_Rget(self.context, &mut Rget { rma, local, remote }) } {
            SUCCESS => Ok(()),
            _ => Err(Refused(reason("PAMI_Rget"))),
        }
    }

    #[inline]
    fn observe(&self, event: impl FnOnce() -> MessageEvent) {
        crate::profile::observe(event);
    }

    #[inline]
    fn acts(&self) {
        if let Some(acts) = self.acts {
            // SAFETY: a function of PAMI's extension.
            unsafe { acts() };
        }
    }

    #[inline]
    fn call(&self) -> Option<&'static str> {
        Some(crate::waiting::current())
    }

    #[inline]
    fn spend(&self, step: Step) {
        if let Some(spend) = self.spend
            && !crate::threads::postpone(step)
        {
            // SAFETY: a function of PAMI's extension.
            unsafe { spend(step.to_number()) };
        }
    }

    #[inline]
    fn store(&self, bytes: &[u8], to: u64) {
        let to = to as *mut u8;
        // SAFETY: the program gave the place for a receive of this length.
        unsafe {
            match bytes.len() {
                // The most usual length needs no call.
                8 => to.cast::<u64>().write_unaligned(bytes.as_ptr().cast::<u64>().read_unaligned()),
                length => to.copy_from_nonoverlapping(bytes.as_ptr(), length),
            }
        }
    }
}
