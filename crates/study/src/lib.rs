//! Machines and studies as files; runs, sweeps, comparison with published figures, reports.
