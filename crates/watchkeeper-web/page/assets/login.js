// Login: asks for a token, once the server has said that it wants one. The token is kept in a cookie that scripts
// cannot read, and nowhere else.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";

let open = null;

const tabs = new BroadcastChannel("watchkeeper-session");
tabs.addEventListener("message", () => location.reload());

/** Asks for a token until the server takes one, or the user does not want to: then `done(whether)` is called. */
export function askForToken(done) {
  if (open) return;
  let taken = false;
  const error = h("p", { role: "alert", "data-level": "degraded", hidden: true });
  const token = h("input", { class: "field", type: "password", autocomplete: "current-password", "aria-label": "Bearer token", required: true, autofocus: true, placeholder: "Bearer token" });
  const form = h("form", {
    submit: async (event) => {
      event.preventDefault();
      const answer = await fetch("/v1/login", { method: "POST", headers: { "content-type": "application/json" },
        body: JSON.stringify({ token: token.value.trim() }) }).catch(() => null);
      if (answer?.ok) {
        answered();
        return;
      }
      const said = await answer?.json().then((body) => body.message, () => "");
      error.textContent = answer ? `The server does not take this token. ${said}` : "The server cannot be reached.";
      error.hidden = false;
    },
  }, h("div", { class: "line" }, token, h("button", { class: "button primary", type: "submit" }, "Sign in")));
  const dialog = openDialog("Sign in",
    h("p", {}, "The server wants to know who you are: what you see is what your account may read."), error, form,
    h("p", { class: "quiet" }, "One way to get a token: kubectl create token <service account>"));
  const answered = () => {
    taken = true;
    dialog.close();
  };
  open = answered;
  dialog.addEventListener("close", () => {
    open = null;
    done(taken);
  });
}

/** Closes the question, if it is open: another tab has answered it. Whether it was open. */
export function stopAsking() {
  const answered = open;
  answered?.();
  return answered !== null;
}

/** Forgets the token, and begins anew in all tabs. `renew` opens their stream anew. */
export async function signOut(renew) {
  await fetch("/v1/logout", { method: "POST" }).catch(() => null);
  renew();
  tabs.postMessage("signed out");
  location.reload();
}
