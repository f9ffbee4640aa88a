//! The families of routers, as a run builds networks of them.

use netloom_fabric::config::{ConfigError, QueuedConfig, TorusConfig};
use netloom_fabric::host::Host;
use netloom_fabric::router::queued::QueuedBlock;
use netloom_fabric::router::torus::TorusBlock;
use netloom_fabric::router::{BuildOptions, Network, NodeBlock};

/// Builds networks of one family of routers, for any hosts.
pub(crate) trait RouterFamily {
    /// A block of its nodes.
    type Block<H: Host>: NodeBlock<Host = H>;

    /// Builds the machine. `host` is called once for each block with the machine's numbers of its nodes.
    fn build<H: Host>(
        &self,
        options: &BuildOptions,
        host: impl FnMut(&[u32]) -> H,
    ) -> Result<Network<Self::Block<H>>, ConfigError>;
}

/// BlueGene/L's routers, with so many ports.
pub(crate) struct Torus<'a, const P: usize>(pub &'a TorusConfig);

impl<const P: usize> RouterFamily for Torus<'_, P> {
    type Block<H: Host> = TorusBlock<H, P>;

    fn build<H: Host>(
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
    type Block<H: Host> = QueuedBlock<H>;

    fn build<H: Host>(
        &self,
        options: &BuildOptions,
        host: impl FnMut(&[u32]) -> H,
    ) -> Result<Network<QueuedBlock<H>>, ConfigError> {
        Network::<QueuedBlock<H>>::new(self.0, options, host)
    }
}
