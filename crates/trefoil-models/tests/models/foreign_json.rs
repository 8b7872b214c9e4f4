//! JSON with a byte order mark or with halves of surrogate pairs, in each protocol.

use serde_json::json;

use crate::faces::{FACES, Face};
use crate::request::{ask, request};
use crate::server::{Piece, Reply, Server};

/// The first and the second half of a pair, as they are written in JSON, and their stand-ins in this file.
const HALVES: [(&str, &str); 2] = [("FIRST", "\\ud83c"), ("SECOND", "\\udf1e")];

fn with_halves(text: String) -> String {
    HALVES.iter().fold(text, |text, (name, half)| text.replace(name, half))
}

/// The answer to a reply, and the text that was shown before it.
async fn answered(face: Face, reply: Reply, stream: bool) -> (String, String) {
    let server = Server::start(vec![reply]).await;
    let mut asked = request("x");
    asked.stream = stream;
    let model = face.registry(&server.url, "k").resolve_provider(face.provider(), "m").unwrap();
    let (answer, shown) = ask(&*model, &asked).await;
    (answer.unwrap().text, shown.concat())
}

/// Pieces of a text, and the text.
const TEXTS: [(&[&str], &str); 6] = [
    (&["sun FIRST", "SECOND end"], "sun 🌞 end"),
    (&["FIRST", "SECOND", "FIRSTSECOND"], "🌞🌞"),
    (&["a FIRST", " b"], "a \u{fffd} b"),
    (&["SECOND b"], "\u{fffd} b"),
    (&["cut FIRST"], "cut \u{fffd}"),
    (&["plain"], "plain"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn halves_are_joined_over_pieces_and_what_stays_alone_is_replaced() {
    for face in FACES {
        for (pieces, whole) in TEXTS {
            let one = pieces.concat();
            let body = with_halves(face.whole(&one).to_string());
            let (text, _) = answered(face, Reply::json(json!(null)).body(&body), false).await;
            assert_eq!(text, whole, "{face:?}: {body}");
            let mut all: Vec<Piece> = pieces
                .iter()
                .map(|piece| Piece::Bytes(with_halves(face.event(&face.piece(piece))).into_bytes()))
                .collect();
            all.extend(face.ending());
            let (text, shown) = answered(face, face.stream(all), true).await;
            assert_eq!(text, whole, "{face:?}: {pieces:?}");
            // The end of a text shows no half.
            assert_eq!(shown, whole.strip_suffix('\u{fffd}').unwrap_or(whole), "{face:?}: {pieces:?}");
        }
    }
}

#[tokio::test]
async fn a_byte_order_mark_before_a_body_is_dropped() {
    for face in FACES {
        let body = format!("\u{feff}{}", face.whole("all"));
        let (text, _) = answered(face, Reply::json(json!(null)).body(&body), false).await;
        assert_eq!(text, "all", "{face:?}");
        let events =
            [Piece::Bytes("\u{feff}".as_bytes().to_vec()), Piece::Bytes(face.event(&face.piece("all")).into())];
        let (text, _) = answered(face, face.stream(events.into_iter().chain(face.ending()).collect()), true).await;
        assert_eq!(text, "all", "{face:?}");
    }
}
