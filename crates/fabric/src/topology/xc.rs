//! How Cray XC systems are packed (Alverson et al. 2012, "Cray XC Series Configuration").

use crate::config::DragonflyConfig;
/// Most cabinets of an air-cooled system.
pub const AIR_COOLED_CABINETS_MAX: u32 = 8;

/// Cabinets of a Cray XC: all groups but the last fill theirs.
pub fn cabinets(config: &DragonflyConfig) -> u32 {
    let per_cabinet = config.cooling().chassis_per_cabinet();
    (0..config.groups).map(|g| config.chassis_of(g).div_ceil(per_cabinet)).sum()
}

/// What of a Cray XC can be built but should not.
pub fn warnings(_: &DragonflyConfig) -> Vec<String> {
    vec![]
}
