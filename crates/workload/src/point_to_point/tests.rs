//! Closed forms on the ideal network: a message takes its bytes and the latency, and messages do not meet.

use super::*;
use crate::ideal::Ideal;
use crate::processes::Marks;
use std::sync::Arc;

const NETWORK: Ideal = Ideal { latency_ns: 500, ps_per_byte: 2_000 };

/// Hops between ranks on a line.
fn line() -> Hops {
    Arc::new(|a, b| a.abs_diff(b))
}

fn read(config: &str) -> PointToPointConfig {
    serde_json::from_str(config).unwrap()
}

/// The measurements of a benchmark on `nodes` ideal nodes.
fn run(config: &str, nodes: u32) -> Measured {
    let config = read(config);
    config.check_on(&Shape::of_job(nodes)).unwrap();
    let RankPrograms { ranks, programs, measured, .. } = config.rank_programs(nodes).unwrap();
    let mut programs = programs(&line());
    assert_eq!(programs.len(), ranks as usize);
    let marks = NETWORK.run(&mut programs).unwrap().marks;
    measured.unwrap()(&line(), &Marks::new(ranks, marks, 1e12))
}

/// Time of a message of `bytes` bytes, ns.
fn message_ns(bytes: u64) -> f64 {
    (500 + 2 * bytes) as f64
}

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

