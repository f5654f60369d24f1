//! For whoever wants to know afterwards: logs, OpenTelemetry spans, transcripts. Readers of events; nothing here can slow
//! down or fail a run.
//!
//! Text of people, models and tools stays out of logs unless it was asked for, and out of spans always.

mod facts;
pub mod log;
pub mod otlp;
pub mod spans;
pub mod transcript;

/// An instant as RFC 3339 has it, in milliseconds since 1970: `2026-02-18T09:30:00.000Z`.
pub fn utc(ms: u64) -> String {
    let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    // Years that begin in March end in the leap day, and 400 of them always have 146,097 days (Howard Hinnant's
    // `civil_from_days`, without the times before 1970).
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1_000 % 60, of_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// A tool's name as a model wrote it: it may have invented one, of any length.
fn tool_name(written: &str) -> String {
    const SHOWN: usize = 64;
    posse_core::text::visible(posse_core::text::prefix(written, SHOWN)).into_owned()
}

fn since_1970() -> std::time::Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_instant_is_written_as_rfc_3339() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_771_407_000_123, "2026-02-18T09:30:00.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(super::utc(ms), text);
        }
    }
}
