//! The routes of the API, each with its description in the OpenAPI document.

mod actions;
mod agents;
mod login;
mod people;
mod results;
mod sessions;
mod streams;
mod tasks;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::ApiState;

/// Returns the routes with their descriptions.
pub fn api() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(login::health))
        .routes(routes!(login::me))
        .routes(routes!(login::login))
        .routes(routes!(login::logout))
        .routes(routes!(tasks::list, tasks::spawn))
        .routes(routes!(tasks::wait))
        .routes(routes!(tasks::show))
        .routes(routes!(tasks::tree))
        .routes(routes!(results::events))
        .routes(routes!(results::result))
        .routes(routes!(results::collect))
        .routes(routes!(results::transcript))
        .routes(routes!(results::call))
        .routes(routes!(results::budget))
        .routes(routes!(results::diff))
        .routes(routes!(streams::all))
        .routes(routes!(streams::one))
        .routes(routes!(actions::send, actions::receipts))
        .routes(routes!(actions::answer))
        .routes(routes!(actions::cancel))
        .routes(routes!(actions::resume))
        .routes(routes!(actions::apply))
        .routes(routes!(actions::discard))
        .routes(routes!(actions::undo))
        .routes(routes!(people::approvals))
        .routes(routes!(people::approval, people::decide))
        .routes(routes!(people::questions))
        .routes(routes!(people::leases))
        .routes(routes!(people::release))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::show))
        .routes(routes!(sessions::context))
        .routes(routes!(sessions::value, sessions::write, sessions::delete))
        .routes(routes!(sessions::history))
        .routes(routes!(agents::list))
        .routes(routes!(agents::show))
        .routes(routes!(agents::usage))
}
