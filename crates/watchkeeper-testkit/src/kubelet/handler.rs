//! Handler: routes requests.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderValue, StatusCode};
use hyper::upgrade::OnUpgrade;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use watchkeeper_apiserver::http::{Handler, Request, Response, Target};
use watchkeeper_core::Status;

use super::log::Logs;
use super::program::Program;
use super::{ports, websocket};

/// A handler of requests that responds as a kubelet does.
pub(super) struct KubeletHandler {
    logs: Arc<Logs>,
    /// Supported subprotocols, the preferred one first.
    protocols: &'static [&'static str],
    /// Cloned by each open stream.
    open: Arc<()>,
    cut: Mutex<CancellationToken>,
}

impl KubeletHandler {
    pub(super) fn new(logs: Arc<Logs>, channels: super::Channels) -> Self {
        let protocols: &[&str] = match channels {
            super::Channels::V5 => &["v5.channel.k8s.io", "v4.channel.k8s.io"],
            super::Channels::V4 => &["v4.channel.k8s.io"],
        };
        Self { logs, protocols, open: Arc::default(), cut: Mutex::default() }
    }

    pub(super) fn open(&self) -> usize {
        Arc::strong_count(&self.open) - 1
    }

    pub(super) fn cut(&self) {
        std::mem::take(&mut *self.cut.lock()).cancel();
    }

    /// Upgrades to a WebSocket, and runs `run` on it.
    fn switch<R>(&self, request: &Request, protocols: &[&'static str], run: R) -> Response
    where
        R: FnOnce(websocket::Channels) -> BoxFuture<'static, ()> + Send + 'static,
    {
        let upgrade = request.extensions.get::<OnUpgrade>().cloned();
        let accepted = websocket::accept(&request.headers, protocols);
        let (Some((headers, protocol)), Some(upgrade)) = (accepted, upgrade) else {
            return Response::text(StatusCode::FORBIDDEN, "unable to upgrade: no protocol in common\n");
        };
        let (open, cut) = (self.open.clone(), self.cut.lock().clone());
        request.switch.then(async move {
            let _open = open;
            let running = async {
                if let Some(channels) = websocket::Channels::open(upgrade, protocol).await {
                    run(channels).await;
                }
            };
            cut.run_until_cancelled(running).await;
        });
        let mut response = Response::text(StatusCode::SWITCHING_PROTOCOLS, "");
        response.headers = headers;
        response
    }

    fn run(&self, request: &Request, command: Vec<String>) -> Response {
        match Program::read(&request.query, command) {
            Some(program) => self.switch(request, self.protocols, |channels| Box::pin(program.run(channels))),
            None => {
                let text = "you must specify at least 1 of stdin, stdout, stderr";
                Response::text(StatusCode::BAD_REQUEST, text)
            }
        }
    }
}

impl Handler for KubeletHandler {
    async fn handle(&self, request: Request) -> Result<Response, Status> {
        let Target::Path(path) = &request.target else { return Ok(Response::page_not_found()) };
        let path = path.clone();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        Ok(match parts[..] {
            ["containerLogs", namespace, pod, container] => {
                let log = self.logs.read(&[namespace, pod, container].join("/"), &request.query);
                Response::stream(StatusCode::OK, HeaderValue::from_static("text/plain"), log)
            }
            ["exec", _, _, _] => {
                let command = request.query.all("command").map(str::to_owned).collect();
                self.run(&request, command)
            }
            ["attach", _, _, _] => self.run(&request, vec!["cat".to_owned()]),
            ["portForward", _, pod] => match ports::read(&request.query) {
                Ok(wanted) => {
                    let pod = pod.to_owned();
                    self.switch(&request, &["v4.channel.k8s.io"], move |channels| {
                        Box::pin(ports::forward(wanted, pod, channels))
                    })
                }
                Err(why) => Response::text(StatusCode::BAD_REQUEST, why),
            },
            _ => Response::page_not_found(),
        })
    }
}
