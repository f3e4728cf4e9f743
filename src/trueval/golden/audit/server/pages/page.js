"use strict";
import { Kept } from "./kept.js";
import { keyOf } from "./keys.js";
import { OPENING, TASKS, choicesOf } from "./rubric.js";
import { Away, Closed, Refused, post, token } from "./talk.js";
import { at, message, openHelp, showChoices, showCounts, showItem, showRefusals, showWaiting, tell } from "./view.js";

const AHEAD = 3; // items that are there before they are asked for
const MOST = 16; // items that the server gives at once
const REMEMBERED = 50; // answers that can be undone one after another
const LONGEST = 3600; // seconds that an item is said to have taken, at most
const PAUSES = [500, 1000, 2000, 4000]; // milliseconds between tries while the server is away

// ---- what lasts as long as the tab, and what as long as the browser ----
// Where a browser is told to keep nothing, even to ask for its storage is an error.
const storage = (name) => {
  try {
    return window[name];
  } catch {
    return null;
  }
};
const TAB = storage("sessionStorage"), BROWSER = storage("localStorage");
const remembered = (store, key) => {
  try {
    return JSON.parse(store.getItem(key));
  } catch {
    return null;
  }
};
const remember = (store, key, value) => {
  try {
    store.setItem(key, JSON.stringify(value));
    return true;
  } catch { // a browser that keeps nothing, or is full
    return false;
  }
};

const state = {
  rater: remembered(TAB, "trueval-audit-rater"), audit: null, kept: null, progress: null,
  current: null, ahead: [], seen: new Set(), answered: [], notes: new Map(), exhausted: false,
  since: 0, away: false, closed: "", asking: false, sending: false, tries: 0, timer: 0,
};

// ---- what is shown ----
const showProgress = () => {
  const unsent = state.kept?.waiting().filter(({ event }) => isMine(event)) ?? [];
  showCounts(state.rater, state.progress, unsent.reduce((sum, { event }) => sum + (event.kind === "undo" ? -1 : 1), 0));
};
// Answers may overtake each other.
const learn = (progress) => {
  if (!state.progress || progress.at > state.progress.at) state.progress = progress;
};
const isMine = (event) => event.rater === state.rater;

const showSaved = () => {
  const lost = state.kept && (!state.kept.lasting || state.kept.overflow?.length > 0);
  showWaiting(state.kept?.waiting().length ?? 0, { away: state.away, closed: Boolean(state.closed), lost, begun: Boolean(state.progress) });
};

const showRefused = () => showRefusals(state.kept?.refused() ?? []);
const choicesNow = () => choicesOf(state.current.item.task, state.current.item.scale, state.audit.anchors);
const showNote = () => {
  const note = state.current && state.notes.get(state.current.item.id);
  at("noted").hidden = !note;
  at("noted").textContent = note ? `Your note: ${note}` : "";
};

const show = (entry, words = "") => {
  state.current = entry;
  const { item } = entry;
  state.seen.add(item.id);
  at("undo").disabled = state.answered.length === 0;
  showItem(TASKS[item.task].kind, item);
  showChoices(entry, choicesNow(), (value) => answer("grade", value));
  showNote();
  tell(`${words} Next: ${TASKS[item.task].kind}.`.trim());
  state.since = performance.now();
};

// ---- work ----
const next = (words = "") => {
  state.current = null;
  const entry = state.ahead.shift();
  if (entry) show(entry, words);
  else if (state.exhausted) finished(words);
  else if (state.away) message("The server is away", "Your labels are kept in this browser. Work goes on as soon as the server answers.");
  else message("One moment", "The page asks the server for work.");
  fill();
};

const finished = (words) => {
  message("Nothing is left for you", `${words} You have seen all that is open. Others may still skip or undo.`.trim(), { retry: true, undo: state.answered.length > 0 });
};

const answer = (kind, value) => {
  const entry = state.current;
  if (!entry) return;
  const seconds = Math.min((performance.now() - state.since) / 1000, LONGEST);
  const event = { id: crypto.randomUUID(), rater: state.rater, kind, item: entry.item.id, seconds: Math.round(seconds * 1000) / 1000 };
  if (kind === "grade") event.value = value;
  const note = state.notes.get(entry.item.id);
  if (note) event.note = note;
  state.kept.keep(event); // before anything else: from here on it is not lost
  state.answered.push({ item: entry.item, event: event.id, kind, value });
  state.answered.splice(0, state.answered.length - REMEMBERED);
  next(kind === "skip" ? "Skipped." : `Said ${value}.`);
  rememberAnswered();
  send();
};

