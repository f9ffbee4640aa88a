//! Graph topologies (MPI 5.0, sections 8.5.3 and 8.5.4). Ranks are never reordered.

use crate::abi::*;
use crate::grids::{first_ranks, list};
use crate::library::{CommId, Library};
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::topology::{Edges, Graph, Topology};
use std::ffi::c_int;

const UNWEIGHTED: usize = 10;
const WEIGHTS_EMPTY: usize = 11;

/// A length that the program gave.
fn length(name: &str, length: c_int) -> Result<usize, Error> {
    usize::try_from(length)
        .map_err(|_| Error::new(Class::Arg, format!("{name} is {length}, which is negative")))
}

/// Ranks that the program gave.
///
/// # Safety
/// It gave an array of this length.
unsafe fn ranks(name: &str, from: *const c_int, count: usize, size: u32) -> Result<Vec<u32>, Error> {
    // SAFETY: the caller's promise.
    let list = unsafe { list(from, count) };
    let rank = |(at, &rank): (usize, &c_int)| {
        let found = u32::try_from(rank).ok().filter(|&rank| rank < size);
        found.ok_or_else(|| {
            let text = format!("{name}[{at}] is {rank}, and there are the ranks 0 to {}", size - 1);
            Error::new(Class::Rank, text)
        })
    };
    list.iter().enumerate().map(rank).collect()
}

/// # Safety
/// The program gave arrays of these lengths.
unsafe fn planned(
    library: &mut Library,
    comm: CommId,
    nnodes: c_int,
    index: *const c_int,
    edges: *const c_int,
) -> Result<Graph, Error> {
    let (nodes, size) = (length("nnodes", nnodes)?, library.of(comm).group.size);
    if nodes > size as usize {
        return Err(Error::new(Class::Arg, format!("nnodes is {nodes}, and comm has {size} ranks")));
    }
    // SAFETY: the caller's promise.
    unsafe {
        let ends = list(index, nodes);
        if ends.first().is_some_and(|&first| first < 0) || !ends.is_sorted() {
            return Err(Error::new(Class::Arg, format!("indx is {ends:?}, which does not ascend from 0")));
        }
        let edges = ranks("edges", edges, ends.last().map_or(0, |&last| last as usize), nnodes as u32)?;
        Ok(Graph { ends: ends.into_iter().map(|end| end as u32).collect(), edges })
    }
}

pub unsafe fn create(
    library: &mut Library,
    comm: CommId,
    nnodes: c_int,
    index: *const c_int,
    edges: *const c_int,
    _reorder: c_int,
    made: *mut usize,
) -> Result<(), Error> {
    // SAFETY: the program gave the arrays and the place.
    unsafe {
        let graph = planned(library, comm, nnodes, index, edges)?;
        let size = graph.ends.len() as u32;
        *made = first_ranks(library, comm, size, Topology::Graph(graph))?;
    }
    Ok(())
}

pub unsafe fn map(
    library: &mut Library,
    comm: CommId,
    nnodes: c_int,
    index: *const c_int,
    edges: *const c_int,
    rank: *mut c_int,
) -> Result<(), Error> {
    // SAFETY: the program gave the arrays and the place.
    unsafe {
        let graph = planned(library, comm, nnodes, index, edges)?;
        let own = library.of(comm).group.rank;
        *rank = if (own as usize) < graph.ends.len() { own as c_int } else { UNDEFINED };
    }
    Ok(())
}

fn graph(library: &mut Library, comm: CommId) -> Result<Graph, Error> {
    match library.of(comm).topology.as_deref() {
        Some(Topology::Graph(graph)) => Ok(graph.clone()),
        _ => Err(Error::new(Class::Topology, "comm has no graph topology")),
    }
}

/// Writes the first `most` numbers.
///
/// # Safety
/// The program gave so many places.
unsafe fn write(numbers: &[u32], most: c_int, to: *mut c_int) {
    for (at, &number) in numbers.iter().take(most.max(0) as usize).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { *to.add(at) = number as c_int };
    }
}

pub unsafe fn dimensions(
    library: &mut Library,
    comm: CommId,
    nnodes: *mut c_int,
    nedges: *mut c_int,
) -> Result<(), Error> {
    let graph = graph(library, comm)?;
    // SAFETY: the program gave the places.
    unsafe { (*nnodes, *nedges) = (graph.ends.len() as c_int, graph.edges.len() as c_int) };
    Ok(())
}

