//! The normal distribution and Student's t. `libm` instead of the platform's
//! functions, so that every machine gets the same bits.

/// Share of a standard normal distribution below `z`.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// The chance that Student's t with `df` degrees of freedom is farther from
/// zero than `t`.
pub(crate) fn student_two_sided(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(df / 2.0, 0.5, df / (df + t * t))
}

/// The t that is exceeded with the chance `tail`, 0 < tail < 1/2.
pub(crate) fn student_upper(tail: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_two_sided(high, df) > 2.0 * tail && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if student_two_sided(middle, df) > 2.0 * tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The regularised incomplete beta function, by its continued fraction (DLMF
/// 8.17.22) and Lentz's method.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast on this side of the mean, the other side
    // follows by symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let log_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
        + a * libm::log(x)
        + b * libm::log1p(-x);
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for numerator in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + numerator * d);
            c = away_from_zero(1.0 + numerator / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    libm::exp(log_front) * fraction / a
}

#[cfg(test)]
mod tests {
    use super::{normal_cdf, student_two_sided, student_upper};

    /// The expected figures are scipy's (`norm.cdf`, `t.sf`, `t.isf`).
    #[test]
    fn agrees_with_tables() {
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        for (z, share) in [
            (-5.0, 2.866_515_718_791_933e-7),
            (-1.96, 0.024_997_895_148_220_435),
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_542_9),
        ] {
            assert!(close(normal_cdf(z), share), "{z}: {}", normal_cdf(z));
        }
        for (t, df, p) in [
            (2.0, 3.0, 0.139_325_968_558_843_05),
            (0.5, 1.0, 0.704_832_764_699_133_5),
            (12.0, 30.0, 5.580_185_415_199_261e-13),
            (40.0, 5.0, 1.841_196_217_177_295_4e-7),
            (0.0, 7.0, 1.0),
        ] {
            let found = student_two_sided(t, df);
            assert!(close(found, p), "{t} with {df}: {found}");
        }
        assert_eq!(student_two_sided(f64::INFINITY, 4.0), 0.0);
        for (tail, df, t) in [
            (0.025, 1.0, 12.706_204_736_174_705),
            (0.025, 5.0, 2.570_581_835_636_315_5),
            (0.025, 998.0, 1.962_343_846_216_334_5),
            (0.001, 3.0, 10.214_531_852_407_385),
        ] {
            let found = student_upper(tail, df);
            assert!(close(found, t), "{tail} with {df}: {found}");
        }
    }
}
