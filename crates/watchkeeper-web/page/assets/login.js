// Login: asks for a token if the server requires one. The token is stored only in a cookie that scripts cannot read.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";

let open = null;

const tabs = new BroadcastChannel("watchkeeper-session");
tabs.addEventListener("message", () => location.reload());

/** Asks for a token until the server accepts one or the user cancels; then calls `done(accepted)`. */
export function askForToken(done) {
  if (open) return;
  let accepted = false;
  const error = h("p", { role: "alert", "data-level": "degraded", hidden: true });
  const token = h("input", {
    class: "field", type: "password", autocomplete: "current-password", "aria-label": "Bearer token", required: true,
    autofocus: true, placeholder: "Bearer token",
  });
  const form = h("form", {
    submit: async (event) => {
      event.preventDefault();
      const response = await fetch("/v1/login", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token: token.value.trim() }),
      }).catch(() => null);
      if (response?.ok) {
        succeed();
        return;
      }
      const message = await response?.json().then((body) => body.message, () => "");
      error.textContent = response ? `Sign-in failed: ${message}` : "The server cannot be reached.";
      error.hidden = false;
    },
  }, h("div", { class: "line" }, token, h("button", { class: "button primary", type: "submit" }, "Sign in")));
  const dialog = openDialog("Sign in",
    h("p", {}, "The server requires a token. You see what your account may read."), error, form,
    h("p", { class: "quiet" }, "To create a token: kubectl create token <service account>"));
  const succeed = () => {
    accepted = true;
    dialog.close();
  };
  open = succeed;
  dialog.addEventListener("close", () => {
    open = null;
    done(accepted);
  });
}

/** Closes the dialog after another tab has signed in. Returns whether it was open. */
export function stopAsking() {
  const succeed = open;
  succeed?.();
  return succeed !== null;
}

/** Discards the token and reloads all tabs. `renew` reopens their stream. */
export async function signOut(renew) {
  await fetch("/v1/logout", { method: "POST" }).catch(() => null);
  renew();
  tabs.postMessage("signed out");
  location.reload();
}
