//! Attribute names of the gen_ai semantic conventions. They are still experimental, so this is the only place
//! that names them.

/// The operation, such as `chat`.
pub const OPERATION: &str = "gen_ai.operation.name";
/// The model provider.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// The session ID.
pub const CONVERSATION: &str = "gen_ai.conversation.id";
/// The agent's name.
pub const AGENT_NAME: &str = "gen_ai.agent.name";
/// The agent's ID; we use the task ID.
pub const AGENT_ID: &str = "gen_ai.agent.id";
/// The requested model.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The model that answered.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Input tokens.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Output tokens.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Input tokens read from the provider's cache.
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// Input tokens written to the provider's cache.
pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
/// Output tokens spent on reasoning.
pub const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
/// The tool's name.
pub const TOOL_NAME: &str = "gen_ai.tool.name";
/// The tool's type; always a function.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// The key of the tool call.
pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
/// The error type of a failed operation.
pub const ERROR_TYPE: &str = "error.type";

/// Operation of a task.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// Operation of a model call.
pub const CHAT: &str = "chat";
/// Operation of a tool call.
pub const EXECUTE_TOOL: &str = "execute_tool";
/// The tool type of all our tools.
pub const FUNCTION: &str = "function";

// Names of our own, where the conventions have none.
/// The task ID.
pub const TASK_ID: &str = "posse.task.id";
/// The final status of a task.
pub const STATUS: &str = "posse.task.status";
/// The reason why a task ended.
pub const STOP_REASON: &str = "posse.task.stop_reason";
/// Turns used by a task.
pub const TURNS: &str = "posse.task.turns";
/// Tool calls made by a task.
pub const TOOL_CALLS: &str = "posse.task.tool_calls";
/// The turn of a model call.
pub const TURN: &str = "posse.turn";
/// Attempts at a model call, including retries.
pub const ATTEMPTS: &str = "posse.attempts";
/// Set if a tool call may or may not have taken effect.
pub const IN_DOUBT: &str = "posse.tool.in_doubt";
/// The size of a tool's result in bytes.
pub const RESULT_BYTES: &str = "posse.tool.result_bytes";

/// Returns the conventions' name for one of our providers.
pub fn provider(ours: &str) -> &str {
    match ours {
        "openai-responses" => "openai",
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        other => other,
    }
}
