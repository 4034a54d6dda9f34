// API: what is asked of the service beside the stream, and what its refusals mean in words.

const PATIENCE = 10_000; // a question that is not answered would keep one of the few connections of the browser

/** Why there is no answer. */
export class Failure extends Error {
  constructor(status, message, retryAfter = 0) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** The `data` of an answer of the service. */
export async function data(path, signal) {
  return (await (await answer(path, signal)).json()).data;
}

/** The body of an answer that is JSON of its own. */
export async function json(path, signal) {
  return (await answer(path, signal)).json();
}

async function answer(path, signal) {
  let response;
  try {
    const patience = AbortSignal.timeout(PATIENCE);
    response = await fetch(path, { signal: signal ? AbortSignal.any([signal, patience]) : patience, headers: { accept: "application/json" } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "The server cannot be reached.");
  }
  if (response.ok) return response;
  const message = await response.json().then((body) => body.message, () => response.statusText);
  throw new Failure(response.status, message, Number(response.headers.get("retry-after")) || 0);
}

/** The path of an object below a part of the service, with `-` for no namespace. */
export function objectPath(part, { group, version, resource, namespace, name }) {
  return `/v1/${part}/${[group, version, resource, namespace || "-", name].map(encodeURIComponent).join("/")}`;
}

/** What a failure means to the one who sees it: a heading, and what can be done. */
export function explain({ status, message }) {
  if (status === 0) return { title: "No connection", hint: "The server cannot be reached. Trying again." };
  if (status === 400) return { title: "This cannot be asked", hint: message };
  if (status === 401) return { title: "Who are you?", hint: "The server wants a token before it shows anything." };
  if (status === 403) return { title: "Not allowed", hint: message };
  if (status === 404) return { title: "Not found", hint: message };
  if (status === 503) return { title: "Still syncing", hint: `${message}. It is tried again in a moment.` };
  return { title: "That went wrong", hint: message };
}
