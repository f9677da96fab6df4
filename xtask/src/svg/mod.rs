//! Curves, and bars in groups, into pictures: SVG, without any library.

mod bars;

use std::fmt::Write as _;

pub(crate) use self::bars::{Bars, Group, Stack};

/// A chart of curves over one axis.
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) across: &'static str,
    pub(crate) up: &'static str,
    pub(crate) curves: Vec<Curve>,
    /// Each line of the grid is ten times the one below.
    pub(crate) by_tens: bool,
    /// Single points with a word beside them.
    pub(crate) marks: Vec<(f64, f64, &'static str)>,
}

/// One curve.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) dashed: bool,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 9] =
    ["#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#17becf", "#e377c2", "#444444"];

impl Chart {
    /// The chart as a file.
    pub(crate) fn svg(&self) -> String {
        let all = || self.curves.iter().flat_map(|curve| &curve.points).copied();
        let marks = || self.marks.iter().map(|(x, y, _)| (*x, *y));
        let (right, top) =
            all().chain(marks()).fold((0.0f64, 0.0f64), |(x, y), point| (x.max(point.0), y.max(point.1)));
        let least = all().chain(marks()).map(|(_, y)| y).filter(|y| *y > 0.0).fold(top, f64::min);
        let scale = match self.by_tens {
            false => Scale { right: ceiling(right), top: ceiling(top), bottom: None },
            true => Scale { right: ceiling(right), top: top.log10().ceil(), bottom: Some(least.log10().floor()) },
        };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{}</text>\n",
            escaped(&self.title)
        );
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
        for part in 0..=4u8 {
            let value = scale.right * f64::from(part) / 4.0;
            let (x, y) = (scale.across(value), HEIGHT - BOTTOM + 18.0);
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>", grouped(value));
        }
        for value in scale.levels() {
            let y = scale.up(value);
            let number = if value < 1.0 { value.to_string() } else { grouped(value) };
            let _ = write!(
                svg,
                "<path d=\"M{LEFT} {y:.1}H{:.1}\" stroke=\"#ddd\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{number}</text>\n",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
            );
        }
        let _ = write!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{:.1}H{:.1}\" fill=\"none\" stroke=\"black\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text x=\"16\" y=\"{:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {:.1})\">{}</text>\n",
            HEIGHT - BOTTOM,
            WIDTH - RIGHT,
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 12.0,
            self.across,
            HEIGHT / 2.0,
            HEIGHT / 2.0,
            self.up
        );
    }
}

impl Curve {
    fn draw(&self, place: usize, scale: &Scale, svg: &mut String) {
        let colour = COLOURS.get(place % COLOURS.len()).copied().unwrap_or("black");
        let dash = if self.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let mut points = String::new();
        for (x, y) in &self.points {
            let (x, y) = scale.place(*x, *y);
            let _ = write!(points, "{x:.1},{y:.1} ");
        }
        let x = WIDTH - RIGHT + 12.0;
        let y = (0..place).fold(TOP + 14.0, |y, _| y + 18.0);
        let _ = write!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{dash}/>\n\
             <path d=\"M{x} {:.1}h22\" stroke=\"{colour}\" stroke-width=\"2.5\"{dash}/><text x=\"{:.1}\" y=\"{y:.1}\">{}</text>\n",
            points.trim_end(),
            y - 4.0,
            x + 28.0,
            escaped(&self.name)
        );
    }
}

struct Scale {
    right: f64,
    top: f64,
    /// Where the scale goes by tens, the logarithm at its lower end; `top` is the one at its upper end.
    bottom: Option<f64>,
}

impl Scale {
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (self.across(x), self.up(y))
    }

    fn across(&self, x: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * x / self.right
    }

    fn up(&self, y: f64) -> f64 {
        let share = match self.bottom {
            None => y / self.top,
            Some(bottom) => (y.log10() - bottom) / (self.top - bottom),
        };
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    }

    /// Where lines are drawn.
    fn levels(&self) -> Vec<f64> {
        match self.bottom {
            None => (0..=4u8).map(|part| self.top * f64::from(part) / 4.0).collect(),
            Some(bottom) => {
                let mut levels = vec![10f64.powf(bottom)];
                while let Some(last) = levels.last().filter(|last| last.log10().round() < self.top) {
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

fn grouped(value: f64) -> String {
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
