//! Events: publish what happens to an object as Kubernetes `Event`s.
//!
//! Input: [recorders](EventRecorder), which can be cloned freely and never block.
//! Output: `Event` objects of `v1` or `events.k8s.io/v1`, written by an [`EventWriter`] that runs beside the
//! controllers.
//!
//! Invariants:
//! - `events.V1`: recording never blocks. The queue holds 1000 events; more are dropped, counted and logged.
//! - `events.V2`: repeated events become one object with a count. In `v1`, ten messages of one reason within
//!   ten minutes are combined, and each object gets a burst of 25 events, then one per five minutes. In
//!   `events.k8s.io/v1`, the second event starts a series, which is written every 30 minutes and after
//!   six minutes without an occurrence.
//! - `events.V3`: an event that the server rejects is not retried; one that does not reach the server is
//!   attempted twelve times, ten seconds apart.
//! - `events.V4`: on shutdown a writer writes the queued events, one attempt each, for at most
//!   [`flush_within`](EventWriter::flush_within).
//!
//! ```no_run
//! # async fn example(
//! #     client: watchkeeper_client::Client, factory: watchkeeper_cache::InformerFactory,
//! #     shops: watchkeeper_cache::Informer,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use serde_json::Value;
//! use watchkeeper_controller::events::{Event, EventRecorder, Reference};
//! use watchkeeper_controller::{Action, Controller, Manager};
//!
//! let (recorder, writer) = EventRecorder::for_server(&client, "shops-controller").await;
//! let mut manager = Manager::new(&factory);
//! manager.spawn("events", |stop| async move { Ok(writer.run(stop).await) });
//! manager.add(Controller::new("shops", &shops), |shop: Arc<Value>, recorder: Arc<EventRecorder>| async move {
//!     let event = Event::normal("Opened", "shop is open").action("Opening");
//!     recorder.record(&Reference::of_object(&*shop)?, event);
//!     Ok(Action::await_change())
//! }, Arc::new(recorder));
//! manager.run().await?;
//! # Ok(())
//! # }
//! ```

mod clock;
mod core_event;
mod correlator;
mod event;
mod metrics;
mod recent;
mod recorder;
mod reference;
mod series;
mod sink;
mod writer;

pub use event::{Event, EventType};
pub use recorder::{EventApi, EventRecorder};
pub use reference::{NotReferable, Reference};
pub use sink::{EventSink, ServerSink, WriteError};
pub use writer::EventWriter;
