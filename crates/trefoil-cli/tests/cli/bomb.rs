//! A small body that decompresses to a large one.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

/// At least this many zeros, compressed by gzip: RFC 1952 around RFC 1951.
pub fn gzip(bytes: usize) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut held, mut count) = (0u32, 0);
    let mut put = |value: u32, bits: u32, packed: &mut Vec<u8>| {
        held |= value << count;
        count += bits;
        while count >= 8 {
            packed.push(held as u8);
            (held, count) = (held >> 8, count - 8);
        }
    };
    // The last block, with the fixed code: a zero, then "repeat the last byte 258 times" as often as needed.
    put(0b011, 3, &mut packed);
    put(0b0000_1100, 8, &mut packed);
    for _ in 0..bytes.div_ceil(258) {
        put(0b1010_0011, 8, &mut packed);
        put(0, 5, &mut packed);
    }
    put(0, 7 + 7, &mut packed);
    packed
}

#[test]
fn it_is_one() {
    let packed = gzip(100 << 20);
    assert!(packed.len() < 1 << 20, "{}", packed.len());
    let Ok(mut child) = Command::new("gzip").arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        return untested::skipped("gzip is not installed");
    };
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || drop(pipe.write_all(&packed)));
    let (mut out, mut all, mut chunk) = (child.stdout.take().unwrap(), 0, vec![0; 1 << 16]);
    while let Ok(n @ 1..) = out.read(&mut chunk) {
        all += n;
    }
    writer.join().unwrap();
    let _ = child.wait();
    assert!(all > 100 << 20, "{all}");
}
