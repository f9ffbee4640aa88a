//! The processes that simulate a machine together, as the commands see them: one of them speaks for all.

use netloom_engine::{Peers, gather};
use std::cell::Cell;
use std::sync::Arc;

/// The processes that simulate a machine together.
pub struct ProcessGroup {
    peers: Arc<dyn Peers>,
    /// Whether they know of each other whether the run can begin.
    has_agreed: Cell<bool>,
}

impl ProcessGroup {
    /// These, at their start.
    pub fn new(peers: Arc<dyn Peers>) -> Self {
        ProcessGroup { peers, has_agreed: Cell::new(false) }
    }

    /// Whether this one shows and writes what is found.
    pub(crate) fn is_first(&self) -> bool {
        self.peers.rank() == 0
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.peers.count()
    }

    /// Whether no process has met a problem before its run; all ask, once.
    pub(crate) fn agree(&self, is_ready: bool) -> bool {
        self.has_agreed.set(true);
        self.peers.least([is_ready.into(), 0])[0] == 1
    }

    /// After a mistake: what the first process says, and what others say besides. All ask, unless they had
    /// agreed to begin: then this one says what it has to.
    pub fn mistakes(&self, own: String) -> String {
        if !self.has_agreed.get() {
            self.agree(false);
        }
        let all = gather(&*self.peers, &own);
        let others = all.iter().enumerate().skip(1).filter(|(_, text)| !text.is_empty() && **text != all[0]);
        let others = others.map(|(rank, text)| format!("process {rank} of {}:\n{text}", all.len()));
        std::iter::once(all[0].clone()).chain(others).collect()
    }
}
