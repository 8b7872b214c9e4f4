//! The page of a server: the same components as the page of a trace, which get their data from the API. Built in `web/` and committed
//! here.

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub struct PageFile {
    /// Its name.
    pub name: &'static str,
    /// Its content type.
    pub content_type: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The page itself, which names the other files by their hash.
pub const INDEX: PageFile =
    PageFile { name: "index.html", content_type: "text/html; charset=utf-8", text: include_str!("index.html") };

/// The other files.
pub const PAGE_FILES: [PageFile; 3] = [
    PageFile { name: "app.js", content_type: "text/javascript; charset=utf-8", text: include_str!("app.js") },
    PageFile { name: "editor.js", content_type: "text/javascript; charset=utf-8", text: include_str!("editor.js") },
    PageFile { name: "app.css", content_type: "text/css; charset=utf-8", text: include_str!("app.css") },
];
