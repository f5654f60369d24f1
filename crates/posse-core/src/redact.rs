//! Keys in a text, by their shape or because somebody knows them, replaced by what they are. One pass, nothing to prepare:
//! every tool's output goes through this before a model or a journal sees it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Shorter values are words (`true`, `eu`), and replacing them would garble the text.
const KNOWN_BYTES_MIN: usize = 8;
/// A private key without an end is left out up to here.
const PEM_BYTES_MAX: usize = 16 << 10;

/// Removes secrets from texts.
#[derive(Clone)]
pub struct SecretRedactor {
    shapes: bool,
    known: Vec<String>,
}

impl Default for SecretRedactor {
    /// Keys by their shape.
    fn default() -> Self {
        Self { shapes: true, known: Vec::new() }
    }
}

impl SecretRedactor {
    /// Creates a redactor that removes nothing, for operators who switch it off.
    pub fn off() -> Self {
        Self { shapes: false, known: Vec::new() }
    }

    /// Also these very texts, whatever they look like.
    pub fn knowing(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        let secrets = secrets.into_iter().map(|secret| secret.trim().to_owned());
        self.known.extend(secrets.filter(|secret| secret.len() >= KNOWN_BYTES_MIN));
        // Of two of which one begins the other, the longer one first.
        self.known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        self.known.dedup();
        self
    }

    /// Replaces every secret by a placeholder that names its kind.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut out = Cow::Borrowed(text);
        for secret in &self.known {
            if out.contains(secret.as_str()) {
                out = Cow::Owned(out.replace(secret.as_str(), "[redacted: a key of the operator]"));
            }
        }
        if !self.shapes {
            return out;
        }
        match by_shape(&out) {
            Some(redacted) => Cow::Owned(redacted),
            None => out,
        }
    }
}

impl fmt::Debug for SecretRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor(shapes: {}, known: {})", self.shapes, self.known.len())
    }
}

/// A key that begins so, goes on with at least so many of these characters, and is called so.
struct KeyShape {
    prefix: &'static str,
    min: usize,
    of: fn(u8) -> bool,
    what: &'static str,
}

const fn shape(prefix: &'static str, min: usize, of: fn(u8) -> bool, what: &'static str) -> KeyShape {
    KeyShape { prefix, min, of, what }
}

/// Longer beginnings before shorter ones.
// flat table
const SHAPES: &[KeyShape] = &[
    shape("sk-ant-", 20, url, "Anthropic key"),
    shape("sk-proj-", 20, url, "OpenAI key"),
    shape("sk-svcacct-", 20, url, "OpenAI key"),
    shape("sk-admin-", 20, url, "OpenAI key"),
    shape("sk-or-v1-", 32, url, "OpenRouter key"),
    shape("sk-lf-", 20, url, "Langfuse key"),
    shape("sk_live_", 16, word, "Stripe key"),
    shape("sk_test_", 16, word, "Stripe key"),
    shape("rk_live_", 16, word, "Stripe key"),
    shape("rk_test_", 16, word, "Stripe key"),
    shape("whsec_", 24, word, "Stripe webhook secret"),
    shape("sk-", 32, url, "API key"),
    shape("AIza", 35, url, "Google API key"),
    shape("ya29.", 20, url, "Google OAuth token"),
    shape("GOCSPX-", 20, url, "Google OAuth secret"),
    shape("AKIA", 16, upper, "AWS access key"),
    shape("ASIA", 16, upper, "AWS access key"),
    shape("ABIA", 16, upper, "AWS access key"),
    shape("ACCA", 16, upper, "AWS access key"),
    shape("ghp_", 36, word, "GitHub token"),
    shape("gho_", 36, word, "GitHub token"),
    shape("ghu_", 36, word, "GitHub token"),
    shape("ghs_", 36, word, "GitHub token"),
    shape("ghr_", 36, word, "GitHub token"),
    shape("github_pat_", 50, word, "GitHub token"),
    shape("glpat-", 20, url, "GitLab token"),
    shape("gldt-", 20, url, "GitLab token"),
    shape("glrt-", 20, url, "GitLab token"),
    shape("xoxb-", 20, url, "Slack token"),
    shape("xoxp-", 20, url, "Slack token"),
    shape("xoxa-", 20, url, "Slack token"),
    shape("xoxr-", 20, url, "Slack token"),
    shape("xoxs-", 20, url, "Slack token"),
    shape("xoxe-", 20, url, "Slack token"),
    shape("xapp-", 20, url, "Slack token"),
    shape("npm_", 36, word, "npm token"),
    shape("pypi-AgEI", 40, url, "PyPI token"),
    shape("hf_", 30, word, "Hugging Face token"),
    shape("gsk_", 40, word, "Groq key"),
    shape("xai-", 40, url, "xAI key"),
    shape("pplx-", 40, url, "Perplexity key"),
    shape("r8_", 37, word, "Replicate token"),
    shape("dop_v1_", 40, word, "DigitalOcean token"),
    shape("dckr_pat_", 20, url, "Docker token"),
    shape("shpat_", 32, word, "Shopify token"),
    shape("shpss_", 32, word, "Shopify secret"),
    shape("lin_api_", 32, word, "Linear key"),
    shape("ntn_", 40, word, "Notion token"),
    shape("figd_", 32, url, "Figma token"),
    shape("hvs.", 24, url, "Vault token"),
    shape("dapi", 32, word, "Databricks token"),
    shape("dp.pt.", 40, word, "Doppler token"),
    shape("ATATT3", 60, padded, "Atlassian token"),
    shape("PMAK-", 50, url, "Postman key"),
    shape("NRAK-", 27, word, "New Relic key"),
    shape("SG.", 60, dotted, "SendGrid key"),
    shape("AGE-SECRET-KEY-1", 50, upper, "age private key"),
    shape("AccountKey=", 60, padded, "Azure storage key"),
];

