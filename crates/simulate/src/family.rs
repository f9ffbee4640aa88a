//! The families of routers, as a run builds networks of them.

use super::driver::Driver;
use super::hosts::{FifoTraffic, QueuedHosts, TorusHosts};
use super::observed::Scope;
use netloom_fabric::config::{ConfigError, QueuedConfig, TorusConfig};
use netloom_fabric::host::Host;
use netloom_fabric::router::queued::{QueuedBlock, QueuedFamily};
use netloom_fabric::router::torus::{TorusBlock, TorusFamily};
use netloom_fabric::router::{BuildOptions, Network, NodeBlock};
use netloom_nic::fifo::{FifoNic, Fifos};
use netloom_nic::packet_port::OnFifos;
use netloom_study::resolve::ResolvedStudy;
use netloom_workload::traffic::Beside;
use std::sync::Arc;

/// Builds networks of one family of routers.
pub(crate) trait RouterFamily {
    /// The router family, as seen by hosts.
    type Family: Fifos;

    /// Its hosts: FIFOs that send traffic, or whose software runs ranks, at least.
    type Hosts: Host<Self::Family>
        + Driver
        + From<FifoTraffic>
        + From<FifoNic<OnFifos>>
        + From<Beside<FifoNic<OnFifos>, FifoTraffic>>;

    /// A block of its nodes.
    type Block: NodeBlock<Host = Self::Hosts>;

    /// Builds the machine. `host` is called once for each block with the machine's numbers of its nodes.
    fn build(
        &self,
        study: &ResolvedStudy,
        options: &BuildOptions,
        host: &mut dyn FnMut(&[u32]) -> Self::Hosts,
    ) -> Result<Network<Self::Block>, ConfigError>;

    /// The same as routers whose nodes may have Message Units, if they are.
    fn with_message_units(&self) -> Option<Queued<'_>> {
        None
    }
}

/// BlueGene/L's routers, by their number of ports.
pub(crate) struct Torus<'a, const P: usize>(pub &'a TorusConfig);

impl<const P: usize> RouterFamily for Torus<'_, P> {
    type Family = TorusFamily;
    type Hosts = TorusHosts;
    type Block = TorusBlock<TorusHosts, P>;

    fn build(
        &self,
        study: &ResolvedStudy,
        options: &BuildOptions,
        host: &mut dyn FnMut(&[u32]) -> TorusHosts,
    ) -> Result<Network<Self::Block>, ConfigError> {
        let scope = Scope::of(study).map(Arc::new);
        Network::<Self::Block>::new(self.0, options, |numbers| {
            host(numbers).observed(scope.as_ref(), numbers)
        })
    }
}

/// Blue Gene/Q's routers.
pub(crate) struct Queued<'a>(pub &'a QueuedConfig);

impl RouterFamily for Queued<'_> {
    type Family = QueuedFamily;
    type Hosts = QueuedHosts;
    type Block = QueuedBlock<QueuedHosts>;

    fn build(
        &self,
        study: &ResolvedStudy,
        options: &BuildOptions,
        host: &mut dyn FnMut(&[u32]) -> QueuedHosts,
    ) -> Result<Network<Self::Block>, ConfigError> {
        let scope = Scope::of(study).map(Arc::new);
        Network::<Self::Block>::new(self.0, options, |numbers| {
            host(numbers).observed(scope.as_ref(), numbers)
        })
    }

    fn with_message_units(&self) -> Option<Queued<'_>> {
        Some(Queued(self.0))
    }
}
