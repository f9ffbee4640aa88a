//! Builds a network: its routers, block by block.

use super::TiledFamily;
use super::block::TiledBlock;
use super::failover::Failover;
use super::faults::Faults;
use super::loads::{Loads, SharedLoads};
use super::state::*;
use super::tables::{CLASSES, Tables};
use crate::config::{ConfigError, TiledConfig};
use crate::host::Host;
use crate::router::network::{BuildOptions, Built, Network};
use crate::router::statistics::Recorder;
use crate::topology::wiring::Wiring;
use netloom_engine::Time;
use std::ops::Range;
use std::sync::Arc;

/// A machine of tiled routers, and its hosts.
pub type TiledNetwork<H> = Network<TiledBlock<H>>;

/// Maximum number of routers of a block: 16 bits of an index.
const ROUTERS_MAX: u32 = 1 << 16;

impl<H: Host<TiledFamily>> Network<TiledBlock<H>> {
    /// Builds the machine. `host` is called once for each block with the machine's numbers of its nodes,
    /// which are consecutive. `options.block` has one number, the maximum number of routers of a block.
    ///
    /// # Errors
    /// An invalid or unsupported configuration.
    pub fn new(
        config: &TiledConfig,
        options: &BuildOptions,
        mut host: impl FnMut(&[u32]) -> H,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let tables = Arc::new(Tables::new(config));
        let (wiring, k) = (&tables.wiring, tables.constants);
        let refuse = |key: &str, message: String| Err(ConfigError { key: key.into(), message });
        if wiring.classes().len() > CLASSES {
            return refuse("topology", format!("expected at most {CLASSES} classes of links"));
        }
        if k.nodes_per_share * options.injection_fifos > 64 {
            return refuse("router.nodes_per_share", "expected at most 64 injection FIFOs of a share".into());
        }
        let size = options
            .block
            .first()
            .copied()
            .unwrap_or_else(|| usual_block(wiring, options.blocks))
            .clamp(1, ROUTERS_MAX);
        let places: Vec<(u32, u32)> =
            (0..wiring.routers()).map(|router| (router / size, router % size)).collect();
        let routers = wiring.routers() as usize;
        let age = k.latency.into_iter().max().expect("some classes");
        let is_shared = options.peers.is_some();
        let router_loads = Loads::new(routers, config.routing.load_period_ticks.into(), age, is_shared);
        let global_period: u64 = config.routing.global_load_period_ticks.into();
        let link_loads = Loads::new(routers * k.globals, global_period, 2 * global_period, is_shared);
        let lanes = config.link_control.as_ref().map_or(1, |control| control.lanes);
        let schedule = config.faults.schedule(wiring, lanes, config.ticks_per_second, options.seed);
        let mut lookahead = u64::MAX;
        let (mut blocks, mut all_lanes) = (vec![], vec![]);
        let all = wiring.routers().div_ceil(size) as usize;
        let own = options.own(all);
        for (block, first) in (0..wiring.routers()).step_by(size as usize).enumerate() {
            let routers = size.min(wiring.routers() - first);
            let mut lanes = vec![];
            // The lookahead is that of all blocks.
            let tiles = new_tiles(&tables, first..first + routers, &places, &mut lanes, &mut lookahead);
            assert!(lanes.len() < 1 << 15, "a lane number has 15 bits");
            if !own.contains(&block) {
                continue;
            }
            let recorder = Recorder::new(options.window, false);
            let loads = (router_loads.clone(), link_loads.clone());
            let fifos = options.injection_fifos;
            blocks.push(TiledBlock::new(
                &tables,
                first,
                tiles,
                (fifos, recorder),
                loads,
                Faults::new(&tables, &schedule, (first, routers), options.seed),
                &mut host,
            ));
            all_lanes.push(lanes);
        }
        // Routers' loads are read with a delay: where it is shorter than a window, the load must come from
        // the same block.
        let lookahead = lookahead.min(global_period);
        let built = Built {
            own: blocks,
            lanes: all_lanes,
            blocks: all,
            lookahead,
            overseer: Failover::new(&tables, &schedule),
            shape: Shape(Arc::clone(&tables)),
            places,
            shared_state: Some(Arc::new(SharedLoads([router_loads, link_loads]))),
        };
        Ok(Network::of(built, options))
    }
}

