//! The points that a distribution of numbers is kept by.

use super::{MAX_POINTS, Point};

/// Takes in the numbers of a feature in ascending order.
pub struct Summary {
    count: u64,
    seen: u64,
    /// A point for each number, as long as there are few.
    all: Option<Vec<Point>>,
    /// Points at ranks of equal distance.
    quantiles: Vec<Point>,
    next: u64,
}

impl Summary {
    /// Of so many numbers.
    pub fn of(count: u64) -> Summary {
        Summary { count, seen: 0, all: Some(Vec::new()), quantiles: Vec::new(), next: 0 }
    }

    /// Takes in a number that so many values are.
    pub fn add(&mut self, number: f32, values: u64) {
        let share = |rank: u64| rank as f64 / self.count as f64;
        let (below, upto) = (share(self.seen), share(self.seen + values));
        let point = Point { number: f64::from(number), below, upto };
        self.seen += values;
        let mut chosen = false;
        while self.next <= MAX_POINTS && self.rank(self.next) < self.seen {
            chosen = true;
            self.next += 1;
        }
        if chosen {
            self.quantiles.push(point);
        }
        match &mut self.all {
            Some(all) if (all.len() as u64) < MAX_POINTS => all.push(point),
            _ => self.all = None,
        }
    }

    /// The rank of a quantile: the first is the least number's, the last the greatest's.
    fn rank(&self, quantile: u64) -> u64 {
        let last = u128::from(self.count.saturating_sub(1));
        (u128::from(quantile) * last / u128::from(MAX_POINTS)) as u64
    }

    /// The points.
    pub fn points(self) -> Vec<Point> {
        self.all.unwrap_or(self.quantiles)
    }
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn few_numbers_are_all_kept_and_of_many_the_ends() {
        let mut few = Summary::of(4);
        few.add(1.0, 3);
        few.add(2.0, 1);
        let points = few.points();
        assert_eq!(points.iter().map(|point| point.upto).collect::<Vec<_>>(), [0.75, 1.0]);
        let mut many = Summary::of(100_000);
        (0..100_000).for_each(|number| many.add(number as f32, 1));
        let points = many.points();
        assert_eq!(points.len(), 1001);
        assert_eq!((points[0].number, points[1000].number), (0.0, 99_999.0));
        assert_eq!(points[1000].upto, 1.0);
    }
}
