use super::*;
use http::Request;
use proptest::prelude::*;

fn read(head: &str) -> Result<Head, Malformed> {
    assert_eq!(head_end(head.as_bytes(), 0), Some(head.len()), "{head:?}");
    read_head(head.as_bytes(), &Method::POST)
}

#[test]
fn a_request_says_where_it_goes_and_how_long_it_is() {
    let request = Request::post("/v1/messages?a=b")
        .header("host", "provider.test")
        .header("x-twice", "1")
        .header("x-twice", "2")
        .header("content-length", "7")
        .header("transfer-encoding", "chunked");
    let head = |request: http::request::Builder, body_bytes| {
        let prepared = Prepared::new(&request.body(()).unwrap().into_parts().0);
        assert_eq!(format!("{prepared:?}"), "Prepared(…)");
        String::from_utf8(prepared.lines.to_vec()).unwrap() + &prepared.last_lines(body_bytes)
    };
    assert_eq!(
        head(request, 12),
        "POST /v1/messages?a=b HTTP/1.1\r\nhost: provider.test\r\nx-twice: 1\r\nx-twice: 2\r\ncontent-length: 12\r\n\r\n"
    );
    let whole = head(Request::get("http://provider.test"), 0);
    assert_eq!(whole, "GET http://provider.test/ HTTP/1.1\r\n\r\n");
    assert_eq!(head(Request::post("/"), 0), "POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n");
}

