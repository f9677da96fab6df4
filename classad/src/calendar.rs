//! Conversion between seconds since 1970 and dates of the Gregorian calendar, for every year that fits.

/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;

/// A second of the calendar, without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    /// Of the Gregorian calendar.
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: i64,
    /// From 1.
    pub(crate) day: i64,
    /// From 0.
    pub(crate) hour: i64,
    /// From 0.
    pub(crate) minute: i64,
    /// From 0.
    pub(crate) second: i64,
    /// From 0.
    pub(crate) day_of_year: i64,
    /// Sunday is 0.
    pub(crate) day_of_week: i64,
}

impl Civil {
    /// The date of a number of seconds since 1970, counted in the zone that is wanted.
    pub(crate) fn new(seconds: i64) -> Self {
        let (days_since_1970, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        // Years that begin in March put the leap day last; 400 of them are an era of fixed length.
        let shifted = days_since_1970 + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_march_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_march_year + 2) / 153;
        let day = day_of_march_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self {
            year,
            month,
            day,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            day_of_year: days_since_1970 - days(year, 1, 1),
            day_of_week: (days_since_1970 + 4).rem_euclid(7),
        }
    }
}

/// Days from 1970-01-01 to a date; months and days out of range carry over.
pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    let march_year = if month <= 2 { year - 1 } else { year };
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let march_month = (month + 9) % 12;
    let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + (153 * march_month + 2) / 5;
    era * 146_097 + day_of_era - 719_468 + day - 1
}
