//! Events: what happens to objects, told to people on the server.
//!
//! From: [recorders](Recorder), which anybody may have and which never wait.
//! To:   `Event` objects of `v1` or of `events.k8s.io/v1`, by an [`EventWriter`] that runs beside the controllers.
//!
//! - V1: who records waits for nobody: 1000 events wait to be written, and more are dropped, counted and logged.
//! - V2: what happens again and again is one object that counts. In `v1`, ten messages of one reason within ten
//!   minutes are combined, and of one object's events 25 are written at once and then one in five minutes. In
//!   `events.k8s.io/v1`, the second begins a series, which is written again every half hour and when it has had no
//!   more for six minutes.
//! - V3: what the server refuses is not tried again; what does not reach it is, twelve times, every ten seconds.
//! - V4: when it is told to stop, a writer writes what waits, once each, and no longer than
//!   [so long](EventWriter::flush_within).
//!
//! ```no_run
//! # async fn example(
//! #     client: watchkeeper_client::Client, factory: watchkeeper_cache::InformerFactory,
//! #     shops: watchkeeper_cache::Informer,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_controller::events::{Occurrence, Recorder, Reference};
//! use watchkeeper_controller::{Action, Controller, Failure, Manager, Request};
//!
//! let (recorder, writer) = Recorder::for_server(&client, "shops-controller").await;
//! let mut manager = Manager::new(&factory);
//! manager.spawn("events", |stop| async move { Ok(writer.run(stop).await) });
//! let informer = shops.clone();
//! manager.add(Controller::new("shops", &shops), move |request: Request| {
//!     if let Some(shop) = informer.store().snapshot().get(request.key()) {
//!         let shop = Reference::of(informer.kind().name(), &shop.head);
//!         recorder.record(&shop, Occurrence::normal("Opened", "the shop is open").action("Opening"));
//!     }
//!     async { Ok::<_, Failure>(Action::Done) }
//! });
//! manager.run().await?;
//! # Ok(())
//! # }
//! ```

mod clock;
mod core_event;
mod correlator;
mod metrics;
mod occurrence;
mod recent;
mod recorder;
mod reference;
mod series;
mod sink;
mod writer;

pub use occurrence::{Occurrence, Severity};
pub use recorder::{EventApi, Recorder};
pub use reference::{NotReferable, Reference};
pub use sink::{EventSink, ServerSink, WriteError};
pub use writer::EventWriter;
