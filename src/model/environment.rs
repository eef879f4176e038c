//! The fingerprint of where a figure was measured.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

/// The generator host as the job found it. Null where the host does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HostSnapshot {
    /// Kernel release (`uname -r`).
    pub kernel: String,
    /// Machine architecture (`uname -m`).
    pub architecture: String,
    /// Processor model as /proc/cpuinfo names it.
    pub cpu_model: Option<String>,
    /// Processors this process may run on.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Soft descriptor limit of the process.
    pub nofile_soft: u64,
    /// Hard descriptor limit of the process.
    pub nofile_hard: u64,
    /// First ephemeral port.
    pub port_range_low: Option<u32>,
    /// Last ephemeral port.
    pub port_range_high: Option<u32>,
    /// Kernel clock source; anything but a vDSO-fast one makes stamps dear.
    pub clock_source: Option<String>,
    /// CPU quota of the control group, in cores.
    pub cpu_quota_cores: Option<f64>,
    /// benchd's own version.
    pub benchd_version: String,
}

impl HostSnapshot {
    /// True when each of so many threads can have a processor of its own, as
    /// far as the host says.
    #[must_use]
    pub fn has_processors_for(&self, threads: u32) -> bool {
        let cores = if self.cores == 0 { f64::INFINITY } else { f64::from(self.cores) };
        f64::from(threads) <= self.cpu_quota_cores.unwrap_or(f64::INFINITY).min(cores)
    }
}

/// What results carry about their place of measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Environment {
    /// Short hash over everything that makes figures comparable: generator
    /// host, benchd version, target software. Equal fingerprints may be compared.
    pub fingerprint: String,
    /// True when generator and target share one machine.
    pub same_host: bool,
    /// The generator host.
    pub generator: HostSnapshot,
    /// What the target says it runs (`Server` header), if it does.
    pub target_software: Option<String>,
}

impl Environment {
    /// Builds the environment and its fingerprint.
    #[must_use]
    pub fn new(generator: HostSnapshot, target_software: Option<String>, same_host: bool) -> Self {
        let identity = json!([generator, target_software, same_host]);
        let digest = Sha256::digest(identity.to_string().as_bytes());
        let fingerprint = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { fingerprint, same_host, generator, target_software }
    }

    /// What makes it another environment than `other`: field by field, what stands
    /// here and what stands there. Empty when nothing is unlike.
    #[must_use]
    pub fn unlike(&self, other: &Self) -> Vec<String> {
        let fields = |environment: &Self| {
            let mut fields = match json!(environment.generator) {
                Value::Object(fields) => fields,
                _ => Map::new(),
            };
            fields.insert("target_software".to_owned(), json!(environment.target_software));
            fields.insert("same_host".to_owned(), json!(environment.same_host));
            fields
        };
        let there = fields(other);
        let unlike = fields(self).into_iter().filter(|(name, here)| there.get(name) != Some(here));
        unlike.map(|(name, here)| format!("{name} {here} and not {}", there[&name])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, HostSnapshot};

    #[test]
    fn what_is_unlike_is_told_field_by_field() {
        let host = |cores, kernel: &str| HostSnapshot {
            cores,
            kernel: kernel.to_owned(),
            ..HostSnapshot::default()
        };
        let environment = |cores, kernel: &str, software: &str| {
            Environment::new(host(cores, kernel), Some(software.to_owned()), true)
        };
        let here = environment(2, "6.1", "nginx/1.22.1");
        let there = environment(4, "6.1", "nginx/1.26.3");
        assert_ne!(here.fingerprint, there.fingerprint);
        assert_eq!(
            here.unlike(&there),
            ["cores 2 and not 4", "target_software \"nginx/1.22.1\" and not \"nginx/1.26.3\""]
        );
        assert_eq!(here.unlike(&environment(2, "6.1", "nginx/1.22.1")), [""; 0]);
    }
}
