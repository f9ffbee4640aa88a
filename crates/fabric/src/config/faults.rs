//! Errors at a rate and at given places: links that corrupt bits, and soft errors in buffers.

use super::{ConfigError, Link, QueuedRouter, Topology, parse_direction, refuse};
use crate::link::optical::{FIBRES, LANES};
use crate::topology::torus::{Coordinates, Torus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The errors of one link, in the direction in which a node sends. An optical link, which leaves a
/// midplane, has four fibres for data, 0 to 3, and a spare, 4.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFault {
    /// Coordinates of the node that sends.
    pub node: Vec<u32>,
    /// Direction of the link seen from there: `+` or `-` and the dimension's letter.
    pub direction: String,
    /// Probability that a transmitted bit is corrupted, in place of that of all links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<f64>,
    /// A fibre of an optical link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fibre: Option<u32>,
    /// Probability that a bit of that fibre's symbols is wrong, in place of that of all fibres.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fibre_error_rate: Option<f64>,
    /// Number of the packet, among those that the link delivers intact, counted from 1, that is damaged
    /// undetectably.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escape: Option<u64>,
}

/// A fault in its place.
pub(crate) struct PlacedFault<'a> {
    pub node: u32,
    pub port: usize,
    pub fault: &'a LinkFault,
}

/// Refuses what is no probability of an error.
pub(super) fn check_rate(key: &str, rate: f64) -> Result<(), ConfigError> {
    if (0.0..1.0).contains(&rate) {
        return Ok(());
    }
    refuse(key, format!("expected a probability, 0 up to but not 1, found {rate}"))
}

impl Link {
    /// Whether anything on any link may go wrong.
    pub fn may_corrupt(&self) -> bool {
        self.bit_error_rate > 0.0 || self.fibre_error_rate > 0.0 || !self.faults.is_empty()
    }

    /// Whether the link of a node at coordinate `x` of dimension `d` leaves a midplane, and so goes over
    /// fibres, in the plus direction or (`minus`) the other.
    pub fn is_optical(&self, d: usize, x: u32, length: u32, minus: bool) -> bool {
        let midplane = self.midplane.get(d).copied().unwrap_or(0);
        // The coordinate on the lower side of the link.
        let lower = if minus { (x + length - 1) % length } else { x };
        midplane > 0 && length > midplane && (lower + 1).is_multiple_of(midplane)
    }

    /// The faults in their places, once checked.
    pub(crate) fn placed<'a>(&'a self, torus: &'a Torus) -> impl Iterator<Item = PlacedFault<'a>> + 'a {
        self.faults.iter().filter_map(|fault| {
            let (node, port) = place(&fault.node, &fault.direction, torus)?;
            Some(PlacedFault { node, port, fault })
        })
    }

    /// Refuses faults that cannot be, on a machine of this shape.
    ///
    /// # Errors
    /// The first invalid value, with its key (`link.…`) and what was expected.
    pub fn check_faults(&self, topology: &Topology) -> Result<(), ConfigError> {
        check_rate("link.fibre_error_rate", self.fibre_error_rate)?;
        let torus = Torus::new(topology);
        let mut named = BTreeSet::new();
        for fault in &self.faults {
            let wrong = |message: String| refuse("link.faults", message);
            let LinkFault { node, direction, .. } = fault;
            let (number, port) = checked_place("link.faults", node, direction, &torus)?;
            let mut rates = fault.bit_error_rate.iter().chain(&fault.fibre_error_rate);
            rates.try_for_each(|&rate| check_rate("link.faults", rate))?;
            if fault.bit_error_rate.is_none() && fault.fibre_error_rate.is_none() && fault.escape.is_none() {
                let keys = "bit_error_rate, fibre with fibre_error_rate, or escape";
                return wrong(format!("expected {keys}, found none at \"{direction}\" of {node:?}"));
            }
            if fault.escape == Some(0) {
                return wrong("expected an escape from 1, the first packet, found 0".into());
            }
            if fault.fibre.is_some() != fault.fibre_error_rate.is_some() {
                return wrong(format!(
                    "expected fibre and fibre_error_rate together, found one at \"{direction}\" of {node:?}"
                ));
            }
            if let Some(fibre) = fault.fibre {
                let (d, x) = (port / 2, node[port / 2]);
                if !self.is_optical(d, x, torus.length(d), port % 2 == 1) {
                    return wrong(format!(
                        "expected a link that leaves a midplane (link.midplane = {:?}) for a fibre, found \
                         \"{direction}\" of {node:?}",
                        self.midplane
                    ));
                }
                if fibre as usize >= FIBRES {
                    return wrong(format!(
                        "expected fibre 0 to {}, or {LANES} for the spare, found {fibre}",
                        LANES - 1
                    ));
                }
            }
            let what =
                [fault.bit_error_rate.map(|_| FIBRES as u32), fault.fibre, fault.escape.map(|_| u32::MAX)];
            if let Some(twice) = what.into_iter().flatten().find(|&what| !named.insert((number, port, what)))
            {
                let what = match twice {
                    u32::MAX => "an escape".into(),
                    _ if twice == FIBRES as u32 => "a bit_error_rate".into(),
                    fibre => format!("fibre {fibre}"),
                };
                return wrong(format!(
                    "expected each once, found {what} again at \"{direction}\" of {node:?}"
                ));
            }
        }
        Ok(())
    }
}

