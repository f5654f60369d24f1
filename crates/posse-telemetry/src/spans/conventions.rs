//! The names of the gen_ai semantic conventions that we use. They are still called experimental; here is the one place
//! to change them.

pub const OPERATION: &str = "gen_ai.operation.name";
pub const PROVIDER: &str = "gen_ai.provider.name";
pub const CONVERSATION: &str = "gen_ai.conversation.id";
pub const AGENT_NAME: &str = "gen_ai.agent.name";
pub const AGENT_ID: &str = "gen_ai.agent.id";
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
pub const TOOL_NAME: &str = "gen_ai.tool.name";
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub const ERROR_TYPE: &str = "error.type";

pub const INVOKE_AGENT: &str = "invoke_agent";
pub const CHAT: &str = "chat";
pub const EXECUTE_TOOL: &str = "execute_tool";
pub const FUNCTION: &str = "function";

// What the conventions have no name for.
pub const TASK_ID: &str = "posse.task.id";
pub const STATUS: &str = "posse.task.status";
pub const STOP_REASON: &str = "posse.task.stop_reason";
pub const TURNS: &str = "posse.task.turns";
pub const TOOL_CALLS: &str = "posse.task.tool_calls";
pub const TURN: &str = "posse.turn";
pub const ATTEMPTS: &str = "posse.attempts";
pub const IN_DOUBT: &str = "posse.tool.in_doubt";
pub const RESULT_BYTES: &str = "posse.tool.result_bytes";

/// A provider of ours by the name the conventions have for it.
pub fn provider(ours: &str) -> &str {
    match ours {
        "openai-responses" => "openai",
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        other => other,
    }
}
