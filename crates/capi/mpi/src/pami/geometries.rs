//! Collectives by PAMI (section IV.B and C of the PAMI paper): a communicator is a geometry, which takes a
//! class of the collective network if there is one for it.
//!
//! A geometry's collectives over messages may overlap. Those of the network are done one after the other, in
//! the order in which a process starts them, also those of different geometries: MPI lets ranks start
//! requests of several communicators in any order, so only collectives for which the program waits go to the
//! network.

pub use super::algorithms::Settings;

use super::algorithms::Algorithms;
use super::{Pami, SUCCESS, listener, reason};
use crate::entry::tell;
use crate::pami_interface::abi::{
    AttributeValue, Configuration, DataFunction, EventFunction, SHUTDOWN, attribute,
};
use crate::pami_interface::xfer::{Allreduce, Broadcast, Command, Data, Reduce, TaskRange, Xfer, kind};
use netloom_mpi::datatype::{Kind, Predefined};
use netloom_mpi::group::{Group, Members};
use netloom_mpi::op::Op;
use netloom_mpi::transport::{Collective, Memory, Outcome, Refused, Team};
use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

unsafe extern "C" {
    fn PAMI_Geometry_world(client: *mut c_void, geometry: *mut *mut c_void) -> c_int;
    fn PAMI_Geometry_create_taskrange(
        client: *mut c_void,
        offset: usize,
        configuration: *mut Configuration,
        configurations: usize,
        geometry: *mut *mut c_void,
        parent: *mut c_void,
        id: u32,
        ranges: *const TaskRange,
        count: usize,
        context: *mut c_void,
        function: EventFunction,
        cookie: *mut c_void,
    ) -> c_int;
    fn PAMI_Geometry_create_tasklist(
        client: *mut c_void,
        offset: usize,
        configuration: *mut Configuration,
        configurations: usize,
        geometry: *mut *mut c_void,
        parent: *mut c_void,
        id: u32,
        tasks: *const u32,
        count: usize,
        context: *mut c_void,
        function: EventFunction,
        cookie: *mut c_void,
    ) -> c_int;
    fn PAMI_Geometry_destroy(
        client: *mut c_void,
        geometry: *mut *mut c_void,
        context: *mut c_void,
        function: EventFunction,
        cookie: *mut c_void,
    ) -> c_int;
    fn PAMI_Collective(context: *mut c_void, xfer: *mut Xfer) -> c_int;

    static PAMI_DATA_MAX: DataFunction;
    static PAMI_DATA_MIN: DataFunction;
    static PAMI_DATA_SUM: DataFunction;
    static PAMI_DATA_PROD: DataFunction;
    static PAMI_DATA_LAND: DataFunction;
    static PAMI_DATA_LOR: DataFunction;
    static PAMI_DATA_LXOR: DataFunction;
    static PAMI_DATA_BAND: DataFunction;
    static PAMI_DATA_BOR: DataFunction;
    static PAMI_DATA_BXOR: DataFunction;
    static PAMI_DATA_MAXLOC: DataFunction;
    static PAMI_DATA_MINLOC: DataFunction;
    static PAMI_TYPE_BYTE: *mut c_void;
    static PAMI_TYPE_SIGNED_CHAR: *mut c_void;
    static PAMI_TYPE_UNSIGNED_CHAR: *mut c_void;
    static PAMI_TYPE_SIGNED_SHORT: *mut c_void;
    static PAMI_TYPE_UNSIGNED_SHORT: *mut c_void;
    static PAMI_TYPE_SIGNED_INT: *mut c_void;
    static PAMI_TYPE_UNSIGNED_INT: *mut c_void;
    static PAMI_TYPE_SIGNED_LONG: *mut c_void;
    static PAMI_TYPE_UNSIGNED_LONG: *mut c_void;
    static PAMI_TYPE_FLOAT: *mut c_void;
    static PAMI_TYPE_DOUBLE: *mut c_void;
    static PAMI_TYPE_LOGICAL1: *mut c_void;
    static PAMI_TYPE_LOGICAL2: *mut c_void;
    static PAMI_TYPE_LOGICAL4: *mut c_void;
    static PAMI_TYPE_LOGICAL8: *mut c_void;
    static PAMI_TYPE_SINGLE_COMPLEX: *mut c_void;
    static PAMI_TYPE_DOUBLE_COMPLEX: *mut c_void;
    static PAMI_TYPE_LOC_2INT: *mut c_void;
    static PAMI_TYPE_LOC_2FLOAT: *mut c_void;
    static PAMI_TYPE_LOC_2DOUBLE: *mut c_void;
    static PAMI_TYPE_LOC_SHORT_INT: *mut c_void;
    static PAMI_TYPE_LOC_FLOAT_INT: *mut c_void;
    static PAMI_TYPE_LOC_DOUBLE_INT: *mut c_void;
    static PAMI_TYPE_LOC_LONG_INT: *mut c_void;
}

