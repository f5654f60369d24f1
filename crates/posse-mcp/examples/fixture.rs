//! A server with the tools, prompts and resources that the protocol's conformance suite expects by name. The
//! layer of `posse mcp` serves it, so that the suite tests that layer. `fixture [ADDRESS]` prints where it
//! listens.

#![expect(deprecated, reason = "the suite still tests logging, sampling and subscriptions")]

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_mcp::server::http::{self, RequestGuard};
use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// One red pixel, and an empty sound.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
const TASKS: [&str; 6] = [
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
];
const EXTENSION: &str = "io.modelcontextprotocol/tasks";

type Answer<T> = Result<T, ErrorData>;

#[derive(Clone)]
struct Fixture(Arc<Inside>);

struct Inside {
    jobs: Mutex<HashMap<String, Job>>,
    tools_changed: watch::Sender<u32>,
    prompts_changed: watch::Sender<u32>,
    /// Key for sealing the request state, so that clients cannot forge it.
    salt: u64,
}

/// A task of the extension.
#[derive(Clone)]
struct Job {
    made: u64,
    payload: TaskPayload,
    /// Open questions, and the answers so far.
    open: BTreeMap<String, Value>,
    told: BTreeMap<String, Value>,
    cancel: CancellationToken,
}

impl Fixture {
    fn new() -> Self {
        let salt = now_ms() ^ u64::from(std::process::id()) << 32;
        let (tools_changed, prompts_changed) = (watch::Sender::new(0), watch::Sender::new(0));
        Self(Arc::new(Inside { jobs: Mutex::default(), tools_changed, prompts_changed, salt }))
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<String, Job>> {
        self.0.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seals state that a client carries, so that a change is detected.
    fn seal(&self, text: &str) -> String {
        format!("{text}.{:016x}", self.hash(text))
    }

    fn unseal<'a>(&self, state: &'a str) -> Answer<&'a str> {
        let (text, hash) = state.rsplit_once('.').unwrap_or((state, ""));
        match hash == format!("{:016x}", self.hash(text)) {
            true => Ok(text),
            false => Err(ErrorData::invalid_params("the request state was changed", None)),
        }
    }