// Their texts are long, perhaps: as many as there is room for.
const rememberAnswered = () => [REMEMBERED, 10, 1, 0].some((most) => remember(TAB, "trueval-audit-answered",
  { rater: state.rater, audit: state.audit.audit, answered: most ? state.answered.slice(-most) : [] }));

const undo = () => {
  const last = state.answered.pop();
  if (!last) return tell("There is nothing to undo.");
  rememberAnswered();
  state.kept.keep({ id: crypto.randomUUID(), rater: state.rater, kind: "undo", of: last.event });
  if (state.current) state.ahead.unshift(state.current);
  show({ item: last.item, value: last.value, kind: last.kind }, "Undone.");
  send();
  return undefined;
};

const keepNote = (words) => {
  if (!state.current) return;
  state.notes.set(state.current.item.id, words);
  remember(TAB, "trueval-audit-notes", [...state.notes].filter(([, note]) => note).slice(-REMEMBERED));
  showNote();
  tell(words ? "Note kept: it goes with your answer." : "Note removed.");
};

// ---- the server ----
const later = () => {
  clearTimeout(state.timer);
  state.timer = setTimeout(resume, PAUSES[Math.min(state.tries, PAUSES.length - 1)]);
  state.tries += 1;
};
const resume = () => {
  clearTimeout(state.timer);
  if (!state.audit) begin();
  else {
    send();
    fill();
  }
};
const answered = () => {
  if (state.away) tell("The server answers again.");
  state.away = false;
  state.tries = 0;
};
const failed = (error) => {
  if (error instanceof Closed) {
    state.closed = error.message;
    message("This address is no longer valid", "Open the address that trueval golden audit prints. What you said is kept in this browser and is sent then.");
  } else if (error instanceof Away) {
    if (!state.away) tell("The server is away. Go on: what you say is kept in this browser.");
    state.away = true;
    if (!state.current && !state.exhausted && state.audit) next();
    later();
  } else if (!(error instanceof Refused)) throw error;
  showSaved();
};

const send = async () => {
  showSaved();
  if (state.sending || state.closed) return;
  state.sending = true;
  try {
    for (let first; (first = state.kept.waiting()[0]);) {
      const { key, event } = first;
      try {
        const { progress } = await post("events", event);
        state.kept.remove(key);
        if (isMine(event)) learn(progress);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        state.kept.refuse(key, event, error.message);
        showRefused();
        if (state.kept.text(key)) return; // no room to set it aside: the next ones wait behind it
      }
      answered();
      showProgress();
    }
  } catch (error) {
    failed(error);
  } finally {
    state.sending = false;
    showSaved();
  }
  if (!state.away) fill();
};

const fill = async () => {
  if (state.asking || state.closed || state.exhausted || !state.audit || state.ahead.length >= AHEAD) return;
  state.asking = true;
  try {
    // What is here counts as shown for the server, and so does what was answered and not sent yet.
    const unsent = state.kept.waiting().filter(({ event }) => isMine(event)).length;
    const want = Math.min(AHEAD + 1 + unsent, MOST);
    const { items, progress } = await post("items", { rater: state.rater, want });
    answered();
    const fresh = items.filter(({ id }) => !state.seen.has(id));
    for (const item of fresh) state.seen.add(item.id);
    state.ahead.push(...fresh.map((item) => ({ item })));
    learn(progress);
    state.exhausted = items.length < want;
    showProgress();
    if (!state.current && (fresh.length || state.exhausted)) next();
  } catch (error) {
    if (error instanceof Refused) message("The server gives no work", error.message, { retry: true });
    failed(error);
  } finally {
    state.asking = false;
    showSaved();
  }
};

