//! Every example runs to its end, without a key.

#[path = "../../examples/approvals.rs"]
mod approvals;
#[path = "../../examples/budget.rs"]
mod budget;
#[path = "../../examples/durable_resume.rs"]
mod durable_resume;
#[path = "../../examples/hello.rs"]
mod hello;
#[path = "../../examples/mcp_tools.rs"]
mod mcp_tools;
#[path = "../../examples/session.rs"]
mod session;
#[path = "../../examples/streaming.rs"]
mod streaming;
#[path = "../../examples/subagents.rs"]
mod subagents;
#[path = "../../examples/tool.rs"]
mod tool;
#[path = "../../examples/typed_output.rs"]
mod typed_output;

#[test]
fn an_example_with_approvals_runs() {
    approvals::main().unwrap();
}

#[test]
fn an_example_with_a_budget_runs() {
    budget::main().unwrap();
}

#[test]
fn an_example_that_survives_its_process_runs() {
    durable_resume::main().unwrap();
}

#[test]
fn the_first_example_runs() {
    hello::main().unwrap();
}

#[test]
fn an_example_with_an_mcp_server_runs() {
    mcp_tools::main().unwrap();
}

#[test]
fn an_example_with_a_session_runs() {
    session::main().unwrap();
}

#[test]
fn an_example_that_streams_runs() {
    streaming::main().unwrap();
}

#[test]
fn an_example_with_two_subagents_runs() {
    subagents::main().unwrap();
}

#[test]
fn an_example_with_a_tool_runs() {
    tool::main().unwrap();
}

#[test]
fn an_example_with_typed_output_runs() {
    typed_output::main().unwrap();
}
