use posse_core::agent::ModelSettings;
use posse_core::board::Urgency;
use posse_runtime::ports::{ModelMemo, ModelRequest, NoDeltas, ToolUse, UnlimitedCalls};

use super::*;

#[test]
fn ollama_host_is_understood_in_all_its_forms() {
    for (host, url) in [
        ("localhost", "http://localhost:11434/v1"),
        ("0.0.0.0:4000", "http://127.0.0.1:4000/v1"),
        ("http://box:4000/", "http://box:4000/v1"),
        ("https://ollama.example", "https://ollama.example/v1"),
        ("http://[::1]", "http://[::1]:11434/v1"),
    ] {
        assert_eq!(ollama_url(host), url, "{host}");
    }
}

#[test]
fn without_a_key_the_message_says_what_to_set_and_that_the_demo_needs_none() {
    let e = ModelsConfig::default().default_model(None, &|_| None).unwrap_err();
    assert_eq!(e.code(), ErrorCode::ModelNotConfigured);
    let hint = e.advice().unwrap();
    assert!(hint.contains("ANTHROPIC_API_KEY") && hint.contains("posse demo"), "{hint}");
    let e = source("", |_| None).open_one("openai:gpt-5").err().unwrap();
    assert!(e.message().contains("OPENAI_API_KEY is not set"), "{e}");
}

#[test]
fn the_first_key_that_is_set_picks_the_model() {
    let env = |name: &str| (name == "GEMINI_API_KEY").then(|| "k".to_owned());
    let config = ModelsConfig::default();
    assert_eq!(config.default_model(None, &env).unwrap(), "gemini:gemini-2.5-pro");
    assert_eq!(config.default_model(Some("ollama:x"), &env).unwrap(), "ollama:x");
}

#[test]
fn a_variable_that_is_named_and_not_set_is_an_error_unless_no_key_is_wanted() {
    let open = |more: &str| {
        let at = "[providers.work]\nwire = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
        source(&format!("{at}{more}"), |_| None).open_one("work:big").map(|_| ())
    };
    let e = open("api_key_env = \"WORK_KEY\"").unwrap_err();
    assert_eq!(e.code(), ErrorCode::ModelNotConfigured);
    assert_eq!(e.message(), "`work` needs a key and WORK_KEY is not set");
    assert!(e.advice().unwrap().contains("export WORK_KEY=…"), "{e}");
    for keyless in ["", "api_key_env = \"\""] {
        assert!(open(keyless).is_ok(), "{keyless}");
    }
}

#[test]
fn a_provider_that_is_spelled_wrong_is_guessed() {
    let config = "[providers.work]\nwire = \"openai\"\n";
    for (wrong, right) in [("antropic", "anthropic"), ("opnai", "openai"), ("wrk", "work")] {
        let e = source(config, |_| None).open_one(&format!("{wrong}:x")).err().unwrap();
        assert!(e.advice().unwrap().starts_with(&format!("did you mean `{right}`? ")), "{e:?}");
    }
    let e = source(config, |_| None).open_one("nobody:x").err().unwrap();
    assert!(e.advice().unwrap().starts_with("there are: "), "{e:?}");
}

/// The tables of a configuration that are about models.
#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Tables {
    providers: BTreeMap<String, ProviderConfig>,
    prices: BTreeMap<String, Price>,
}

fn source(config: &str, env: fn(&str) -> Option<String>) -> ModelSource {
    let Tables { providers, prices } = toml::from_str(config).unwrap();
    let config = ModelsConfig { providers, prices, ..ModelsConfig::default() };
    ModelSource::new(config, Arc::new(env), RecordingMode::None).unwrap()
}

#[test]
fn configured_prices_hold_for_dated_names_and_patterns_and_win() {
    let config = "[prices]\n\"work:big\" = { input = 1.0, output = 4.0 }\n\"work:s*\" = { input = 0.5, output = 1.0 }\n\
                  \"gpt-5\" = { input = 9.0, output = 9.0 }\n";
    let source = source(config, |_| None);
    let input = |model| source.prices.price(&ModelRef::parse(model).unwrap()).map(|price| price.input);
    assert_eq!(input("work:big"), Some(1.0));
    assert_eq!(input("work:big-2026-01-31"), Some(1.0));
    assert_eq!(input("work:small-7b"), Some(0.5));
    assert_eq!(input("openai:gpt-5"), Some(9.0));
    assert_eq!(input("work:other"), None);
}

#[test]
fn providers_with_the_same_key_wait_together() {
    let source = source("", |name| name.ends_with("_API_KEY").then(|| "k".to_owned()));
    let governor = |provider| source.endpoint(provider).unwrap().2;
    assert!(Arc::ptr_eq(&governor("openai"), &governor("openai-responses")));
    assert!(Arc::ptr_eq(&governor("openai"), &governor("openai")));
    assert!(!Arc::ptr_eq(&governor("openai"), &governor("anthropic")));
    assert!(!Arc::ptr_eq(&governor("vllm"), &governor("llamacpp")), "two servers without a key");
}

#[test]
fn a_key_file_that_cannot_be_read_or_is_empty_is_an_error_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    let config = format!(
        "[providers.x]\nwire = \"openai\"\nbase_url = \"http://localhost\"\napi_key_file = \"{}\"\n",
        path.display()
    );
    let open = || source(&config, |_| None).open_one("x:y").map(|_| ());
    assert_eq!(open().unwrap_err().code(), ErrorCode::ConfigUnreadable);
    std::fs::write(&path, "\n").unwrap();
    assert_eq!(open().unwrap_err().code(), ErrorCode::ModelNotConfigured);
    std::fs::write(&path, "canary\n").unwrap();
    assert!(open().is_ok());
}

#[test]
fn all_who_open_a_recorded_model_share_what_was_given_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let (tape, script) = (dir.path().join("tape.jsonl"), dir.path().join("script.yaml"));
    std::fs::write(&script, "[{text: One.}]").unwrap();
    let reference = format!("scripted:{}", script.display());
    let recorder = RecordingFile::open(&tape).unwrap();
    let over = |tape| ModelSource::new(ModelsConfig::default(), Arc::new(|_| None), tape).unwrap();
    let recording = over(RecordingMode::Record(recorder));
    assert!(ask(&*recording.open_one(&reference).unwrap()).is_ok());
    let replaying = over(RecordingMode::Replay(tape));
    let (first, second) = (replaying.open_one(&reference).unwrap(), replaying.open_one(&reference).unwrap());
    assert!(ask(&*first).is_ok(), "a script is recorded too");
    assert!(ask(&*second).is_err(), "the one answer was given");
}

fn ask(model: &dyn Model) -> Result<(), String> {
    let (mut memo, settings) = (ModelMemo::default(), ModelSettings::default());
    let request = ModelRequest {
        system: "",
        messages: &[],
        tools: &[],
        tool_use: ToolUse::Auto,
        output_tokens_max: 100,
        settings: &settings,
        answered_by: posse_core::usage::ByModel::nobody(),
        unanswered: 0,
        generation: 0,
        memo: &mut memo,
        allowance: &UnlimitedCalls,
        urgency: Urgency::Interactive,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(model.call(request, &NoDeltas)).map(|_| ()).map_err(|e| e.to_string())
}
