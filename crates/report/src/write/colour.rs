//! A perceptually uniform colour map, and small pictures in it.

use base64::Engine;

/// Viridis by Stéfan van der Walt and Nathaniel Smith (CC0), every sixteenth of its range.
const VIRIDIS: [[u8; 3]; 17] = [
    [68, 1, 84],
    [72, 20, 103],
    [71, 38, 119],
    [67, 56, 128],
    [60, 73, 135],
    [53, 88, 139],
    [46, 103, 142],
    [40, 117, 142],
    [35, 132, 142],
    [31, 147, 140],
    [33, 161, 135],
    [51, 175, 123],
    [79, 188, 105],
    [119, 199, 81],
    [163, 208, 54],
    [209, 216, 36],
    [253, 231, 37],
];

/// The colour of a value from 0 to 1.
pub fn viridis(x: f64) -> [u8; 3] {
    let at = x.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let low = (at as usize).min(VIRIDIS.len() - 2);
    let share = at - low as f64;
    std::array::from_fn(|i| {
        let (a, b) = (f64::from(VIRIDIS[low][i]), f64::from(VIRIDIS[low + 1][i]));
        (a + (b - a) * share).round() as u8
    })
}

/// A picture of values from 0 to 1, row by row from the top; what is absent is transparent. As a `data:`
/// address of a PNG with one pixel for each value.
pub fn picture(width: usize, values: &[Option<f64>]) -> String {
    let height = values.len() / width;
    let pixels: Vec<u8> = values
        .iter()
        .flat_map(|v| match v {
            Some(x) => {
                let [r, g, b] = viridis(*x);
                [r, g, b, 255]
            }
            None => [0; 4],
        })
        .collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels));
    written.expect("a picture in memory can be written");
    format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(bytes))
}
