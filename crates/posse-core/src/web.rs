//! Addresses of the web, read once and strictly: what rules are compared with is what is connected to. Whatever two
//! readers could understand differently (users in front of the host, odd spellings of numbers, control characters,
//! backslashes) is no address here.

mod reach;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

pub use reach::not_public;

/// Longest address; what is longer carries something out rather than asking for something.
const ADDRESS_BYTES_MAX: usize = 2_048;
const HOST_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// A parsed http or https address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress {
    scheme: WebScheme,
    host: WebHost,
    port: u16,
    /// With the query; begins with `/`; printable ASCII without spaces.
    path: String,
}

/// Supported schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebScheme {
    Http,
    Https,
}

/// A host: a name or an IP address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WebHost {
    /// Lower case, without a dot at its end.
    Name(String),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

impl WebAddress {
    /// Parses an address; fails on everything that readers interpret differently.
    pub fn parse(raw: &str) -> Result<Self, &'static str> {
        let raw = raw.trim_matches(' ');
        if raw.len() > ADDRESS_BYTES_MAX {
            return Err("the address is longer than 2048 bytes");
        }
        let (scheme, rest) = raw.split_once("://").ok_or(NO_SCHEME)?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => WebScheme::Http,
            "https" => WebScheme::Https,
            _ => return Err(NO_SCHEME),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (host, port) = authority_of(authority)?;
        let port = port.unwrap_or(scheme.port());
        Ok(Self { scheme, host, port, path: path_of(path)? })
    }

    /// Resolves a redirect relative to this address.
    pub fn join(&self, location: &str) -> Result<Self, &'static str> {
        let location = location.trim_matches(' ');
        let before_path = location.split(['/', '?', '#']).next().unwrap_or_default();
        if before_path.contains(':') {
            return Self::parse(location);
        }
        let scheme = self.scheme.wire();
        if location.starts_with("//") {
            return Self::parse(&format!("{scheme}:{location}"));
        }
        let own = self.path.split('?').next().unwrap_or_default();
        let path = match location.chars().next() {
            None | Some('#') => self.path.clone(),
            Some('/') => location.to_owned(),
            Some('?') => format!("{own}{location}"),
            Some(_) => format!("{}{location}", &own[..=own.rfind('/').unwrap_or(0)]),
        };
        Self::parse(&format!("{scheme}://{}{path}", self.authority()))
    }

    /// Tells whether the scheme is https.
    pub fn is_tls(&self) -> bool {
        self.scheme == WebScheme::Https
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> WebScheme {
        self.scheme
    }

    /// Returns the host.
    pub fn host(&self) -> &WebHost {
        &self.host
    }

    /// Returns the port, the scheme's default if none is given.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// With the query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The host, with the port where it is not the usual one.
    pub fn authority(&self) -> String {
        match self.port == self.scheme.port() {
            true => self.host.to_string(),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl WebScheme {
    /// Returns the scheme as written in addresses.
    pub fn wire(self) -> &'static str {
        match self {
            WebScheme::Http => "http",
            WebScheme::Https => "https",
        }
    }

    fn port(self) -> u16 {
        match self {
            WebScheme::Http => 80,
            WebScheme::Https => 443,
        }
    }
}

const NO_SCHEME: &str = "an address begins with `http://` or `https://`";
const BAD_HOST: &str = "this is no host: a name has letters, digits, `-` and dots; a number has four parts; write other \
                        scripts as `xn--`";
const BAD_PORT: &str = "this is no port";
const BAD_PATH: &str = "the path contains a control character or a backslash";

impl WebHost {
    /// Parses a host.
    pub fn parse(raw: &str) -> Result<Self, &'static str> {
        if let Some(inner) = raw.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(BAD_HOST)?;
            // Without a zone: `%eth0` means something to one machine only.
            return inner.parse().map(WebHost::V6).map_err(|_| BAD_HOST);
        }
        let name = raw.strip_suffix('.').unwrap_or(raw).to_ascii_lowercase();
        if name.is_empty() || name.len() > HOST_BYTES_MAX {
            return Err(BAD_HOST);
        }
        let is_label = |label: &str| {
            !label.is_empty()
                && label.len() <= LABEL_BYTES_MAX
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        if !name.split('.').all(is_label) {
            return Err(BAD_HOST);
        }
        // Resolvers read `0x7f.1`, `017700000001` and `2130706433` as numbers. Only one spelling is one here.
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.starts_with("0x") || last.bytes().all(|b| b.is_ascii_digit()) {
            return name.parse().map(WebHost::V4).map_err(|_| BAD_HOST);
        }
        Ok(WebHost::Name(name))
    }
}

impl fmt::Display for WebHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WebHost::Name(name) => f.write_str(name),
            WebHost::V4(number) => write!(f, "{number}"),
            WebHost::V6(number) => write!(f, "[{number}]"),
        }
    }
}

