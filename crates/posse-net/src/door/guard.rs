//! Access rules: the bearer token, and the `WebHost` that addresses this server.

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, Request};

/// Access rules of a server.
#[derive(Debug, Clone)]
pub struct RequestGuard {
    /// The required token; `None` admits everyone, for servers with nothing to protect.
    pub token: Option<String>,
    /// Allowed host names, each with or without a port.
    pub hosts: Vec<String>,
    /// Allowed origins of web pages; none if empty. Other clients send no origin.
    pub origins: Vec<String>,
}

/// The reason why a request does not address this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostError {
    /// No host, several, or an ambiguous one.
    Malformed,
    /// The host of another server.
    Foreign,
}

/// The request comes from a web page of another site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OriginError;

impl RequestGuard {
    /// Creates the rules for a server that only this machine may reach.
    pub fn of_this_machine(token: Option<String>) -> Self {
        let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        let origins =
            ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned).to_vec();
        Self { token, hosts, origins }
    }

    /// Compares the bearer token of a request.
    pub fn knows(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        bearer(headers).is_some_and(|given| same(given, token))
    }

    /// Checks the single `WebHost` header, and the host of an absolute request target, which takes precedence.
    pub fn check_host<B>(&self, request: &Request<B>) -> Result<(), HostError> {
        let mut lines = request.headers().get_all(HOST).iter();
        let (Some(line), None) = (lines.next(), lines.next()) else { return Err(HostError::Malformed) };
        self.check(line.to_str().map_err(|_| HostError::Malformed)?)?;
        request.uri().authority().map_or(Ok(()), |authority| self.check(authority.as_str()))
    }

    /// Checks the origin of a web page: it must be one of `origins`, where the port `*` is any. Clients that are no browsers
    /// send none.
    pub fn check_origin(&self, headers: &HeaderMap) -> Result<(), OriginError> {
        let mut lines = headers.get_all(ORIGIN).iter();
        let Some(line) = lines.next() else { return Ok(()) };
        let origin = line.to_str().map_err(|_| OriginError)?;
        let matches = |allowed: &String| match allowed.strip_suffix(":*") {
            Some(name) => origin.strip_prefix(name).is_some_and(is_port_suffix),
            None => origin == allowed,
        };
        match lines.next().is_none() && self.origins.iter().any(matches) {
            true => Ok(()),
            false => Err(OriginError),
        }
    }

    fn check(&self, text: &str) -> Result<(), HostError> {
        let (host, port) = parse_host(text).ok_or(HostError::Malformed)?;
        let is_allowed = |allowed: &String| {
            // A configured `::1` has no brackets.
            let (name, wanted) = parse_host(allowed).unwrap_or((allowed, None));
            name.eq_ignore_ascii_case(host) && (wanted.is_none() || wanted == port)
        };
        if self.hosts.iter().any(is_allowed) { Ok(()) } else { Err(HostError::Foreign) }
    }
}

/// Parses `host`, `host:port` or `[address]:port`. Rejects everything else, above all `user@host`, because
/// another parser may see another host in it.
fn parse_host(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inside) => {
            let (address, rest) = inside.split_once(']')?;
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (address, rest)
        }
        None => {
            let end = text.find(':').unwrap_or(text.len());
            let (name, rest) = text.split_at(end);
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
            if name.is_empty() || !name.bytes().all(legal) {
                return None;
            }
            (name, rest)
        }
    };
    let port = match rest.strip_prefix(':') {
        Some(digits)
            if (1..=5).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            Some(digits.parse().ok()?)
        }
        Some(_) => return None,
        None if rest.is_empty() => None,
        None => return None,
    };
    Some((host, port))
}

/// Returns the bearer token of a request, if it has exactly one `Authorization` line.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut lines = headers.get_all(AUTHORIZATION).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    let (scheme, token) = line.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Tells whether this is `:port`, or nothing.
fn is_port_suffix(text: &str) -> bool {
    let is_port = |digits: &str| {
        // A parser of numbers also takes a sign.
        digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() <= 5 && digits.parse::<u16>().is_ok()
    };
    text.is_empty() || text.strip_prefix(':').is_some_and(is_port)
}

