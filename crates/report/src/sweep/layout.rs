//! Which parameters of a sweep its figures have on their x axis, for curves and for panels: as set by
//! `[sweep.plot]`, or chosen.

use netloom_study::resolve::{Axis, PlotConfig, ResolvedStudy, axis_named};
use netloom_study::sweep::saturation::load_axis;
use netloom_study::tree::Tree;

/// The parameters of a sweep's figures, by their place among the sweep's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// Across.
    pub x: usize,
    /// Each combination of their values has a curve.
    pub curves: Vec<usize>,
    /// Each combination of their values has a figure of its own.
    pub panels: Vec<usize>,
}

/// Whether all values are numbers.
pub(super) fn is_numeric(axis: &Axis) -> bool {
    axis.values.iter().all(|value| value.number().is_some())
}

impl Layout {
    /// That of a sweep's figures; runs that differ in nothing but their seed count as one, unless the seed is
    /// asked for or swept alone. `without` is a parameter that the figures do not depend on. `None` where
    /// nothing remains.
    pub fn of(study: &ResolvedStudy, without: Option<usize>) -> Option<Layout> {
        chosen(&study.axes, &study.plot, load_axis(study), without)
    }
}

fn chosen(axes: &[Axis], plot: &PlotConfig, load: Option<usize>, without: Option<usize>) -> Option<Layout> {
    let named = |keys: &[String]| -> Vec<usize> {
        keys.iter().filter_map(|key| axis_named(axes, key)).filter(|&axis| Some(axis) != without).collect()
    };
    let (x, curves, panels) = (named(plot.x.as_slice()), named(&plot.curves.0), named(&plot.panels.0));
    let is_named = |axis: &usize| x.contains(axis) || curves.contains(axis) || panels.contains(axis);
    let all = || (0..axes.len()).filter(|&axis| Some(axis) != without);
    let mut free: Vec<usize> = all().filter(|axis| axes[*axis].path != "seed" || is_named(axis)).collect();
    if free.is_empty() {
        free = all().collect();
    }
    let candidates: Vec<usize> =
        free.iter().copied().filter(|axis| !curves.contains(axis) && !panels.contains(axis)).collect();
    let x = *x.first().or_else(|| across(axes, &candidates, load)).or(free.first())?;
    free.retain(|&axis| axis != x);
    let curves: Vec<usize> = match curves.is_empty() {
        true => free.iter().copied().rfind(|axis| !panels.contains(axis)).into_iter().collect(),
        false => curves.into_iter().filter(|&axis| axis != x).collect(),
    };
    let mut panels: Vec<usize> = panels.into_iter().filter(|&axis| axis != x).collect();
    let rest = free.into_iter().filter(|axis| !curves.contains(axis) && !panels.contains(axis));
    panels = rest.chain(panels.iter().copied()).collect();
    Some(Layout { x, curves, panels })
}

/// The parameter that goes across where none is named: the load of a search, else numbers before words, and
/// one of the last two before those that get panels.
fn across<'a>(axes: &[Axis], candidates: &'a [usize], load: Option<usize>) -> Option<&'a usize> {
    let last = &candidates[candidates.len().saturating_sub(2)..];
    let numeric = |axis: &&usize| is_numeric(&axes[**axis]);
    let of_search = candidates.iter().find(|axis| Some(**axis) == load);
    of_search
        .or_else(|| last.iter().find(numeric))
        .or_else(|| candidates.iter().find(numeric))
        .or(last.first())
}

/// Every combination of the values of some parameters, the last changing fastest; one, of nothing, without
/// parameters.
pub(super) fn combinations(axes: &[Axis], of: &[usize]) -> Vec<Vec<Tree>> {
    of.iter().fold(vec![vec![]], |all, &axis| {
        let with =
            |values: &Vec<Tree>, value: &Tree| [values.as_slice(), std::slice::from_ref(value)].concat();
        all.iter().flat_map(|values| axes[axis].values.iter().map(move |value| with(values, value))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_study::resolve::Keys;
    use netloom_study::tree::parse_set;

    fn axis(path: &str, values: &str) -> Axis {
        let entry = parse_set(&format!("x={values}")).expect("values");
        let netloom_study::tree::Value::List(values) = entry.value.value else { unreachable!("a list") };
        Axis { path: path.into(), values }
    }

    fn layout(axes: &[Axis], plot: &PlotConfig) -> (usize, Vec<usize>, Vec<usize>) {
        let layout = chosen(axes, plot, None, None).expect("a layout");
        (layout.x, layout.curves, layout.panels)
    }

    #[test]
    fn numbers_go_across_before_words() {
        let (load, routing) =
            (axis("traffic.load.flits_per_ns", "[0.1, 0.2]"), axis("traffic.routing", "['a', 'b']"));
        let (paths, seed) = (axis("router.paths", "[1, 2]"), axis("seed", "[1, 2]"));
        let default = PlotConfig::default();
        assert_eq!(layout(&[routing.clone(), load.clone()], &default), (1, vec![0], vec![]));
        assert_eq!(layout(&[paths.clone(), routing.clone(), load.clone()], &default), (2, vec![1], vec![0]));
        // A number before words, even if it is the first of three.
        let mapping = axis("mapping", "['x', 'y']");
        assert_eq!(layout(&[paths, routing.clone(), mapping], &default), (0, vec![2], vec![1]));
        assert_eq!(layout(&[seed.clone(), routing], &default), (1, vec![], vec![]));
        assert_eq!(layout(&[seed], &default), (0, vec![], vec![]));
    }

    #[test]
    fn keys_that_are_named_go_where_they_are_asked_for() {
        let axes = [
            axis("traffic.load.flits_per_ns", "[0.1]"),
            axis("traffic.routing", "['a']"),
            axis("router.paths", "[1]"),
        ];
        let keys = |names: &[&str]| Keys(names.iter().map(|name| (*name).to_owned()).collect());
        let plot = PlotConfig { x: Some("paths".into()), ..PlotConfig::default() };
        assert_eq!(layout(&axes, &plot), (2, vec![1], vec![0]));
        let plot = PlotConfig { curves: keys(&["traffic.routing", "paths"]), ..PlotConfig::default() };
        assert_eq!(layout(&axes, &plot), (0, vec![1, 2], vec![]));
        let plot = PlotConfig { panels: keys(&["routing"]), ..PlotConfig::default() };
        assert_eq!(layout(&axes, &plot), (0, vec![2], vec![1]));
        // Parameters on which a figure does not depend.
        assert_eq!(chosen(&axes, &plot, Some(0), Some(0)).map(|l| (l.x, l.panels)), Some((2, vec![1])));
    }

    #[test]
    fn combinations_are_in_the_order_of_the_sweep() {
        let axes = [axis("a", "[1, 2]"), axis("b", "[3, 4]")];
        let numbers: Vec<Vec<f64>> = combinations(&axes, &[0, 1])
            .iter()
            .map(|values| values.iter().filter_map(Tree::number).collect())
            .collect();
        assert_eq!(numbers, [[1.0, 3.0], [1.0, 4.0], [2.0, 3.0], [2.0, 4.0]]);
        assert_eq!(combinations(&axes, &[]), [vec![]]);
    }
}
