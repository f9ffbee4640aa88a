//! Endpoints: the addresses of point-to-point operations (Kumar et al., section III.B).

use std::fmt;

/// A context of a task. The encoding is that of Blue Gene/Q's public header, which programs may have inlined:
/// the task in the low 23 bits, the context's offset in the 6 bits above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint(pub u32);

impl Endpoint {
    /// Number of tasks that can be encoded.
    pub const TASKS: u32 = 1 << 23;
    /// Number of contexts of a task that can be encoded.
    pub const OFFSETS: u32 = 1 << 6;

    /// Set if messages to it and their answers take the network interface within a node, too.
    const BY_NETWORK: u32 = 1 << 31;

    /// The context with this offset of a task; `None` if it cannot be encoded.
    pub fn new(task: u32, offset: u32) -> Option<Self> {
        (task < Self::TASKS && offset < Self::OFFSETS).then_some(Endpoint(offset << 23 | task))
    }

    /// The task.
    #[inline]
    pub fn task(self) -> u32 {
        self.0 & (Self::TASKS - 1)
    }

    /// The same context, to which messages take the network interface also from its own node, as do their
    /// answers. They are not in order with other messages between these contexts.
    #[inline]
    pub fn by_network(self) -> Self {
        Endpoint(self.0 | Self::BY_NETWORK)
    }

    /// Whether it is one of [`Self::by_network`].
    #[inline]
    pub fn is_by_network(self) -> bool {
        self.0 & Self::BY_NETWORK != 0
    }

    /// The same context, as programs know it.
    #[inline]
    pub fn plain(self) -> Self {
        Endpoint(self.0 & !Self::BY_NETWORK)
    }

    /// The context's offset.
    #[inline]
    pub fn offset(self) -> u32 {
        self.0 >> 23 & (Self::OFFSETS - 1)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "context {} of task {}", self.offset(), self.task())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_endpoint_has_the_task_and_offset_of_which_it_was_made(task in 0..1u32 << 23, offset in 0..64u32) {
            let endpoint = Endpoint::new(task, offset).unwrap();
            prop_assert_eq!((endpoint.task(), endpoint.offset()), (task, offset));
            let by_network = endpoint.by_network();
            prop_assert_eq!((by_network.task(), by_network.offset()), (task, offset));
            prop_assert!(by_network.is_by_network() && !endpoint.is_by_network());
            prop_assert_eq!((by_network.plain(), endpoint.plain()), (endpoint, endpoint));
        }
    }

    #[test]
    fn what_does_not_fit_is_no_endpoint() {
        assert_eq!([Endpoint::new(1 << 23, 0), Endpoint::new(0, 64)], [None, None]);
    }
}