/// Names in front of secrets that have no shape of their own.
const NAMED: &[(&str, usize, &str)] = &[
    ("aws_secret_access_key", 40, "AWS secret key"),
    ("secretaccesskey", 40, "AWS secret key"),
    ("aws_session_token", 80, "AWS session token"),
    ("authorization: bearer ", 16, "bearer token"),
    ("authorization: basic ", 12, "password"),
    ("x-api-key: ", 16, "API key"),
];

const fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

const fn url(byte: u8) -> bool {
    word(byte) || byte == b'-'
}

const fn dotted(byte: u8) -> bool {
    url(byte) || byte == b'.'
}

const fn padded(byte: u8) -> bool {
    url(byte) || matches!(byte, b'+' | b'/' | b'=')
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

/// Result of looking at one position.
enum SecretMatch {
    /// A key: what stays in front of it, how long it is with that, and what it is.
    Key { kept: usize, length: usize, what: &'static str },
    /// No secret here, and none begins within this many bytes.
    Nothing(usize),
}

fn by_shape(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out: Option<String> = None;
    let (mut at, mut copied) = (0, 0);
    while let Some(place) = next_place(bytes, at) {
        at = place.start;
        while at < place.end {
            let is_start = at == copied || !word(bytes[at - 1]);
            // A private key begins wherever its dashes are.
            let may_begin = bytes[at] == b'-' || (is_start && bytes[at].is_ascii_alphabetic());
            let found = if may_begin { find(&bytes[at..]) } else { SecretMatch::Nothing(1) };
            match found {
                SecretMatch::Nothing(length) => at += length.max(1),
                SecretMatch::Key { kept, length, what } => {
                    let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
                    out.push_str(&text[copied..at + kept]);
                    out.push_str("[redacted: ");
                    out.push_str(what);
                    out.push(']');
                    at += length;
                    copied = at;
                }
            }
        }
    }
    out.map(|mut out| {
        out.push_str(&text[copied..]);
        out
    })
}

/// Every key has at least so many characters of keys in a row: `-----BEGIN` has the fewest.
const RUN_BYTES_MIN: usize = 10;
/// Longest distance between a name and its value.
const NAME_BYTES_MAX: usize = 32;

/// Returns the next range to inspect. Bytes between such ranges hold no key; most bytes are skipped.
fn next_place(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let is_of_key = |byte: &u8| OF_KEYS[usize::from(*byte)];
    let mut start = from;
    while let Some(row) = bytes.get(start..start + RUN_BYTES_MIN) {
        // No row goes across this byte, so the next one begins behind it at the earliest.
        if let Some(gap) = row.iter().rposition(|byte| !is_of_key(byte)) {
            start += gap + 1;
            continue;
        }
        let end = start + bytes[start..].iter().take_while(|byte| is_of_key(byte)).count();
        return Some(start.saturating_sub(NAME_BYTES_MAX).max(from)..end);
    }
    None
}

const OF_KEYS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = padded_or_dotted(byte as u8);
        byte += 1;
    }
    table
};