/// Node and port of a link that is named and works; nothing if there is none.
fn place(node: &[u32], direction: &str, torus: &Torus) -> Option<(u32, usize)> {
    let port = parse_direction(direction, torus.dimensions())?;
    let mut at = Coordinates::default();
    at.iter_mut().zip(node).for_each(|(at, &x)| *at = x as u8);
    let number = torus.node(at);
    (!torus.is_dead(number, port)).then_some((number, port))
}

/// The same, or what was expected of a place that is none.
pub(super) fn checked_place(
    key: &str,
    node: &[u32],
    direction: &str,
    torus: &Torus,
) -> Result<(u32, usize), ConfigError> {
    let dims: Vec<u32> = (0..torus.dimensions()).map(|d| torus.length(d)).collect();
    if node.len() != dims.len() || node.iter().zip(&dims).any(|(c, k)| c >= k) {
        return refuse(key, format!("expected coordinates inside {dims:?}, found {node:?}"));
    }
    if parse_direction(direction, dims.len()).is_none() {
        let message = format!("expected a direction such as \"+x\" or \"-y\", found \"{direction}\"");
        return refuse(key, message);
    }
    match place(node, direction, torus) {
        Some(place) => Ok(place),
        None => refuse(key, format!("expected a link that there is, found \"{direction}\" of {node:?}")),
    }
}

/// Wrong bits in a word of a packet in a receiver's buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftError {
    /// Coordinates of the node.
    pub node: Vec<u32>,
    /// The receiver, by the direction of its link: `+` or `-` and the dimension's letter.
    pub direction: String,
    /// Which of the packets that leave the receiver, from 1.
    pub packet: u64,
    /// Wrong bits of one of its words: 1 is corrected, 2 are seen.
    pub bits: u32,
}

impl QueuedRouter {
    /// The soft errors in their places, once checked.
    pub(crate) fn placed_soft_errors<'a>(
        &'a self,
        torus: &'a Torus,
    ) -> impl Iterator<Item = (u32, usize, &'a SoftError)> + 'a {
        self.soft_errors.iter().filter_map(|error| {
            let (node, port) = place(&error.node, &error.direction, torus)?;
            Some((node, port, error))
        })
    }

    /// Refuses soft errors that cannot be, on a machine of this shape.
    ///
    /// # Errors
    /// The first invalid value, with its key (`router.…`) and what was expected.
    pub fn check_soft_errors(&self, topology: &Topology) -> Result<(), ConfigError> {
        check_rate("router.soft_error_rate", self.soft_error_rate)?;
        let torus = Torus::new(topology);
        let mut named = BTreeSet::new();
        for SoftError { node, direction, packet, bits } in &self.soft_errors {
            let wrong = |message: String| refuse("router.soft_errors", message);
            let place = checked_place("router.soft_errors", node, direction, &torus)?;
            if *packet == 0 {
                return wrong("expected a packet from 1, found 0".into());
            }
            if !(1..=2).contains(bits) {
                return wrong(format!("expected 1 or 2 wrong bits of a word, found {bits}"));
            }
            if !named.insert((place, packet)) {
                return wrong(format!(
                    "expected each packet once, found {packet} again at \"{direction}\" of {node:?}"
                ));
            }
        }
        Ok(())
    }
}
