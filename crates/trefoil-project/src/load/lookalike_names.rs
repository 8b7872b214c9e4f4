//! Says why a name is wrong that looks like the right one: which character of it is another one than it seems to be.
//!
//! Nobody can see that in "did you mean `recipe`?". It is said here for every rule and format, because the fix of a finding has both
//! names: the bytes that it replaces, and what it writes.

use trefoil_syntax::lookalikes::strange_character;
use trefoil_syntax::{Diagnostic, Location, SourceFiles};

/// Adds it to the advice of each finding whose fix writes a name that looks like the replaced one.
pub fn name_strangers(found: &mut [Diagnostic], files: &SourceFiles) {
    for d in found {
        let Some(fix) = &d.fix else { continue };
        let [edit] = fix.edits.as_slice() else { continue };
        let Location { file, span } = edit.location;
        let Some(source) = files.get(file) else { continue };
        let Some(old) = source.text().get(span.start as usize..span.end as usize) else { continue };
        let is_here =
            d.file == Some(file) && matches!(d.span, Some(whole) if whole.start <= span.start && span.end <= whole.end);
        let (here, there) = if is_here { (old, &*edit.text) } else { (&*edit.text, old) };
        let why = if let Some(why) = strange_character(here, there) {
            format!("the name here contains {why}")
        } else if let Some(why) = strange_character(there, here) {
            format!("the suggested name contains {why}")
        } else {
            continue;
        };
        d.help = Some(match &d.help {
            Some(help) => format!("{help}; {why}"),
            None => why,
        });
    }
}
