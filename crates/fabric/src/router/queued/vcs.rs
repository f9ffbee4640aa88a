//! Ports, virtual channels and reception FIFOs of a node, by number.

use crate::config::QUEUES_MAX;
use crate::topology::io::IO_PORT;

/// Ports of a node: two for each of five dimensions, and the IO link's.
pub(super) const PORTS: usize = IO_PORT + 1;
/// Point-to-point VCs (section II.B).
pub(super) const VCS: usize = 4;
/// Their numbers in the hardware.
pub(super) const DYNAMIC: usize = 0;
pub(super) const DETERMINISTIC: usize = 1;
pub(super) const HIGH: usize = 2;
pub(super) const SYSTEM: usize = 3;
/// The collective VCs: of the user's whole partition and of the system; of other sets of user nodes.
pub(super) const COMMWORLD: usize = 4;
pub(super) const SUBCOMM: usize = 5;
/// All VCs, including these.
pub(super) const ALL_VCS: usize = 6;

/// Slots for a receiver's queues: eight per VC; those of the last are unused.
pub(super) const SLOTS: usize = VCS * SLOTS_OF_VC;
pub(super) const SLOTS_OF_VC: usize = 8;
const _: () = assert!(QUEUES_MAX <= SLOTS_OF_VC);

/// Direction of a deterministic packet, or bit in a mask of directions: to its reception FIFO.
pub(super) const LOCAL: usize = PORTS;
/// Bit of this direction in a mask.
pub(super) const LOCALLY: u16 = 1 << LOCAL;

/// The reception FIFOs (section II.A), in the driver's numbering: one for each receiver of a direction; for
/// packets from the node itself; for high-priority packets; for system packets. Only system packets arrive
/// over an IO link.
pub(super) const RECEPTION_LOCAL: usize = 10;
pub(super) const RECEPTION_HIGH: usize = 12;
pub(super) const RECEPTION_SYSTEM: usize = 13;
/// Those of collective packets, user and system.
pub(super) const RECEPTION_COLLECTIVE: usize = 14;

/// The statistics class of each VC: dynamic, escape, all others.
pub(super) const CLASS: [usize; ALL_VCS] = [0, 1, 2, 2, 2, 2];
