//! Sizes in bytes as people write them: `500MB`, `2 GiB`.

use posse_messages::localized;

const UNITS: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

/// Parses an integer with a unit: `500MB`, `2 GB` or `1GiB`.
pub fn parse(text: &str) -> Result<u64, String> {
    let invalid = || localized!("size-invalid").to_string();
    let (unit, bytes) = UNITS.iter().find(|(unit, _)| text.ends_with(unit)).ok_or_else(invalid)?;
    let number: u64 = text[..text.len() - unit.len()].trim_end().parse().map_err(|_| invalid())?;
    number.checked_mul(*bytes).ok_or_else(invalid)
}

/// Formats a size in its largest unit: `950 B`, `12 kB`, `3.4 MB`, `1.2 GB`.
pub fn in_words(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_with_a_unit() {
        for (text, bytes) in [("500MB", 500_000_000), ("2 GB", 2_000_000_000), ("1GiB", 1 << 30), ("0kB", 0)]
        {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "5", "MB", "-1MB", "1.5GB", "99999999999999GB", "5 XB", "3é"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_size_is_said_in_its_largest_unit() {
        for (bytes, words) in
            [(0, "0 B"), (999, "999 B"), (12_345, "12 kB"), (3_400_000, "3.4 MB"), (1_200_000_000, "1.2 GB")]
        {
            assert_eq!(in_words(bytes), words, "{bytes}");
        }
    }
}
