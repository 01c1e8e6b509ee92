//! Durations as people write them: `30s`.

/// The longest timeout: a handler holds a database transaction while it runs.
const LONGEST_MS: u64 = 24 * 60 * 60 * 1000;

/// The milliseconds of a number and a unit, or what is wrong.
pub(crate) fn milliseconds(text: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim_start() {
        _ if digits == 0 => None,
        "ms" => Some(1),
        "s" => Some(1000),
        "m" => Some(60 * 1000),
        "h" => Some(60 * 60 * 1000),
        _ => None,
    };
    let Some(unit) = unit else {
        return Err(format!(
            "`{text}` is not a timeout: write a whole number and `ms`, `s`, `m` or `h`, such as `30s`"
        ));
    };
    let total = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    match total {
        Some(0) => Err("a timeout of zero would end every run: leave `timeout` out for the \
                        default of 30 seconds"
            .to_owned()),
        Some(total) if total <= LONGEST_MS => Ok(total),
        _ => Err("a handler holds a database transaction while it runs: its timeout is at most \
                  `24h`"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_a_whole_number_and_a_unit() {
        for (text, expected) in
            [("30s", 30_000), ("500ms", 500), ("2 m", 120_000), ("24h", LONGEST_MS)]
        {
            assert_eq!(milliseconds(text), Ok(expected), "{text}");
        }
        for bad in ["", "s", "30", "1.5s", "-1s", "0s", "0ms", "25h", "99999999999999999999s", "1d"]
        {
            assert!(milliseconds(bad).is_err(), "{bad}");
        }
    }
}