const begin = async () => {
  try {
    state.audit = await post("start", { rater: state.rater });
  } catch (error) {
    if (error instanceof Refused) {
      state.rater = null;
      return message("Who grades?", error.message, { form: true });
    }
    message("The server is away", "The page tries again by itself.");
    return failed(error);
  }
  answered();
  remember(TAB, "trueval-audit-rater", state.rater);
  remember(BROWSER, "trueval-audit-rater", state.rater);
  state.kept = new Kept(state.audit.audit);
  state.progress = null;
  learn(state.audit.progress);
  const before = remembered(TAB, "trueval-audit-answered");
  state.answered = before && before.rater === state.rater && before.audit === state.audit.audit ? before.answered : [];
  state.notes = new Map(remembered(TAB, "trueval-audit-notes") ?? []);
  Object.assign(state, { current: null, ahead: [], seen: unsentItems(), exhausted: false });
  showProgress();
  showRefused();
  send();
  return fill();
};
// Items that were answered before the page was loaded anew, and that the server does not know of yet.
const unsentItems = () => {
  const answers = new Map();
  for (const { event } of state.kept.waiting().filter(({ event }) => isMine(event))) {
    if (event.kind === "undo") answers.delete(event.of);
    else answers.set(event.id, event.item);
  }
  return new Set(answers.values());
};

// ---- keys, buttons, boxes ----
const showHelp = () => openHelp(state.current ? choicesNow() : []);
const openNote = () => {
  if (!state.current) return;
  at("note-text").value = state.notes.get(state.current.item.id) ?? "";
  at("note-box").showModal();
  at("note-text").focus();
};
// A browser tells of a closed box a moment later, when the next key may have opened it again.
const closed = () => {
  if (state.current && !document.querySelector("dialog[open]")) at("item").focus({ preventScroll: true });
};
const shortcuts = () => at("shortcuts").checked;

const press = (key) => {
  if (key === "?") return showHelp();
  if (key === "u") return undo();
  if (!state.current) return undefined;
  if (key === "s") return answer("skip");
  if (key === "n") return openNote();
  const chosen = choicesNow().find(({ keys }) => keys.includes(key));
  return chosen && answer("grade", chosen.value);
};
addEventListener("keydown", (event) => {
  const writes = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (writes || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  const key = keyOf(event);
  if (!shortcuts() || !state.audit || !key) return;
  if (!key.startsWith("Arrow") || state.current?.item.task === "order") event.preventDefault();
  if (!event.repeat) press(key); // a key that is held down grades once
});

at("start").addEventListener("submit", (event) => {
  event.preventDefault();
  state.rater = at("rater").value.normalize("NFC").replace(/\s+/g, " ").trim(); // one name, however it is typed
  if (state.rater) begin();
});
at("retry").addEventListener("click", () => {
  Object.assign(state, { exhausted: false, seen: unsentItems() });
  message("One moment", "The page asks the server for work.");
  fill();
});
at("undo").addEventListener("click", undo);
at("put-away").addEventListener("click", () => {
  state.kept.putAway();
  showRefused();
});
at("undo-last").addEventListener("click", undo);
at("skip").addEventListener("click", () => answer("skip"));
at("note").addEventListener("click", openNote);
at("help").addEventListener("click", showHelp);
at("help-leave").addEventListener("click", () => at("help-box").close());
at("note-leave").addEventListener("click", () => at("note-box").close());
at("note-form").addEventListener("submit", () => keepNote(at("note-text").value.trim()));
at("note-box").addEventListener("close", closed);
at("help-box").addEventListener("close", closed);
at("note-text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("note-form").requestSubmit();
});
at("shortcuts").checked = remembered(BROWSER, "trueval-audit-keys") ?? true;
at("shortcuts").addEventListener("change", () => remember(BROWSER, "trueval-audit-keys", shortcuts()));
at("leave").addEventListener("click", () => {
  TAB?.removeItem("trueval-audit-rater");
  location.reload();
});
addEventListener("online", resume);
addEventListener("visibilitychange", () => document.hidden || !state.away || resume());
addEventListener("beforeunload", (event) => {
  if (state.kept?.waiting().length && (state.away || !state.kept.lasting)) event.preventDefault();
});

if (!token) message("The address lacks its token", "Open the whole address that trueval golden audit prints, with all that comes after the #.");
else if (state.rater) begin();
else {
  at("rater").value = remembered(BROWSER, "trueval-audit-rater") ?? "";
  message("Who grades?", OPENING, { form: true });
}
document.documentElement.dataset.ready = "";
