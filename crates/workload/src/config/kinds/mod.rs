//! The kinds of workloads that are patterns of packets, and recorded programs: a file each, with its keys and
//! what it fits. The others are defined where their programs are.

pub mod all_to_all;
pub mod bit_complement;
pub mod group_shift;
pub mod hot_node;
pub mod hot_region;
pub mod nearest_neighbour;
pub mod permutation;
pub mod random_permutation;
pub mod shift;
pub mod tornado;
pub mod trace;
pub mod transpose;
pub mod uniform;
