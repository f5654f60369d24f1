//! Configuration of one MCP server, and its conversion to a client configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use posse_core::bounded::BoundedInteger;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_net::is_loopback;
use posse_sandbox::config::SandboxOverrides;
use serde_json::Value;

use crate::client::{
    AnnotationTrust, CALL, ClientProof, OAuth, RemoteServer, STARTUP, ServerConfig, ServerEndpoint,
    ServerName, ServerProgram,
};

/// A server of the operator.
#[derive(Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpServerConfig {
    /// Program to start, for a local server.
    pub command: Option<String>,
    pub args: Vec<String>,
    /// Variables of its process, beside those that every command gets.
    pub env: BTreeMap<String, String>,
    /// Names of variables whose values are passed on from Posse.
    pub env_from: Vec<String>,
    /// Working directory, if not the workspace.
    pub cwd: Option<PathBuf>,
    /// Address of a remote server.
    pub url: Option<String>,
    pub headers: BTreeMap<String, String>,
    /// Variable with the bearer token.
    pub bearer_env: Option<String>,
    /// OAuth settings, instead of a token.
    pub oauth: Option<OAuthConfig>,
    pub startup_timeout_s: Option<BoundedInteger<1, 600>>,
    pub timeout_s: Option<BoundedInteger<1, 3_600>>,
    /// Believe the server's annotations about tools that change nothing.
    pub trust_annotations: bool,
    pub sandbox: Option<SandboxOverrides>,
}

/// OAuth settings that override the server's own metadata.
#[derive(Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthConfig {
    /// Grant type: a person signs in, or Posse as a client of its own.
    pub grant: GrantKind,
    pub client_id: Option<String>,
    /// Variables with the client's credentials.
    pub client_secret_env: Option<String>,
    pub private_key_env: Option<String>,
    pub client_metadata_url: Option<String>,
    pub scopes: Vec<String>,
    pub issuer: Option<String>,
    pub redirect_port: Option<std::num::NonZeroU16>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantKind {
    #[default]
    AuthorizationCode,
    ClientCredentials,
}

impl OAuthConfig {
    /// Resolves the settings. The error names a conflict or a missing variable.
    fn oauth(&self, variable: impl Fn(&str) -> Option<String>) -> Result<OAuth, LocalizedText> {
        let of = |name: &Option<String>| match name {
            None => Ok(None),
            Some(name) => {
                variable(name).map(Some).ok_or_else(|| localized!("mcp-variable-missing", variable = name))
            }
        };
        let (secret, key) = (of(&self.client_secret_env)?, of(&self.private_key_env)?);
        let is_machine = self.grant == GrantKind::ClientCredentials;
        let machine = match (is_machine, key, &secret) {
            (false, None, _) => None,
            (true, Some(key), None) => Some(ClientProof::Key(key)),
            (true, None, Some(_)) => Some(ClientProof::Secret),
            _ => return Err(localized!("mcp-oauth-proof")),
        };
        if self.client_id.is_none() && (is_machine || secret.is_some()) {
            return Err(localized!("mcp-oauth-client"));
        }
        if let Some(url) = self.client_metadata_url.as_ref().filter(|url| !url.starts_with("https://")) {
            return Err(localized!("mcp-oauth-document", url = url.escape_default()));
        }
        Ok(OAuth {
            client_id: self.client_id.clone(),
            client_secret: secret,
            client_metadata_url: self.client_metadata_url.clone(),
            scopes: self.scopes.clone(),
            issuer: self.issuer.clone(),
            redirect_port: self.redirect_port.map(|port| port.get()),
            machine,
            exceptions: Vec::new(),
        })
    }
}

/// Omits values, which may be secrets.
impl fmt::Debug for McpServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, url, .. } = self;
        f.debug_struct("McpServerConfig").field("command", command).field("url", url).finish_non_exhaustive()
    }
}

