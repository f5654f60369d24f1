//! Translates model names of other tools to `provider:model`. Aliases such as `sonnet` stay as written; the
//! configuration defines them.

/// Provider names of other tools.
const PROVIDERS: &[(&str, &str)] = &[
    ("anthropic", "anthropic"),
    ("openai", "openai"),
    ("google", "gemini"),
    ("gemini", "gemini"),
    ("ollama", "ollama"),
    ("openrouter", "openrouter"),
    ("groq", "groq"),
    ("deepseek", "deepseek"),
    ("mistral", "mistral"),
    ("vllm", "vllm"),
    ("llamacpp", "llamacpp"),
];

/// Services that resell other providers' models under their own name.
const RESELLERS: &[&str] = &["github-copilot", "copilot", "opencode"];

const BEGINNINGS: &[(&str, &str)] = &[
    ("claude-", "anthropic"),
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("codex-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini-", "gemini"),
];

/// Returns whether the text means the delegating agent's model.
pub fn is_inherited(raw: &str) -> bool {
    let raw = raw.trim();
    raw.is_empty() || raw.eq_ignore_ascii_case("inherit")
}

/// Translates a reference, an alias, or a name whose prefix identifies the provider.
pub fn any(raw: &str) -> String {
    let raw = raw.trim();
    if raw.contains(':') {
        return raw.to_owned();
    }
    if let Some((provider, model)) = raw.split_once('/')
        && let Some((_, ours)) = PROVIDERS.iter().find(|(theirs, _)| *theirs == provider)
    {
        return format!("{ours}:{model}");
    }
    spelled(raw)
}

/// Translates names of opencode and pi: `provider/model` with any provider.
pub fn slashed(raw: &str) -> String {
    let raw = raw.trim();
    match raw.split_once('/') {
        Some((provider, model)) if RESELLERS.contains(&provider) => any(model),
        Some((provider, model)) if !provider.contains(':') => {
            let ours = PROVIDERS.iter().find(|(theirs, _)| *theirs == provider).map(|(_, ours)| *ours);
            format!("{}:{model}", ours.unwrap_or(provider))
        }
        _ => any(raw),
    }
}

/// Translates names of Codex, which uses the Responses API.
pub fn codex(raw: &str) -> String {
    let reference = any(raw);
    match reference.strip_prefix("openai:") {
        Some(model) => format!("openai-responses:{model}"),
        None if provider_of(&reference) == Some("openai") => format!("openai-responses:{reference}"),
        None => reference,
    }
}

/// Translates Copilot's display names: `Claude Sonnet 4.5 (copilot)`, `Gemini 3 Pro (Preview)`.
pub fn copilot(raw: &str) -> String {
    let (name, note) = match raw.trim().split_once('(') {
        Some((name, note)) => (name.trim(), note.trim_end_matches(')').trim()),
        None => (raw.trim(), ""),
    };
    let mut model = name.to_ascii_lowercase().split_whitespace().collect::<Vec<_>>().join("-");
    if note.eq_ignore_ascii_case("preview") {
        model.push_str("-preview");
    }
    let is_name = model.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    match provider_of(&model) {
        Some(_) if is_name => any(&model),
        _ => any(raw),
    }
}

fn provider_of(name: &str) -> Option<&'static str> {
    let begins = |(beginning, _): &&(&str, &str)| name.starts_with(beginning);
    BEGINNINGS.iter().find(begins).map(|(_, provider)| *provider)
}

/// Normalizes to Anthropic's spelling: `claude-sonnet-4.5` and `claude-4.5-sonnet` become
/// `claude-sonnet-4-5`.
fn spelled(name: &str) -> String {
    let Some(rest) = name.strip_prefix("claude-") else { return name.to_owned() };
    let rest = rest.replace('.', "-");
    let parts: Vec<&str> = rest.split('-').collect();
    let version =
        parts.iter().take_while(|part| part.len() < 3 && part.bytes().all(|b| b.is_ascii_digit())).count();
    let is_new = parts.first().and_then(|first| first.parse::<u32>().ok()).is_some_and(|major| major >= 4);
    if !is_new || version == 0 || version >= parts.len() {
        return format!("claude-{rest}");
    }
    let mut ordered = vec![parts[version]];
    ordered.extend(&parts[..version]);
    ordered.extend(&parts[version + 1..]);
    format!("claude-{}", ordered.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vendors_way_to_name_a_model_becomes_a_reference() {
        for (style, raw, reference) in [
            (any as fn(&str) -> String, "anthropic:sonnet", "anthropic:sonnet"),
            (any, "sonnet", "sonnet"),
            (any, "claude-opus-4-1", "claude-opus-4-1"),
            (any, "gpt-5.1", "gpt-5.1"),
            (any, "gemini-2.5-pro", "gemini-2.5-pro"),
            (any, "claude-4.5-sonnet", "claude-sonnet-4-5"),
            (any, "claude-4-sonnet-thinking", "claude-sonnet-4-thinking"),
            (any, "claude-3.5-sonnet", "claude-3-5-sonnet"),
            (any, "composer-1", "composer-1"),
            (any, "openai/gpt-5", "openai:gpt-5"),
            (slashed, "google/gemini-2.5-flash", "gemini:gemini-2.5-flash"),
            (slashed, "openrouter/anthropic/claude-sonnet-4", "openrouter:anthropic/claude-sonnet-4"),
            (slashed, "github-copilot/claude-sonnet-4.5", "claude-sonnet-4-5"),
            (slashed, "lmstudio/qwen3", "lmstudio:qwen3"),
            (codex, "gpt-5.3-codex", "openai-responses:gpt-5.3-codex"),
            (copilot, "Claude Sonnet 4.5 (copilot)", "claude-sonnet-4-5"),
            (copilot, "Claude Opus 4.1", "claude-opus-4-1"),
            (copilot, "GPT-5 mini", "gpt-5-mini"),
            (copilot, "GPT-4o", "gpt-4o"),
            (copilot, "Gemini 3 Pro (Preview)", "gemini-3-pro-preview"),
            (copilot, "Grok Code Fast 1 (copilot)", "Grok Code Fast 1 (copilot)"),
            (copilot, "GPT-4.1 | 'gpt-5'", "GPT-4.1 | 'gpt-5'"),
            (copilot, "anthropic:claude-opus-4-1", "anthropic:claude-opus-4-1"),
            (copilot, "gpt-5.2-codex", "gpt-5.2-codex"),
            (copilot, "openrouter/anthropic/claude-sonnet-4", "openrouter:anthropic/claude-sonnet-4"),
        ] {
            assert_eq!(style(raw), reference, "{raw}");
        }
        assert!(is_inherited(" Inherit ") && !is_inherited("sonnet"));
    }
}