/// The first two bytes of everything in the tables, a bit for each pair: almost no word begins with one of these, so almost
/// every word costs one look.
const BEGINNINGS: [u64; 1024] = beginnings();

const fn beginnings() -> [u64; 1024] {
    let mut bits = [0; 1024];
    let mut at = 0;
    while at < SHAPES.len() {
        let prefix = SHAPES[at].prefix.as_bytes();
        bits = with_pair(bits, prefix[0], prefix[1]);
        at += 1;
    }
    at = 0;
    while at < NAMED.len() {
        let name = NAMED[at].0.as_bytes();
        let (first, second) = (name[0], name[1]);
        bits = with_pair(bits, first, second);
        bits = with_pair(bits, first.to_ascii_uppercase(), second);
        bits = with_pair(bits, first, second.to_ascii_uppercase());
        bits = with_pair(bits, first.to_ascii_uppercase(), second.to_ascii_uppercase());
        at += 1;
    }
    with_pair(bits, b'e', b'y')
}

const fn with_pair(mut bits: [u64; 1024], first: u8, second: u8) -> [u64; 1024] {
    let pair = (first as usize) << 8 | second as usize;
    bits[pair / 64] |= 1 << (pair % 64);
    bits
}

fn may_be_known(bytes: &[u8]) -> bool {
    let [first, second, ..] = *bytes else { return false };
    let pair = usize::from(first) << 8 | usize::from(second);
    BEGINNINGS[pair / 64] & (1 << (pair % 64)) != 0
}

fn find(bytes: &[u8]) -> SecretMatch {
    match bytes[0] {
        b'-' => private_key(bytes),
        _ if !may_be_known(bytes) => SecretMatch::Nothing(1),
        b'e' if bytes.starts_with(b"eyJ") => web_token(bytes),
        _ => prefixed(bytes).or_else(|| named(bytes)).unwrap_or(SecretMatch::Nothing(1)),
    }
}

fn run(bytes: &[u8], of: fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| of(**byte)).count()
}

fn prefixed(bytes: &[u8]) -> Option<SecretMatch> {
    let candidates = SHAPES.iter().filter(|shape| bytes.starts_with(shape.prefix.as_bytes()));
    candidates
        .filter_map(|KeyShape { prefix, min, of, what }| {
            // Short of its least length it is not one, so a failure costs no more than that.
            let length = run(&bytes[prefix.len()..], *of);
            (length >= *min).then_some(SecretMatch::Key { kept: 0, length: prefix.len() + length, what })
        })
        .next()
}

/// Between a name and its value.
const BETWEEN_BYTES_MAX: usize = 5;

/// `name = "value"`, in any of the ways in which configurations are written.
fn named(bytes: &[u8]) -> Option<SecretMatch> {
    let fits =
        |name: &str| bytes.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()));
    let (name, min, what) = NAMED.iter().find(|(name, ..)| fits(name))?;
    let between = bytes[name.len()..]
        .iter()
        .take(BETWEEN_BYTES_MAX)
        .take_while(|byte| b" \t=:\"'".contains(byte))
        .count();
    let kept = name.len() + between;
    let length = run(&bytes[kept..], padded_or_dotted);
    (length >= *min).then_some(SecretMatch::Key { kept, length: kept + length, what })
}

const fn padded_or_dotted(byte: u8) -> bool {
    padded(byte) || byte == b'.'
}

/// Three parts of base64 with dots between them.
fn web_token(bytes: &[u8]) -> SecretMatch {
    let mut length = 0;
    for part in 0..3 {
        let run = run(&bytes[length..], url);
        length += run;
        if run < 8 || (part < 2 && bytes.get(length) != Some(&b'.')) {
            // No other token begins inside of what was looked at, or it would not have ended here; a private key may.
            let dashes = bytes[..length].windows(5).position(|window| window == b"-----");
            return SecretMatch::Nothing(dashes.unwrap_or(length));
        }
        length += usize::from(part < 2);
    }
    SecretMatch::Key { kept: 0, length, what: "JSON web token" }
}