/// Compares secrets in constant time.
pub fn same(given: &str, token: &str) -> bool {
    given.len() == token.len()
        && given.bytes().zip(token.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        let guard = RequestGuard::of_this_machine(Some("correct-horse".to_owned()));
        let knows = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            guard.knows(&headers)
        };
        assert!(knows("Bearer correct-horse") && knows("bearer correct-horse"));
        for wrong in [
            "Bearer correct-hors",
            "Bearer correct-horse1",
            "correct-horse",
            "Basic correct-horse",
            "Bearer ",
        ] {
            assert!(!knows(wrong), "{wrong}");
        }
        assert!(!guard.knows(&HeaderMap::new()));
    }

    #[test]
    fn a_host_is_read_exactly_or_refused() {
        let mut guard = RequestGuard::of_this_machine(None);
        guard.hosts.extend(["posse.example".to_owned(), "other.example:8443".to_owned()]);
        let check = |uri: &str, hosts: &[&str]| {
            let mut request = Request::builder().uri(uri);
            for host in hosts {
                request = request.header(HOST, *host);
            }
            guard.check_host(&request.body(()).unwrap())
        };
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:65535", "[::1]", "[::1]:80", "posse.example:1"] {
            assert_eq!(check("/mcp", &[host]), Ok(()), "{host}");
        }
        assert_eq!(check("/mcp", &["other.example:8443"]), Ok(()));
        for host in
            ["other.example", "other.example:80", "evil.example", "localhost.evil.example", "localhost."]
        {
            assert_eq!(check("/mcp", &[host]), Err(HostError::Foreign), "{host}");
        }
        for host in [
            "user@localhost",
            "localhost@evil.example",
            "localhost:80@evil.example",
            "localhost:80.evil.example",
            "localhost:",
            "localhost:x",
            "localhost:+80",
            "localhost:99999",
            "localhost/evil",
            "localhost evil.example",
            "localhost,evil.example",
            "[::1]evil.example",
            "[::1",
            "::1",
            "[localhost]",
            "",
        ] {
            assert_eq!(check("/mcp", &[host]), Err(HostError::Malformed), "{host}");
        }
        assert_eq!(check("/mcp", &[]), Err(HostError::Malformed));
        assert_eq!(check("/mcp", &["localhost", "localhost"]), Err(HostError::Malformed));
        assert_eq!(check("http://localhost:7/mcp", &["localhost:7"]), Ok(()));
        assert_eq!(check("http://evil.example/mcp", &["localhost"]), Err(HostError::Foreign));
        assert_eq!(check("http://user@localhost/mcp", &["localhost"]), Err(HostError::Malformed));
        assert_eq!(check("http://localhost/mcp", &["evil.example"]), Err(HostError::Foreign));
    }

    #[test]
    fn an_origin_is_compared_whole() {
        let mut guard = RequestGuard::of_this_machine(None);
        guard.origins.push("https://posse.example".to_owned());
        let check = |origins: &[&str]| {
            let mut headers = HeaderMap::new();
            for origin in origins {
                headers.append(ORIGIN, origin.parse().unwrap());
            }
            guard.check_origin(&headers).is_ok()
        };
        assert!(check(&[]), "no browser");
        for own in ["http://localhost", "http://localhost:7717", "http://[::1]:1", "https://posse.example"] {
            assert!(check(&[own]), "{own}");
        }
        for foreign in [
            "null",
            "",
            "http://localhost.evil.example",
            "http://localhost:7717.evil.example",
            "http://localhost:",
            "http://localhost:99999",
            "http://localhost:+1",
            "https://localhost",
            "https://posse.example:444",
            "https://posse.example.evil",
            "http://posse.example",
            "http://evil.example",
        ] {
            assert!(!check(&[foreign]), "{foreign}");
        }
        assert!(!check(&["http://localhost", "http://evil.example"]), "one at most");
    }
}
