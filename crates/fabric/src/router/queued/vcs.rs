//! Ports, virtual channels and reception FIFOs of a node, by number.

use crate::config::QUEUES_MAX;
use crate::topology::io::IO_PORT;

/// Ports of a node: two for each of five dimensions, and that of the IO link.
pub(super) const PORTS: usize = IO_PORT + 1;
/// Point-to-point VCs (section II.B).
pub(super) const VCS: usize = 4;
/// Their numbers, as the hardware has them.
pub(super) const DYNAMIC: usize = 0;
pub(super) const DETERMINISTIC: usize = 1;
pub(super) const HIGH: usize = 2;
pub(super) const SYSTEM: usize = 3;
/// The collective ones: of the user's whole partition and of the system; of other sets of the user's nodes.
pub(super) const COMMWORLD: usize = 4;
pub(super) const SUBCOMM: usize = 5;
/// With these.
pub(super) const ALL_VCS: usize = 6;

/// Places for a receiver's queues: eight a VC, of which the last is not used.
pub(super) const SLOTS: usize = VCS * SLOTS_OF_VC;
pub(super) const SLOTS_OF_VC: usize = 8;
const _: () = assert!(QUEUES_MAX <= SLOTS_OF_VC);

/// As the direction of a deterministic packet, or in a mask of directions as a bit: to its reception FIFO.
pub(super) const LOCAL: usize = PORTS;
/// As a bit among directions.
pub(super) const LOCALLY: u16 = 1 << LOCAL;

/// The reception FIFOs (section II.A), as the machine's driver numbers them: one for each receiver of a direction; for packets from
/// the node itself; for high priority; for the system. By an IO link only the system's packets come.
pub(super) const RECEPTION_LOCAL: usize = 10;
pub(super) const RECEPTION_HIGH: usize = 12;
pub(super) const RECEPTION_SYSTEM: usize = 13;
/// Those of collective packets, the user's and the system's.
pub(super) const RECEPTION_COLLECTIVE: usize = 14;

/// What each VC is for, as statistics tell them apart: dynamic, escape, all others together.
pub(super) const CLASS: [usize; ALL_VCS] = [0, 1, 2, 2, 2, 2];
