//! Curves into a picture: SVG, without any library. The same curves give the same bytes.
//!
//! ```
//! let curve = chart::Curve { name: "squares".to_owned(), points: vec![(0.0, 0.0), (1.0, 1.0), (2.0, 4.0)], ..Default::default() };
//! let chart = chart::Chart { title: "Growth".to_owned(), across: "x", up: "y", curves: vec![curve], ..Default::default() };
//! assert!(chart.svg().starts_with("<svg"));
//! ```
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod bars;

use std::fmt::Write as _;

pub use bars::{Bars, Group, Stack};

/// A chart of curves over one axis.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// What stands above it.
    pub title: String,
    /// What the horizontal axis is.
    pub across: &'static str,
    /// What the vertical axis is.
    pub up: &'static str,
    /// What stands below it, line by line. A line of more than 85 characters may not fit.
    pub caption: Vec<String>,
    /// The curves, each in a colour of its own.
    pub curves: Vec<Curve>,
    /// Each vertical step of the horizontal axis is ten times the one before. Points at 0 and below stand at its left end.
    pub across_by_tens: bool,
    /// Each line of the grid is ten times the one below.
    pub up_by_tens: bool,
    /// Single points with a word beside them.
    pub marks: Vec<(f64, f64, &'static str)>,
}

/// One curve.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// What the legend says.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// How far the true value of each point may be from it, drawn as a band; empty: no band.
    pub errors: Vec<f64>,
    /// Drawn with dashes.
    pub dashed: bool,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// From one line of text to the next.
const LINE: f64 = 18.0;
const COLOURS: [&str; 9] =
    ["#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#17becf", "#e377c2", "#444444"];

impl Chart {
    /// The chart as a file.
    #[must_use]
    pub fn svg(&self) -> String {
        let all = || self.curves.iter().flat_map(|curve| &curve.points).copied();
        let points: Vec<(f64, f64)> = all().chain(self.marks.iter().map(|(x, y, _)| (*x, *y))).collect();
        let across = Axis::of(points.iter().map(|(x, _)| *x), self.across_by_tens);
        let scale = Scale { across, up: Axis::of(points.iter().map(|(_, y)| *y), self.up_by_tens) };
        let mut svg = framed(&self.title, &self.caption, HEIGHT + 8.0);
        self.axes(&scale, &mut svg);
        for (place, curve) in self.curves.iter().enumerate() {
            curve.draw(place, &scale, &mut svg);
        }
        for (x, y, word) in &self.marks {
            let (x, y) = scale.place(*x, *y);
            let _ = write!(
                svg,
                "<path d=\"M{:.1} {:.1}l10 10m0 -10l-10 10\" stroke=\"black\" stroke-width=\"2\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                x - 5.0,
                y - 5.0,
                x - 10.0,
                y - 6.0,
                escaped(word)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn axes(&self, scale: &Scale, svg: &mut String) {
        for value in scale.across.levels() {
            let (x, y) = (scale.place(value, 0.0).0, HEIGHT - BOTTOM + 18.0);
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>", number(value));
        }
        for value in scale.up.levels() {
            level(value, scale.place(0.0, value).1, svg);
        }
        frame(svg);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 12.0,
            self.across
        );
        up_title(self.up, svg);
    }
}

impl Curve {
    fn draw(&self, place: usize, scale: &Scale, svg: &mut String) {
        let colour = COLOURS.get(place % COLOURS.len()).copied().unwrap_or("black");
        let dash = if self.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        if !self.errors.is_empty() {
            let with_errors = || self.points.iter().zip(&self.errors);
            let upper = with_errors().map(|((x, y), error)| (*x, y + error));
            let lower = with_errors().map(|((x, y), error)| (*x, (y - error).max(0.0))).rev();
            let points = listed(upper.chain(lower), scale);
            let _ = writeln!(svg, "<polygon points=\"{points}\" fill=\"{colour}\" fill-opacity=\"0.15\"/>");
        }
        let points = listed(self.points.iter().copied(), scale);
        let x = WIDTH - RIGHT + 12.0;
        let y = (0..place).fold(TOP + 14.0, |y, _| y + LINE);
        let _ = write!(
            svg,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{dash}/>\n\
             <path d=\"M{x} {:.1}h22\" stroke=\"{colour}\" stroke-width=\"2.5\"{dash}/><text x=\"{:.1}\" y=\"{y:.1}\">{}</text>\n",
            y - 4.0,
            x + 28.0,
            escaped(&self.name)
        );
    }
}

/// The beginning of a picture: its title, and its caption with the first line at this height.
fn framed(title: &str, caption: &[String], first: f64) -> String {
    let height = caption.iter().skip(1).fold(HEIGHT.max(first + 10.0), |height, _| height + LINE);
    let height = if caption.is_empty() { HEIGHT } else { height };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{}</text>\n",
        escaped(title)
    );
    let mut y = first;
    for line in caption {
        let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"{y:.1}\">{}</text>", escaped(line));
        y += LINE;
    }
    svg
}

/// Points as an attribute of SVG.
fn listed(points: impl Iterator<Item = (f64, f64)>, scale: &Scale) -> String {
    let texts = points.map(|(x, y)| scale.place(x, y)).map(|(x, y)| format!("{x:.1},{y:.1}"));
    texts.collect::<Vec<_>>().join(" ")
}

