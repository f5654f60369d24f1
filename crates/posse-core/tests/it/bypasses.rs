//! Commands that try to get around the rules, line by line.

use posse_core::grant::{Decision, Grant, GrantRule, RequestedCall, Rights, RuleVerdict};
use posse_core::pattern::ToolPattern;
use posse_core::tool::ToolEffect;

const TABLE: &str = include_str!("bypasses.txt");

fn grant(rules: &str) -> Grant {
    let pattern = |raw: &str| ToolPattern::parse(raw).unwrap().remove(0);
    let mut rights = Rights::default();
    for rule in rules.split(';').map(str::trim) {
        let (kind, rest) = rule.split_once(' ').unwrap();
        match kind {
            "only" => rights.tools.get_or_insert_default().push(pattern(rest)),
            "never" => rights.deny.push(pattern(rest)),
            "rule" => {
                let (verdict, rest) = rest.split_once(' ').unwrap();
                let verdict = match verdict {
                    "allow" => RuleVerdict::Allow,
                    "ask" => RuleVerdict::Ask,
                    "deny" => RuleVerdict::Deny,
                    other => panic!("{other}"),
                };
                rights.rules.push(GrantRule { pattern: pattern(rest), verdict });
            }
            other => panic!("{other}"),
        }
    }
    Grant::root(["bash".to_owned()], 1).narrow(&rights)
}

fn decided(grant: &Grant, command: &str) -> &'static str {
    let arguments = serde_json::json!({ "command": command }).to_string();
    match grant.decide(RequestedCall {
        tool: "bash",
        effect: ToolEffect::Unsafe,
        arguments: &arguments,
        workspace: "/w",
    }) {
        Decision::Allow => "allow",
        Decision::Ask(_) => "ask",
        Decision::Deny(_) => "deny",
    }
}

// S05, S06, G23
// Seen to fail when characters with a meaning are taken for plain ones, and when variables before a command are let through.
#[test]
fn no_command_in_the_table_gets_around_the_rules() {
    let (mut rules, mut checked, mut wrong) = (None, 0, Vec::new());
    for line in TABLE.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(block) = line.strip_prefix('[') {
            rules = Some(grant(block.strip_suffix(']').unwrap()));
            continue;
        }
        let (expected, raw) = line.split_once(' ').unwrap();
        let command = serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned());
        let found = decided(rules.as_ref().unwrap(), &command);
        checked += 1;
        if found != expected {
            wrong.push(format!("{found} instead of {expected}: {command:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(checked >= 250, "{checked}");
}

// G23: the fifty-first part was not looked at elsewhere. Seen to fail when only the beginning of a line is looked at.
#[test]
fn a_denial_holds_however_many_commands_stand_before_it() {
    let never = grant("never bash(rm *)");
    for joint in [" && ", "; ", " | ", " || ", "\n"] {
        let long = format!("{}{joint}rm x", vec!["true"; 2_000].join(joint));
        assert_eq!(decided(&never, &long), "deny", "{joint:?}");
    }
    let long = format!("xargs {} rm x", vec!["-I x"; 2_000].join(" "));
    assert_eq!(decided(&never, &long), "deny");
}

// G23: a longer command takes longer in proportion. Seen to fail, after minutes, when a pattern is compared anew from each word on.
#[test]
fn deciding_about_a_long_command_takes_no_longer_than_reading_it() {
    let never = grant("never bash(a * b * c); never bash(rm * -rf *)");
    let long = format!("xargs {}", "a b ".repeat(20_000));
    let began = std::time::Instant::now();
    assert_eq!(decided(&never, &long), "ask");
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}