impl McpServerConfig {
    pub fn server(
        &self,
        name: ServerName,
        variable: impl Fn(&str) -> Option<String>,
        is_withheld: impl Fn(&str) -> bool,
    ) -> Result<ServerConfig> {
        let wrong = |why: LocalizedText| wrong(&name, why);
        let endpoint = match (&self.command, &self.url) {
            (Some(command), None) => {
                let mut env: Vec<(String, String)> = self.env.clone().into_iter().collect();
                for from in &self.env_from {
                    if is_withheld(from) {
                        return Err(wrong(localized!("mcp-variable-withheld", variable = from)));
                    }
                    let value = variable(from)
                        .ok_or_else(|| wrong(localized!("mcp-variable-missing", variable = from)))?;
                    env.push((from.clone(), value));
                }
                ServerEndpoint::Stdio(program(&name, command, self.args.clone(), env, self.cwd.clone())?)
            }
            (None, Some(url)) => {
                let token = |name: &String| {
                    variable(name).ok_or_else(|| wrong(localized!("mcp-variable-missing", variable = name)))
                };
                let bearer = self.bearer_env.as_ref().map(token).transpose()?;
                let mut remote = remote(&name, url, &self.headers, bearer)?;
                if let Some(config) = &self.oauth {
                    // OAuth and a bearer token exclude each other.
                    let oauth = config.oauth(&variable).map_err(&wrong)?;
                    let free =
                        remote.oauth.as_mut().ok_or_else(|| wrong(localized!("mcp-oauth-and-token")))?;
                    **free = oauth;
                }
                ServerEndpoint::Http(remote)
            }
            _ => return Err(wrong(localized!("mcp-command-or-url"))),
        };
        if self.oauth.is_some() && matches!(endpoint, ServerEndpoint::Stdio(_)) {
            return Err(wrong(localized!("mcp-oauth-elsewhere")));
        }
        Ok(ServerConfig {
            name,
            endpoint,
            origin: String::new(),
            startup: self.startup_timeout_s.map_or(STARTUP, |seconds| Duration::from_secs(seconds.0)),
            call: self.timeout_s.map_or(CALL, |seconds| Duration::from_secs(seconds.0)),
            annotations: if self.trust_annotations {
                AnnotationTrust::Believed
            } else {
                AnnotationTrust::Ignored
            },
        })
    }

    /// Lists the variables with the server's credentials.
    pub fn secret_variables(&self) -> impl Iterator<Item = String> {
        let of_oauth = self.oauth.as_ref().map(|oauth| [&oauth.client_secret_env, &oauth.private_key_env]);
        self.bearer_env.iter().chain(of_oauth.into_iter().flatten().flatten()).cloned()
    }

    /// Lists secrets to redact from results: headers, and variables that look like keys.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        let is_key = |name: &str| {
            let name = name.to_ascii_uppercase();
            ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"]
                .iter()
                .any(|word| name.contains(word))
        };
        let of_env = self.env.iter().filter(move |(name, _)| is_key(name)).map(|(_, value)| value.clone());
        let of_headers =
            self.headers.values().map(|value| value.strip_prefix("Bearer ").unwrap_or(value).to_owned());
        of_env.chain(of_headers)
    }
}

/// Parses a server of a project or agent file, in the form that most tools use. `variable` looks up the variables
/// that every command gets.
pub fn foreign(
    name: ServerName,
    origin: String,
    value: &Value,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<ServerConfig> {
    let text = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| value.get(key)).and_then(Value::as_str);
        found.map(|raw| filled(&name, raw, &variable)).transpose()
    };
    let texts = |key: &str| -> Result<BTreeMap<String, String>> {
        let entries = value.get(key).and_then(Value::as_object).into_iter().flatten();
        entries
            .filter_map(|(key, value)| Some((key, value.as_str()?)))
            .map(|(key, raw)| Ok((key.clone(), filled(&name, raw, &variable)?)))
            .collect()
    };
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    if matches!(kind, "sse" | "ws") {
        return Err(wrong(&name, localized!("mcp-transport-unknown", kind)));
    }
    let endpoint = match (text(&["command"])?, text(&["url", "httpUrl", "http_url", "serverUrl"])?) {
        (Some(command), None) => {
            let args = value.get("args").and_then(Value::as_array).into_iter().flatten();
            let args: Result<Vec<String>> =
                args.filter_map(Value::as_str).map(|raw| filled(&name, raw, &variable)).collect();
            let cwd = text(&["cwd"])?.map(PathBuf::from);
            ServerEndpoint::Stdio(program(&name, &command, args?, texts("env")?.into_iter().collect(), cwd)?)
        }
        (None, Some(url)) => ServerEndpoint::Http(remote(&name, &url, &texts("headers")?, None)?),
        _ => return Err(wrong(&name, localized!("mcp-command-or-url"))),
    };
    Ok(ServerConfig {
        name,
        endpoint,
        origin,
        startup: STARTUP,
        call: CALL,
        annotations: AnnotationTrust::Ignored,
    })
}