    fn hash(&self, text: &str) -> u64 {
        text.bytes()
            .fold(self.0.salt, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    }

    fn begin(&self, tool: &str, arguments: &JsonObject, told: BTreeMap<String, Value>) -> CreateTaskResult {
        let made = now_ms();
        let id = format!("job-{made}-{}", self.jobs().len());
        let cancel = CancellationToken::new();
        let open = match tool {
            "confirm_delete" => {
                BTreeMap::from([("confirm".to_owned(), ask("Delete it?", "confirm", "boolean"))])
            }
            "multi_input" => BTreeMap::from([
                ("first".to_owned(), ask("The first?", "value", "string")),
                ("second".to_owned(), ask("The second?", "value", "string")),
            ]),
            _ => BTreeMap::new(),
        };
        let job = Job { made, payload: TaskPayload::Working, open, told, cancel };
        self.jobs().insert(id.clone(), job.clone());
        let (this, tool, task) = (self.clone(), tool.to_owned(), id.clone());
        let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
        tokio::spawn(async move { this.work(&task, &tool, seconds, job).await });
        CreateTaskResult::new(self.task(&id, made))
    }

    fn task(&self, id: &str, made: u64) -> Task {
        let at = posse_core::context::wire::utc(made);
        Task::new(id, TaskStatus::Working, at.clone(), at).with_ttl_ms(600_000).with_poll_interval_ms(100)
    }

    async fn work(&self, id: &str, tool: &str, seconds: f64, job: Job) {
        let wait = if tool == "slow_compute" {
            Duration::from_secs_f64(seconds)
        } else {
            Duration::from_millis(300)
        };
        let settled = match tool {
            "slow_compute" | "failing_job" | "protocol_error_job" | "test_tool_with_task" => tokio::select! {
                () = tokio::time::sleep(wait) => true,
                () = job.cancel.cancelled() => false,
            },
            // The task completes once every question has an answer.
            _ => return,
        };
        let name = job.told.get("user_name").map(|told| told["content"]["name"].clone()).unwrap_or_default();
        let payload = match (settled, tool) {
            (false, _) => TaskPayload::Cancelled,
            (true, "failing_job") => completed(&text_result("it failed on purpose", true)),
            (true, "protocol_error_job") => TaskPayload::Failed {
                error: object(json!({ "code": -32603, "message": "it broke on purpose" })),
            },
            (true, "test_tool_with_task") => {
                completed(&text_result(&format!("Hello, {}!", name.as_str().unwrap_or("nobody")), false))
            }
            (true, _) => completed(&text_result("computed", false)),
        };
        if let Some(job) = self.jobs().get_mut(id) {
            job.payload = payload;
        }
    }

    async fn call(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        let arguments = request.arguments.clone().unwrap_or_default();
        let argument =
            |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = request.name.as_ref();
        let resource = |uri: &str, mime: &str, text: &str| json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "text": text } });
        let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
        let content = match name {
            "test_simple_text" => {
                json!([{ "type": "text", "text": "This is a simple text response for testing." }])
            }
            "test_image_content" => json!([image]),
            "test_audio_content" => json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }]),
            "test_embedded_resource" => {
                json!([resource(
                    "test://embedded-resource",
                    "text/plain",
                    "This is an embedded resource content."
                )])
            }
            "test_multiple_content_types" => json!([
                { "type": "text", "text": "Multiple content types test:" },
                image,
                resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#)
            ]),
            "test_error_handling" => {
                return Ok(text_result("This tool intentionally returns an error for testing", true).into());
            }
            "greet" => return Ok(text_result(&format!("Hello, {}!", argument("name")), false).into()),
            "test_tool_with_logging" => return log_thrice(context).await,
            "test_tool_with_progress" => return progress(context).await,
            "test_sampling" => return sample(context, &argument("prompt")).await,
            "test_missing_capability" => return needs_sampling(context),
            "test_trigger_tool_change" => {
                self.0.tools_changed.send_modify(|count| *count += 1);
                return Ok(text_result("changed", false).into());
            }
            "test_trigger_prompt_change" => {
                self.0.prompts_changed.send_modify(|count| *count += 1);
                return Ok(text_result("changed", false).into());
            }
            "test_elicitation" | "test_elicitation_sep1034_defaults" | "test_elicitation_sep1330_enums" => {
                return elicit(context, name, &argument("message")).await;
            }
            _ if name.starts_with("test_input_required_result_") || name == "test_streaming_elicitation" => {
                return self.input_required(name, request, context);
            }
            "test_reconnection"
            | "test_logging_tool"
            | "test_custom_headers"
            | "json_schema_2020_12_tool" => {
                json!([{ "type": "text", "text": "done" }])
            }
            _ => return Err(ErrorData::invalid_params(format!("no tool is called `{name}`"), None)),
        };
        let result =
            serde_json::from_value::<CallToolResult>(json!({ "content": content, "isError": false }));
        let mut result = result.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        result.result_type = Some(ResultType::COMPLETE);
        Ok(result.into())
    }

    /// Runs rounds of questions whose state the client carries (SEP-2322).
    fn input_required(
        &self,
        name: &str,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        let told = serde_json::to_value(&request.input_responses).unwrap_or_default();
        let state = request.request_state.as_deref().map(|state| self.unseal(state)).transpose()?;
        let can = context.client_capabilities().unwrap_or_default();
        let sampling = |text: &str| {
            let messages = json!([{ "role": "user", "content": { "type": "text", "text": text } }]);
            json!({ "method": "sampling/createMessage", "params": { "messages": messages, "maxTokens": 100 } })
        };
        let roots = json!({ "method": "roots/list", "params": {} });
        let user_name = ask("What is your name?", "name", "string");
        let (mut wanted, mut next) = (json!({}), None);
        match name.trim_start_matches("test_input_required_result_") {
            "sampling" => wanted["capital_question"] = sampling("What is the capital of France?"),
            "list_roots" => wanted["client_roots"] = roots,
            "request_state" | "tampered_state" => {
                wanted["confirm"] = ask("Please confirm", "ok", "boolean");
                next = Some("confirm");
            }
            "multiple_inputs" => {
                wanted = json!({ "user_name": user_name, "greeting": sampling("Generate a greeting"), "client_roots": roots });
                next = Some("many");
            }
            "multi_round" if state == Some("step1") => {
                wanted["step2"] = ask("Step 2: What is your favorite color?", "color", "string");
                next = Some("step2");
            }
            "multi_round" if state == Some("step2") => {
                wanted["step2"] = ask("Step 2: What is your favorite color?", "color", "string");
            }
            "multi_round" => {
                wanted["step1"] = ask("Step 1: What is your name?", "name", "string");
                next = Some("step1");
            }
            "capabilities" => {
                if can.elicitation.is_some() {
                    wanted["user_name"] = user_name;
                }
                if can.sampling.is_some() {
                    wanted["greeting"] = sampling("Generate a greeting");
                }
            }
            _ => wanted["user_name"] = user_name,
        }
        let has_all = wanted.as_object().is_some_and(|all| all.keys().all(|key| answered(&told[key])));
        let again = next == Some("step2") && told.get("step2").is_none();
        if has_all && !again && !(next == Some("step1") && told.get("step1").is_none()) {
            let shown = told["user_name"]["content"]["name"].as_str().unwrap_or_default();
            let text = format!("Hello, {shown}! state-ok {told}");
            return Ok(text_result(&text, false).into());
        }
        if name.ends_with("multi_round") && next == Some("step1") && answered(&told["step1"]) {
            return self.ask_again(
                json!({ "step2": ask("Step 2: What is your favorite color?", "color", "string") }),
                Some("step2"),
            );
        }
        self.ask_again(wanted, next)
    }

    fn ask_again(&self, wanted: Value, state: Option<&str>) -> Answer<CallToolResponse> {
        let mut result = json!({ "resultType": "input_required", "inputRequests": wanted });
        if let Some(state) = state {
            result["requestState"] = json!(self.seal(state));
        }
        let result = serde_json::from_value::<InputRequiredResult>(result);
        result
            .map(CallToolResponse::InputRequired)
            .map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_extensions_with([(EXTENSION.to_owned(), JsonObject::new())].into_iter().collect())
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("posse-mcp-fixture", "1"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListToolsResult> {
        Ok(ListToolsResult::with_all_items(tools()).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        if !TASKS.contains(&request.name.as_ref()) {
            return self.call(&request, &context).await;
        }
        if !context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks()) {
            if request.name == "slow_compute" {
                return Ok(text_result("computed", false).into());
            }
            let required = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(required));
        }
        let told = serde_json::to_value(&request.input_responses).unwrap_or_default();
        if request.name == "test_tool_with_task" && !answered(&told["user_name"]) {
            return self.ask_again(json!({ "user_name": ask("What is your name?", "name", "string") }), None);
        }
        let told = [("user_name".to_owned(), told["user_name"].clone())].into_iter().collect();
        let arguments = request.arguments.unwrap_or_default();
        Ok(CallToolResponse::Task(self.begin(&request.name, &arguments, told)))
    }

    async fn get_task(&self, request: GetTaskParams, _: RequestContext<RoleServer>) -> Answer<GetTaskResult> {
        let jobs = self.jobs();
        let job = jobs.get(&request.task_id).ok_or_else(no_task)?;
        let payload = match job.open.is_empty() || !matches!(job.payload, TaskPayload::Working) {
            true => job.payload.clone(),
            false => TaskPayload::InputRequired {
                input_requests: serde_json::from_value(json!(job.open))
                    .map_err(|e| ErrorData::internal_error(e.to_string(), None))?,
            },
        };
        Ok(GetTaskResult::new(DetailedTask::new(self.task(&request.task_id, job.made), payload)))
    }

    async fn update_task(&self, request: UpdateTaskParams, _: RequestContext<RoleServer>) -> Answer<()> {
        let told = serde_json::to_value(&request.input_responses).unwrap_or_default();
        let mut jobs = self.jobs();
        let job = jobs.get_mut(&request.task_id).ok_or_else(no_task)?;
        for (key, answer) in told.as_object().cloned().unwrap_or_default() {
            if job.open.remove(&key).is_some() {
                job.told.insert(key, answer);
            }
        }
        if job.open.is_empty() && matches!(job.payload, TaskPayload::Working) && !job.told.is_empty() {
            job.payload = completed(&text_result(&format!("told {}", json!(job.told)), false));
        }
        Ok(())
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: RequestContext<RoleServer>) -> Answer<()> {
        let mut jobs = self.jobs();
        let job = jobs.get_mut(&request.task_id).ok_or_else(no_task)?;
        job.cancel.cancel();
        if matches!(job.payload, TaskPayload::Working) {
            job.payload = TaskPayload::Cancelled;
        }
        Ok(())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListResourcesResult> {
        let one = |uri: &str, mime: &str| {
            Resource::new(uri, uri).with_description("for tests").with_mime_type(mime)
        };
        let all = vec![
            one("test://static-text", "text/plain"),
            one("test://static-binary", "image/png"),
            one("test://watched-resource", "text/plain"),
        ];
        Ok(ListResourcesResult::with_all_items(all).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListResourceTemplatesResult> {
        let one = ResourceTemplate::new("test://template/{id}/data", "template")
            .with_description("for tests")
            .with_mime_type("application/json");
        Ok(ListResourceTemplatesResult::with_all_items(vec![one])
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<ReadResourceResponse> {
        let uri = request.uri.as_str();
        let contents = match uri {
            "test://static-text" => {
                ResourceContents::text("This is the content of the static text resource.", uri)
            }
            "test://watched-resource" => ResourceContents::text("watched", uri),
            "test://static-binary" => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
            _ => {
                let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
                let Some(id) = id else {
                    return Err(ErrorData::resource_not_found(
                        "Resource not found",
                        Some(json!({ "uri": uri })),
                    ));
                };
                let text = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                ResourceContents::text(text.to_string(), uri).with_mime_type("application/json")
            }
        };
        Ok(ReadResourceResult::new(vec![contents])
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private)
            .into())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Answer<()> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Answer<()> {
        Ok(())
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Answer<()> {
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<CompleteResult> {
        let all =
            ["paris", "park", "party"].into_iter().filter(|word| word.starts_with(&request.argument.value));
        let found = CompletionInfo::new(all.map(str::to_owned).collect()).unwrap_or_default();
        Ok(CompleteResult::new(found))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListPromptsResult> {
        let prompt = |name: &str, arguments: &[&str]| {
            let argument =
                |name: &&str| PromptArgument::new(*name).with_description("for tests").with_required(true);
            Prompt::new(name, Some("for tests"), Some(arguments.iter().map(argument).collect()))
        };
        let all = vec![
            prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            prompt("test_prompt_with_image", &[]),
            prompt("test_input_required_result_prompt", &[]),
        ];
        Ok(ListPromptsResult::with_all_items(all).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<GetPromptResponse> {
        let arguments = request.arguments.unwrap_or_default();
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let text = |text: &str| json!({ "type": "text", "text": text });
        let told = serde_json::to_value(&request.input_responses).unwrap_or_default();
        let contents = match request.name.as_str() {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => {
                let (one, two) = (argument("arg1"), argument("arg2"));
                vec![text(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
            }
            "test_prompt_with_embedded_resource" => {
                let embedded = "Embedded resource content for testing.";
                let resource =
                    json!({ "uri": argument("resourceUri"), "mimeType": "text/plain", "text": embedded });
                vec![
                    json!({ "type": "resource", "resource": resource }),
                    text("Please process the embedded resource above."),
                ]
            }
            "test_prompt_with_image" => {
                let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
                vec![image, text("Please analyze the image above.")]
            }
            "test_input_required_result_prompt" if answered(&told["user_context"]) => {
                vec![text(&format!("Context: {}", told["user_context"]["content"]["context"]))]
            }
            "test_input_required_result_prompt" => {
                let wanted = json!({ "user_context": ask("What context should the prompt use?", "context", "string") });
                return match self.ask_again(wanted, None)? {
                    CallToolResponse::InputRequired(result) => Ok(GetPromptResponse::InputRequired(result)),
                    _ => Err(ErrorData::internal_error("no question", None)),
                };
            }
            other => return Err(ErrorData::invalid_params(format!("no prompt is called `{other}`"), None)),
        };
        let messages: Vec<Value> =
            contents.into_iter().map(|content| json!({ "role": "user", "content": content })).collect();
        let result = serde_json::from_value::<GetPromptResult>(
            json!({ "resultType": "complete", "messages": messages }),
        );
        result.map(Into::into).map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Answer<()> {
        let (mut tools, mut prompts) = (self.0.tools_changed.subscribe(), self.0.prompts_changed.subscribe());
        let accepted = subscription.accepted().clone();
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                _ = tools.changed() => {
                    if accepted.tools_list_changed == Some(true) {
                        let _ = subscription.sink().notify_tool_list_changed().await;
                    }
                }
                _ = prompts.changed() => {
                    if accepted.prompts_list_changed == Some(true) {
                        let _ = subscription.sink().notify_prompt_list_changed().await;
                    }
                }
            }
        }
    }
}

fn tools() -> Vec<Tool> {
    let plain = || json!({ "type": "object", "properties": {} });
    let with = |name: &str, kind: &str| json!({ "type": "object", "properties": { name: { "type": kind } } });
    let schema_2020 = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "$defs": { "address": { "$anchor": "addressDef", "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } } } },
        "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" }, "email": { "type": "string" } },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] }, "else": { "required": ["email"] }, "additionalProperties": false
    });
    let headers = json!({ "type": "object", "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" }, "query": { "type": "string" } } });
    let special = [
        ("json_schema_2020_12_tool", schema_2020),
        ("test_custom_headers", headers),
        ("test_sampling", with("prompt", "string")),
        ("test_elicitation", with("message", "string")),
        ("greet", with("name", "string")),
        ("slow_compute", with("seconds", "number")),
    ];
    let usual = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_tool_with_progress",
        "test_error_handling",
        "test_reconnection",
        "test_logging_tool",
        "test_missing_capability",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
        "test_streaming_elicitation",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
        "failing_job",
        "protocol_error_job",
        "confirm_delete",
        "multi_input",
        "test_tool_with_task",
    ];
    let all = special.into_iter().chain(usual.into_iter().map(|name| (name, plain())));
    all.map(|(name, schema)| Tool::new(name, "for tests", object(schema))).collect()
}

fn ask(message: &str, key: &str, kind: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { key: { "type": kind } }, "required": [key] });
    json!({ "method": "elicitation/create", "params": { "mode": "form", "message": message, "requestedSchema": schema } })
}

/// Returns whether the value answers a question of any kind.
fn answered(told: &Value) -> bool {
    let accepted = told["action"] == "accept" && told["content"].is_object();
    accepted || told["role"].is_string() || told["roots"].is_array()
}

fn text_result(text: &str, is_error: bool) -> CallToolResult {
    let content = vec![ContentBlock::text(text)];
    if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

fn completed(result: &CallToolResult) -> TaskPayload {
    TaskPayload::Completed { result: object(serde_json::to_value(result).unwrap_or_default()) }
}

fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap_or_default()
}

fn no_task() -> ErrorData {
    ErrorData::invalid_params("there is no such task", None)
}

fn failed(e: rmcp::ServiceError) -> ErrorData {
    ErrorData::internal_error(e.to_string(), None)
}

async fn log_thrice(context: &RequestContext<RoleServer>) -> Answer<CallToolResponse> {
    for said in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(said));
        context.peer.notify_logging_message(message).await.map_err(failed)?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(text_result("logged", false).into())
}

async fn progress(context: &RequestContext<RoleServer>) -> Answer<CallToolResponse> {
    for percent in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, percent).with_total(100.0);
            context.peer.notify_progress(progress).await.map_err(failed)?;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(text_result("done", false).into())
}

