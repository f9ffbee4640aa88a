//! Cabinets and cables of a machine for several sizes; nothing is sent.

use super::{Machines, Runs, Workload, refuse};
use crate::shape::Shape;
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which sizes are counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PackagingConfig {
    /// The systems, by their groups; each is also an upgrade of the one before it.
    pub groups: Vec<u32>,
}

impl Workload for PackagingConfig {
    fn machines() -> Machines {
        Machines::Switches
    }

    fn check_on(&self, _: &Shape) -> Result<(), ConfigError> {
        self.check()
    }

    fn runs(&self) -> Runs<'_> {
        Runs::Packaging(self)
    }
}

impl PackagingConfig {
    /// Rejects a list without sizes. Packagings that cannot be built are reported when they are counted.
    ///
    /// # Errors
    /// The invalid value, with its key and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self.groups.iter().find(|&&groups| groups < 2) {
            Some(groups) => refuse("workload.groups", format!("expected 2 groups or more, found {groups}")),
            None if self.groups.is_empty() => {
                refuse("workload.groups", "expected at least one number of groups, found none")
            }
            None => Ok(()),
        }
    }
}
