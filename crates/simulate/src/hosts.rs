//! All hosts that a family of networks is run with, as one type: its routers are compiled once, not once for
//! each host, which took half of the time that the whole command took to build. A block checks which host it
//! has at each packet that enters or leaves, not at each hop.

use super::driver::Driver;
use super::observed::{Arrived, Observed, Scope};
use super::processes::Processes;
use netloom_engine::Time;
use netloom_fabric::host::{CALLS_AHEAD, Delivery, Family, Host, Pull, Signals};
use netloom_fabric::router::queued::QueuedFamily;
use netloom_fabric::router::tiled::TiledFamily;
use netloom_fabric::router::torus::TorusFamily;
use netloom_nic::aries::AriesNics;
use netloom_nic::fifo::FifoNic;
use netloom_nic::message_unit::MessageUnits;
use netloom_nic::message_unit::protection::Violation;
use netloom_nic::packet_port::{OnFifos, PacketPort};
use netloom_nic::th::ThNics;
use netloom_node::nodes::Nodes;
use netloom_workload::traffic::{Beside, Counts, JobCounts, SwitchedTraffic, TorusTraffic};
use std::io;
use std::sync::Arc;

/// Synthetic traffic through the FIFOs of a torus.
pub(crate) type FifoTraffic = FifoNic<TorusTraffic>;

/// Calls the same of the host that it is.
macro_rules! of_each {
    ($self:expr, $name:ident { $($variant:ident)* }, $host:ident => $call:expr) => {
        match $self {
            $($name::$variant($host) => $call,)*
        }
    };
}

/// An enumeration of hosts of a family, which is a host itself.
macro_rules! hosts {
    ($(#[$doc:meta])* $name:ident of $family:ident { $($variant:ident($host:ty),)* }) => {
        $(#[$doc])*
        // There is one for a block of up to 2,048 nodes.
        #[allow(clippy::large_enum_variant)]
        pub(crate) enum $name {
            $($variant($host),)*
            /// One of the others, in a run with a timeline.
            Observed(Observed<$name>),
        }

        impl $name {
            /// The same, in a run of a study with a timeline noting packets.
            pub fn observed(self, scope: Option<&Arc<Scope>>, numbers: &[u32]) -> Self {
                match scope {
                    None => self,
                    Some(scope) => $name::Observed(Observed::new(self, scope, numbers)),
                }
            }
        }

        $(impl From<$host> for $name {
            fn from(host: $host) -> Self {
                $name::$variant(host)
            }
        })*

        impl Host<$family> for $name {
            #[inline]
            fn pull(&mut self, now: Time, node: u32, fifo: usize, signals: &mut SignalsOf<$family>) -> PullOf<$family> {
                of_each!(self, $name { $($variant)* Observed }, host => Host::<$family>::pull(host, now, node, fifo, signals))
            }

            #[inline]
            fn deliver(
                &mut self,
                now: Time,
                node: u32,
                delivery: &Delivery<<$family as Family>::Header>,
                signals: &mut SignalsOf<$family>,
            ) {
                of_each!(self, $name { $($variant)* Observed }, host => Host::<$family>::deliver(host, now, node, delivery, signals))
            }

            #[inline]
            fn wake(&mut self, now: Time, node: u32, token: u32, signals: &mut SignalsOf<$family>) {
                of_each!(self, $name { $($variant)* Observed }, host => Host::<$family>::wake(host, now, node, token, signals))
            }

            fn died(&mut self, now: Time, node: u32) {
                of_each!(self, $name { $($variant)* Observed }, host => Host::<$family>::died(host, now, node))
            }

            fn event(
                &mut self,
                now: Time,
                node: u32,
                event: <$family as Family>::Event,
                signals: &mut SignalsOf<$family>,
            ) {
                of_each!(self, $name { $($variant)* Observed }, host => Host::<$family>::event(host, now, node, event, signals))
            }

            #[inline]
            fn prepare(&self, node: u32, fifo: usize) {
                of_each!(self, $name { $($variant)* Observed }, host => Host::<$family>::prepare(host, node, fifo))
            }

            #[inline]
            fn is_large(&self) -> bool {
                of_each!(self, $name { $($variant)* Observed }, host => Host::<$family>::is_large(host))
            }

            #[inline]
            fn prefetch(&self, next: &[u32; CALLS_AHEAD]) {
                of_each!(self, $name { $($variant)* Observed }, host => Host::<$family>::prefetch(host, next))
            }
        }

        impl Driver for $name {
            fn arrived_so_far(&self) -> (u64, u64) {
                of_each!(self, $name { $($variant)* Observed }, host => host.arrived_so_far())
            }

            fn counts(&self) -> Option<&Counts> {
                of_each!(self, $name { $($variant)* Observed }, host => host.counts())
            }

            fn jobs(&self) -> &[JobCounts] {
                of_each!(self, $name { $($variant)* Observed }, host => Driver::jobs(host))
            }

            fn is_over(&self) -> bool {
                of_each!(self, $name { $($variant)* Observed }, host => host.is_over())
            }

            fn last(&self) -> Option<Time> {
                of_each!(self, $name { $($variant)* Observed }, host => Driver::last(host))
            }

            fn restart(&mut self) {
                of_each!(self, $name { $($variant)* Observed }, host => Driver::restart(host))
            }

            fn add_to(&self, all: &mut Processes) {
                of_each!(self, $name { $($variant)* Observed }, host => host.add_to(all))
            }

            fn timeouts(&self) -> u64 {
                of_each!(self, $name { $($variant)* Observed }, host => host.timeouts())
            }

            fn refused(&self) -> Vec<(u32, Violation, u64)> {
                of_each!(self, $name { $($variant)* Observed }, host => Driver::refused(host))
            }

            fn observed(&self) -> (&[Arrived], u64) {
                of_each!(self, $name { $($variant)* Observed }, host => Driver::observed(host))
            }

            fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
                of_each!(self, $name { $($variant)* Observed }, host => Driver::store(host, to))
            }

            fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
                of_each!(self, $name { $($variant)* Observed }, host => Driver::load(host, from))
            }
        }
    };
}

type SignalsOf<F> = Signals<<F as Family>::Signal>;
type PullOf<F> = Pull<<F as Family>::Header>;

hosts! {
    /// Hosts of BlueGene/L's routers.
    TorusHosts of TorusFamily {
        Traffic(FifoTraffic),
        Fifos(FifoNic<OnFifos>),
        FifosBeside(Beside<FifoNic<OnFifos>, FifoTraffic>),
    }
}

hosts! {
    /// Hosts of Blue Gene/Q's routers.
    QueuedHosts of QueuedFamily {
        Traffic(FifoTraffic),
        Fifos(FifoNic<OnFifos>),
        FifosBeside(Beside<FifoNic<OnFifos>, FifoTraffic>),
        MessageUnits(MessageUnits),
        MessageUnitsBeside(Beside<MessageUnits, FifoTraffic>),
    }
}

hosts! {
    /// Hosts of networks of switches.
    SwitchedHosts of TiledFamily {
        Traffic(SwitchedTraffic),
        Ports(Nodes<PacketPort<TiledFamily>>),
        PortsBeside(Beside<Nodes<PacketPort<TiledFamily>>, SwitchedTraffic>),
        Aries(AriesNics),
        AriesBeside(Beside<AriesNics, SwitchedTraffic>),
        Th(ThNics),
        ThBeside(Beside<ThNics, SwitchedTraffic>),
    }
}