/// `MPI_COMM_WORLD`'s team.
const WORLD: Team = 0;

/// PAMI's function of an operation.
fn function(op: Op) -> Option<DataFunction> {
    // SAFETY: the library has them, and nothing writes to them.
    unsafe {
        Some(match op {
            Op::Sum => PAMI_DATA_SUM,
            Op::Min => PAMI_DATA_MIN,
            Op::Max => PAMI_DATA_MAX,
            Op::Prod => PAMI_DATA_PROD,
            Op::Band => PAMI_DATA_BAND,
            Op::Bor => PAMI_DATA_BOR,
            Op::Bxor => PAMI_DATA_BXOR,
            Op::Land => PAMI_DATA_LAND,
            Op::Lor => PAMI_DATA_LOR,
            Op::Lxor => PAMI_DATA_LXOR,
            Op::Minloc => PAMI_DATA_MINLOC,
            Op::Maxloc => PAMI_DATA_MAXLOC,
            Op::Replace | Op::NoOp => return None,
        })
    }
}

/// PAMI's type of elements.
fn type_of(of: &Predefined) -> Option<*mut c_void> {
    // SAFETY: as above.
    unsafe {
        Some(match (of.kind, of.size) {
            (Kind::Signed, 1) => PAMI_TYPE_SIGNED_CHAR,
            (Kind::Signed, 2) => PAMI_TYPE_SIGNED_SHORT,
            (Kind::Signed, 4) => PAMI_TYPE_SIGNED_INT,
            (Kind::Signed, 8) => PAMI_TYPE_SIGNED_LONG,
            (Kind::Unsigned | Kind::Byte, 1) => PAMI_TYPE_UNSIGNED_CHAR,
            (Kind::Unsigned, 2) => PAMI_TYPE_UNSIGNED_SHORT,
            (Kind::Unsigned, 4) => PAMI_TYPE_UNSIGNED_INT,
            (Kind::Unsigned, 8) => PAMI_TYPE_UNSIGNED_LONG,
            (Kind::Float, 4) => PAMI_TYPE_FLOAT,
            (Kind::Float, 8) => PAMI_TYPE_DOUBLE,
            (Kind::Complex, 8) => PAMI_TYPE_SINGLE_COMPLEX,
            (Kind::Complex, 16) => PAMI_TYPE_DOUBLE_COMPLEX,
            (Kind::Logical, 1) => PAMI_TYPE_LOGICAL1,
            (Kind::Logical, 2) => PAMI_TYPE_LOGICAL2,
            (Kind::Logical, 4) => PAMI_TYPE_LOGICAL4,
            (Kind::Logical, 8) => PAMI_TYPE_LOGICAL8,
            (Kind::PairFloat | Kind::PairSigned, _) => match of.name {
                "FLOAT_INT" => PAMI_TYPE_LOC_FLOAT_INT,
                "DOUBLE_INT" => PAMI_TYPE_LOC_DOUBLE_INT,
                "LONG_INT" => PAMI_TYPE_LOC_LONG_INT,
                "SHORT_INT" => PAMI_TYPE_LOC_SHORT_INT,
                "2INT" | "2INTEGER" => PAMI_TYPE_LOC_2INT,
                "2REAL" => PAMI_TYPE_LOC_2FLOAT,
                "2DOUBLE_PRECISION" => PAMI_TYPE_LOC_2DOUBLE,
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// The geometry of a communicator.
#[derive(Debug)]
struct Geometry {
    handle: Cell<*mut c_void>,
    /// Known when the geometry has been made.
    algorithms: OnceCell<Algorithms>,
}

/// The geometries of a process.
#[derive(Debug)]
pub struct Geometries {
    /// By team. Those of long ago have left their places to others.
    list: RefCell<Vec<Option<Rc<Geometry>>>>,
    /// Geometries that are being destroyed.
    leaving: Rc<Cell<usize>>,
    settings: Settings,
}

impl Geometries {
    pub fn new(settings: Settings) -> Self {
        Geometries { list: RefCell::default(), leaving: Rc::default(), settings }
    }

    fn add(&self, handle: *mut c_void) -> Team {
        let mut list = self.list.borrow_mut();
        let at = list.iter().position(Option::is_none).unwrap_or(list.len());
        if at == list.len() {
            list.push(None);
        }
        list[at] = Some(Rc::new(Geometry { handle: Cell::new(handle), algorithms: OnceCell::new() }));
        at as Team
    }
}

impl Pami {
    /// The team of all processes, which is there from the start.
    pub fn world_team(&self) -> Option<Team> {
        if self.processes < 2 || !self.geometries.settings.is_on {
            return None;
        }
        let mut handle = null_mut();
        // SAFETY: the client lives; a place for the result.
        let result = unsafe { PAMI_Geometry_world(self.client, &mut handle) };
        let team = (result == SUCCESS).then(|| self.geometries.add(handle))?;
        assert_eq!(team, WORLD);
        Some(team)
    }

    /// Whether teams that are freed keep others waiting.
    pub fn frees_teams(&self) -> bool {
        self.geometries.leaving.get() > 0
    }

    pub(super) fn create_geometry(&self, group: &Group, number: u64) -> Option<Team> {
        if group.size < 2 || !self.geometries.settings.is_on {
            return None;
        }
        let value = AttributeValue { intval: 1 };
        let mut optimize = Configuration { name: attribute::GEOMETRY_OPTIMIZE, value };
        let (mut handle, cookie) = (null_mut(), number as *mut c_void);
        let (client, context, id) = (self.client, self.context, group.context);
        // SAFETY: client and context live; PAMI copies the tasks and writes the handle in the call.
        let result = unsafe {
            match &group.members {
                Members::World => {
                    let all = TaskRange { low: 0, high: group.size - 1 };
                    PAMI_Geometry_create_taskrange(
                        client,
                        0,
                        &mut optimize,
                        1,
                        &mut handle,
                        null_mut(),
                        id,
                        &all,
                        1,
                        context,
                        Some(collected),
                        cookie,
                    )
                }
                Members::List(list) => PAMI_Geometry_create_tasklist(
                    client,
                    0,
                    &mut optimize,
                    1,
                    &mut handle,
                    null_mut(),
                    id,
                    list.as_ptr(),
                    list.len(),
                    context,
                    Some(collected),
                    cookie,
                ),
            }
        };
        (result == SUCCESS).then(|| self.geometries.add(handle))
    }

    pub(super) fn destroy_geometry(&self, team: Team) {
        let Some(geometry) = self.geometries.list.borrow_mut()[team as usize].take() else { return };
        let leaving = Rc::clone(&self.geometries.leaving);
        leaving.set(leaving.get() + 1);
        let mut handle = geometry.handle.get();
        let cookie = Rc::into_raw(leaving).cast_mut().cast();
        // SAFETY: client and context live; the cookie is taken once, by the callback or below.
        unsafe {
            if PAMI_Geometry_destroy(self.client, &mut handle, self.context, Some(destroyed), cookie)
                != SUCCESS
            {
                destroyed(null_mut(), cookie, SUCCESS);
            }
        }
    }

    pub(super) fn collective(
        &self,
        team: Team,
        collective: &Collective,
        is_blocking: bool,
        number: u64,
    ) -> Result<bool, Refused> {
        let geometry = self.geometries.list.borrow()[team as usize].clone();
        let Some(geometry) = geometry else { return Ok(false) };
        let algorithms = geometry.algorithms.get_or_init(|| {
            let settings = &self.geometries.settings;
            let algorithms = Algorithms::of(geometry.handle.get(), settings);
            // The others of the job have the same environment, and smaller geometries fewer algorithms.
            for (variable, name) in algorithms.unknown(settings).filter(|_| team == WORLD && self.own == 0) {
                tell(&format!(
                    "{variable} is {name}, which is no algorithm of MPI_COMM_WORLD: it is ignored"
                ));
            }
            algorithms
        });
        let cookie = number as *mut c_void;
        let Some((kind, bytes, command)) = self.command(collective)? else { return Ok(false) };
        let mut xfer = Xfer { done_fn: Some(collected), cookie, algorithm: 0, options: 0, command };
        if !algorithms.choose(kind, bytes, is_blocking, &mut xfer) {
            return Ok(false);
        }
        // SAFETY: the memory stays until the end is reported.
        match unsafe { PAMI_Collective(self.context, &mut xfer) } {
            SUCCESS => Ok(true),
            _ => Err(Refused(reason("PAMI_Collective"))),
        }
    }

    /// The type of transfer of a collective, its length and its parameters; `None` if PAMI does not have it.
    fn command(&self, collective: &Collective) -> Result<Option<(u32, usize, Command)>, Refused> {
        let data = |Memory { address, bytes }: Memory, of: *mut c_void, element: usize| Data {
            buffer: address as *mut u8,
            kind: of,
            count: bytes as usize / element,
        };
        // SAFETY: the library has it, and nothing writes to it.
        let byte = unsafe { PAMI_TYPE_BYTE };
        Ok(Some(match *collective {
            Collective::Barrier => {
                let nothing = data(Memory { address: 0, bytes: 0 }, byte, 1);
                (kind::BARRIER, 0, Command { broadcast: Broadcast { root: 0, data: nothing } })
            }
            Collective::Broadcast { root, data: memory } => {
                let broadcast = Broadcast { root: self.endpoint(root)?, data: data(memory, byte, 1) };
                (kind::BROADCAST, memory.bytes as usize, Command { broadcast })
            }
            Collective::Reduce { root, data: memory, op, of } => {
                let Some((op, kind)) = function(op).zip(type_of(of)) else { return Ok(None) };
                // In place.
                let both = data(memory, kind, of.extent);
                let all = Allreduce { send: both, receive: both, op, cookie: null_mut(), flag: 1 };
                let bytes = memory.bytes as usize;
                match root.map(|root| self.endpoint(root)).transpose()? {
                    None => (kind::ALLREDUCE, bytes, Command { allreduce: all }),
                    Some(root) => (kind::REDUCE, bytes, Command { reduce: Reduce { root, all } }),
                }
            }
        }))
    }
}

/// A collective has ended, or a geometry has been made; the cookie is the number.
unsafe extern "C" fn collected(_: *mut c_void, number: *mut c_void, result: c_int) {
    let outcome = match result {
        SUCCESS => Outcome::Done,
        SHUTDOWN => Outcome::MemberGone,
        _ => Outcome::LengthsDiffer,
    };
    if let Some(listener) = listener() {
        listener.collected(number as u64, outcome);
    }
}

/// A geometry has been destroyed; the cookie is the count of those that have not been.
unsafe extern "C" fn destroyed(_: *mut c_void, leaving: *mut c_void, _: c_int) {
    // SAFETY: made by `destroy_geometry`, and reported once.
    let leaving = unsafe { Rc::from_raw(leaving.cast::<Cell<usize>>()) };
    leaving.set(leaving.get() - 1);
}