#[test]
fn an_answer_says_how_far_it_goes_and_whether_the_connection_stays() {
    let chunks = || Left::Chunks(Chunks::default());
    for (head, left, keeps) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Left::Bytes(5), true),
        ("HTTP/1.1 200 OK\ncontent-length: 5\n\n", Left::Bytes(5), true),
        ("HTTP/1.1 200\r\ncontent-length: 5, 5\r\ncontent-length: 5\r\n\r\n", Left::Bytes(5), true),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: x, Close\r\n\r\n", Left::Bytes(5), false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", chunks(), true),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n", chunks(), false),
        ("HTTP/1.1 200 OK\r\n\r\n", Left::UntilClosed, false),
        ("HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n", Left::Bytes(0), true),
        ("HTTP/1.1 304 Not Modified\r\n\r\n", Left::Bytes(0), true),
        ("HTTP/1.1 100 Continue\r\n\r\n", Left::Bytes(0), true),
        ("HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\n", Left::Bytes(5), false),
        ("HTTP/1.0 200 OK\r\ncontent-length: 5\r\nconnection: keep-alive\r\n\r\n", Left::Bytes(5), true),
    ] {
        let read = read(head).unwrap();
        assert_eq!((read.left, read.keeps), (left, keeps), "{head:?}");
    }
    let to_head = read_head(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", &Method::HEAD).unwrap();
    assert_eq!(to_head.left, Left::Bytes(0));
    let said = read("HTTP/1.1 429 Wait\r\nretry-after:  3 \r\nx: a\r\nx: b\r\n\r\n").unwrap().response;
    assert_eq!((said.status().as_u16(), &said.headers()["retry-after"]), (429, &"3".parse().unwrap()));
    assert_eq!(said.headers().get_all("x").iter().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn what_is_unclear_is_refused() {
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5, 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0x5\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\ncontent-length: 5\r\n\r\n",
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length : 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: b\r\n folded: c\r\n\r\n",
        "HTTP/1.1 200 OK\r\na\0: b\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "<html>\r\n\r\n",
        "\n\n",
        &many,
    ] {
        assert!(read(head).is_err(), "{head:?}");
    }
}

#[test]
fn the_end_of_a_head_is_found_however_it_comes() {
    let head = b"HTTP/1.1 200 OK\r\na: b\r\n\r\nrest";
    let end = head.len() - 4;
    for cut in 0..=head.len() {
        let early = head_end(&head[..cut], 0);
        assert_eq!(early, (cut >= end).then_some(end), "{cut}");
        // What was looked at before is not looked at again, and nothing is missed.
        assert!(early.is_some() || head_end(head, cut) == Some(end), "{cut}");
    }
}

/// All data of a body that comes in pieces of these sizes, how many bytes it took, and whether it is over.
fn decoded(mut bytes: &[u8], sizes: impl Fn(usize) -> usize) -> Result<(Vec<u8>, usize, bool), Malformed> {
    let (mut chunks, mut data, mut all) = (Chunks::default(), Vec::new(), 0);
    let mut here: Vec<u8> = Vec::new();
    for number in 0.. {
        loop {
            let (taken, range) = chunks.take(&here)?;
            let more = !range.is_empty();
            data.extend_from_slice(&here[range]);
            here.drain(..taken);
            all += taken;
            if !more {
                break;
            }
        }
        if chunks.is_over() || bytes.is_empty() {
            break;
        }
        let (next, rest) = bytes.split_at(sizes(number).clamp(1, bytes.len()));
        here.extend_from_slice(next);
        bytes = rest;
    }
    Ok((data, all, chunks.is_over()))
}

#[test]
fn pieces_are_put_together_however_they_come() {
    let body =
        b"3\r\nabc\r\n00A;why=\"not\"\r\n0123456789\r\n1 \r\n\r\r\n0\r\nX-Trailer: t\r\nY: z\r\n\r\nmore";
    let expected = (b"abc0123456789\r".to_vec(), body.len() - 4, true);
    for size in 1..body.len() + 1 {
        assert_eq!(decoded(body, |_| size).unwrap(), expected, "{size}");
        assert_eq!(decoded(body, |number| 1 + (number * size) % 7).unwrap(), expected, "{size}");
    }
    for cut in 0..body.len() - 4 {
        assert!(!decoded(&body[..cut], |_| 4).unwrap().2, "{cut}");
    }
}

#[test]
fn pieces_that_are_none_are_refused() {
    let long = format!("1;{}\r\na\r\n", "x".repeat(ASIDE_BYTES_MAX as usize + 1));
    let trailers = format!("0\r\n{}\r\n", "a: b\r\n".repeat(ASIDE_BYTES_MAX as usize));
    for body in [
        "\r\n",
        "g\r\n",
        "-1\r\n",
        " 1\r\na\r\n",
        "1\na\r\n",
        "1\r\rn",
        "1;x\na\r\n",
        "1\r\nab\r\n",
        "1\r\na\n",
        "1\r\na\r\r",
        "0\r\n\n",
        "0\r\na: b\n",
        "0\r\n\rx",
        "1000000000000000\r\n",
        "0000000000000001\r\na\r\n",
        &long,
        &trailers,
    ] {
        assert!(decoded(body.as_bytes(), |_| 3).is_err(), "{body:?}");
    }
}

/// Bytes such as answers are made of, and others.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    const WORDS: &[&str] = &[
        "HTTP/1.1 200 OK\r\n",
        "content-length: 3",
        "transfer-encoding: chunked",
        "\r\n",
        "\n",
        "0",
        "3;a",
        "ff",
        "abc",
        ":",
    ];
    let piece =
        prop_oneof![prop::sample::select(WORDS).prop_map(|word| word.as_bytes().to_vec()), any::<Vec<u8>>()];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_refused(bytes in noise(), cut in 0..40usize) {
        if let Some(end) = head_end(&bytes, cut.min(bytes.len())) {
            prop_assert!(end <= bytes.len());
            let _ = read_head(&bytes[..end], &Method::GET);
        }
        let whole = decoded(&bytes, |_| bytes.len().max(1));
        let pieces = decoded(&bytes, |number| 1 + number % 5);
        // However it comes, it is the same data, as far as it is data.
        if let (Ok(whole), Ok(pieces)) = (&whole, &pieces) {
            prop_assert_eq!(whole, pieces);
        }
        prop_assert_eq!(whole.is_ok(), pieces.is_ok());
    }

    #[test]
    fn what_is_sent_in_pieces_comes_as_it_was(data in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..8), size in 1..200usize) {
        let mut body = Vec::new();
        for piece in &data {
            body.extend_from_slice(format!("{:X}\r\n", piece.len()).as_bytes());
            body.extend_from_slice(piece);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\n\r\n");
        prop_assert_eq!(decoded(&body, |_| size), Ok((data.concat(), body.len(), true)));
    }
}