#[test]
fn half_of_a_round_trip() {
    let measured = run(r#"{"program": "latency", "sizes_B": [0, 100, 4000], "partner": "farthest"}"#, 7);
    assert_eq!(measured.title, "Latency, ranks 0 and 6, 6 hops");
    for (row, bytes) in measured.rows.iter().zip([0u64, 100, 4000]) {
        assert!(row[0] == bytes as f64 && close(row[1], message_ns(bytes) / 1e3), "{row:?}");
    }
}

#[test]
fn a_window_takes_its_messages_and_an_acknowledgement() {
    let measured = run(r#"{"program": "bw", "sizes_B": [8, 5000], "window": 10, "iterations": 3}"#, 2);
    assert_eq!(measured.title, "Bandwidth, ranks 0 and 1, 1 hop");
    for (row, bytes) in measured.rows.iter().zip([8u64, 5000]) {
        let rate = 10.0 / (message_ns(bytes) + message_ns(4));
        assert!(close(row[1], bytes as f64 * rate) && close(row[2], rate * 1e3), "{row:?}");
    }
}

/// Each neighbour's message arrives as if it were alone.
#[test]
fn rings_exchange_with_both_neighbours_in_the_time_of_one_message() {
    for ranks in [2, 3, 7] {
        let config = r#"{"program": "random_ring", "sizes_B": [8, 5000], "rings": 3, "iterations": 2}"#;
        let measured = run(config, ranks);
        assert_eq!(measured.title, format!("Rings of {ranks} ranks in random order"));
        for (row, bytes) in measured.rows.iter().zip([8u64, 5000]) {
            assert!(close(row[1], 2.0 * bytes as f64 / message_ns(bytes)), "{ranks}: {row:?}");
        }
    }
}

/// Each rank's messages arrive as if they were alone.
#[test]
fn a_shift_takes_the_time_of_its_messages() {
    let config = r#"{"program": "shift", "sizes_B": [8, 5000], "distances": [1, 4], "window": 3}"#;
    let measured = run(config, 7);
    let settings = [(8, 1), (8, 4), (5000, 1), (5000, 4)];
    assert_eq!(measured.rows.len(), settings.len());
    for (row, (bytes, distance)) in measured.rows.iter().zip(settings) {
        let rate = 3.0 * bytes as f64 / message_ns(bytes);
        assert!(row[..2] == [bytes as f64, f64::from(distance)] && close(row[2], rate), "{row:?}");
    }
}

/// The slowest rank determines a ring's rate, and the result is the mean of the rings.
#[test]
fn the_slowest_rank_counts_and_the_mean_of_the_rings() {
    let ring = RandomRing { sizes_B: vec![1000], rings: 2, iterations: 1, ..RandomRing::default() };
    // Ring 0 takes 1 and 4 us, ring 1 takes 2 and 2 us.
    let times_ns = [[1000, 4000], [2000, 2000]];
    let marks = (0..2u32).flat_map(|rank| {
        let of_ring =
            move |index: usize| [(rank, begin(index), 0), (rank, end(index), times_ns[index][rank as usize])];
        (0..2).flat_map(of_ring)
    });
    let measured = ring.measured(&ring.partners(2, &line()), &line(), &Marks::new(2, marks, 1e9));
    assert!(close(measured.rows[0][1], (0.5 + 1.0) / 2.0), "{:?}", measured.rows);
}

/// Each order is one ring of all ranks, and they differ.
#[test]
fn rings_have_all_ranks_in_different_orders() {
    let ring = RandomRing { rings: 3, ..RandomRing::default() };
    let all = ring.partners(20, &line());
    let orders: Vec<Vec<u32>> = all
        .chunks(40)
        .map(|order| {
            let mut at = 0;
            let round = (0..20).map(|_| {
                let next = order[2 * at + 1];
                assert_eq!(order[2 * next as usize], at as u32, "the previous rank of the next one");
                at = next as usize;
                next
            });
            round.collect()
        })
        .collect();
    for order in &orders {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }
    assert!(orders[0] != orders[1] && orders[1] != orders[2]);
}

#[test]
fn both_directions_need_no_acknowledgement() {
    let measured = run(r#"{"program": "bibw", "sizes_B": [5000], "window": 10, "partner": 3}"#, 4);
    let rate = 20.0 / message_ns(5000);
    assert!(measured.title.starts_with("Bidirectional bandwidth, ranks 0 and 3"), "{}", measured.title);
    assert!(close(measured.rows[0][1], 5000.0 * rate), "{:?}", measured.rows);
}

#[test]
fn pairs_and_neighbours_add_up() {
    let of_one = 16.0 / (message_ns(64) + message_ns(4));
    let pairs = run(r#"{"program": "mbw_mr", "sizes_B": [64, 64], "window": 16, "pairs": 5}"#, 12);
    for row in &pairs.rows {
        assert!(close(row[2], 5.0 * of_one * 1e3), "{row:?}");
    }
    let neighbours = run(r#"{"program": "msgrate", "sizes_B": [64], "window": 16, "neighbours": 3}"#, 12);
    assert!(close(neighbours.rows[0][2], 3.0 * of_one * 1e3), "{neighbours:?}");
    assert_eq!(neighbours.title, "Message rate, rank 0 to its 3 nearest neighbours");
}

#[test]
fn invalid_values_are_rejected() {
    let refused = |config: &str, nodes| read(config).check_on(&Shape::of_job(nodes)).unwrap_err();
    for (config, nodes, key, expected) in [
        (
            r#"{"program": "latency", "partner": 8}"#,
            8,
            "workload.partner",
            "a rank other than 0 of 8, found 8",
        ),
        (r#"{"program": "latency", "sizes_B": []}"#, 8, "workload.sizes_B", "at least one size"),
        (r#"{"program": "bw", "window": 0}"#, 8, "workload.window", "at least 1 message"),
        (r#"{"program": "bibw", "iterations": 0}"#, 8, "workload.iterations", "at least 1"),
        (r#"{"program": "bw", "ranks": 9}"#, 8, "workload.ranks", "2 to 8 ranks"),
        (r#"{"program": "mbw_mr", "pairs": 5}"#, 8, "workload.pairs", "2 to 8 ranks"),
        (r#"{"program": "shift", "distances": [8]}"#, 8, "workload.distances", "1 to 7, found [8]"),
        (r#"{"program": "shift", "distances": []}"#, 8, "workload.distances", "1 to 7, found []"),
        (
            r#"{"program": "msgrate", "neighbours": 8}"#,
            8,
            "workload.neighbours",
            "1 to 7 of 8 ranks, found 8",
        ),
    ] {
        let error = refused(config, nodes);
        assert!(error.key == key && error.message.contains(expected), "{config}: {error:?}");
    }
    let error = serde_json::from_str::<PointToPointConfig>(r#"{"program": "latency", "partner": "near"}"#);
    assert!(error.unwrap_err().to_string().contains("\"farthest\" or the number of a rank"));
}