impl fmt::Display for WebAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.wire(), self.authority(), self.path)
    }
}

/// A host and, if there is one, its port.
pub(crate) fn authority_of(raw: &str) -> Result<(WebHost, Option<u16>), &'static str> {
    if raw.contains('@') {
        return Err("an address has no user in front of its host");
    }
    // Only the last colon behind a bracket is one before a port.
    let split = match raw.rfind(']') {
        Some(end) => raw[end + 1..].find(':').map(|at| end + 1 + at),
        None => raw.find(':'),
    };
    let (host, port) = split.map_or((raw, None), |at| (&raw[..at], Some(&raw[at + 1..])));
    let port = match port {
        None => None,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            Some(digits.parse().ok().filter(|port| *port > 0).ok_or(BAD_PORT)?)
        }
        Some(_) => return Err(BAD_PORT),
    };
    Ok((WebHost::parse(host)?, port))
}

/// The path with its query and without its fragment; `.` and `..` resolved, everything unusual as `%xx`.
fn path_of(raw: &str) -> Result<String, &'static str> {
    let raw = raw.split('#').next().unwrap_or_default();
    if raw.contains(|c: char| c.is_control() || c == '\\') {
        return Err(BAD_PATH);
    }
    let (path, query) = match raw.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (raw, None),
    };
    let mut parts: Vec<&str> = Vec::new();
    let names: Vec<&str> = path.split('/').skip(1).collect();
    for (at, name) in names.iter().enumerate() {
        let is_last = at + 1 == names.len();
        match name.to_ascii_lowercase().replace("%2e", ".").as_str() {
            "." if is_last => parts.push(""),
            "." => {}
            ".." => {
                parts.pop();
                if is_last {
                    parts.push("");
                }
            }
            _ => parts.push(name),
        }
    }
    let mut out = String::with_capacity(raw.len() + 1);
    out.push('/');
    encode(&parts.join("/"), &mut out);
    if let Some(query) = query {
        out.push('?');
        encode(query, &mut out);
    }
    Ok(out)
}

fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'!' | b'#'..=b';' | b'=' | b'?'..=b'[' | b']' | b'_' | b'a'..=b'z' | b'~' => {
                out.push(byte as char)
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(raw: &str) -> String {
        WebAddress::parse(raw).map_or_else(str::to_owned, |address| address.to_string())
    }

    #[test]
    fn an_address_is_read_into_one_spelling() {
        for (raw, read) in [
            ("https://Docs.RS", "https://docs.rs/"),
            (" https://docs.rs/a b?c=\"d\"#e ", "https://docs.rs/a%20b?c=%22d%22"),
            ("HTTP://docs.rs:80/", "http://docs.rs/"),
            ("https://docs.rs:8443/x", "https://docs.rs:8443/x"),
            ("https://docs.rs./x", "https://docs.rs/x"),
            ("https://docs.rs/a/../b/./c/..", "https://docs.rs/b/"),
            ("https://docs.rs/a/%2e%2E/b", "https://docs.rs/b"),
            ("https://docs.rs/../../etc", "https://docs.rs/etc"),
            ("https://de.wikipedia.org/wiki/Müller", "https://de.wikipedia.org/wiki/M%C3%BCller"),
            ("https://docs.rs?q=1", "https://docs.rs/?q=1"),
            ("https://docs.rs/a%2Fb", "https://docs.rs/a%2Fb"),
            ("http://[::1]:8080/", "http://[::1]:8080/"),
            ("http://[0:0::1]/", "http://[::1]/"),
            ("http://127.0.0.1/", "http://127.0.0.1/"),
        ] {
            assert_eq!(shown(raw), read, "{raw}");
        }
    }

    // G26, S21, S22 Seen to fail when what stands before `@` is left out instead of refused, and with `0x` taken for a name.
    #[test]
    fn what_two_readers_could_understand_differently_is_no_address() {
        for raw in [
            "",
            "docs.rs",
            "//docs.rs",
            "http:/docs.rs",
            "http:docs.rs",
            "ftp://docs.rs",
            "file:///etc/passwd",
            "gopher://127.0.0.1:6379/_x",
            "javascript://x/%0aalert(1)",
            "http://",
            "http:///x",
            "http://user@docs.rs/",
            "http://docs.rs@127.0.0.1/",
            "http://user:word@docs.rs/",
            "http://docs.rs\\@127.0.0.1/",
            "http://docs.rs\\.evil.test/",
            "http://docs.rs\0.evil.test/",
            "http://docs.rs%00.evil.test/",
            "http://docs.rs\t.evil.test/",
            "http://docs.rs\r\nHost: evil/",
            "http://docs.rs/a\r\nX: y",
            "http://docs.rs/a\0b",
            "http://docs.rs/a\\b",
            "http://docs rs/",
            "http://docs%2ers/",
            "http://ⓓocs.rs/",
            "http://１２７.0.0.1/",
            "http://127。0。0。1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.0.0.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://127.0.1/",
            "http://127.0.0.01/",
            "http://127.0.0.1.2/",
            "http://127.0.0.256/",
            "http://1.2.3.0x4/",
            "http://[::1/",
            "http://::1/",
            "http://[::1%25eth0]/",
            "http://[fe80::1%eth0]/",
            "http://[127.0.0.1]/",
            "http://docs.rs:/",
            "http://docs.rs:0/",
            "http://docs.rs:65536/",
            "http://docs.rs:+80/",
            "http://docs.rs:80:80/",
            "http://docs..rs/",
            "http://.docs.rs/",
            "http://*.docs.rs/",
            "http://[::1]x/",
        ] {
            assert!(WebAddress::parse(raw).is_err(), "{raw:?} {:?}", WebAddress::parse(raw));
        }
        assert!(WebAddress::parse(&format!("http://docs.rs/{}", "a".repeat(ADDRESS_BYTES_MAX))).is_err());
    }

    #[test]
    fn a_redirect_is_read_as_seen_from_where_it_was_met() {
        let here = WebAddress::parse("https://docs.rs:8443/a/b?c").unwrap();
        for (location, there) in [
            ("https://other.test/x", "https://other.test/x"),
            ("//other.test/x", "https://other.test/x"),
            ("/x?y", "https://docs.rs:8443/x?y"),
            ("x", "https://docs.rs:8443/a/x"),
            ("../x", "https://docs.rs:8443/x"),
            ("?z", "https://docs.rs:8443/a/b?z"),
            ("", "https://docs.rs:8443/a/b?c"),
            ("#z", "https://docs.rs:8443/a/b?c"),
            ("x:y", NO_SCHEME),
            ("javascript:alert(1)", NO_SCHEME),
            ("file:///etc/passwd", NO_SCHEME),
            ("///etc/passwd", BAD_HOST),
            ("\\\\other.test/x", BAD_PATH),
            ("//user@other.test", "an address has no user in front of its host"),
        ] {
            let read = here.join(location).map_or_else(str::to_owned, |address| address.to_string());
            assert_eq!(read, there, "{location:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_as_the_same(raw in "https?://[a-z0-9.:@%\\[\\]-]{1,20}[/?#]?\\PC{0,20}") {
            if let Ok(address) = WebAddress::parse(&raw) {
                prop_assert_eq!(&WebAddress::parse(&address.to_string()).unwrap(), &address);
                prop_assert!(address.path().bytes().all(|b| b.is_ascii_graphic()), "{:?}", address);
                if let Ok(there) = address.join(&raw[8..]) {
                    prop_assert_eq!(&WebAddress::parse(&there.to_string()).unwrap(), &there);
                }
            }
        }

        #[test]
        fn any_text_is_an_address_or_none(raw in "\\PC{0,60}") {
            let _ = WebAddress::parse(&raw);
        }
    }
}
