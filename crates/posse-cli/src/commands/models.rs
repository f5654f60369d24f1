//! `posse models`: the models that the configured providers list, with context windows and prices.

use std::process::ExitCode;

use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_models::listing::ListedModel;
use serde_json::json;

use crate::args::{GlobalArgs, ModelsArgs, RunOptions};
use crate::columns::PaddedCell;
use crate::setup::Setup;
use crate::setup::process_env;
use crate::terminal;

pub async fn run(global: &GlobalArgs, args: ModelsArgs) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let source = setup.models(&RunOptions::default())?;
    let mut providers = setup.config.models.set_up_providers(&process_env);
    if let Some(provider) = args.provider {
        providers = vec![provider];
    }
    if providers.is_empty() {
        return Err(
            Error::new(ErrorCode::ModelNotConfigured, say!("models-none")).hint(say!("models-none-hint"))
        );
    }
    let default = setup.configured_model(&RunOptions::default()).ok().flatten();
    let (mut found, mut failed) = (Vec::new(), false);
    for provider in &providers {
        match source.list_models(provider).await {
            Ok(models) => found.extend(models),
            Err(e) => {
                failed = true;
                terminal::error(&e);
            }
        }
    }
    if let Some(part) = &args.matching {
        found.retain(|model| model.reference.contains(part.as_str()));
    }
    show(global.json, &found, default.as_deref());
    Ok(if failed && found.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn show(json: bool, models: &[ListedModel], default: Option<&str>) {
    if json {
        for model in models {
            let price = model.price.as_ref();
            terminal::out(
                &json!({
                    "model": model.reference,
                    "context_window": model.context_window,
                    "input_usd_per_million": price.map(|price| price.input),
                    "output_usd_per_million": price.map(|price| price.output),
                    "default": default == Some(model.reference.as_str()),
                })
                .to_string(),
            );
        }
        return;
    }
    let width = models.iter().map(|model| model.reference.chars().count()).max().unwrap_or(0).max(5);
    let heads = [say!("models-column-context"), say!("models-column-input"), say!("models-column-output")];
    let [context, input, output] = heads.map(PaddedCell);
    terminal::out(&format!(
        "{:<width$}  {context:>8}  {input:>10}  {output:>10}",
        PaddedCell(say!("models-column-model"))
    ));
    for model in models {
        let window = model.context_window.map_or_else(|| "?".to_owned(), tokens);
        let dollars = |price: Option<f64>| price.map_or_else(|| "$?".to_owned(), |usd| format!("${usd:.2}"));
        let (input, output) = (model.price.map(|price| price.input), model.price.map(|price| price.output));
        let mark = if default == Some(model.reference.as_str()) { "  *" } else { "" };
        terminal::show(
            false,
            &format!(
                "{:<width$}  {window:>8}  {:>10}  {:>10}{mark}",
                model.reference,
                dollars(input),
                dollars(output)
            ),
            &json!(null),
        );
    }
    terminal::note(&say!("models-note", n = models.len()));
}

fn tokens(n: u64) -> String {
    match n {
        1_000_000.. => format!("{:.1}M", n as f64 / 1e6),
        1_000.. => format!("{}k", n / 1_000),
        _ => n.to_string(),
    }
}
