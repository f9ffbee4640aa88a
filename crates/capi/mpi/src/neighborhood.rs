//! Neighborhood collectives (MPI 5.0, section 8.6), planned as those of [`crate::collectives`].

use crate::buffer::Buffer;
use crate::collectives::{Parts, Pieced, Plan, Spaces};
use crate::library::{CommId, Library};
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::topology::Topology;
use std::rc::Rc;

/// The topology of a communicator, and the numbers of neighbors to receive from and to send to.
fn topology(library: &mut Library, comm: CommId) -> Result<(Rc<Topology>, [u32; 2]), Error> {
    let none = || Error::new(Class::Topology, "comm has no topology");
    let rank = library.of(comm).group.rank;
    let topology = library.of(comm).topology.clone().ok_or_else(none)?;
    let counts = [topology.sources(rank), topology.destinations(rank)].map(|list| list.len() as u32);
    Ok((topology, counts))
}

/// Sends a piece to each destination and receives one from each source.
fn exchange(
    library: &mut Library,
    comm: CommId,
    topology: &Topology,
    pieces: Pieced<'static>,
    mut spaces: Spaces<'static>,
) -> impl Plan + use<> {
    let rank = library.of(comm).group.rank;
    let (sources, destinations) = (topology.sources(rank), topology.destinations(rank));
    let order = topology.receive_order(sources.len());
    let operation = library.operation(comm);
    async move {
        let parts = pieces.parts();
        let sends = destinations.iter().zip(&parts).filter_map(|(to, &data)| to.map(|to| (to, data)));
        let mut places: Vec<Option<&mut [u8]>> = spaces.parts().into_iter().map(Some).collect();
        let receives = order.into_iter().filter_map(|block| Some((sources[block]?, places[block].take()?)));
        collective::exchange(&operation, &sends.collect::<Vec<_>>(), receives.collect()).await?;
        operation.check_lengths()?;
        spaces.finish();
        Ok(())
    }
}

pub unsafe fn all_gather<P: Into<Parts> + 'static>(
    library: &mut Library,
    sendbuf: Buffer,
    recvbuf: P,
    comm: CommId,
) -> Result<impl Plan + use<P>, Error> {
    let (topology, [sources, destinations]) = topology(library, comm)?;
    // SAFETY: the program gave the buffers, which do not overlap.
    let (own, spaces) = unsafe { (sendbuf.bytes(1)?, recvbuf.into().spaces(sources)?) };
    Ok(exchange(library, comm, &topology, Pieced::repeated(own, destinations), spaces))
}

pub unsafe fn all_to_all<P: Into<Parts> + 'static>(
    library: &mut Library,
    sendbuf: P,
    recvbuf: P,
    comm: CommId,
) -> Result<impl Plan + use<P>, Error> {
    let (topology, [sources, destinations]) = topology(library, comm)?;
    // SAFETY: as above.
    let (pieces, spaces) = unsafe { (sendbuf.into().bytes(destinations)?, recvbuf.into().spaces(sources)?) };
    Ok(exchange(library, comm, &topology, pieces, spaces))
}