pub unsafe fn get(
    library: &mut Library,
    comm: CommId,
    maxindex: c_int,
    maxedges: c_int,
    index: *mut c_int,
    edges: *mut c_int,
) -> Result<(), Error> {
    let graph = graph(library, comm)?;
    // SAFETY: the program gave so many places.
    unsafe {
        write(&graph.ends, maxindex, index);
        write(&graph.edges, maxedges, edges);
    }
    Ok(())
}

pub unsafe fn neighbors_count(
    library: &mut Library,
    comm: CommId,
    rank: c_int,
    count: *mut c_int,
) -> Result<(), Error> {
    let graph = graph(library, comm)?;
    library.check_rank("rank", comm, rank, 0)?;
    // SAFETY: the program gave the place.
    unsafe { *count = graph.neighbors(rank as u32).len() as c_int };
    Ok(())
}

pub unsafe fn neighbors(
    library: &mut Library,
    comm: CommId,
    rank: c_int,
    most: c_int,
    neighbors: *mut c_int,
) -> Result<(), Error> {
    let graph = graph(library, comm)?;
    library.check_rank("rank", comm, rank, 0)?;
    // SAFETY: the program gave so many places.
    unsafe { write(graph.neighbors(rank as u32), most, neighbors) };
    Ok(())
}

/// The weights of an array; `None` for `MPI_UNWEIGHTED`.
///
/// # Safety
/// The program gave so many.
unsafe fn weights(name: &str, from: *const c_int, count: usize) -> Result<Option<Vec<c_int>>, Error> {
    match from as usize {
        UNWEIGHTED => return Ok(None),
        WEIGHTS_EMPTY if count == 0 => return Ok(Some(vec![])),
        WEIGHTS_EMPTY => {
            return Err(Error::new(Class::Arg, format!("{name} is MPI_WEIGHTS_EMPTY, with {count} edges")));
        }
        _ => {}
    }
    // SAFETY: the caller's promise.
    let weights = unsafe { list(from, count) };
    match weights.iter().position(|&weight| weight < 0) {
        None => Ok(Some(weights)),
        Some(at) => {
            Err(Error::new(Class::Arg, format!("{name}[{at}] is {}, which is negative", weights[at])))
        }
    }
}

/// Each rank gives its own edges.
pub unsafe fn create_adjacent(
    library: &mut Library,
    comm: CommId,
    indegree: c_int,
    sources: *const c_int,
    sourceweights: *const c_int,
    outdegree: c_int,
    destinations: *const c_int,
    destweights: *const c_int,
    _info: usize,
    _reorder: c_int,
    made: *mut usize,
) -> Result<(), Error> {
    let size = library.of(comm).group.size;
    let (indegree, outdegree) = (length("indegree", indegree)?, length("outdegree", outdegree)?);
    // SAFETY: the program gave the arrays and the place.
    unsafe {
        let sources = ranks("sources", sources, indegree, size)?;
        let destinations = ranks("destinations", destinations, outdegree, size)?;
        let of_sources = weights("sourceweights", sourceweights, indegree)?;
        let weights = of_sources.zip(weights("destweights", destweights, outdegree)?);
        let edges = Edges { sources, destinations, weights: weights.map(|(from, to)| [from, to]) };
        *made = first_ranks(library, comm, size, Topology::Distributed(edges))?;
    }
    Ok(())
}

/// An edge that some rank gave.
struct Edge {
    source: u32,
    destination: u32,
    weight: c_int,
}

impl Edge {
    const BYTES: usize = 12;

    fn to_bytes(&self) -> Vec<u8> {
        let Edge { source, destination, weight } = self;
        [source.to_ne_bytes(), destination.to_ne_bytes(), weight.to_ne_bytes()].concat()
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        let word = |at: usize| bytes[at..at + 4].try_into().expect("four bytes");
        let [source, destination] = [0, 4].map(|at| u32::from_ne_bytes(word(at)));
        Edge { source, destination, weight: c_int::from_ne_bytes(word(8)) }
    }
}