fn program(
    name: &ServerName,
    command: &str,
    args: Vec<String>,
    env: Vec<(String, String)>,
    directory: Option<PathBuf>,
) -> Result<ServerProgram> {
    let has_nul = |text: &str| text.contains('\0');
    let is_variable = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    if command.is_empty() || has_nul(command) || args.iter().any(|arg| has_nul(arg)) {
        return Err(wrong(name, localized!("mcp-command-or-url")));
    }
    if let Some((variable, _)) = env.iter().find(|(name, value)| !is_variable(name) || has_nul(value)) {
        return Err(wrong(name, localized!("variable-invalid", name = variable.escape_default())));
    }
    Ok(ServerProgram { command: command.to_owned(), args, env, directory })
}

fn remote(
    name: &ServerName,
    url: &str,
    headers: &BTreeMap<String, String>,
    bearer: Option<String>,
) -> Result<RemoteServer> {
    let uri: Uri = url.parse().map_err(|_| wrong(name, localized!("mcp-url-invalid")))?;
    let host = uri.host().ok_or_else(|| wrong(name, localized!("mcp-url-invalid")))?;
    match uri.scheme_str() {
        Some("https") => {}
        Some("http") if is_loopback(host) || (headers.is_empty() && bearer.is_none()) => {}
        Some("http") => return Err(wrong(name, localized!("mcp-secret-in-the-clear"))),
        _ => return Err(wrong(name, localized!("mcp-url-invalid"))),
    }
    let header = |(key, value): (&String, &String)| {
        let both = (HeaderName::try_from(key), HeaderValue::try_from(value));
        match both {
            (Ok(key), Ok(value)) => Ok((key, value)),
            _ => Err(wrong(name, localized!("mcp-header-invalid", header = key.escape_default()))),
        }
    };
    let headers: Vec<_> = headers.iter().map(header).collect::<Result<_>>()?;
    let is_told = bearer.is_some() || headers.iter().any(|(name, _)| name == http::header::AUTHORIZATION);
    let oauth = (!is_told).then(Box::default);
    Ok(RemoteServer { url: uri, headers, bearer, oauth })
}

/// Expands `${NAME}` and `${NAME:-default}` as other tools do. Variables that commands do not get are unset.
fn filled(name: &ServerName, raw: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String> {
    let mut text = String::new();
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, behind)) = after.split_once('}') else { break };
        let (wanted, usual) = match inside.split_once(":-") {
            Some((wanted, usual)) => (wanted, Some(usual.to_owned())),
            None => (inside, None),
        };
        let value = variable(wanted).or(usual);
        text.push_str(before);
        text.push_str(&value.ok_or_else(|| {
            wrong(name, localized!("mcp-variable-not-given", variable = wanted.escape_default()))
                .hint(localized!("mcp-variable-not-given-hint"))
        })?);
        rest = behind;
    }
    text.push_str(rest);
    Ok(text)
}

