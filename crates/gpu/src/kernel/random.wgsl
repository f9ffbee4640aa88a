// Random numbers: xoroshiro64** (Blackman and Vigna), a stream for each node, in integers alone, so that
// every device draws the same.

var<private> random_0: u32;
var<private> random_1: u32;

fn rotate(x: u32, by: u32) -> u32 {
    return (x << by) | (x >> (32u - by));
}

fn draw() -> u32 {
    let result = rotate(random_0 * 0x9e3779bbu, 5u) * 5u;
    let mixed = random_1 ^ random_0;
    random_0 = rotate(random_0, 26u) ^ mixed ^ (mixed << 9u);
    random_1 = rotate(mixed, 13u);
    return result;
}

// The product of two numbers: its high word and its low one.
fn multiply(a: u32, b: u32) -> vec2<u32> {
    let a0 = a & 0xffffu;
    let a1 = a >> 16u;
    let b0 = b & 0xffffu;
    let b1 = b >> 16u;
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 16u);
    let other = a0 * b1 + (middle & 0xffffu);
    return vec2<u32>(a1 * b1 + (middle >> 16u) + (other >> 16u), (other << 16u) | (low & 0xffffu));
}

// Uniform over 0 to n - 1.
fn below(n: u32) -> u32 {
    return multiply(draw(), n).x;
}

// True with a probability in units of 2^-32; always with the largest.
fn chance(threshold: u32) -> bool {
    if threshold == 0xffffffffu {
        return true;
    }
    return threshold != 0u && draw() < threshold;
}

// Exponentially distributed with mean 1, in units of 2^-27: -ln(u) by the leading zeros of u and a table of
// the logarithm, with straight lines between its points.
fn exponential() -> u32 {
    let u = max(draw(), 1u);
    let zeros = countLeadingZeros(u);
    let mantissa = (u << zeros) << 1u;
    let point = mantissa >> 24u;
    let between = (mantissa >> 8u) & 0xffffu;
    let step = logarithms[point + 1u] - logarithms[point];
    let logarithm = logarithms[point] + multiply(step, between << 16u).x;
    return (zeros + 1u) * LN_2 - logarithm;
}
