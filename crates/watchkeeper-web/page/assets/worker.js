// Worker: runs in the browser beside all tabs of the page, and holds the streams that they share.
//
// A browser opens at most six connections per host over HTTP/1.1. With one stream per tab the seventh tab would never load.

import { Connection } from "./connection.js";

const TABS = 40; // tabs per stream: each has up to 20 subscriptions, and a stream up to 1024

const connections = [];

addEventListener("connect", ({ ports: [port] }) => {
  let connection = connections.find(({ clients }) => clients.size < TABS);
  if (!connection) connections.push((connection = new Connection()));
  const client = connection.add((message) => port.postMessage(message));
  port.addEventListener("message", ({ data }) => {
    if (data.ping) port.postMessage({ pong: true });
    else if (data.lock) gone(data.lock).then(() => connection.remove(client));
    else connection.receive(client, data);
  });
  port.start();
});

/** Waits for a lock that a tab holds while it exists. */
function gone(lock) {
  return navigator.locks.request(lock, () => {});
}
