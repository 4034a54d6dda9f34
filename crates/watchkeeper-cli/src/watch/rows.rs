//! Rows: a collection in the server's table format.
//!
//! Input: lists and watches whose responses are tables, or objects if the server has no table for them.
//! Output: objects whose body is a table row, for the reflector; and their printer.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use serde_json::{Value, json};
use watchkeeper_cache::source::{Page, from_closures};
use watchkeeper_client::rest::{Request, RequestError};
use watchkeeper_client::transport::Body;
use watchkeeper_core::{
    Bookmark, BoxError, Encoded, Encoding, ListError, ListMeta, ListRequest, ListWatch, Object,
    ObjectMetaBuilder, Status, WatchError, WatchEvent, WatchEventType, WatchStream,
};
use watchkeeper_wire::{Annotations, Limits, WatchFrames, json};

use crate::output::{ACCEPT, RowPrinter, TabWriter, Table};

/// The most recent column definitions of the server.
pub(super) type Columns = Arc<Mutex<Value>>;

/// Creates a source for the rows of a collection. `request` builds a request with the given parameters.
pub(super) fn source(
    request: impl Fn(Vec<(&'static str, String)>) -> Request + Clone + Send + Sync + 'static,
    columns: Columns,
) -> impl ListWatch + 'static {
    let (asked, listed) = (request.clone(), columns.clone());
    let tables = |request: Request| request.header(http::header::ACCEPT, ACCEPT);
    let list = move |of: ListRequest| page(tables(asked(of.query())), listed.clone());
    let watch = move |of: watchkeeper_core::WatchRequest| watch(tables(request(of.query())), columns.clone());
    from_closures(list, watch)
}

async fn page(request: Request, columns: Columns) -> Result<Page, ListError> {
    let response: Value = request.send().await.and_then(|response| response.into()).map_err(list_failed)?;
    let items = objects(&response, &columns).map_err(ListError::Malformed)?;
    let metadata = &response["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    let end = ListMeta {
        resource_version: text("resourceVersion").into(),
        continue_token: Some(text("continue").to_owned()).filter(|token| !token.is_empty()),
        remaining_item_count: metadata["remainingItemCount"].as_u64(),
        ..ListMeta::default()
    };
    Ok(Page { items, end })
}

async fn watch(request: Request, columns: Columns) -> Result<WatchStream, WatchError> {
    let response = request.open_watch().await.map_err(watch_failed)?;
    let frames = WatchFrames::new(Encoding::Json, Limits::DEFAULT);
    let watching = (response.into_body(), Some(frames), columns);
    let events = stream::try_unfold(watching, |(mut body, mut frames, columns)| async move {
        let event = next(&mut body, &mut frames, &columns).await?;
        Ok(event.map(|event| (event, (body, frames, columns))))
    });
    Ok(events.boxed())
}

async fn next(
    body: &mut Body,
    frames: &mut Option<WatchFrames>,
    columns: &Columns,
) -> Result<Option<WatchEvent>, WatchError> {
    loop {
        let Some(split) = frames else { return Ok(None) };
        if let Some(frame) = split.next().map_err(|error| WatchError::Malformed(error.into()))? {
            let malformed = |error: BoxError| WatchError::Malformed(error);
            let value: Value =
                serde_json::from_slice(frame.object).map_err(|error| malformed(error.into()))?;
            if frame.kind == WatchEventType::Error {
                let status: Status =
                    serde_json::from_value(value).map_err(|error| malformed(error.into()))?;
                return Err(status.into());
            }
            if frame.kind == WatchEventType::Bookmark {
                let of = [&value["metadata"], &value["rows"][0]["object"]["metadata"]];
                let version = of.iter().find_map(|metadata| metadata["resourceVersion"].as_str());
                let version = version.filter(|version| !version.is_empty()).unwrap_or_default().into();
                return Ok(Some(WatchEvent::Bookmark(Bookmark { version, initial_events_end: false })));
            }
            let object = objects(&value, columns).map_err(malformed)?.pop();
            let object = object.ok_or_else(|| malformed("table has no rows".into()))?;
            return Ok(Some(match frame.kind {
                WatchEventType::Added => WatchEvent::Added(object),
                WatchEventType::Deleted => WatchEvent::Deleted(object),
                _ => WatchEvent::Modified(object),
            }));
        }
        let lost = |error: BoxError| WatchError::Interrupted(error);
        match body.chunk().await.map_err(|error| lost(error.into()))? {
            Some(chunk) => split.push(chunk),
            None => match frames.take().map_or(Ok(()), WatchFrames::finish) {
                Ok(()) => return Ok(None),
                Err(error) => return Err(lost(error.into())),
            },
        }
    }
}

/// Returns the rows of a table, the items of a list, or a single object.
fn objects(response: &Value, columns: &Columns) -> Result<Vec<Object>, BoxError> {
    if response["kind"] == "Table" {
        if response["columnDefinitions"].as_array().is_some_and(|columns| !columns.is_empty()) {
            *columns.lock() = response["columnDefinitions"].clone();
        }
        let rows = response["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
        return rows.iter().map(|row| object(&row["object"], &json!({"row": row}))).collect();
    }
    match response["items"].as_array() {
        Some(items) => items.iter().map(|item| object(item, &json!({"object": item}))).collect(),
        None => Ok(vec![object(response, &json!({"object": response}))?]),
    }
}

fn object(of: &Value, body: &Value) -> Result<Object, BoxError> {
    let mut metadata = ObjectMetaBuilder::default();
    let metadata = json::read_object_meta(of.to_string().as_bytes(), Annotations::Skip, &mut metadata)?;
    Ok(Object { metadata, encoded: Encoded::json(body.to_string().into_bytes()) })
}

/// Prints an object made by [`source`].
pub(super) fn print(
    object: &Object,
    event: WatchEventType,
    columns: &Columns,
    printer: &mut RowPrinter,
    out: &mut TabWriter,
) -> Result<(), serde_json::Error> {
    let body: Value = serde_json::from_slice(&object.encoded.body)?;
    match body.get("row") {
        Some(row) => {
            let table = json!({"columnDefinitions": *columns.lock(), "rows": [row]});
            printer.print(serde_json::from_value::<Table>(table)?, Some(event.as_str()), out);
        }
        None => printer.print_object(&body["object"], Some(event.as_str()), out),
    }
    Ok(())
}

fn list_failed(error: RequestError) -> ListError {
    match error {
        RequestError::Api { status, .. } | RequestError::RetryAfter { status, .. } => (*status).into(),
        RequestError::Transport { ref source, .. } if source.is_connection_refused() => {
            ListError::ConnectionRefused(error.into())
        }
        other => ListError::Interrupted(other.into()),
    }
}

fn watch_failed(error: RequestError) -> WatchError {
    match error {
        RequestError::Api { status, .. } | RequestError::RetryAfter { status, .. } => (*status).into(),
        RequestError::Transport { ref source, .. } if source.is_connection_refused() => {
            WatchError::ConnectionRefused(error.into())
        }
        other => WatchError::Interrupted(other.into()),
    }
}
