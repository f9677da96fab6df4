//! Bars in groups.

use std::fmt::Write as _;

use super::{BOTTOM, COLOURS, HEIGHT, LEFT, LINE, RIGHT, TOP, WIDTH, ceiling, escaped, frame, framed, level, up_title};

/// A chart of bars: one group beside the other, in each group a bar of each series.
#[derive(Clone, Debug)]
pub struct Bars {
    /// What stands above it.
    pub title: String,
    /// What goes up, with its unit.
    pub up: &'static str,
    /// What stands below it, line by line, as in [`super::Chart::caption`].
    pub caption: Vec<String>,
    /// The names of the bars of each group.
    pub series: Vec<&'static str>,
    /// What the parts of a bar are, from below; nothing if bars have one part.
    pub parts: Vec<&'static str>,
    /// The groups, from left to right.
    pub groups: Vec<Group>,
}

/// The bars of one group, in the order of the series.
#[derive(Clone, Debug)]
pub struct Group {
    /// What stands below it.
    pub name: String,
    /// One for each series.
    pub bars: Vec<Stack>,
}

/// One bar: parts on top of each other.
#[derive(Clone, Debug)]
pub struct Stack {
    /// The height of each of its parts, from below.
    pub parts: Vec<f64>,
    /// A height that was stated for it, drawn as a cross.
    pub stated: Option<f64>,
}

/// How strong the colours of the parts are, from below.
const STRENGTHS: [&str; 2] = ["1", "0.45"];
const GAP: f64 = 0.3;

impl Bars {
    /// The chart as a file.
    #[must_use]
    pub fn svg(&self) -> String {
        let bars = || self.groups.iter().flat_map(|group| &group.bars);
        let heights = bars().flat_map(|bar| [bar.parts.iter().sum(), bar.stated.unwrap_or(0.0)]);
        let top = ceiling(heights.fold(0.0, f64::max));
        let mut svg = framed(&self.title, &self.caption, HEIGHT - 10.0);
        self.axes(top, &mut svg);
        self.legend(&mut svg);
        let count = self.groups.len().max(1);
        let width = (WIDTH - LEFT - RIGHT) / real(count);
        for (place, group) in self.groups.iter().enumerate() {
            let left = LEFT + width * real(place);
            group.draw(left, width, |height| up(height, top), &mut svg);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn axes(&self, top: f64, svg: &mut String) {
        for part in 0..=4u8 {
            let value = top * f64::from(part) / 4.0;
            level(value, up(value, top), svg);
        }
        frame(svg);
        up_title(self.up, svg);
    }

    fn legend(&self, svg: &mut String) {
        let series = self.series.iter().enumerate().map(|(place, name)| (*name, colour(place), "1"));
        let parts = self.parts.iter().zip(STRENGTHS).map(|(name, strength)| (*name, "#444444", strength));
        let x = WIDTH - RIGHT + 12.0;
        for (place, (name, colour, strength)) in series.chain(parts).enumerate() {
            let y = TOP + 14.0 + LINE * real(place);
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"22\" height=\"10\" fill=\"{colour}\" fill-opacity=\"{strength}\"/>\
                 <text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                y - 9.0,
                x + 28.0,
                escaped(name)
            );
        }
    }
}

impl Group {
    fn draw(&self, left: f64, width: f64, up: impl Fn(f64) -> f64, svg: &mut String) {
        let each = width * (1.0 - GAP) / real(self.bars.len().max(1));
        for (place, bar) in self.bars.iter().enumerate() {
            let x = left + width * GAP / 2.0 + each * real(place);
            let mut below = 0.0;
            for (part, strength) in bar.parts.iter().zip(STRENGTHS) {
                let (from, to) = (up(below), up(below + part));
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{to:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" fill-opacity=\"{strength}\"/>",
                    each - 1.0,
                    from - to,
                    colour(place)
                );
                below += part;
            }
            if let Some(stated) = bar.stated {
                let (x, y) = (x + each / 2.0 - 4.5, up(stated) - 4.0);
                let _ = writeln!(svg, "<path d=\"M{x:.1} {y:.1}l8 8m0 -8l-8 8\" stroke=\"black\" stroke-width=\"2\"/>");
            }
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            left + width / 2.0,
            HEIGHT - BOTTOM + 18.0,
            escaped(&self.name)
        );
    }
}

fn up(value: f64, top: f64) -> f64 {
    HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top
}

fn colour(place: usize) -> &'static str {
    COLOURS.get(place % COLOURS.len()).copied().unwrap_or("black")
}

fn real(place: usize) -> f64 {
    f64::from(u32::try_from(place).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(caption: &[&str]) -> String {
        let bar = |height: f64, stated| Stack { parts: vec![height, height], stated };
        Bars {
            title: "t".to_owned(),
            up: "y",
            caption: caption.iter().map(|line| (*line).to_owned()).collect(),
            series: vec!["one", "two"],
            parts: vec!["lower", "upper"],
            groups: vec![Group { name: "g".to_owned(), bars: vec![bar(1.0, None), bar(2.0, Some(4.0))] }],
        }
        .svg()
    }

    /// The axis goes from 370 up to 40, which is four: there is the upper end of the second bar, and its cross.
    #[test]
    fn bars_stand_where_their_axis_says_and_their_caption_below() {
        let svg = bars(&["a < b"]);
        assert!(
            svg.contains("y=\"287.5\" width=\"156.5\" height=\"82.5\" fill=\"#1f77b4\" fill-opacity=\"1\""),
            "{svg}"
        );
        assert!(
            svg.contains("y=\"40.0\" width=\"156.5\" height=\"165.0\" fill=\"#d62728\" fill-opacity=\"0.45\""),
            "{svg}"
        );
        assert!(svg.contains(" 36.0l8 8m0 -8l-8 8"), "{svg}");
        assert!(svg.contains("y=\"388.0\" text-anchor=\"middle\">g</text>"), "{svg}");
        assert!(svg.contains("<text x=\"80\" y=\"410.0\">a &lt; b</text>") && svg.contains("0 0 720 420"), "{svg}");
    }

    #[test]
    fn a_second_line_of_the_caption_makes_the_picture_higher() {
        let svg = bars(&["1", "2"]);
        assert!(svg.contains("y=\"428.0\">2</text>") && svg.contains("0 0 720 438"), "{svg}");
    }
}
