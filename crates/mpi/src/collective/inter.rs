//! Collectives of two groups (MPI 5.0, section 6.2.2): within each group as those of one, with rank 0 as the
//! leader that speaks to the other's.

use super::movement;
use super::reduce_scatter::split;
use super::reduction::{self, Combine};
use super::{Operation, exchange};
use crate::error::Error;
use crate::transport::Transport;

/// One collective operation of an intercommunicator.
#[derive(Debug)]
pub struct Inter<T> {
    /// Messages to the other group.
    pub across: Operation<T>,
    /// Those to one's own.
    pub within: Operation<T>,
}

/// What a process does in a collective with a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is the root.
    Root,
    /// It is in the root's group.
    Idle,
    /// The root is this rank of the other group.
    Other(u32),
}

impl<T: Transport> Inter<T> {
    fn is_leader(&self) -> bool {
        self.within.rank() == 0
    }

    /// As [`Operation::check_lengths`].
    ///
    /// # Errors
    /// As there.
    pub fn check_lengths(&self) -> Result<(), Error> {
        self.across.check_lengths().and(self.within.check_lengths())
    }
}

/// Waits until all of both groups have come.
///
/// # Errors
/// If a process has ended.
pub async fn barrier<T: Transport>(inter: &Inter<T>) -> Result<(), Error> {
    let nothing = |_: &mut [u8], _: &[u8]| Ok(());
    reduction::reduce(&inter.within, &mut [], 0, &nothing).await?;
    if inter.is_leader() {
        inter.across.exchange(0, &[], 0, &mut []).await?;
    }
    movement::broadcast(&inter.within, &mut [], 0).await
}

/// Sends the root's data to all of the other group.
///
/// # Errors
/// As [`movement::broadcast`].
pub async fn broadcast<T: Transport>(inter: &Inter<T>, data: &mut [u8], role: Role) -> Result<(), Error> {
    match role {
        Role::Root => inter.across.send(0, data).await,
        Role::Idle => Ok(()),
        Role::Other(root) => {
            if inter.is_leader() {
                inter.across.receive(root, data).await?;
            }
            movement::broadcast(&inter.within, data, 0).await
        }
    }
}

/// Collects the data of the other group in the root's parts.
///
/// # Errors
/// As [`broadcast`].
pub async fn gather<T: Transport>(
    inter: &Inter<T>,
    own: &[u8],
    parts: Vec<&mut [u8]>,
    role: Role,
) -> Result<(), Error> {
    match role {
        Role::Root => exchange(&inter.across, &[], (0..).zip(parts).collect()).await,
        Role::Idle => Ok(()),
        Role::Other(root) => inter.across.send(root, own).await,
    }
}

/// Gives each rank of the other group its part from the root.
///
/// # Errors
/// As [`broadcast`].
pub async fn scatter<T: Transport>(
    inter: &Inter<T>,
    parts: &[&[u8]],
    own: &mut [u8],
    role: Role,
) -> Result<(), Error> {
    match role {
        Role::Root => {
            let sends: Vec<(u32, &[u8])> = (0..).zip(parts.iter().copied()).collect();
            exchange(&inter.across, &sends, vec![]).await
        }
        Role::Idle => Ok(()),
        Role::Other(root) => inter.across.receive(root, own).await,
    }
}

/// Combines the data of the other group at the root.
///
/// # Errors
/// As [`broadcast`], and those of the operation.
pub async fn reduce<T: Transport>(
    inter: &Inter<T>,
    data: &mut [u8],
    role: Role,
    combine: &impl Combine,
) -> Result<(), Error> {
    match role {
        Role::Root => inter.across.receive(0, data).await,
        Role::Idle => Ok(()),
        Role::Other(root) => {
            reduction::reduce(&inter.within, data, 0, combine).await?;
            if inter.is_leader() { inter.across.send(root, data).await } else { Ok(()) }
        }
    }
}

/// Combines the data of each group at all of the other.
///
/// # Errors
/// As [`reduce`].
pub async fn all_reduce<T: Transport>(
    inter: &Inter<T>,
    data: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    exchange_reduced(inter, data, combine).await?;
    movement::broadcast(&inter.within, data, 0).await
}

/// Combines the data of each group at the leader of the other.
async fn exchange_reduced<T: Transport>(
    inter: &Inter<T>,
    data: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    reduction::reduce(&inter.within, data, 0, combine).await?;
    if inter.is_leader() {
        let own = data.to_vec();
        inter.across.exchange(0, &own, 0, data).await?;
    }
    Ok(())
}

/// Combines the data of each group, and gives each rank of the other its part, of these lengths.
///
/// # Errors
/// As [`reduce`].
pub async fn reduce_scatter<T: Transport>(
    inter: &Inter<T>,
    data: &mut [u8],
    lengths: &[usize],
    own: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    exchange_reduced(inter, data, combine).await?;
    let parts = if inter.is_leader() { split(data, lengths) } else { vec![] };
    movement::scatter(&inter.within, &parts, own, 0).await
}

/// Combines the data of both groups at all ranks: the operation must commute.
///
/// # Errors
/// As [`reduce`].
pub async fn agree<T: Transport>(
    inter: &Inter<T>,
    data: &mut [u8],
    combine: &impl Combine,
) -> Result<(), Error> {
    reduction::reduce(&inter.within, data, 0, combine).await?;
    if inter.is_leader() {
        let mut other = vec![0; data.len()];
        inter.across.exchange(0, data, 0, &mut other).await?;
        combine.combine(data, &other)?;
    }
    movement::broadcast(&inter.within, data, 0).await
}

/// Gives the data of each leader to all of the other group.
///
/// # Errors
/// As [`broadcast`].
pub async fn swap<T: Transport>(inter: &Inter<T>, data: &[u8], other: &mut [u8]) -> Result<(), Error> {
    if inter.is_leader() {
        inter.across.exchange(0, data, 0, other).await?;
    }
    movement::broadcast(&inter.within, other, 0).await
}
