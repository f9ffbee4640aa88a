//! MilkyWay-2's network, TH Express-2 (Pang et al., "The TH Express high performance interconnect networks").

use super::{
    FatTreeConfig, FlitFormat, LinkClass, LinkControl, LoadWeights, MinimalPaths, SwitchedFaults,
    SwitchedRouting, SwitchedTopology,
};
use super::{TiledConfig, TiledRouter, VcDiscrimination};

impl TiledConfig {
    /// `frames` frames of MilkyWay-2 below its 13 top-level switches; the same values as `machines/th.toml`,
    /// whose comments give each source.
    pub fn th_express_2(frames: u32) -> Self {
        let class = |latency_ticks| LinkClass { latency_ticks, flit_milliticks: 589 };
        TiledConfig {
            ticks_per_second: 1_000_000_000,
            topology: SwitchedTopology::FatTree(FatTreeConfig {
                down: vec![32, frames],
                up: vec![13],
                link_classes: vec![],
            }),
            packet: FlitFormat {
                flit_bits: 64,
                data_max_B: 256,
                request_header_flits: 5,
                response_header_flits: 5,
            },
            link: [("up-1".into(), class(60)), ("up-2".into(), class(20)), ("up-3".into(), class(20))].into(),
            router: TiledRouter {
                rows: 8,
                columns: 8,
                nodes_per_share: 1,
                tiles_per_share: 1,
                vcs: 1,
                response_vcs: true,
                input_flits: 512,
                input_reserved_flits: 37,
                input_share: 4,
                subswitch_flits: 74,
                column_flits: 74,
                bus_flits_per_tick: 2,
                route_ticks: 20,
                row_ticks: 15,
                column_ticks: 15,
                netlink_ticks: 30,
                netlink_flit_milliticks: 589,
            },
            routing: SwitchedRouting {
                minimal_paths: MinimalPaths::Any,
                minimal_candidates: 2,
                nonminimal_candidates: 2,
                weights: LoadWeights { near: 1, far: 1, downstream: 1 },
                bias: vec![(16, 0); 4],
                load_period_ticks: 10,
                global_load_period_ticks: 50,
                vc_discrimination: VcDiscrimination::Off,
                credit_round_trip: false,
            },
            link_control: Some(LinkControl {
                set_flits: 4,
                set_bits: 264,
                crc_bits: 16,
                lanes: 8,
                send_buffer_flits: 256,
            }),
            faults: SwitchedFaults::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_frames_and_all_16_000_nodes_can_be_built() {
        let mut machine = TiledConfig::th_express_2(2);
        assert_eq!(machine.check(), Ok(()));
        machine.topology = SwitchedTopology::FatTree(FatTreeConfig {
            down: vec![32, 20, 25],
            up: vec![13, 12],
            link_classes: vec![],
        });
        assert_eq!(machine.check(), Ok(()));
        assert_eq!(machine.topology.nodes(), 16_000);
    }

    #[test]
    fn a_link_has_14_gb_per_s_less_its_coding() {
        let flit_ns = f64::from(TiledConfig::th_express_2(2).link["up-1"].flit_milliticks) / 1e3;
        assert!((8.0 / flit_ns - 14.0 * 64.0 / 66.0).abs() < 0.02);
    }
}