fn private_key(bytes: &[u8]) -> SecretMatch {
    const BEGIN: &[u8] = b"-----BEGIN ";
    if !bytes.starts_with(BEGIN) {
        return SecretMatch::Nothing(1);
    }
    let line_end = bytes.iter().take(100).position(|byte| *byte == b'\n').unwrap_or(bytes.len().min(100));
    let line = &bytes[..line_end];
    if !line.windows(11).any(|window| window == b"PRIVATE KEY") {
        return SecretMatch::Nothing(BEGIN.len());
    }
    let window = &bytes[..bytes.len().min(PEM_BYTES_MAX)];
    let end = window.windows(9).position(|found| found == b"-----END ").map(|end| {
        let rest = &window[end + 9..];
        let close = rest.iter().take(80).position(|byte| *byte == b'\n').unwrap_or(rest.len().min(80));
        // Up to the dashes, whether or not a line ends there.
        let dashes = rest[..close].windows(5).position(|found| found == b"-----").map_or(close, |at| at + 5);
        end + 9 + dashes
    });
    let length = end.unwrap_or_else(|| run(&window[BEGIN.len()..], pem).saturating_add(BEGIN.len()));
    SecretMatch::Key { kept: 0, length, what: "private key" }
}

fn pem(byte: u8) -> bool {
    padded(byte) || matches!(byte, b'\n' | b'\r' | b' ' | b'\\' | b':' | b',')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn redacted(text: &str) -> String {
        SecretRedactor::default().redact(text).into_owned()
    }

    /// Made up here, so that no scanner takes this file for a leak.
    fn key(prefix: &str, length: usize) -> String {
        format!("{prefix}{}", "Ab3dE5".repeat(length).get(..length).unwrap())
    }

    // G22, S26 Seen to fail without `named`, and without `web_token`.
    #[test]
    fn keys_are_told_by_their_shape() {
        let upper = |prefix: &str| format!("{prefix}{}", "A2B3".repeat(4));
        let token = format!("eyJ{}.eyJ{}.{}", "hbGc1".repeat(4), "zdWIi".repeat(4), "c2ln_-".repeat(5));
        let pem =
            format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "MIIE".repeat(40));
        let open = format!("-----BEGIN PRIVATE KEY-----\n{}\n", "MIIE".repeat(40));
        for (secret, what) in [
            (key("sk-ant-api03-", 90), "Anthropic key"),
            (key("sk-proj-", 60), "OpenAI key"),
            (key("sk-", 48), "API key"),
            (key("AIza", 35), "Google API key"),
            (upper("AKIA"), "AWS access key"),
            (upper("ASIA"), "AWS access key"),
            (key("ghp_", 36), "GitHub token"),
            (key("github_pat_", 82), "GitHub token"),
            (key("glpat-", 20), "GitLab token"),
            (key("xoxb-", 40), "Slack token"),
            (key("sk_live_", 24), "Stripe key"),
            (key("npm_", 36), "npm token"),
            (key("hf_", 34), "Hugging Face token"),
            (key("gsk_", 52), "Groq key"),
            (key("pypi-AgEI", 100), "PyPI token"),
            (format!("{}.{}", key("SG.", 22), key("", 43)), "SendGrid key"),
            (token, "JSON web token"),
            (pem, "private key"),
        ] {
            let marker = format!("[redacted: {what}]");
            assert_eq!(redacted(&secret), marker, "{secret}");
            assert_eq!(redacted(&format!("a \"{secret}\", b")), format!("a \"{marker}\", b"));
            assert_eq!(
                redacted(&format!("KEY={secret}\nKEY={secret}")),
                format!("KEY={marker}\nKEY={marker}")
            );
        }
        assert_eq!(redacted(&open).trim_end(), "[redacted: private key]");
        let secret = key("", 40);
        for line in [
            format!("aws_secret_access_key = {secret}"),
            format!("export AWS_SECRET_ACCESS_KEY={secret}"),
            format!("\"SecretAccessKey\": \"{secret}\""),
            format!("Authorization: Bearer {secret}"),
            format!("x-api-key: {secret}"),
        ] {
            let shown = redacted(&line);
            assert!(!shown.contains(&secret) && shown.contains("[redacted: "), "{shown}");
        }
    }

    #[test]
    fn everything_in_the_tables_has_a_long_row_and_a_name_near_it() {
        for KeyShape { prefix, min, .. } in SHAPES {
            assert!(prefix.bytes().all(padded_or_dotted) && prefix.len() + min >= RUN_BYTES_MIN, "{prefix}");
        }
        for (name, min, _) in NAMED {
            assert!(*min >= RUN_BYTES_MIN && name.len() + BETWEEN_BYTES_MAX <= NAME_BYTES_MAX, "{name}");
        }
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in [
            "",
            "sk-learn and sk-8 and task-force",
            "a disk-based-index-of-things-that-are-stored",
            "AKIA is a prefix; AKIAabc is no key",
            "ghp_short npm_install hf_hub_download",
            "eyJ.eyJ.x eyJhbGci",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----",
            "authorization: bearer token",
            "aws_secret_access_key = os.environ['X']",
            "commit 4f2a9c1e5b6d7f8091a2b3c4d5e6f70812345678",
            "let desk-lamp = \"ümlaut\"; // sk-",
        ] {
            assert!(matches!(SecretRedactor::default().redact(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn what_the_operator_knows_is_found_whatever_it_looks_like() {
        let redactor = SecretRedactor::off().knowing([
            "plain words".to_owned(),
            "true".to_owned(),
            " hunter2-longer\n".to_owned(),
        ]);
        let shown = redactor.redact("say plain words, true, hunter2-longer");
        let marker = "[redacted: a key of the operator]";
        assert_eq!(shown, format!("say {marker}, true, {marker}"));
        assert!(!format!("{redactor:?}").contains("hunter2"));
        assert_eq!(SecretRedactor::off().redact(&key("ghp_", 36)), key("ghp_", 36));
    }

    #[test]
    fn the_longest_text_takes_time_in_proportion() {
        let began = std::time::Instant::now();
        for piece in [
            "sk-",
            "eyJ-",
            "eyJhbGciOi.",
            "-----BEGIN ",
            "-----BEGIN PRIVATE KEY-----\n",
            "aws_secret_access_key=",
        ] {
            redacted(&piece.repeat((1 << 20) / piece.len()));
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    }

    #[test]
    fn everything_in_the_tables_is_looked_for() {
        for KeyShape { prefix, min, what, .. } in SHAPES {
            let shown = redacted(&format!("= {prefix}{}", "A".repeat(*min)));
            assert!(shown.starts_with("= [redacted: "), "{what}: {shown}");
        }
        for (name, min, what) in NAMED {
            for name in [name.to_string(), name.to_uppercase()] {
                let shown = redacted(&format!("{name}{}", "a".repeat(*min)));
                assert_eq!(shown, format!("{name}[redacted: {what}]"));
            }
        }
    }

    proptest! {
        /// No row that is long enough is passed over, and no shorter one is stopped at.
        #[test]
        fn every_long_row_is_a_place(text in "([a-z]{1,12}|[ \n]|--|é){0,30}") {
            let bytes = text.as_bytes();
            let mut rows = Vec::new();
            let mut begin = 0;
            for row in bytes.split(|byte| !padded_or_dotted(*byte)) {
                if row.len() >= RUN_BYTES_MIN {
                    rows.push(begin + row.len());
                }
                begin += row.len() + 1;
            }
            let places = std::iter::successors(next_place(bytes, 0), |place| next_place(bytes, place.end));
            prop_assert_eq!(places.map(|place| place.end).collect::<Vec<_>>(), rows);
        }

        #[test]
        fn a_key_is_found_wherever_it_stands(before in "[ \n\"'=:,(]{0,4}", after in "[ \n\"',)]{0,4}") {
            let secret = key("ghp_", 36);
            let shown = redacted(&format!("{before}{secret}{after}"));
            prop_assert_eq!(shown, format!("{before}[redacted: GitHub token]{after}"));
        }

        #[test]
        fn any_text_can_be_redacted_and_then_nothing_is_left(text in "(sk-|eyJ|AKIA|[a-zA-Z0-9_.-]|\\PC|-----BEGIN PRIVATE KEY-----){0,60}") {
            let once = redacted(&text);
            prop_assert_eq!(redacted(&once), once.clone());
        }
    }
}
