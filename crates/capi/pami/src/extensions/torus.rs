//! `EXT_torus_network`: the torus that a job runs on, if it runs on a simulated machine. The dimension after
//! the machine's counts the tasks of a node, as on Blue Gene/Q.

use super::Extension;
use crate::abi::{INVAL, Result, SUCCESS};
use crate::client::{Job, fail, job};
use crate::device::guest;
use std::ffi::c_void;
use std::sync::OnceLock;

pub const EXTENSION: Extension = Extension {
    name: "EXT_torus_network",
    refusal: |job| {
        let why = "there is no torus; the program runs on one with `netloom mpirun --machine bgq`";
        job.simulated.is_none().then_some(why)
    },
    symbols: &["information", "task2torus", "torus2task"],
    symbol: |_, name| match name {
        "information" => information as *mut c_void,
        "task2torus" => task_to_torus as *mut c_void,
        _ => torus_to_task as *mut c_void,
    },
};

/// `torus_info_t`.
#[repr(C)]
struct Information {
    dims: usize,
    coord: *const usize,
    size: *const usize,
    torus: *const usize,
}

struct Torus {
    sizes: Vec<usize>,
    rings: Vec<usize>,
    /// The nodes of the job, if they are not the first in order.
    nodes: Vec<u32>,
    own: Vec<usize>,
    tasks: u32,
}

/// The information that the program reads.
struct Shown(Information);
// SAFETY: it points to vectors that never change.
unsafe impl Sync for Shown {}
// SAFETY: the same.
unsafe impl Send for Shown {}

impl Torus {
    /// The coordinates of a task: tasks fill a node, then the next of the job, or along the first dimension.
    fn coordinates(&self, task: u32) -> Vec<usize> {
        let per_node = *self.sizes.last().expect("the dimension of tasks");
        let (place, process) = (task as usize / per_node, task as usize % per_node);
        let mut node = self.nodes.get(place).map_or(place, |&node| node as usize);
        let mut coordinates = vec![];
        for &size in &self.sizes[..self.sizes.len() - 1] {
            coordinates.push(node % size);
            node /= size;
        }
        coordinates.push(process);
        coordinates
    }

    /// The task at these coordinates.
    fn task(&self, coordinates: &[usize]) -> Option<u32> {
        if coordinates.iter().zip(&self.sizes).any(|(x, size)| x >= size) {
            return None;
        }
        let (&process, nodes) = coordinates.split_last()?;
        let node = nodes.iter().zip(&self.sizes).rev().fold(0, |node, (x, size)| node * size + x);
        let place = match self.nodes.is_empty() {
            true => node,
            false => self.nodes.iter().position(|&mapped| mapped as usize == node)?,
        };
        let task = place * self.sizes.last()? + process;
        u32::try_from(task).ok().filter(|&task| task < self.tasks)
    }
}

/// The torus of a job; `None` if it runs on none.
fn torus() -> Option<&'static Torus> {
    static TORUS: OnceLock<Option<Torus>> = OnceLock::new();
    let read = |job: &Job| {
        let facts = guest::lock(job.simulated.as_ref()?).facts().clone();
        if facts.torus.is_empty() {
            return None;
        }
        let (mut sizes, mut rings): (Vec<usize>, Vec<usize>) =
            facts.torus.iter().map(|&(size, is_ring)| (size as usize, usize::from(is_ring))).unzip();
        sizes.push(facts.tasks_per_node as usize);
        rings.push(1);
        let mut torus = Torus { sizes, rings, nodes: facts.nodes, own: vec![], tasks: facts.tasks };
        torus.own = torus.coordinates(job.task);
        Some(torus)
    };
    TORUS.get_or_init(|| job().ok().and_then(read)).as_ref()
}

unsafe extern "C" fn information() -> *const Information {
    static SHOWN: OnceLock<Option<Shown>> = OnceLock::new();
    let show = |torus: &'static Torus| {
        Shown(Information {
            dims: torus.sizes.len(),
            coord: torus.own.as_ptr(),
            size: torus.sizes.as_ptr(),
            torus: torus.rings.as_ptr(),
        })
    };
    let shown = SHOWN.get_or_init(|| torus().map(show));
    shown.as_ref().map_or(std::ptr::null(), |shown| &raw const shown.0)
}

unsafe extern "C" fn task_to_torus(task: u32, coordinates: *mut usize) -> Result {
    let Some(torus) = torus().filter(|_| !coordinates.is_null()) else {
        return fail(INVAL, "task2torus: there is no torus, or no space for coordinates");
    };
    if task >= torus.tasks {
        return fail(INVAL, format!("task2torus: there is no task {task} among {}", torus.tasks));
    }
    let found = torus.coordinates(task);
    // SAFETY: the program gave space for as many as there are dimensions.
    unsafe { coordinates.copy_from_nonoverlapping(found.as_ptr(), found.len()) };
    SUCCESS
}

unsafe extern "C" fn torus_to_task(coordinates: *const usize, task: *mut u32) -> Result {
    let Some(torus) = torus().filter(|_| !coordinates.is_null() && !task.is_null()) else {
        return fail(INVAL, "torus2task: there is no torus, or coordinates or task are NULL");
    };
    // SAFETY: the program gave as many as there are dimensions.
    let coordinates = unsafe { std::slice::from_raw_parts(coordinates, torus.sizes.len()) };
    let Some(found) = torus.task(coordinates) else {
        return fail(INVAL, format!("torus2task: there is no task at {coordinates:?}"));
    };
    // SAFETY: the program gave it.
    unsafe { *task = found };
    SUCCESS
}
