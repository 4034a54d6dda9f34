// API: requests to the service besides the stream, and descriptions of their errors.

const TIMEOUT = 10_000; // milliseconds: a browser has few connections, and a hanging request occupies one

/** A failed request. `status` is 0 if the server cannot be reached. */
export class Failure extends Error {
  constructor(status, message, retryAfter = 0) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** The `data` of a response. */
export async function data(path, signal) {
  return (await (await respond(path, signal)).json()).data;
}

/** The body of a response without an envelope. */
export async function json(path, signal) {
  return (await respond(path, signal)).json();
}

async function respond(path, signal) {
  let response;
  try {
    const timeout = AbortSignal.timeout(TIMEOUT);
    const options = { signal: signal ? AbortSignal.any([signal, timeout]) : timeout, headers: { accept: "application/json" } };
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "The server cannot be reached.");
  }
  if (response.ok) return response;
  const message = await response.json().then((body) => body.message, () => response.statusText);
  throw new Failure(response.status, message, Number(response.headers.get("retry-after")) || 0);
}

/** The path of an object in the API; the namespace of a cluster-scoped object is `-`. */
export function objectPath(part, { group, version, resource, namespace, name }) {
  return `/v1/${part}/${[group, version, resource, namespace || "-", name].map(encodeURIComponent).join("/")}`;
}

/** A title and a hint for a failure. */
export function explain({ status, message }) {
  if (status === 0) return { title: "No connection", hint: "The server cannot be reached. Retrying." };
  if (status === 400) return { title: "Invalid request", hint: message };
  if (status === 401) return { title: "Not signed in", hint: "The server requires a token." };
  if (status === 403) return { title: "Not allowed", hint: message };
  if (status === 404) return { title: "Not found", hint: message };
  if (status === 503) return { title: "Loading", hint: `${message}. Retrying.` };
  return { title: "Something went wrong", hint: message };
}
