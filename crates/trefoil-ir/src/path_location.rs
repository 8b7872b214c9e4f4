//! Computes the place of a part of a path in the file from the place of the whole path.

use std::ops::Range;

use trefoil_syntax::{Location, Span};

/// The place of a part; both ranges are in the parsed text. `None` if the file spells the path differently (with an
/// escape inside it).
pub fn locate_part(whole: &Range<u32>, at: Location, part: Range<u32>) -> Option<Location> {
    // If the lengths are equal, the path is spelled in the file as decoded.
    let straight = at.span.end.checked_sub(at.span.start) == whole.end.checked_sub(whole.start);
    let (from, to) = (part.start.checked_sub(whole.start)?, part.end.checked_sub(whole.start)?);
    let inside = from <= to && part.end <= whole.end;
    (straight && inside).then(|| Location::new(at.file, Span::new(at.span.start + from, at.span.start + to)))
}
