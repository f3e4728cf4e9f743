"use strict";
// What the page shows. Texts of others are set as texts, never as HTML: there is no other way in this file.
import { TASKS } from "./rubric.js";

const SIGNS = { ArrowLeft: "←", ArrowRight: "→" };
const LONG = 160; // characters of a query that leave room for its passage only in smaller letters
const TITLES = { order: ["Passage A", "Passage B"], answer: ["Answer"], grade: [""] };

export const at = (id) => document.getElementById(id);
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

// Said by a screen reader, and by nobody else.
export const tell = (words) => { at("told").textContent = words; };

export const message = (title, words, { form = false, retry = false, undo = false } = {}) => {
  const same = document.body.dataset.state === "message" && at("message-title").textContent === title;
  if (same && at("start").hidden === !form) return; // said before: nobody wants to hear it at every try
  document.body.dataset.state = "message";
  for (const id of ["item", "panel"]) at(id).hidden = true;
  at("message").hidden = false;
  at("start").hidden = !form;
  at("retry").hidden = !retry;
  at("undo-last").hidden = !undo;
  at("message-title").textContent = title;
  at("message-text").textContent = words;
  at(form ? "rater" : "message").focus();
};

export const showItem = (kind, { task, query, texts }) => {
  document.body.dataset.state = "work";
  document.body.dataset.task = task;
  at("message").hidden = true;
  for (const id of ["item", "panel"]) at(id).hidden = false;
  at("kind").textContent = kind;
  at("query").textContent = query;
  at("query").classList.toggle("long", query.length > LONG);
  at("texts").className = texts.length > 1 ? "two" : "";
  at("texts").replaceChildren(...texts.map((text, place) => textBox(TITLES[task][place], text)));
  scrollTo(0, 0);
  at("item").focus({ preventScroll: true });
};

const textBox = (title, words) => {
  const box = element("div", { className: "text" });
  if (title) box.append(element("h2", { textContent: title }));
  box.append(element("div", { className: "words", textContent: words || "(This text is empty.)", dir: "auto" }));
  return box;
};

// choose is given the value of the choice that was clicked.
export const showChoices = ({ item, kind, value: before }, choices, choose) => {
  const { question, ends } = TASKS[item.task];
  at("panel-title").textContent = question;
  at("choices").replaceChildren(...choices.map(({ value, words, sign, short }) => {
    const button = element("button", { type: "button", className: short ? "choice short" : "choice" },
      element("kbd", { textContent: sign }), element("span", { textContent: words }));
    button.setAttribute("aria-label", words ? `${sign}: ${words}` : sign);
    button.setAttribute("aria-pressed", String(before === value));
    button.addEventListener("click", () => choose(value));
    return button;
  }));
  at("ends").hidden = !ends;
  at("ends").replaceChildren(...(ends ?? []).map((words, place) =>
    element("span", { textContent: `${item.scale[place]} ${words}` })));
  const said = choices.find(({ value }) => value === before);
  at("before").hidden = kind === undefined;
  at("before").textContent = kind === "skip" ? "You skipped this one." : `You said ${said?.short ?? before}.`;
};

// unsent: answers of this rater that the server has not counted yet, less those that are taken back.
export const showCounts = (rater, progress, unsent) => {
  at("done").hidden = !progress;
  at("who").hidden = !rater;
  at("name").textContent = rater ?? "";
  if (!progress) return;
  at("counts").textContent = `${progress.mine + unsent} by you · ${progress.all} of ${progress.items} by all`;
  at("bar").max = Math.max(progress.items, 1);
  at("bar").value = progress.all;
};

export const showWaiting = (waiting, { away, closed, lost, begun }) => {
  const saved = at("saved");
  saved.className = lost && waiting ? "lost" : waiting || away ? "waits" : "";
  if (closed) saved.textContent = waiting ? `${waiting} not sent` : "";
  else if (waiting && lost) saved.textContent = `${waiting} not saved: do not close`;
  else if (away) saved.textContent = waiting ? `${waiting} kept here, server away` : "Server away";
  else saved.textContent = waiting ? "Saving" : begun ? "All saved" : "";
};

export const showRefusals = (refused) => {
  at("refused").hidden = refused.length === 0;
  at("refusals").replaceChildren(...refused.map(({ event, why }) =>
    element("li", { textContent: `${event.rater}: ${event.kind} ${event.value ?? ""} (${why})` })));
};

export const openHelp = (choices) => {
  const lines = choices.map(({ keys, words }) => [keys.map((key) => SIGNS[key] ?? key), words]);
  lines.push([["u"], "Undo the last answer"], [["s"], "Skip: I cannot tell"], [["n"], "Write a note"], [["?"], "This help"]);
  at("keys").replaceChildren(...lines.flatMap(([keys, words]) => [
    element("dt", {}, ...keys.map((key) => element("kbd", { textContent: key }))), element("dd", { textContent: words })]));
  at("help-box").showModal();
  at("help-box").scrollTop = 0;
};
