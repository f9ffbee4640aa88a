//! ECC checks of packets that leave a receiver's buffers, if these have soft errors: at an uncorrectable
//! error the receiver stops (section III.G).

use super::QueuedFamily;
use super::block::Shared;
use super::state::*;
use super::trees::{Central, Job};
use crate::host::Host;
use crate::router::bits::bits;
use crate::router::stall::StoppedUnit;
use netloom_engine::Time;

impl<H: Host<QueuedFamily>> Shared<H> {
    /// Whether a packet of a receiver can be read without an uncorrectable error. If not, the receiver stops.
    #[cold]
    fn reads_right(&mut self, n: &mut Node, (port, vc): (usize, usize), packet: u32, now: Time) -> bool {
        let Some(soft) = &mut self.soft else { return true };
        let Cell { header, arrived, .. } = self.cells[packet as usize];
        let waited = u64::from((now.ticks() as u32).wrapping_sub(arrived));
        let ticks = waited + self.tables.wire[header.chunks() as usize];
        let right = soft.reads(n.here, port, header.chunks(), ticks);
        if !right {
            n.stopped |= 1 << port;
            let source = self.common.arena.get(packet).source;
            soft.stopped.push(StoppedUnit { at: now, node: n.number, port, vc, source });
        }
        right
    }

    /// The same for the head of a queue.
    #[cold]
    pub(super) fn head_is_right(&mut self, n: &mut Node, port: usize, slot: usize, now: Time) -> bool {
        self.reads_right(n, (port, slot / SLOTS_OF_VC), n.receivers[port].queues[slot].first, now)
    }

    /// The same for the packets that the collective logic is to read.
    #[cold]
    pub(super) fn inputs_are_right(&mut self, n: &mut Node, c: &Central, job: &Job, now: Time) -> bool {
        bits(job.inputs).all(|port| {
            let packet = c.queues[job.vc - VCS][port].front().copied();
            packet.is_none_or(|packet| self.reads_right(n, (port, job.vc), packet, now))
        })
    }
}
