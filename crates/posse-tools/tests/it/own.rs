//! The user's own tools: loading them and calling them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use posse_core::ErrorCode;
use posse_core::edits::{ChangeKind, FileChange};
use posse_core::tool::ToolEffect;
use posse_runtime::ports::{Tool, ToolOutput};
use posse_sandbox::launch::CommandEnvironment;
use posse_tools::own::{OwnTool, load};

use crate::world::World;

fn put(dir: &Path, tool: &str, manifest: &str, script: &str) {
    let dir = dir.join(tool);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("tool.json"), manifest).unwrap();
    std::fs::write(dir.join("run.sh"), script).unwrap();
    std::fs::set_permissions(dir.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn manifest(name: &str) -> String {
    format!(
        r#"{{"name": "{name}", "description": "Greets.", "input_schema": {{"type": "object"}}, "command": ["./run.sh", "a b"]}}"#
    )
}

fn one(world: &World, manifest: &str, script: &str) -> OwnTool {
    let tools = world.path().join("tools");
    put(&tools, "it", manifest, script);
    let (mut tools, errors) = load(&[tools]);
    assert!(errors.is_empty(), "{errors:?}");
    tools.remove(0)
}

#[tokio::test]
async fn a_tool_gets_its_arguments_and_answers_on_standard_output() {
    let world = World::new("own");
    let script =
        "#!/bin/sh\necho \"$1|$POSSE_TOOL|$POSSE_IDEMPOTENCY_KEY|$(cat)\"; touch here; echo noise >&2\n";
    let tool = one(&world, &manifest("greet"), script);
    assert_eq!((tool.spec.name.as_str(), tool.spec.effect), ("greet", ToolEffect::Unsafe));
    assert_eq!(tool.spec.input_schema, r#"{"type": "object"}"#);
    let tool = tool.bind(world.launch.clone()).unwrap();
    let output = world.call(&tool, r#"{"who":"Ada €"}"#).await;
    let text = "a b|greet|key-7|{\"who\":\"Ada €\"}\n[6 bytes on standard error are not shown]";
    let changed = vec![FileChange { kind: ChangeKind::Created, ..FileChange::named("here") }];
    assert_eq!(output, ToolOutput { changed, ..ToolOutput::text(text) });
    assert!(world.path().join("here").exists(), "it runs in the workspace");
    assert_eq!(tool.spec().name, "greet");
}

#[tokio::test]
async fn arguments_larger_than_a_pipe_arrive_whole_also_if_nobody_reads_them() {
    let world = World::new("own-large");
    let tool = one(&world, &manifest("count"), "#!/bin/sh\nwc -c\n").bind(world.launch.clone()).unwrap();
    let arguments = format!(r#"{{"x":"{}"}}"#, "y".repeat(1_000_000));
    assert_eq!(world.call(&tool, &arguments).await, ToolOutput::text("1000008"));
    let tool = one(&world, &manifest("deaf"), "#!/bin/sh\necho deaf\n").bind(world.launch.clone()).unwrap();
    assert_eq!(world.call(&tool, &arguments).await, ToolOutput::text("deaf"));
}

#[tokio::test]
async fn a_tool_that_fails_says_why() {
    let world = World::new("own-fails");
    let script = "#!/bin/sh\necho half; echo 'no such issue' >&2; exit 4\n";
    let tool = one(&world, &manifest("issue"), script).bind(world.launch.clone()).unwrap();
    let text = "exit code 4\nhalf\nstandard error:\nno such issue";
    assert_eq!(world.call(&tool, "{}").await, ToolOutput::error(text));
    let tool =
        one(&world, &manifest("broken"), "#!/no/such/interpreter\n").bind(world.launch.clone()).unwrap();
    let output = world.call(&tool, "{}").await;
    let text = "the tool could not be started: No such file or directory (os error 2)\n(no output)";
    assert_eq!(output, ToolOutput::error(text));
}

#[tokio::test]
async fn a_tool_gets_the_variables_it_names_but_never_a_withheld_one() {
    let mut world = World::new("own-env");
    let variables = [("TRACKER", "t-1"), ("OTHER", "o-1"), ("MODEL_KEY", "k-1"), ("PATH", "/usr/bin:/bin")];
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    world.launch.environment = CommandEnvironment::new(variables, vec![], vec!["MODEL_KEY".into()]);
    let with_env =
        |names: &str| manifest("vars").replace(r#""command""#, &format!(r#""env": [{names}], "command""#));
    let script = "#!/bin/sh\necho \"$TRACKER,$OTHER,$MODEL_KEY\"\n";
    let tool = one(&world, &with_env(r#""TRACKER""#), script).bind(world.launch.clone()).unwrap();
    assert_eq!(world.call(&tool, "{}").await, ToolOutput::text("t-1,,"));
    let Err(error) = one(&world, &with_env(r#""MODEL_KEY""#), script).bind(world.launch.clone()) else {
        panic!("a withheld variable was passed")
    };
    assert!(error.message().ends_with("`env`: `MODEL_KEY` holds a key that no tool is given"), "{error}");
}

#[test]
fn the_earlier_directory_wins_and_the_loser_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("a"), dir.path().join("b"));
    put(&first, "one", &manifest("greet"), "");
    put(&second, "two", &manifest("greet"), "");
    put(&second, "three", &manifest("leave"), "");
    let (tools, errors) = load(&[first.clone(), second.clone(), dir.path().join("absent")]);
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec.name.as_str()).collect();
    assert_eq!(names, ["greet", "leave"]);
    assert_eq!(tools[0].manifest, first.join("one/tool.json"));
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected = format!(
        "DUPLICATE_TOOL: {}: the tool `greet` is defined by {} already",
        second.join("two/tool.json").display(),
        first.join("one/tool.json").display()
    );
    assert_eq!(errors, [expected]);
}

/// A good manifest over five lines, in which one line is replaced.
fn with_line(line: usize, text: &str) -> String {
    let mut lines = [
        "{",
        r#"  "name": "greet","#,
        r#"  "description": "Greets.","#,
        r#"  "input_schema": {"type": "object"},"#,
        r#"  "command": ["./run.sh"]"#,
        "}",
    ];
    lines[line - 1] = text;
    lines.join("\n")
}

#[test]
fn a_bad_manifest_is_refused_with_its_place_and_key() {
    use ErrorCode::{DuplicateTool, ToolInvalid};
    let dir = tempfile::tempdir().unwrap();
    for (line, text, code, expected) in [
        (
            2,
            r#"  "name": "Greet","#,
            ToolInvalid,
            "2:3: `name`: `Greet` is not 1 to 64 characters of a-z, 0-9 and `_`",
        ),
        (2, r#"  "name": "bash","#, DuplicateTool, "2:3: `name`: `bash` is a built-in tool"),
        (
            2,
            r#"  "name": "shell","#,
            DuplicateTool,
            "2:3: `name`: `shell` is another name of the built-in `bash`",
        ),
        (
            2,
            r#"  "name": "search","#,
            DuplicateTool,
            "2:3: `name`: `search` is another name of the built-in `grep`, `glob`",
        ),
        (2, r#"  "name": 7,"#, ToolInvalid, "2:11: `name`: invalid type: integer `7`, expected a string"),
        (2, r#"  "name": "x", "name": "y","#, ToolInvalid, "2:21: duplicate field `name`"),
        (2, "", ToolInvalid, "6:1: missing field `name`"),
        (
            3,
            r#"  "description": " ","#,
            ToolInvalid,
            "3:3: `description`: must say what the tool does: the model sees nothing else",
        ),
        (3, r#"  "description": "x" "#, ToolInvalid, "4:3: expected `,` or `}`"),
        (4, r#"  "input_schema": [],"#, ToolInvalid, "4:3: `input_schema`: must be a JSON Schema object"),
        (
            4,
            r#"  "input_schema": {"type": "string"},"#,
            ToolInvalid,
            "4:3: `input_schema`: must have `\"type\": \"object\"`: arguments are always an object",
        ),
        (
            4,
            r#"  "input_schema": {"type": "object", "required": "x"},"#,
            ToolInvalid,
            "4:3: `input_schema`: `required` must be a list of names",
        ),
        (
            5,
            r#"  "command": []"#,
            ToolInvalid,
            "5:3: `command`: must name a program, for example [\"./run.sh\"]",
        ),
        (
            5,
            r#"  "command": ["./gone.sh"]"#,
            ToolInvalid,
            "5:3: `command`: `./gone.sh`: No such file or directory (os error 2)",
        ),
        (
            5,
            r#"  "command": ["./tool.json"]"#,
            ToolInvalid,
            "5:3: `command`: `./tool.json` is not an executable file; `chmod +x` makes it one",
        ),
        (
            5,
            r#"  "command": ["./run.sh"], "timeout_ms": 0"#,
            ToolInvalid,
            "5:28: `timeout_ms`: must be between 1 and 600000",
        ),
        (
            5,
            r#"  "command": ["./run.sh"], "env": ["A=b"]"#,
            ToolInvalid,
            "5:28: `env`: `A=b` is not the name of a variable; list names, not values",
        ),
        (
            5,
            r#"  "command": ["./run.sh"], "effect": "safe""#,
            ToolInvalid,
            "5:43: `effect`: unknown variant `safe`, expected one of `pure`, `idempotent`, `unsafe`",
        ),
        (
            5,
            r#"  "command": ["./run.sh"], "timeout": 5"#,
            ToolInvalid,
            "5:36: unknown field `timeout`, expected one of `name`, `description`, `input_schema`, `effect`, `command`, `timeout_ms`, `env`",
        ),
    ] {
        put(dir.path(), "it", &with_line(line, text), "");
        let (tools, errors) = load(&[dir.path().to_owned()]);
        assert!(tools.is_empty(), "{text}");
        let place = format!("{}:{expected}", dir.path().join("it/tool.json").display());
        let found: Vec<(ErrorCode, &str)> =
            errors.iter().map(|error| (error.code(), error.message().as_str())).collect();
        assert_eq!(found, [(code, place.as_str())]);
    }
}

#[test]
fn a_missing_or_huge_manifest_is_an_error_and_the_other_tools_are_loaded() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    put(dir.path(), "huge", &" ".repeat(65_537), "");
    put(dir.path(), "good", &manifest("good"), "");
    let (tools, errors) = load(&[dir.path().to_owned()]);
    assert_eq!(tools.len(), 1);
    let codes: Vec<ErrorCode> = errors.iter().map(|error| error.code()).collect();
    assert_eq!(codes, [ErrorCode::ConfigUnreadable, ErrorCode::ToolInvalid]);
}

// S10 Seen to fail without `of_project`.
#[tokio::test]
async fn a_project_does_not_say_what_its_tools_are_and_get() {
    let mut world = World::new("own-project");
    let variables = [("TRACKER", "t-1"), ("OTHER", "o-1"), ("PATH", "/usr/bin:/bin")];
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    world.launch.environment = CommandEnvironment::new(variables, vec!["TRACKER".into()], vec![]);
    let of = |env: &str| {
        manifest("vars").replace(r#""command""#, &format!(r#""effect": "pure", "env": [{env}], "command""#))
    };
    let script = "#!/bin/sh\necho \"$TRACKER,$OTHER\"\n";
    let tool = one(&world, &of(r#""TRACKER""#), script);
    assert_eq!(tool.spec.effect, ToolEffect::Pure, "the user's own word counts");
    let tool = tool.of_project(world.path()).unwrap();
    assert_eq!(tool.spec.effect, ToolEffect::Unsafe);
    let bound = tool.bind(world.launch.clone()).unwrap();
    assert_eq!(
        world.call(&bound, "{}").await,
        ToolOutput::text("t-1,"),
        "the operator passes it on to every command"
    );
    let greedy = one(&world, &of(r#""TRACKER", "OTHER""#), script).of_project(world.path()).unwrap();
    let Err(error) = greedy.bind(world.launch.clone()) else { panic!("it chose its variables") };
    assert!(error.message().ends_with("`env`: `OTHER` is not passed on to a tool of a project"), "{error}");
}

// S10 Seen to fail without the look at where the program is.
#[test]
fn a_tool_of_a_project_is_a_program_of_the_project() {
    let (world, outside) = (World::new("own-link"), tempfile::tempdir().unwrap());
    put(outside.path(), "elsewhere", "{}", "#!/bin/sh\n");
    let tool = one(&world, &manifest("linked"), "");
    let program = world.path().join("tools/it/run.sh");
    std::fs::remove_file(&program).unwrap();
    std::os::unix::fs::symlink(outside.path().join("elsewhere/run.sh"), &program).unwrap();
    assert!(tool.of_project(world.path()).is_ok(), "it was read before");
    let (tools, errors) = load(&[world.path().join("tools")]);
    assert!(errors.is_empty(), "{errors:?}");
    let error = tools.into_iter().next().unwrap().of_project(world.path()).unwrap_err();
    assert!(
        error.code() == ErrorCode::ToolInvalid && error.message().contains("is not in the project"),
        "{error}"
    );
}

#[test]
fn a_tool_is_known_by_its_manifest_and_its_program() {
    let world = World::new("own-digest");
    let digest = |manifest: &str, script: &str| one(&world, manifest, script).digest().unwrap();
    let first = digest(&manifest("greet"), "#!/bin/sh\n");
    assert_eq!(digest(&manifest("greet"), "#!/bin/sh\n"), first);
    assert_ne!(digest(&manifest("greet"), "#!/bin/sh\ntrue\n"), first);
    assert_ne!(digest(&manifest("great"), "#!/bin/sh\n"), first);
}
