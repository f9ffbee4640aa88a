//! Collective operations of all ranks by sequences of descriptors (sections 2.5 and 4.7). A barrier separates
//! each operation from the one before it.

use crate::device::GlexDevice;
use crate::glex::tree::{Tree, TreeOperation};
use crate::program::Collective;
use crate::transports::packets::Placement;
use netloom_nic::th::status::Refusal;
use netloom_nic::th::{Address, EndpointConfig, Submission, Watch};

/// The endpoints of collective operations: their key, the capacity of their queues; the degree of the tree
/// **(ours)**, and the maximum size of a sum by NICs, bytes.
const KEY: u16 = 8;
const ENTRIES: usize = 64;
const DEGREE: u32 = 4;
const SUM_MAX_B: u64 = 48;

/// A collective operation in progress.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// In the barrier before it.
    Parting(TreeOperation, u64),
    Under(TreeOperation),
    /// Complete.
    Over,
}

/// Maximum data of an operation, bytes.
pub(super) fn max_bytes(what: Collective) -> Option<u64> {
    match what {
        Collective::Barrier => Some(0),
        Collective::Broadcast | Collective::Allreduce => Some(SUM_MAX_B),
        Collective::Reduce => None,
    }
}

/// The endpoint for collective operations, this rank's position in their tree, and the operation in progress.
pub(super) struct Collectives {
    endpoint: u8,
    tree: Tree,
    stage: Option<Stage>,
}

impl Collectives {
    /// Those of a rank.
    pub fn new<D: GlexDevice>(device: &D, placement: &Placement, rank: u32) -> Result<Self, Refusal> {
        let endpoint = device.create_endpoint(EndpointConfig::new(Submission::Dma, KEY, ENTRIES))?;
        let ranks = placement.nodes().len() as u32;
        let address = |rank| Address { node: placement.node(rank), vp: endpoint, key: KEY };
        Ok(Collectives { endpoint, tree: Tree::regular(rank, ranks, DEGREE, address), stage: None })
    }

    /// Begins an operation.
    pub fn begin<D: GlexDevice>(&mut self, device: &D, what: Collective, bytes: u64) {
        self.post(device, TreeOperation::Barrier, 0);
        let operation = match what {
            Collective::Barrier => return,
            Collective::Broadcast => TreeOperation::Broadcast,
            Collective::Allreduce => TreeOperation::Sum,
            Collective::Reduce => unreachable!("it is not supported"),
        };
        self.stage = Some(Stage::Parting(operation, bytes));
    }

    /// Posts the sequences of an operation of the tree.
    fn post<D: GlexDevice>(&mut self, device: &D, operation: TreeOperation, bytes: u64) {
        let mine = vec![0; bytes.next_multiple_of(8).max(8) as usize];
        let list = self.tree.sequences(operation, &mine);
        if let Err(refusal) = list.into_iter().try_for_each(|request| device.post(self.endpoint, request)) {
            device.fail("glex_post_list", format!("{refusal:?}"));
        }
        // The root of a broadcast gets no notification: it has the data.
        let reported = self.tree.parent.is_some() || operation != TreeOperation::Broadcast;
        self.stage = Some(if reported { Stage::Under(operation) } else { Stage::Over });
    }

    /// Advances the operation in progress. Returns whether it is complete.
    pub fn advance<D: GlexDevice>(&mut self, device: &D) -> bool {
        if self.stage.is_none() {
            return false;
        }
        let fail = |call: &str, refusal: Refusal| device.fail(call, format!("{refusal:?}"));
        let (events, mini_packets) = device.has_any(self.endpoint);
        match self.stage {
            Some(Stage::Parting(operation, bytes)) if events => {
                if let Err(refusal) = device.poll_event(self.endpoint) {
                    fail("glex_poll_event", refusal);
                }
                self.post(device, operation, bytes);
            }
            Some(Stage::Under(TreeOperation::Barrier)) if events => {
                if let Err(refusal) = device.poll_event(self.endpoint) {
                    fail("glex_poll_event", refusal);
                }
                self.stage = Some(Stage::Over);
            }
            Some(Stage::Under(TreeOperation::Broadcast | TreeOperation::Sum)) if mini_packets => {
                if let Err(refusal) = device.poll_mini_packet(self.endpoint) {
                    fail("glex_poll_mini_packet", refusal);
                }
                self.stage = Some(Stage::Over);
            }
            _ => {}
        }
        self.stage.take_if(|stage| matches!(stage, Stage::Over)).is_some()
    }

    /// What reports the progress of the operation.
    pub fn watches(&self) -> Option<[Watch; 2]> {
        self.stage.map(|_| [Watch::Events(self.endpoint), Watch::MiniPackets(self.endpoint)])
    }
}