/// The tiles of a block's routers; `places` has each router's block and index. Sets `lanes` to the blocks
/// that their links lead to, and `lookahead` to the minimum delay of any of these links, if it was longer.
fn new_tiles(
    tables: &Tables,
    routers: Range<u32>,
    places: &[(u32, u32)],
    lanes: &mut Vec<u32>,
    lookahead: &mut u64,
) -> (Vec<Input>, Vec<Output>) {
    let (wiring, k) = (&tables.wiring, tables.constants);
    let here = places[routers.start as usize].0;
    let (mut inputs, mut outputs) = (vec![], vec![]);
    for (router, tile) in routers.flat_map(|router| (0..k.tiles).map(move |tile| (router, tile))) {
        let end = (tile < k.ports).then(|| wiring.end(router, tile)).flatten();
        let to = end.map_or(NONE, |end| {
            let (block, place) = places[end.router as usize];
            if block == here {
                return place;
            }
            *lookahead = k.latency[usize::from(end.class)].min(*lookahead);
            let lane = lanes.iter().position(|&l| l == block).unwrap_or_else(|| {
                lanes.push(block);
                lanes.len() - 1
            });
            REMOTE | (lane as u32) << 16 | place
        });
        let (to_tile, class) = end.map_or((0, 0), |end| (end.port, end.class));
        inputs.push(Input {
            queues: [Queue::EMPTY; VCS],
            heads: [Head::default(); VCS],
            room: [tables.config.router.subswitch_flits as u8; 64],
            waiting: 0,
            routed: 0,
            turn: 0,
            blocked: false,
            departures: Departures::default(),
            free_at: Time::ZERO,
            wake_at: Time::ZERO,
        });
        outputs.push(Output {
            waiting: 0,
            free_at: 0,
            wake_at: Time::ZERO,
            room: k.room(),
            load: [0; VCS],
            load_all: 0,
            to,
            to_tile,
            to_number: end.map_or(NONE, |end| end.router),
            class,
            turn: 0,
            leaving: Leaving::default(),
            promised: 0,
            packets: 0,
            flits: 0,
        });
    }
    (inputs, outputs)
}

/// The topology of a network of tiled routers.
#[derive(Clone)]
pub struct Shape(Arc<Tables>);

impl Shape {
    /// Its routers, links and nodes.
    pub fn wiring(&self) -> &Wiring {
        &self.0.wiring
    }

    /// Its configuration.
    pub fn config(&self) -> &TiledConfig {
        &self.0.config
    }
}

/// Default number of routers of a block: a group, or fewer on a small machine, or if more blocks are asked
/// for. A block has no more than its share of the nodes: with their interfaces they are most of the work, and
/// the first routers of a fat tree have them all.
fn usual_block(wiring: &Wiring, blocks: usize) -> u32 {
    let blocks = blocks.max(4) as u32;
    let group = wiring.routers_of(0).len() as u32;
    let nodes = (0..wiring.routers()).map(|router| wiring.nodes_at(router).len()).max().unwrap_or(0) as u32;
    let with_share = wiring.nodes().div_ceil(blocks).div_ceil(nodes.max(1));
    group.min(wiring.routers().div_ceil(blocks)).min(with_share).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FatTreeConfig;
    use crate::topology::fat_tree::FatTree;

    #[test]
    fn blocks_share_the_nodes_of_a_fat_tree() {
        let size = |switches: u32, blocks| {
            let config = FatTreeConfig { down: vec![32, switches], up: vec![13], link_classes: vec![] };
            usual_block(&FatTree::new(&config).wiring(), blocks)
        };
        // Switches with 32 nodes each, then 13 above them.
        assert_eq!([2, 16, 64].map(|switches| size(switches, 1)), [1, 4, 16]);
        assert_eq!(size(64, 8), 8);
    }
}
