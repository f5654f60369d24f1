//! Time spans as people write them: `30d`, `1h30m`, `10 min`.

use std::time::Duration;

use posse_messages::localized;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Parses numbers with units: `90s`, `45m`, `12h`, `30d`, `8w` or `1h30m`.
pub fn parse(text: &str) -> Result<Duration, String> {
    let invalid = || localized!("span-invalid").to_string();
    let mut rest = text;
    let mut total: u64 = 0;
    while let Some(at) = rest.find(|c: char| !c.is_ascii_digit()) {
        let unit = match rest.as_bytes()[at] {
            b's' => 1,
            b'm' => MINUTE,
            b'h' => HOUR,
            b'd' => DAY,
            b'w' => 7 * DAY,
            _ => return Err(invalid()),
        };
        let number: u64 = rest[..at].parse().map_err(|_| invalid())?;
        let part = number.checked_mul(unit).and_then(|part| total.checked_add(part));
        total = part.ok_or_else(invalid)?;
        rest = &rest[at + 1..];
    }
    if text.is_empty() || !rest.is_empty() { Err(invalid()) } else { Ok(Duration::from_secs(total)) }
}

/// Parses a number of seconds, or a span with units.
pub fn seconds(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(seconds) => Ok(seconds),
        Err(_) => match parse(text) {
            Ok(span) => Ok(span.as_secs()),
            Err(_) => Err(localized!("span-or-seconds-invalid").to_string()),
        },
    }
}

/// Formats a span, rounded to its largest unit: `45 s`, `10 min`, `3 h`, `2 days`.
pub fn in_words(seconds: u64) -> String {
    let words = match seconds {
        0..90 => localized!("span-seconds", n = seconds),
        90..5_400 => localized!("span-minutes", n = rounded(seconds, MINUTE)),
        5_400..172_800 => localized!("span-hours", n = rounded(seconds, HOUR)),
        _ => localized!("span-days", n = rounded(seconds, DAY)),
    };
    words.to_string()
}

/// Formats a span for a column: `45s`, `10m`, `3h`, `2d`.
pub fn short(seconds: u64) -> String {
    match seconds {
        0..MINUTE => format!("{seconds}s"),
        MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        HOUR..DAY => format!("{}h", seconds / HOUR),
        _ => format!("{}d", seconds / DAY),
    }
}

fn rounded(seconds: u64, unit: u64) -> u64 {
    (seconds + unit / 2) / unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_number_with_a_unit() {
        for (text, seconds) in [
            ("20s", 20),
            ("45m", 2_700),
            ("12h", 43_200),
            ("30d", 2_592_000),
            ("2w", 1_209_600),
            ("1h30m", 5_400),
        ] {
            assert_eq!(parse(text).unwrap().as_secs(), seconds, "{text}");
            assert_eq!(super::seconds(text), Ok(seconds), "{text}");
        }
        assert_eq!(super::seconds("90"), Ok(90), "a number alone counts seconds");
        for wrong in [
            "",
            "d",
            "30",
            "-1d",
            "1h30",
            "h1",
            "5 s",
            "1.5h",
            "30 d",
            "99999999999999999999d",
            "9999999999999999999w",
            "3é",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_span_is_said_in_its_largest_unit() {
        for (seconds, words) in [
            (0, "0 s"),
            (89, "89 s"),
            (599, "10 min"),
            (600, "10 min"),
            (3_600, "60 min"),
            (7_200, "2 h"),
            (259_200, "3 days"),
        ] {
            assert_eq!(in_words(seconds), words, "{seconds}");
        }
    }
}
