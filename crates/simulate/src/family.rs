//! The families of routers, as a run builds networks of them.

use netloom_fabric::config::{ConfigError, QueuedConfig, TorusConfig};
use netloom_fabric::host::Host;
use netloom_fabric::router::queued::{QueuedBlock, QueuedFamily};
use netloom_fabric::router::torus::{TorusBlock, TorusFamily};
use netloom_fabric::router::{BuildOptions, Network, NodeBlock};
use netloom_nic::fifo::Fifos;

/// Builds networks of one family of routers, for any hosts.
pub(crate) trait RouterFamily {
    /// What hosts see of it.
    type Family: Fifos;

    /// A block of its nodes.
    type Block<H: Host<Self::Family>>: NodeBlock<Host = H>;

    /// Builds the machine. `host` is called once for each block with the machine's numbers of its nodes.
    fn build<H: Host<Self::Family>>(
        &self,
        options: &BuildOptions,
        host: impl FnMut(&[u32]) -> H,
    ) -> Result<Network<Self::Block<H>>, ConfigError>;

    /// The same as routers whose nodes may have Message Units, if they are.
    fn with_message_units(&self) -> Option<Queued<'_>> {
        None
    }
}

/// BlueGene/L's routers, with so many ports.
pub(crate) struct Torus<'a, const P: usize>(pub &'a TorusConfig);

impl<const P: usize> RouterFamily for Torus<'_, P> {
    type Family = TorusFamily;
    type Block<H: Host<TorusFamily>> = TorusBlock<H, P>;

    fn build<H: Host<TorusFamily>>(
        &self,
        options: &BuildOptions,
        host: impl FnMut(&[u32]) -> H,
    ) -> Result<Network<TorusBlock<H, P>>, ConfigError> {
        Network::<TorusBlock<H, P>>::new(self.0, options, host)
    }
}

/// Blue Gene/Q's routers.
pub(crate) struct Queued<'a>(pub &'a QueuedConfig);

impl RouterFamily for Queued<'_> {
    type Family = QueuedFamily;
    type Block<H: Host<QueuedFamily>> = QueuedBlock<H>;

    fn build<H: Host<QueuedFamily>>(
        &self,
        options: &BuildOptions,
        host: impl FnMut(&[u32]) -> H,
    ) -> Result<Network<QueuedBlock<H>>, ConfigError> {
        Network::<QueuedBlock<H>>::new(self.0, options, host)
    }

    fn with_message_units(&self) -> Option<Queued<'_>> {
        Some(Queued(self.0))
    }
}
