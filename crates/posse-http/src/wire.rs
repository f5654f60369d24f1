//! Requests and responses of the API. `docs/http.md` explains them; the OpenAPI document is generated from them.
//!
//! Every field of a response is always there; `null` says that a value is unknown or does not exist. Instants are
//! RFC 3339 in UTC.

mod approvals;
mod context;
mod login;
mod problem;
mod spending;
mod stream;
mod tasks;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

pub use approvals::*;
pub use context::*;
pub use login::*;
pub use problem::*;
pub use spending::*;
pub use stream::*;
pub use tasks::*;

/// Items of a page unless `limit` says otherwise.
pub const PAGE_USUAL: u32 = 50;
/// Most items of a page.
pub const PAGE_MAX: u32 = 500;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ListPage<T> {
    pub items: Vec<T>,
    /// `cursor` of the next page; `null` on the last one.
    pub next_cursor: Option<String>,
}

/// Page of a list to read.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// `next_cursor` of the page before.
    #[param(max_length = 200)]
    pub cursor: Option<String>,
    /// Items of the page, 50 unless given.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}