struct Scale {
    across: Axis,
    up: Axis,
}

impl Scale {
    /// Where a point stands in the picture.
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let across = LEFT + (WIDTH - LEFT - RIGHT) * self.across.share(x);
        (across, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * self.up.share(y))
    }
}

/// What an axis spans.
enum Axis {
    /// From 0 to this.
    Even(f64),
    /// From one power of ten to another.
    ByTens(f64, f64),
}

impl Axis {
    /// An axis that has room for all values.
    fn of(values: impl Iterator<Item = f64> + Clone, by_tens: bool) -> Axis {
        let most = values.clone().fold(0.0f64, f64::max);
        if !by_tens {
            return Axis::Even(ceiling(most));
        }
        let least = values.filter(|value| *value > 0.0).fold(most, f64::min);
        if most == 0.0 {
            return Axis::ByTens(0.0, 1.0);
        }
        let begin = least.log10().floor();
        Axis::ByTens(begin, most.log10().ceil().max(begin + 1.0))
    }

    /// How far along it a value stands, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        match self {
            Axis::Even(end) => value / end,
            Axis::ByTens(begin, end) => ((value.log10() - begin) / (end - begin)).max(0.0),
        }
    }

    /// Where numbers stand.
    fn levels(&self) -> Vec<f64> {
        match self {
            Axis::Even(end) => (0..=4u8).map(|part| end * f64::from(part) / 4.0).collect(),
            Axis::ByTens(begin, end) => {
                let mut levels = vec![10f64.powf(*begin)];
                while let Some(last) = levels.last().filter(|last| last.log10().round() < *end) {
                    levels.push(last * 10.0);
                }
                levels
            }
        }
    }
}

/// The next number that four even steps lead to.
fn ceiling(value: f64) -> f64 {
    let unit = 10f64.powf(value.max(1.0).log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 4.8, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * unit).find(|step| *step >= value).unwrap_or(value)
}

/// A line across the chart at the height `y`, with its value beside the axis that goes up.
fn level(value: f64, y: f64, svg: &mut String) {
    let _ = write!(
        svg,
        "<path d=\"M{LEFT} {y:.1}H{:.1}\" stroke=\"#ddd\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
        WIDTH - RIGHT,
        LEFT - 6.0,
        y + 4.0,
        number(value)
    );
}

/// The two axes.
fn frame(svg: &mut String) {
    let (down, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let _ = writeln!(svg, "<path d=\"M{LEFT} {TOP}V{down:.1}H{right:.1}\" fill=\"none\" stroke=\"black\"/>");
}

/// What goes up, beside its axis.
fn up_title(up: &str, svg: &mut String) {
    let middle = HEIGHT / 2.0;
    let _ = writeln!(
        svg,
        "<text x=\"16\" y=\"{middle:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {middle:.1})\">{up}</text>"
    );
}

/// A number as it stands beside an axis: thousands apart, fractions below 1000 only, and without the last digits that a division leaves.
fn number(value: f64) -> String {
    if value < 1000.0 {
        return ((value * 1e12).round() / 1e12).to_string();
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(across_by_tens: bool, errors: &[f64]) -> String {
        let curve = Curve {
            name: "a < b".to_owned(),
            points: vec![(0.0, 0.5), (100.0, 1000.0)],
            errors: errors.to_vec(),
            dashed: false,
        };
        Chart { title: "t".to_owned(), across: "x", up: "y", curves: vec![curve], across_by_tens, ..Chart::default() }
            .svg()
    }

    #[test]
    fn the_last_point_stands_in_the_upper_right_corner_of_its_axes() {
        assert!(chart(false, &[]).contains("<polyline points=\"80.0,369.8 530.0,40.0\""));
        assert!(chart(false, &[]).contains(">1,000</text>") && chart(false, &[]).contains(">a &lt; b</text>"));
    }

    #[test]
    fn a_fraction_beside_an_axis_is_written_in_full() {
        let texts = [2.5, 0.1 + 0.2, 100.0, 12_345.0, 0.0].map(number);
        assert_eq!(texts, ["2.5", "0.3", "100", "12,345", "0"]);
    }

    #[test]
    fn zero_stands_at_the_left_end_of_an_axis_by_tens() {
        assert!(chart(true, &[]).contains("points=\"80.0,369.8 "), "{}", chart(true, &[]));
    }

    #[test]
    fn a_caption_stands_below_the_axis_and_the_picture_grows_by_its_lines() {
        let with = |caption: &[&str]| {
            let caption = caption.iter().map(|line| (*line).to_owned()).collect();
            Chart { across: "x", caption, ..Chart::default() }.svg()
        };
        let [none, one, two] = [&[][..], &["a < b"], &["1", "2"]].map(with);
        assert!(none.contains("0 0 720 420") && none.contains("y=\"408.0\" text-anchor=\"middle\">x<"));
        assert!(one.contains("0 0 720 438") && one.contains("<text x=\"80\" y=\"428.0\">a &lt; b</text>"));
        assert!(two.contains("0 0 720 456") && two.contains("y=\"446.0\">2</text>"));
    }

    #[test]
    fn errors_are_a_band_around_the_curve() {
        assert!(!chart(false, &[]).contains("polygon"));
        assert!(chart(false, &[0.0, 0.0]).contains("<polygon points=\"80.0,369.8 530.0,40.0 530.0,40.0 80.0,369.8\""));
    }
}
