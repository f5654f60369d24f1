//! Key files in a configuration text, for servers that get no environment.

use std::path::Path;

use crate::providers::ModelsConfig;

/// A key in the environment that a server started by a host would lack.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingKey {
    pub provider: String,
    pub variable: String,
    /// The model, if it too is named only by a variable that the server would lack.
    pub model: Option<String>,
    /// The base URL, if it is named only by a variable that the server would lack. Without it the key would go to the vendor.
    pub base_url: Option<String>,
}

/// Adds the key file to the configuration; `None` if that would change existing settings.
pub fn with_key_file(before: &str, missing: &MissingKey, file: &Path) -> Option<String> {
    let MissingKey { provider, model, base_url, .. } = missing;
    let mut line = format!("api_key_file = {}\n", toml::Value::from(file.to_str()?));
    if let Some(url) = base_url {
        line = format!("{line}base_url = {}\n", toml::Value::from(url.as_str()));
    }
    let header = format!("[providers.{provider}]\n");
    let mut after = match before.find(&header) {
        Some(at) => {
            let (above, below) = before.split_at(at + header.len());
            format!("{above}{line}{below}")
        }
        None if before.is_empty() || before.ends_with('\n') => format!("{before}{header}{line}"),
        None => format!("{before}\n{header}{line}"),
    };
    if let Some(model) = model {
        after = format!("model = {}\n{after}", toml::Value::from(model.as_str()));
    }
    let config: ModelsConfig = toml::from_str(&after).ok()?;
    let is_there =
        config.providers.get(provider).is_some_and(|own| own.api_key_file.as_deref() == Some(file));
    is_there.then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_keeps_what_it_says() {
        let missing = MissingKey {
            provider: "anthropic".into(),
            variable: "ANTHROPIC_API_KEY".into(),
            model: None,
            base_url: None,
        };
        let add = |before: &str| with_key_file(before, &missing, Path::new("/k"));
        let line = "api_key_file = \"/k\"\n";
        assert_eq!(add("").unwrap(), format!("[providers.anthropic]\n{line}"));
        let others = "# mine\nmodel = \"a:b\"\n[providers.work]\nwire = \"openai\"";
        assert_eq!(add(others).unwrap(), format!("{others}\n[providers.anthropic]\n{line}"));
        let own = "[providers.anthropic]\nmax_in_flight = 2\n";
        assert_eq!(add(own).unwrap(), format!("[providers.anthropic]\n{line}max_in_flight = 2\n"));
        for odd in [
            "providers = { anthropic = { max_in_flight = 2 } }\n",
            "[providers.anthropic]\napi_key_file = \"/x\"\n",
        ] {
            assert_eq!(add(odd), None, "{odd}");
        }
        let named = MissingKey { model: Some("anthropic:x".into()), ..missing };
        let after = with_key_file("[limits]\n", &named, Path::new("/k")).unwrap();
        assert!(after.starts_with("model = \"anthropic:x\"\n[limits]\n"), "{after}");
    }
}