/// The edges of all ranks, in the order of the ranks that gave them.
fn gather(library: &mut Library, comm: CommId, own: &[Edge]) -> Result<Vec<Edge>, Error> {
    let (rank, size) = (library.of(comm).group.rank as usize, library.of(comm).group.size);
    let mut counts = vec![0; 8 * size as usize];
    counts[8 * rank..][..8].copy_from_slice(&(own.len() as u64).to_ne_bytes());
    let operation = library.operation(comm);
    library.block_on(collective::all_gather(&operation, collective::parts(&mut counts, size)))?;
    let (counts, _) = counts.as_chunks::<8>();
    let mut lists: Vec<Vec<u8>> =
        counts.iter().map(|&count| vec![0; u64::from_ne_bytes(count) as usize * Edge::BYTES]).collect();
    lists[rank] = own.iter().flat_map(Edge::to_bytes).collect();
    let operation = library.operation(comm);
    let parts = lists.iter_mut().map(|list| &mut list[..]).collect();
    library.block_on(collective::all_gather(&operation, parts))?;
    Ok(lists.iter().flat_map(|list| list.chunks(Edge::BYTES)).map(Edge::of_bytes).collect())
}

/// Each rank gives any edges.
pub unsafe fn create_distributed(
    library: &mut Library,
    comm: CommId,
    n: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    edge_weights: *const c_int,
    _info: usize,
    _reorder: c_int,
    made: *mut usize,
) -> Result<(), Error> {
    let (rank, size) = (library.of(comm).group.rank, library.of(comm).group.size);
    let count = length("n", n)?;
    // SAFETY: the program gave the arrays and the place.
    unsafe {
        let sources = ranks("sources", sources, count, size)?;
        let degrees: Result<Vec<usize>, Error> =
            list(degrees, count).into_iter().map(|degree| length("degrees", degree)).collect();
        let degrees = degrees?;
        let all = degrees.iter().sum();
        let destinations = ranks("destinations", destinations, all, size)?;
        let weights = weights("weights", edge_weights, all)?;
        let starts = sources.iter().zip(degrees).flat_map(|(&source, degree)| vec![source; degree]);
        let edge = |(at, (source, &destination)): (usize, (u32, &u32))| {
            let weight = weights.as_ref().map_or(0, |list| list[at]);
            Edge { source, destination, weight }
        };
        let own: Vec<Edge> = starts.zip(&destinations).enumerate().map(edge).collect();
        let all = gather(library, comm, &own)?;
        let into: Vec<&Edge> = all.iter().filter(|edge| edge.destination == rank).collect();
        let out: Vec<&Edge> = all.iter().filter(|edge| edge.source == rank).collect();
        let of = |edges: &[&Edge]| edges.iter().map(|edge| edge.weight).collect();
        let edges = Edges {
            sources: into.iter().map(|edge| edge.source).collect(),
            destinations: out.iter().map(|edge| edge.destination).collect(),
            weights: weights.is_some().then(|| [of(&into), of(&out)]),
        };
        *made = first_ranks(library, comm, size, Topology::Distributed(edges))?;
    }
    Ok(())
}

fn edges(library: &mut Library, comm: CommId) -> Result<Edges, Error> {
    match library.of(comm).topology.as_deref() {
        Some(Topology::Distributed(edges)) => Ok(edges.clone()),
        _ => Err(Error::new(Class::Topology, "comm has no distributed graph topology")),
    }
}

pub unsafe fn edges_count(
    library: &mut Library,
    comm: CommId,
    indegree: *mut c_int,
    outdegree: *mut c_int,
    weighted: *mut c_int,
) -> Result<(), Error> {
    let edges = edges(library, comm)?;
    // SAFETY: the program gave the places.
    unsafe {
        (*indegree, *outdegree) = (edges.sources.len() as c_int, edges.destinations.len() as c_int);
        *weighted = edges.weights.is_some().into();
    }
    Ok(())
}

pub unsafe fn edges_of_rank(
    library: &mut Library,
    comm: CommId,
    maxindegree: c_int,
    sources: *mut c_int,
    sourceweights: *mut c_int,
    maxoutdegree: c_int,
    destinations: *mut c_int,
    destweights: *mut c_int,
) -> Result<(), Error> {
    let edges = edges(library, comm)?;
    // SAFETY: the program gave so many places; weights of a graph without them may go anywhere.
    unsafe {
        write(&edges.sources, maxindegree, sources);
        write(&edges.destinations, maxoutdegree, destinations);
        let places = [(maxindegree, sourceweights), (maxoutdegree, destweights)];
        for (weights, (most, to)) in edges.weights.iter().flatten().zip(places) {
            if ![UNWEIGHTED, WEIGHTS_EMPTY].contains(&(to as usize)) {
                let weights: Vec<u32> = weights.iter().map(|&weight| weight as u32).collect();
                write(&weights, most, to);
            }
        }
    }
    Ok(())
}
