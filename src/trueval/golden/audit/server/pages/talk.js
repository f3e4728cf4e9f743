"use strict";
// The server as the page sees it: every request carries the token in a header, and none in an address.

const PATIENCE = 10000; // milliseconds for an answer
// What the server says of an event and would say of it again, however often it is sent.
const FINAL = new Set([400, 403, 404, 409, 413, 415, 422]);

// The server is away, or busy: the same request may succeed later.
export class Away extends Error {}
// The token is not, or no longer, the one of this server.
export class Closed extends Error {}
// The server understood, and refuses.
export class Refused extends Error {}

const PLACE = "trueval-audit-token";

// From the address into this tab: neither the history of the tab nor a reader of the screen finds it there any more.
export const token = (() => {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  try {
    if (given) sessionStorage.setItem(PLACE, given);
    if (given) history.replaceState(null, "", location.pathname);
    return sessionStorage.getItem(PLACE);
  } catch {
    return given;
  }
})();

export const post = async (path, body) => {
  let answer, value;
  try {
    answer = await fetch(`/api/${path}`, {
      method: "POST",
      headers: { "Authorization": `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
      cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(PATIENCE),
    });
    value = await answer.json();
  } catch {
    throw new Away("The server does not answer.");
  }
  if (answer.ok) return value;
  const why = String(value?.error ?? answer.status);
  if (answer.status === 401) throw new Closed(why);
  throw FINAL.has(answer.status) ? new Refused(why) : new Away(why);
};