async fn sample(context: &RequestContext<RoleServer>, prompt: &str) -> Answer<CallToolResponse> {
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": prompt } }]);
    let params = serde_json::from_value::<CreateMessageRequestParams>(
        json!({ "messages": messages, "maxTokens": 100 }),
    );
    let params = params.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
    let reply =
        serde_json::to_value(context.peer.create_message(params).await.map_err(failed)?).unwrap_or_default();
    let text = reply["content"]["text"].as_str().or(reply["content"][0]["text"].as_str()).unwrap_or_default();
    Ok(text_result(&format!("LLM response: {text}"), false).into())
}

fn needs_sampling(context: &RequestContext<RoleServer>) -> Answer<CallToolResponse> {
    match context.client_capabilities().and_then(|capabilities| capabilities.sampling) {
        Some(_) => Ok(text_result("sampled", false).into()),
        None => {
            let required = ClientCapabilities::builder().enable_sampling().build();
            Err(ErrorData::missing_required_client_capability(required))
        }
    }
}

async fn elicit(context: &RequestContext<RoleServer>, tool: &str, message: &str) -> Answer<CallToolResponse> {
    let options = |kind: &str, list: &[(&str, &str)]| -> Value {
        let each: Vec<Value> =
            list.iter().map(|(value, title)| json!({ "const": value, "title": title })).collect();
        json!({ kind: each })
    };
    let titled = [("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")];
    let (message, schema) = match tool {
        "test_elicitation_sep1034_defaults" => (
            "Please review",
            json!({ "type": "object", "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true } }, "required": [] }),
        ),
        "test_elicitation_sep1330_enums" => {
            let words = ["option1", "option2", "option3"];
            let mut single = options("oneOf", &titled);
            single["type"] = json!("string");
            (
                "Please choose",
                json!({ "type": "object", "properties": {
                "untitledSingle": { "type": "string", "enum": words },
                "titledSingle": single,
                "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"] },
                "untitledMulti": { "type": "array", "items": { "type": "string", "enum": words } },
                "titledMulti": { "type": "array", "items": options("anyOf", &titled) } }, "required": [] }),
            )
        }
        _ => (
            message,
            json!({ "type": "object", "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" } }, "required": ["username", "email"] }),
        ),
    };
    let request = serde_json::from_value::<ElicitRequestParams>(
        json!({ "mode": "form", "message": message, "requestedSchema": schema }),
    );
    let request = request.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
    let answer = context.peer.create_elicitation(request).await.map_err(failed)?;
    let action = serde_json::to_value(&answer.action).unwrap_or_default();
    let action = action.as_str().unwrap_or_default();
    let content = answer.content.unwrap_or_default();
    let text = match tool {
        "test_elicitation" => format!("User response: <action: {action}, content: {content}>"),
        _ => format!("Elicitation completed: action={action}, content={content}"),
    };
    Ok(text_result(&text, false).into())
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(0)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> posse_core::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = http::listen(address.parse().expect("an address such as 127.0.0.1:0")).await?;
    let address = listener.local_addr().expect("it listens");
    eprintln!("listening on http://{address}{}", http::PATH);
    let fixture = Fixture::new();
    let guard = RequestGuard::of_this_machine(None);
    http::serve(listener, move || fixture.clone(), guard, CancellationToken::new()).await;
    Ok(())
}
