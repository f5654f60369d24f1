//! Incremental parser of server-sent events.
//!
//! Work is linear in the bytes, memory is bounded, and chunk borders do not matter. A byte that is not UTF-8 damages only
//! its own event.

/// Maximum size of an event: a Responses stream repeats the whole reply in its last event.
pub const EVENT_BYTES_MAX: usize = 16 << 20;

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event:` field; empty when there was none.
    pub name: String,
    pub data: String,
    /// Some bytes were not UTF-8 and were replaced.
    pub damaged: bool,
    /// The stream ended before the blank line that closes an event: the data may be incomplete.
    pub cut: bool,
}

/// An event exceeded the size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Incremental parser of server-sent events.
#[derive(Debug)]
pub struct SseParser {
    /// The unfinished line, only used when a line spans chunks.
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a CR: a LF that follows belongs to it.
    after_cr: bool,
    at_start: bool,
    max: usize,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::with_max(EVENT_BYTES_MAX)
    }
}

impl SseParser {
    /// Creates a parser with a size limit per event.
    pub fn with_max(max: usize) -> Self {
        Self {
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            at_start: true,
            max,
        }
    }

    /// Feeds bytes and appends the events they complete. After `TooLong` the parser must be dropped.
    pub fn feed(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), TooLong> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                if self.line.len() + bytes.len() > self.max {
                    return Err(TooLong);
                }
                self.line.extend_from_slice(bytes);
                return Ok(());
            };
            self.after_cr = bytes[end] == b'\r';
            if self.line.is_empty() {
                self.take_line(&bytes[..end], events)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.take_line(&line, events)?;
                line.clear();
                self.line = line;
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// Ends the stream. An event without its closing blank line is marked as cut.
    pub fn finish(mut self, events: &mut Vec<SseEvent>) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, events)?;
        }
        if let Some(event) = self.dispatch() {
            events.push(SseEvent { cut: true, ..event });
        }
        Ok(())
    }

    fn take_line(&mut self, mut line: &[u8], events: &mut Vec<SseEvent>) -> Result<(), TooLong> {
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.len() > self.max {
            return Err(TooLong);
        }
        if line.is_empty() {
            events.extend(self.dispatch());
            return Ok(());
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.data.len() + value.len() >= self.max {
                    return Err(TooLong);
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // Comments (an empty field name), `id` and `retry` are ignored.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let name = std::mem::take(&mut self.name);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let data = std::mem::take(&mut self.data);
        let (name, name_damaged) = text(name);
        let (data, data_damaged) = text(data);
        Some(SseEvent { name, data, damaged: name_damaged || data_damaged, cut: false })
    }
}

fn text(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(e) => (String::from_utf8_lossy(e.as_bytes()).into_owned(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(chunks: &[&[u8]]) -> Vec<SseEvent> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        for chunk in chunks {
            parser.feed(chunk, &mut events).unwrap();
        }
        parser.finish(&mut events).unwrap();
        events
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.into(), data: data.into(), damaged: false, cut: false }
    }

    /// The specification read literally: normalise line ends, split, interpret. Quadratic in nothing, clever in nothing.
    fn reference(bytes: &[u8]) -> Vec<SseEvent> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut normal = Vec::new();
        let mut i = 0;
        while i < bytes.len() {
            match bytes[i] {
                b'\r' => {
                    normal.push(b'\n');
                    i += usize::from(bytes.get(i + 1) == Some(&b'\n'));
                }
                other => normal.push(other),
            }
            i += 1;
        }
        let mut events = Vec::new();
        let (mut name, mut data) = (Vec::new(), None::<Vec<u8>>);
        for line in normal.split(|b| *b == b'\n') {
            if line.is_empty() {
                if let Some(data) = data.take() {
                    let (name, d1) = text(std::mem::take(&mut name));
                    let (data, d2) = text(data);
                    events.push(SseEvent { name, data, damaged: d1 || d2, cut: false });
                }
                name.clear();
                continue;
            }
            let mut halves = line.splitn(2, |b| *b == b':');
            let field = halves.next().unwrap();
            let value = halves.next().unwrap_or(b"");
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match field {
                b"data" => match &mut data {
                    Some(data) => {
                        data.push(b'\n');
                        data.extend_from_slice(value);
                    }
                    None => data = Some(value.to_vec()),
                },
                b"event" => name = value.to_vec(),
                _ => {}
            }
        }
        events
    }

    fn soup() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"data: ".to_vec()),
            Just(b"data:x".to_vec()),
            Just(b"event: e".to_vec()),
            Just(b": c".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\r\n".to_vec()),
            Just(b"\n\n".to_vec()),
            Just("é€😀".as_bytes().to_vec()),
            Just(b"\xff".to_vec()),
            Just(b"\xef\xbb\xbf".to_vec()),
            proptest::collection::vec(any::<u8>(), 0..6),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_events_of_the_reference(bytes in soup(), cuts in proptest::collection::vec(0usize..200, 0..12)) {
            // The closing blank line makes "discard the unfinished event" and "mark it as cut" the same thing.
            let whole = [bytes.as_slice(), b"\n\n\n"].concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(whole.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&whole[from..cut]);
                from = cut;
            }
            chunks.push(&whole[from..]);
            prop_assert_eq!(parse(&chunks), reference(&whole));
            let bytewise: Vec<&[u8]> = whole.chunks(1).collect();
            prop_assert_eq!(parse(&bytewise), reference(&whole));
        }
    }

    // P36
    #[test]
    fn a_byte_order_mark_and_every_line_end_are_read_as_specified() {
        let expected = vec![event("a", "1"), event("", "2\n3")];
        for stream in [
            "\u{feff}event: a\ndata: 1\n\ndata:2\ndata: 3\n\n",
            "event: a\r\ndata: 1\r\n\r\ndata:2\r\ndata: 3\r\n\r\n",
            "event: a\rdata: 1\r\rdata:2\rdata: 3\r\r",
        ] {
            assert_eq!(parse(&[stream.as_bytes()]), expected, "{stream:?}");
            let bytewise: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
            assert_eq!(parse(&bytewise), expected, "{stream:?} byte by byte");
        }
    }

    // P36
    #[test]
    fn an_event_without_its_last_blank_line_is_marked_as_cut() {
        assert_eq!(
            parse(&[b"data: 1\n\ndata: 2"]),
            vec![event("", "1"), SseEvent { cut: true, ..event("", "2") }]
        );
    }

    // P35
    #[test]
    fn a_bad_byte_damages_only_its_own_event() {
        let events = parse(&[b"data: a\n\ndata: \xffb\n\ndata: c\n\n"]);
        assert_eq!(
            events,
            vec![event("", "a"), SseEvent { damaged: true, ..event("", "\u{fffd}b") }, event("", "c")]
        );
    }

    // P37
    #[test]
    fn an_endless_line_and_an_endless_event_end_at_the_cap() {
        let mut parser = SseParser::with_max(1000);
        let mut events = Vec::new();
        let fed = (0..100).take_while(|_| parser.feed(&[b'x'; 64], &mut events).is_ok()).count();
        assert_eq!(fed, 1000 / 64);

        let mut parser = SseParser::with_max(1000);
        let fed = (0..100).take_while(|_| parser.feed(b"data: 0123456789\n", &mut events).is_ok()).count();
        assert!((85..=100).contains(&fed), "{fed}");
        assert_eq!(events, []);
    }

    // P37
    #[test]
    fn a_long_line_in_small_chunks_is_copied_once() {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        parser.feed(b"data: ", &mut events).unwrap();
        for _ in 0..(4 << 20) / 64 {
            parser.feed(&[b'x'; 64], &mut events).unwrap();
        }
        parser.feed(b"\n\n", &mut events).unwrap();
        assert_eq!(events[0].data.len(), 4 << 20);
    }
}
