//! A model behind a wire format: the part common to all formats.

use std::fmt::Debug;

use posse_core::error::Result;
use posse_runtime::ports::{BoxFuture, DeltaSink, Model, ModelReply, ModelRequest};

use crate::exchange::{WireCodec, exchange};
use crate::http::{ProviderEndpoint, ProviderTransport};

/// A model of some provider, in the wire format `F`.
#[derive(Debug, Clone)]
pub struct ProviderClient<F> {
    pub(crate) transport: ProviderTransport,
    pub(crate) model: String,
    pub(crate) name: String,
    pub(crate) format: F,
}

/// A wire format with its settings.
pub trait ProviderFormat: Default + Debug + Clone + Send + Sync + 'static {
    /// The vendor of the format: the usual first half of `provider:model`.
    const PROVIDER: &'static str;
}

impl<F: ProviderFormat> ProviderClient<F> {
    /// Creates a client; fails if TLS cannot be set up.
    pub fn new(endpoint: ProviderEndpoint, model: impl Into<String>) -> Result<Self> {
        Ok(Self::over(ProviderTransport::new(endpoint)?, model))
    }

    /// Shares a connection pool with other models of the endpoint.
    pub fn over(transport: ProviderTransport, model: impl Into<String>) -> Self {
        let model = model.into();
        let name = format!("{}:{model}", F::PROVIDER);
        Self { transport, name, model, format: F::default() }
    }

    /// Sets the provider's name in `provider:model`, for services that speak this format.
    pub fn provider(self, provider: &str) -> Self {
        Self { name: format!("{provider}:{}", self.model), ..self }
    }
}

impl<F: ProviderFormat> Model for ProviderClient<F>
where
    ProviderClient<F>: WireCodec,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a dyn DeltaSink) -> BoxFuture<'a, ModelReply> {
        Box::pin(exchange(self, request, deltas))
    }
}
