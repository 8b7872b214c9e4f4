//! Says why a name is wrong that looks like the right one: which character of it is another one than it seems to be.
//!
//! Nobody can see that in "did you mean `recipe`?". It is said here for every rule and format, because the fix of a finding has both
//! names: the bytes that it replaces, and what it writes.

use trefoil_syntax::lookalikes::strange_character;
use trefoil_syntax::{Diagnostic, Location, SourceFiles};

/// Adds it to the advice of each finding whose fix writes a name that looks like the replaced one.
pub fn name_strangers(found: &mut [Diagnostic], files: &SourceFiles) {
    for d in found {
        let Some([edit]) = d.fix.as_ref().map(|fix| fix.edits.as_slice()) else { continue };
        let Location { file, span } = edit.location;
        let Some(old) = files.get(file).and_then(|file| file.text().get(span.start as usize..span.end as usize)) else {
            continue;
        };
        let is_here = d.file == Some(file) && d.span.is_some_and(|own| own.start <= span.start && span.end <= own.end);
        let (here, there) = if is_here { (old, &*edit.text) } else { (&*edit.text, old) };
        let why = strange_character(here, there).map(|why| format!("the name here contains {why}"));
        let why = why.or_else(|| Some(format!("the suggested name contains {}", strange_character(there, here)?)));
        d.help = why.map(|why| d.help.as_ref().map(|help| format!("{help}; {why}")).unwrap_or(why)).or(d.help.take());
    }
}
