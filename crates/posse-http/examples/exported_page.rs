//! Reads the data of an export on standard input and prints its page. The tests of the dashboard open it in Chromium.

use std::io::{Read, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut data = String::new();
    std::io::stdin().read_to_string(&mut data)?;
    let page = posse_http::export::page("Exported task", &serde_json::from_str(&data)?);
    std::io::stdout().write_all(page.as_bytes())?;
    Ok(())
}
