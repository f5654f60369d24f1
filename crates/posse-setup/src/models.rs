//! Models as a session opens them: by the configuration, the process's environment and the hosts connected to it.

use std::sync::Arc;

use posse_core::Result;
use posse_mcp::server::{ConnectedHosts, HostModel};
use posse_models::providers::{CustomProvider, HOST, ModelSource, ModelsConfig, RecordingMode};
use posse_runtime::ports::Model;

use crate::process::ProcessContext;

/// Creates the source of models, with those that connected hosts lend.
pub fn source(
    config: ModelsConfig,
    process: &ProcessContext,
    env: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    tape: RecordingMode,
    hosts: Arc<ConnectedHosts>,
) -> Result<ModelSource> {
    let source =
        ModelSource::new(config, Arc::new(env), tape)?.with_provider(HOST, Arc::new(HostProvider(hosts)));
    Ok(match (process.directory)() {
        Ok(here) => source.scripts_in(here),
        Err(_) => source,
    })
}

/// The provider `host`: models of connected MCP hosts.
struct HostProvider(Arc<ConnectedHosts>);

impl CustomProvider for HostProvider {
    fn open(&self, model: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(HostModel::new(self.0.clone(), model)))
    }

    fn check(&self) -> Result<()> {
        self.0.check()
    }
}
