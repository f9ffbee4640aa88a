//! The launcher of an MPI job, if one has started this process.

/// The variables by which launchers say how many processes they have started: Open MPI's, those of MPICH's
/// family and of Slurm's PMI, MVAPICH's.
pub const VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"];

/// One of them that is set, and the number of processes.
pub fn processes() -> Option<(&'static str, usize)> {
    let of = |name| Some((name, std::env::var(name).ok()?.parse().ok()?));
    VARIABLES.into_iter().find_map(of)
}
