//! Lists: all pods in one answer.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use watchkeeper_core::{Encoding, ObjectMetaBuilder};
use watchkeeper_wire::protobuf::{self, Cut};
use watchkeeper_wire::{Kind, Limits, ListSplitter, ReadOptions, json, schema};

use super::{Connection, Endpoint, Outcome};

/// As what a list is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListForm {
    /// `application/json`.
    Json,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
}

impl ListForm {
    /// The word for it in headers.
    pub fn accept(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// How many items a list has.
    ///
    /// # Errors
    /// Where it is none.
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

/// Lists once, on a connection of its own: how long from the request to the last byte, and how many
/// bytes. The connection is made before.
///
/// # Errors
/// Where the answer is no list.
pub async fn time_list(endpoint: &Endpoint, form: ListForm) -> Outcome<(Duration, usize)> {
    let connection = Connection::open(endpoint).await?;
    let begun = Instant::now();
    let answer = connection.send(Method::GET, PODS, form.accept(), Bytes::new()).await?;
    if !answer.status().is_success() {
        return Err(format!("GET {PODS}: {}", answer.status()).into());
    }
    let mut body = answer.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok((begun.elapsed(), bytes))
}

/// Lists once, untimed, and checks that all pods are there and none has managed fields (L2). Returns the
/// bytes of an item, on average.
///
/// # Errors
/// Where it is otherwise.
pub async fn check_list(endpoint: &Endpoint, form: ListForm, pods: usize) -> Outcome<usize> {
    let connection = Connection::open(endpoint).await?;
    let mut body = connection.send(Method::GET, PODS, form.accept(), Bytes::new()).await?.into_body();
    let mut split = form.splitter();
    let (mut count, mut bytes) = (0, 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        split.push(data);
        while let Some(item) = split.next()? {
            // Both encodings spell the field: JSON by its name, protobuf by the type of its content.
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
        false => Err(format!("{count} pods are listed of {pods} that were created").into()),
    }
}

/// How large a list is.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListSize {
    /// How many items it has.
    pub items: usize,
    /// The bytes of all items.
    pub bytes: usize,
    /// Those without managed fields.
    pub kept: usize,
}

/// Lists once, untimed, and measures what has come.
///
/// # Errors
/// Where the answer is no list of pods.
pub async fn measure_list(endpoint: &Endpoint, form: ListForm) -> Outcome<ListSize> {
    let connection = Connection::open(endpoint).await?;
    let mut body = connection.send(Method::GET, PODS, form.accept(), Bytes::new()).await?.into_body();
    let read_options = ReadOptions::default();
    let message = Kind::new("", "v1", "Pod").message().ok_or("pods have protobuf")?;
    let cut = Cut::compile(schema::builtin(), message, &read_options.cut)?;
    let (mut split, mut head, mut size) =
        (form.splitter(), ObjectMetaBuilder::default(), ListSize::default());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        split.push(data);
        while let Some(item) = split.next()? {
            let object = match form {
                ListForm::Json => json::read_object(item, &read_options, &mut head)?,
                ListForm::Protobuf => protobuf::read_object(item, read_options.annotations, &cut, &mut head)?,
            };
            size.items += 1;
            size.bytes += item.len();
            size.kept += object.encoded.body.len();
        }
    }
    split.finish()?;
    Ok(size)
}
