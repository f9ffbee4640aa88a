//! A communicator, as this process knows it.

use crate::info::Info;
use crate::partitioned::Planned;
use netloom_mpi::collective::Flags;
use netloom_mpi::group::{Group, Processes};
use netloom_mpi::topology::Topology;
use netloom_mpi::transport::{Process, Team};
use std::ffi::c_int;
use std::rc::Rc;

/// A communicator.
pub struct Comm {
    /// Its processes; of an intercommunicator, this process's group.
    pub group: Group,
    /// The transport's team for its collectives.
    pub team: Option<Team>,
    /// What it has of flags, for short collectives.
    pub flags: Option<Rc<Flags>>,
    /// The other group of an intercommunicator.
    pub remote: Option<Processes>,
    /// Collective operations that it has begun.
    pub collectives: u32,
    /// The number of the persistent collective that is started now.
    pub repeated: Option<u32>,
    pub errhandler: usize,
    /// The session that it comes of, by its handle.
    pub session: Option<usize>,
    pub topology: Option<Rc<Topology>>,
    /// Attributes: by key, in the order in which they were set.
    pub attributes: Vec<(c_int, usize)>,
    /// The name that the program gave it.
    pub name: Option<String>,
    /// Hints of the program.
    pub info: Info,
    /// Partitioned messages that were planned.
    pub planned: Planned,
    /// The program has freed it, but requests still use it.
    pub is_freed: bool,
}

/// What a communicator has from what it is made of.
#[derive(Clone, Copy)]
pub struct Origin {
    pub errhandler: usize,
    /// See [`Comm::session`].
    pub session: Option<usize>,
}

impl Comm {
    /// Of a group, without a topology.
    pub fn new(group: Group, team: Option<Team>, Origin { errhandler, session }: Origin) -> Self {
        Comm {
            flags: (group.size > 1).then(Rc::default),
            group,
            remote: None,
            team,
            collectives: 0,
            repeated: None,
            errhandler,
            session,
            topology: None,
            attributes: vec![],
            name: None,
            info: Info::default(),
            planned: Planned::default(),
            is_freed: false,
        }
    }

    /// What one that is made of it has from it.
    pub fn origin(&self) -> Origin {
        Origin { errhandler: self.errhandler, session: self.session }
    }

    /// How many ranks messages go to.
    #[inline]
    pub fn peers(&self) -> u32 {
        self.remote.as_ref().map_or(self.group.size, Processes::size)
    }

    /// The process of a rank that messages go to.
    #[inline]
    pub fn peer(&self, rank: u32) -> Process {
        self.remote.as_ref().map_or_else(|| self.group.process(rank), |remote| remote.process(rank))
    }

    /// The number of the next collective operation.
    pub fn next_collective(&mut self) -> u32 {
        self.collectives = self.collectives.wrapping_add(1);
        self.collectives
    }
}
