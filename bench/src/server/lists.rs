//! Lists: requests for all pods in one response.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use watchkeeper_core::{Encoding, ObjectMetaBuilder};
use watchkeeper_wire::protobuf::{self, Cut};
use watchkeeper_wire::{Kind, Limits, ListSplitter, ReadOptions, json, schema};

use super::{Connection, Endpoint, Outcome};

/// The encoding of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListForm {
    /// `application/json`.
    Json,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
}

impl ListForm {
    /// Returns the media type for the `Accept` header.
    pub fn accept(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// Counts the items of a list.
    ///
    /// # Errors
    /// If the body is not a valid list.
    pub fn count(self, list: Bytes) -> Outcome<usize> {
        let mut split = self.splitter();
        split.push(list);
        let mut count = 0;
        while split.next()?.is_some() {
            count += 1;
        }
        split.finish()?;
        Ok(count)
    }

    fn splitter(self) -> ListSplitter {
        let encoding = match self {
            Self::Json => Encoding::Json,
            Self::Protobuf => Encoding::Protobuf,
        };
        ListSplitter::new(encoding, Limits::DEFAULT)
    }
}

const PODS: &str = "/api/v1/pods";

/// Lists once, on a new connection. Returns the time from the request to the last byte, and the length of the body.
/// Connecting is not counted.
///
/// # Errors
/// If the request fails.
pub async fn time_list(endpoint: &Endpoint, form: ListForm) -> Outcome<(Duration, usize)> {
    let connection = Connection::open(endpoint).await?;
    let start = Instant::now();
    let response = connection.send(Method::GET, PODS, form.accept(), Bytes::new()).await?;
    if !response.status().is_success() {
        return Err(format!("GET {PODS}: {}", response.status()).into());
    }
    let mut body = response.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok((start.elapsed(), bytes))
}

/// Lists once, untimed, and checks that all pods are listed and none has managed fields (`server.L2`). Returns the mean
/// length of an item.
///
/// # Errors
/// If the request or the check fails.
pub async fn check_list(endpoint: &Endpoint, form: ListForm, pods: usize) -> Outcome<usize> {
    let connection = Connection::open(endpoint).await?;
    let mut body = connection.send(Method::GET, PODS, form.accept(), Bytes::new()).await?.into_body();
    let mut split = form.splitter();
    let (mut count, mut bytes) = (0, 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        split.push(data);
        while let Some(item) = split.next()? {
            // Managed fields are recognized by their name in JSON, and by their `fieldsType` in protobuf.
            let fields: [&[u8]; 2] = [b"managedFields", b"FieldsV1"];
            if fields.iter().any(|field| item.windows(field.len()).any(|window| window == *field)) {
                return Err("a listed pod has managed fields".into());
            }
            count += 1;
            bytes += item.len();
        }
    }
    split.finish()?;
    match count == pods {
        true => Ok(bytes / count.max(1)),
        false => Err(format!("the list has {count} of {pods} pods").into()),
    }
}

/// The size of a list.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListSize {
    /// Number of items.
    pub items: usize,
    /// Total length of the items.
    pub bytes: usize,
    /// Total length of the items without managed fields.
    pub kept: usize,
}

/// Lists once, untimed, and measures the items.
///
/// # Errors
/// If the request fails, or the response is not a list of pods.
pub async fn measure_list(endpoint: &Endpoint, form: ListForm) -> Outcome<ListSize> {
    let connection = Connection::open(endpoint).await?;
    let mut body = connection.send(Method::GET, PODS, form.accept(), Bytes::new()).await?.into_body();
    let read_options = ReadOptions::default();
    let message = Kind::new("", "v1", "Pod").message().ok_or("no protobuf message for pods")?;
    let cut = Cut::compile(schema::builtin(), message, &read_options.cut)?;
    let (mut split, mut builder, mut size) =
        (form.splitter(), ObjectMetaBuilder::default(), ListSize::default());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        split.push(data);
        while let Some(item) = split.next()? {
            let object = match form {
                ListForm::Json => json::read_object(item, &read_options, &mut builder)?,
                ListForm::Protobuf => {
                    protobuf::read_object(item, read_options.annotations, &cut, &mut builder)?
                }
            };
            size.items += 1;
            size.bytes += item.len();
            size.kept += object.encoded.body.len();
        }
    }
    split.finish()?;
    Ok(size)
}
