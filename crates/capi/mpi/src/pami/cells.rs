//! Cells of shared memory, by which ranks of this computer carry out short collectives without messages: PAMI's
//! extension `NETLOOM_cells`.

use super::symbol;
use netloom_mpi::transport::{CellAt, CellSpace, Process};
use netloom_shm::cells::{self, Cells};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null;

type OfTask = unsafe extern "C" fn(u32) -> *const Cells;
type Written = unsafe extern "C" fn(u32);
type AwaitCell = unsafe extern "C" fn(*mut c_void, *const cells::Cell, u64);
type HasLeft = unsafe extern "C" fn(u32) -> bool;

/// Processes whose cells are known: as many as take part in a turn.
const KNOWN: usize = 64;

/// Looks at a cell before others get to run.
const LOOKS: c_int = 300;

/// The cells of this process and of others.
#[derive(Debug)]
pub struct SharedCells {
    own: &'static Cells,
    slots: u32,
    looks: c_int,
    known: [Cell<(Process, *const Cells)>; KNOWN],
    of_task: OfTask,
    written: Written,
    await_cell: AwaitCell,
    has_left: HasLeft,
}

impl SharedCells {
    /// `None` if PAMI has no cells. Where threads begin collectives at the same time there are no slots.
    ///
    /// # Safety
    /// The client lives.
    pub unsafe fn new(
        client: *mut c_void,
        own: Process,
        has_own_core: bool,
        is_multiple: bool,
    ) -> Option<Self> {
        let found = |name| symbol(client, c"NETLOOM_cells", name);
        // SAFETY: symbols of these types; cells are there as long as the process.
        unsafe {
            let of_task = std::mem::transmute::<*mut c_void, OfTask>(found(c"of_task")?);
            Some(SharedCells {
                own: of_task(own).as_ref()?,
                slots: if is_multiple { 0 } else { cells::SLOTS as u32 },
                looks: if has_own_core { LOOKS } else { 1 },
                known: [const { Cell::new((0, null())) }; KNOWN],
                of_task,
                written: std::mem::transmute::<*mut c_void, Written>(found(c"written")?),
                await_cell: std::mem::transmute::<*mut c_void, AwaitCell>(found(c"await_cell")?),
                has_left: std::mem::transmute::<*mut c_void, HasLeft>(found(c"has_left")?),
            })
        }
    }

    #[inline]
    pub fn space(&self) -> CellSpace {
        CellSpace { slots: self.slots, steps: cells::STEPS as u32, bytes: cells::DATA_B }
    }

    #[inline]
    fn of(&self, process: Process) -> &'static Cells {
        match self.known[process as usize % KNOWN].get() {
            // SAFETY: cells are there as long as the process.
            (known, cells) if known == process && !cells.is_null() => unsafe { &*cells },
            _ => self.find(process),
        }
    }

    #[cold]
    fn find(&self, process: Process) -> &'static Cells {
        // SAFETY: PAMI's function.
        let cells = unsafe { (self.of_task)(process) };
        self.known[process as usize % KNOWN].set((process, cells));
        // SAFETY: as above.
        unsafe { cells.as_ref() }.expect("a process of a communicator is a task of the job")
    }

    #[inline]
    fn at(cells: &'static Cells, at: CellAt) -> &'static cells::Cell {
        cells.of(at.slot as usize, at.turn, at.step as usize)
    }

    #[inline]
    pub fn write(&self, at: CellAt, data: &[u8], reader: Process) {
        Self::at(self.own, at).write(at.turn, data);
        // SAFETY: PAMI's function.
        unsafe { (self.written)(reader) };
    }

    #[inline]
    pub fn read(&self, at: CellAt, of: Process, space: &mut [u8]) -> Option<usize> {
        let cell = Self::at(self.of(of), at);
        (0..self.looks).find_map(|_| cell.read(at.turn, space))
    }

    /// See [`Transport::await_cell`](netloom_mpi::transport::Transport::await_cell).
    ///
    /// # Safety
    /// The context lives.
    #[cold]
    pub unsafe fn set_awaited(&self, context: *mut c_void, awaited: Option<(CellAt, Process)>) {
        let (cell, turn) =
            awaited.map_or((null(), 0), |(at, of)| (std::ptr::from_ref(Self::at(self.of(of), at)), at.turn));
        // SAFETY: the caller's promise; cells are there as long as the process.
        unsafe { (self.await_cell)(context, cell, turn) };
    }

    #[cold]
    pub fn has_left(&self, process: Process) -> bool {
        // SAFETY: PAMI's function.
        unsafe { (self.has_left)(process) }
    }
}
