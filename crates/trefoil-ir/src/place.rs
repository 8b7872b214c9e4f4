//! Where a part of a path stands in the file, from where the whole of it does.

use std::ops::Range;

use trefoil_syntax::{Location, Span};

/// The place of a part; both ranges are of the text that was parsed. None where the file spells the path otherwise (an
/// escape in the middle of it).
pub fn part(whole: &Range<u32>, at: Location, part: Range<u32>) -> Option<Location> {
    // A path that is written in the file as it is decoded has the same length in both.
    let straight = at.span.end.checked_sub(at.span.start) == whole.end.checked_sub(whole.start);
    let (from, to) = (part.start.checked_sub(whole.start)?, part.end.checked_sub(whole.start)?);
    let inside = from <= to && part.end <= whole.end;
    (straight && inside).then(|| Location::new(at.file, Span::new(at.span.start + from, at.span.start + to)))
}
