//! Labels of classes that are times, in ISO 8601 with a blank or a T, as PostgreSQL, NumPy and pandas write them.

/// Returns the seconds since 1970 of a label such as `2024-01-31` or `2024-01-31 12:30:00.5+02:00`, as a value of a
/// date or timestamp has them; `None` for other texts, and unless a time has a zone exactly if `is_zoned`.
pub(super) fn label_seconds(label: &str, is_zoned: bool) -> Option<f64> {
    let (date, time) = label.split_at_checked(10)?;
    let mut parts = date.split('-');
    let mut part = |length| parts.next().and_then(|text| whole(text, length));
    let days = days_since_1970(part(4)?, part(2)?, part(2)?)?;
    let (time, zone) = match time.find(['+', '-', 'Z']) {
        Some(place) => time.split_at(place),
        None => (time, ""),
    };
    if zone.is_empty() == is_zoned {
        return None;
    }
    let micros = match time.strip_prefix([' ', 'T']) {
        Some(time) => day_micros(time)?,
        None if time.is_empty() => 0,
        None => return None,
    };
    let east = match zone.split_at_checked(1) {
        None | Some(("Z", "")) => 0,
        Some(("+", offset)) => day_micros(offset)?,
        Some(("-", offset)) => -day_micros(offset)?,
        Some(_) => return None,
    };
    Some((days * 86_400_000_000 + micros - east) as f64 / 1e6)
}

/// Returns the microseconds of a time of day, from hours alone to a fraction of a second, of which six digits count.
fn day_micros(time: &str) -> Option<i64> {
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut seconds = 0;
    let mut unit = 3600;
    for part in time.split(':') {
        seconds += whole(part, 2)? * unit;
        unit /= 60;
    }
    let fraction: String = fraction.chars().chain("000000".chars()).take(6).collect();
    (time.len() <= "00:00:00".len()).then_some(seconds * 1_000_000 + whole(&fraction, 6)?)
}

fn whole(text: &str, length: usize) -> Option<i64> {
    let is_whole = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_whole)
}

/// Counts days in the Gregorian calendar, in years that begin with March.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = year - i64::from(month < 3);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(
        year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year
            - 719_468,
    )
}

#[cfg(test)]
mod tests {
    use super::label_seconds;

    #[test]
    fn times_are_seconds_since_1970() {
        for (label, seconds) in [
            ("1970-01-01", 0.0),
            ("2000-03-01", 951_868_800.0),
            ("2024-02-29 12:30:00", 1_709_209_800.0),
            ("2024-02-29T12:30:00.250000", 1_709_209_800.25),
            ("1969-12-31 23:59:59.999999999", -0.000_001),
            ("0001-01-01", -62_135_596_800.0),
        ] {
            assert_eq!(label_seconds(label, false), Some(seconds), "{label}");
            assert_eq!(label_seconds(label, true), None, "{label}");
        }
        for zone in ["+00", "Z", "+00:00"] {
            assert_eq!(label_seconds(&format!("1970-01-01 00:00:01{zone}"), true), Some(1.0));
        }
        assert_eq!(label_seconds("1970-01-01 00:00:00-05:30", true), Some(19_800.0));
        for label in [
            "",
            "1970",
            "1970-13-01",
            "1970-01-01x",
            "1970-01-01 0:00",
            "1970-01-01 +",
            "x970-01-01",
            "é970-01-01",
        ] {
            assert_eq!(label_seconds(label, false), None, "{label}");
        }
    }
}
