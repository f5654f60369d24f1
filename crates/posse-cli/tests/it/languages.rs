//! `posse` in other languages: the words change, codes and field names do not.

use crate::support::{Place, Ran};

fn spoken(args: &[&str], environment: &[(&str, &str)]) -> Ran {
    let place = Place::new();
    let mut command = place.posse(args.iter().copied());
    command.envs(environment.iter().copied());
    Ran::of(command)
}

/// An error that begins in the runtime: no agent has this name.
const UNKNOWN: &[&str] = &["run", "--model", "scripted:x.yaml", "--agent", "nobody", "task"];

// R448
#[test]
fn an_error_is_told_in_the_language_of_the_flag_or_of_the_environment_and_keeps_its_code() {
    let said = |args: &[&str], environment: &[(&str, &str)]| {
        let args: Vec<&str> = args.iter().chain(UNKNOWN).copied().collect();
        let ran = spoken(&args, environment);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains("[AGENT_NOT_FOUND]"), "{ran:?}");
        ran.stderr
    };
    assert!(said(&[], &[]).contains("no agent is called `nobody`"));
    assert!(said(&["--lang", "de"], &[]).contains("kein Agent heißt `nobody`"));
    assert!(said(&["--lang=es"], &[("LANG", "ja_JP.UTF-8")]).contains("ningún agente se llama `nobody`"));
    assert!(said(&[], &[("LANG", "ja_JP.UTF-8")]).contains("`nobody` という名前のエージェントはありません"));
    assert!(
        said(&[], &[("LC_ALL", "zh_CN.UTF-8"), ("LANG", "de_DE")]).contains("没有名为 `nobody` 的智能体")
    );
    assert!(
        said(&[], &[("POSSE_LANG", "fr"), ("LC_ALL", "C")]).contains("aucun agent ne s'appelle `nobody`")
    );
}

#[test]
fn a_language_that_is_not_there_is_told_once_and_english_is_spoken() {
    let args: Vec<&str> = ["--lang", "tlh"].iter().chain(UNKNOWN).copied().collect();
    let ran = spoken(&args, &[]);
    let warning = "warning: there is no language `tlh`; there are: en, de, es, fr, ja, zh\n";
    assert_eq!(ran.stderr.matches(warning).count(), 1, "{ran:?}");
    assert!(ran.stderr.contains("no agent is called"), "{ran:?}");
    let ran = spoken(UNKNOWN, &[("LANG", "tlh")]);
    assert!(!ran.stderr.contains("language"), "a system's locale is no mistake: {ran:?}");
}

#[test]
fn json_keeps_its_names_and_codes() {
    let keys = |language: &str| {
        let args: Vec<&str> = ["--json", "--lang", language].iter().chain(UNKNOWN).copied().collect();
        let ran = spoken(&args, &[]);
        let error = ran.json().pop().unwrap();
        assert_eq!(error["code"], "AGENT_NOT_FOUND", "{ran:?}");
        let keys: Vec<String> = error.as_object().unwrap().keys().cloned().collect();
        (keys, error["message"].as_str().unwrap().to_owned())
    };
    let (english, german) = (keys("en"), keys("de"));
    assert_eq!(english.0, german.0);
    assert_ne!(english.1, german.1);
}

#[test]
fn help_and_wrong_usage_are_told_in_the_language_too() {
    let help = spoken(&["--lang", "de", "tasks", "list", "--help"], &[]);
    assert_eq!(help.code, 0, "{help:?}");
    for part in
        ["Die neuesten Aufgaben zuerst", "Aufruf: posse tasks list", "Optionen:", "Wie viele gezeigt werden"]
    {
        assert!(help.stdout.contains(part), "{part}: {help:?}");
    }
    let english = spoken(&["tasks", "list", "--help"], &[]);
    assert!(english.stdout.contains("The newest tasks first\n\nUsage: posse tasks list"), "{english:?}");
    let wrong = spoken(&["--lang", "de", "tasks", "list", "--frm"], &[]);
    assert_eq!(
        (wrong.code, wrong.stderr.contains("Fehler: es gibt kein Argument `--frm`")),
        (2, true),
        "{wrong:?}"
    );
    let json = spoken(&["--json", "--lang", "de", "tasks", "list", "--limit", "0"], &[]);
    assert_eq!(json.json()[0]["code"], "INVALID_REQUEST", "{json:?}");
}
