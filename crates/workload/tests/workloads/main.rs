//! Workloads on simulated machines. One program, so that the simulator is compiled for their nodes once.

mod closed_forms;
mod exchange;
mod glex_figures;
mod gni_figures;
mod goal_mutation;
mod on_the_torus;
