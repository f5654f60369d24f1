//! Figures of a row: each has a fixed width, so that columns stay where they are.

/// Widest cost: `$0.021`, `$123.4`.
pub(super) const COST_COLUMNS: usize = 6;
/// Widest time: `1m12s`.
pub(super) const TIME_COLUMNS: usize = 5;

/// Formats a count in at most four characters: 950, 1.2k, 12k, 3.4M.
pub fn count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..9_950 => format!("{:.1}k", n as f64 / 1e3),
        9_950..999_500 => format!("{:.0}k", n as f64 / 1e3),
        999_500..9_950_000 => format!("{:.1}M", n as f64 / 1e6),
        _ => format!("{:.0}M", n as f64 / 1e6),
    }
}

/// Formats a price in millionths of a dollar; `$?` if a part of it is not known.
pub fn cost(micros: Option<u64>) -> String {
    match micros {
        None => "$?".to_owned(),
        Some(micros) => match micros as f64 / 1e6 {
            dollars if dollars < 9.9995 => format!("${dollars:.3}"),
            dollars if dollars < 99.995 => format!("${dollars:.2}"),
            dollars if dollars < 999.95 => format!("${dollars:.1}"),
            dollars => format!("${dollars:.0}"),
        },
    }
}

/// Formats a time in at most five columns: 38s, 1m12s, 12m, 1h02m, 3d04h.
pub fn time(millis: u64) -> String {
    let seconds = millis / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..600 => format!("{minutes}m{:02}s", seconds % 60),
        600..3_600 => format!("{minutes}m"),
        3_600..36_000 => format!("{hours}h{:02}m", minutes % 60),
        36_000..86_400 => format!("{hours}h"),
        86_400..864_000 => format!("{days}d{:02}h", hours % 24),
        _ => format!("{days}d"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_width() {
        let counts = [0, 999, 1_000, 2_149, 9_949, 9_950, 123_456, 999_499, 999_500, 12_000_000].map(count);
        assert_eq!(counts, ["0", "999", "1.0k", "2.1k", "9.9k", "10k", "123k", "999k", "1.0M", "12M"]);
        let costs =
            [Some(0), Some(21_000), Some(9_999_400), Some(12_410_000), Some(123_400_000), None].map(cost);
        assert_eq!(costs, ["$0.000", "$0.021", "$9.999", "$12.41", "$123.4", "$?"]);
        let times =
            [0, 59, 72, 599, 600, 3_599, 3_720, 36_000, 86_399, 100_000, 900_000].map(|s| time(s * 1_000));
        assert_eq!(
            times,
            ["0s", "59s", "1m12s", "9m59s", "10m", "59m", "1h02m", "10h", "23h", "1d03h", "10d"]
        );
    }
}