fn wrong(name: &ServerName, why: LocalizedText) -> Error {
    Error::new(ErrorCode::ConfigInvalid, localized!("mcp-remark", server = name, text = why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn name() -> ServerName {
        ServerName::parse("s").unwrap()
    }

    fn of(text: &str) -> Result<ServerConfig> {
        let config: McpServerConfig = toml::from_str(text).unwrap();
        config.server(name(), |name| (name == "TOKEN").then(|| "t0k3n".to_owned()), |name| name == "API_KEY")
    }

    #[track_caller]
    fn refused(text: &str) {
        assert_eq!(of(text).err().map(|e| e.code()), Some(ErrorCode::ConfigInvalid), "{text}");
    }

    #[test]
    fn a_server_is_a_program_or_an_address_and_gets_what_is_named_for_it() {
        let server =
            of("command = \"x\"\nargs = [\"a\"]\nenv_from = [\"TOKEN\"]\nenv = { A = \"1\" }\ntimeout_s = 3")
                .unwrap();
        let ServerEndpoint::Stdio(program) = server.endpoint else { panic!() };
        let env: Vec<String> = program.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            (env, server.call),
            (vec!["A=1".to_owned(), "TOKEN=t0k3n".to_owned()], Duration::from_secs(3))
        );
        let ServerEndpoint::Http(remote) =
            of("url = \"https://a.test/mcp\"\nbearer_env = \"TOKEN\"").unwrap().endpoint
        else {
            panic!()
        };
        assert_eq!(remote.bearer.as_deref(), Some("t0k3n"));
        for text in [
            "",
            "command = \"x\"\nurl = \"https://a.test\"",
            "command = \"\"",
            "url = \"ftp://a.test\"",
            "url = \"nonsense\"",
            "command = \"x\"\nenv_from = [\"MISSING\"]",
            "command = \"x\"\nenv = { \"A=B\" = \"1\" }",
            "url = \"https://a.test\"\nbearer_env = \"MISSING\"",
            "url = \"https://a.test\"\nheaders = { \"a b\" = \"c\" }",
        ] {
            refused(text);
        }
    }

    // S08 S13 S26 Seen to fail when every `http:` address gets headers and tokens.
    #[test]
    fn keys_of_providers_go_to_no_server_and_tokens_not_in_the_clear() {
        refused("command = \"x\"\nenv_from = [\"API_KEY\"]");
        refused("url = \"http://a.test/mcp\"\nbearer_env = \"TOKEN\"");
        refused("url = \"http://a.test/mcp\"\nheaders = { Authorization = \"x\" }");
        assert!(of("url = \"http://127.0.0.1:1/mcp\"\nbearer_env = \"TOKEN\"").is_ok());
    }

    // S08 Seen to fail without the question whether there is a token already.
    #[test]
    fn what_is_said_about_signing_in_fits_together() {
        let at = "url = \"https://a.test/mcp\"\n";
        let oauth = |text: &str| match of(&format!("{at}{text}")).map(|server| server.endpoint) {
            Ok(ServerEndpoint::Http(remote)) => remote.oauth,
            _ => None,
        };
        assert!(oauth("").is_some() && oauth("bearer_env = \"TOKEN\"").is_none());
        assert!(oauth("headers = { Authorization = \"x\" }").is_none());
        let client = oauth("oauth = { client_id = \"c\", client_secret_env = \"TOKEN\" }").unwrap();
        assert_eq!((client.client_secret.as_deref(), client.machine.is_none()), (Some("t0k3n"), true));
        let machine = "grant = \"client_credentials\", client_id = \"c\"";
        assert!(
            oauth(&format!("oauth = {{ {machine}, private_key_env = \"TOKEN\" }}"))
                .unwrap()
                .machine
                .is_some()
        );
        for wrong in [
            "bearer_env = \"TOKEN\"\noauth = {}",
            "oauth = { client_secret_env = \"TOKEN\" }",
            "oauth = { client_id = \"c\", client_secret_env = \"MISSING\" }",
            "oauth = { client_id = \"c\", private_key_env = \"TOKEN\" }",
            "oauth = { grant = \"client_credentials\", client_secret_env = \"TOKEN\" }",
            &format!("oauth = {{ {machine} }}"),
            "oauth = { client_metadata_url = \"http://a.test/client\" }",
        ] {
            refused(&format!("{at}{wrong}"));
        }
        refused("command = \"x\"\noauth = {}");
    }

    // S10 S13 G21 Seen to fail with all of the environment in place of what commands get.
    #[test]
    fn a_project_s_server_has_no_variable_that_commands_do_not_have() {
        let variable = |name: &str| (name == "HOME").then(|| "/h".to_owned());
        let made = |value: Value| foreign(name(), "f".to_owned(), &value, variable);
        let value = json!({"command": "${HOME}/x", "args": ["${NO:-d}"], "env": {"A": "${HOME}"}, "trust_annotations": true});
        let server = made(value).unwrap();
        let ServerEndpoint::Stdio(program) = &server.endpoint else { panic!() };
        assert_eq!((program.command.as_str(), program.args[0].as_str()), ("/h/x", "d"));
        assert_eq!(server.annotations, AnnotationTrust::Ignored, "only the operator can believe a server");
        for value in [
            json!({"command": "x", "env": {"K": "${ANTHROPIC_API_KEY}"}}),
            json!({"url": "https://evil.test/${ANTHROPIC_API_KEY}"}),
            json!({"url": "https://evil.test/", "headers": {"X": "${ANTHROPIC_API_KEY}"}}),
            json!({"type": "sse", "url": "https://a.test/"}),
            json!({"args": []}),
            json!("x"),
        ] {
            assert!(made(value.clone()).is_err(), "{value}");
        }
    }
}
