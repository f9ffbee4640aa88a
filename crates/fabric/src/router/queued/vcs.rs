//! Ports, virtual channels and reception FIFOs of a node, by number.

use crate::config::QUEUES_MAX;

/// Ports of a node: two for each of five dimensions.
pub(super) const PORTS: usize = 10;
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

/// The reception FIFOs (section II.A): one for each receiver, one for high priority, one for the system.
pub(super) const RECEPTION_HIGH: usize = PORTS;
pub(super) const RECEPTION_SYSTEM: usize = PORTS + 1;
/// Those of collective packets, the user's and the system's, as the machine's driver numbers them.
pub(super) const RECEPTION_COLLECTIVE: usize = 14;

/// What each VC is for, as statistics tell them apart: dynamic, escape, all others together.
pub(super) const CLASS: [usize; ALL_VCS] = [0, 1, 2, 2, 2, 2];
