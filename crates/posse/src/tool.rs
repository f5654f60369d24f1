//! Tools made of closures, with the schema derived from the argument type.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use posse_core::tool::{ToolEffect, ToolSpec};
use posse_runtime::ports::{BoxFuture, Tool, ToolInput, ToolOutput};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Makes a tool of an async closure. The argument type gives the JSON Schema that the model sees; doc comments of its
/// fields are the descriptions of the arguments.
///
/// The closure returns anything that serializes: a string goes to the model as it is, everything else as JSON. An error
/// goes to the model too, so that it can do better. `?` works on every error type.
///
/// ```
/// use posse::prelude::*;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add {
///     /// First summand.
///     a: i64,
///     b: i64,
/// }
///
/// let add = tool("add", "Add two integers.", |Add { a, b }| async move { Ok(a + b) }).read_only();
/// ```
pub fn tool<A, R, F, Fut>(name: impl Into<String>, description: impl Into<String>, run: F) -> ProgramTool
where
    A: DeserializeOwned + JsonSchema,
    R: Serialize,
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
{
    let spec = ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema: schema_of::<A>().to_string(),
        effect: ToolEffect::Unsafe,
    };
    let run = move |arguments: &str| -> BoxFuture<'static, ToolOutput> {
        match serde_json::from_str(arguments) {
            Ok(arguments) => {
                let running = run(arguments);
                Box::pin(async move { output_of(running.await) })
            }
            Err(e) => Box::pin(std::future::ready(ToolOutput::mistake(e.to_string()))),
        }
    };
    ProgramTool { spec, run: Arc::new(run) }
}

/// Derives the JSON Schema of a type, without the keys that only tell which draft it is.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("$schema");
        fields.remove("title");
    }
    schema
}

fn output_of<R: Serialize>(result: Result<R, ToolError>) -> ToolOutput {
    let value = result.and_then(|value| Ok(serde_json::to_value(value)?));
    match value {
        Ok(Value::String(text)) => ToolOutput::text(text),
        Ok(value) => ToolOutput::text(value.to_string()),
        Err(ToolError(why)) => ToolOutput::error(why),
    }
}

/// A tool that [`tool`] made of a closure.
///
/// Unless it says otherwise, a call is taken to change something: it runs alone, and after a crash it is reported as in
/// doubt instead of being repeated.
#[derive(Clone)]
pub struct ProgramTool {
    spec: ToolSpec,
    run: Arc<ToolFunction>,
}

type ToolFunction = dyn Fn(&str) -> BoxFuture<'static, ToolOutput> + Send + Sync;

impl ProgramTool {
    /// Declares that calls change nothing: they run side by side and may be repeated after a crash.
    pub fn read_only(mut self) -> Self {
        self.spec.effect = ToolEffect::Pure;
        self
    }

    /// Declares that a repeated call has no further effect, so that one in doubt after a crash is repeated.
    pub fn idempotent(mut self) -> Self {
        self.spec.effect = ToolEffect::Idempotent;
        self
    }
}

impl Tool for ProgramTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn writes_files(&self) -> bool {
        self.spec.effect != ToolEffect::Pure
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        let cancel = input.context.cancel.clone();
        let running = (self.run)(input.arguments);
        Box::pin(async move {
            tokio::select! {
                output = running => output,
                () = cancel.cancelled() => ToolOutput::cut_off("the call was cancelled"),
            }
        })
    }
}

/// The failure of a tool, in words for the model. Every error converts into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError(String);

impl ToolError {
    /// Creates a failure. Say what went wrong and what the model can do.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
