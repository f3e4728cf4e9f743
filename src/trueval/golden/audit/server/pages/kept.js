"use strict";
// What a rater said, kept in this browser until the server has it: one key for each event, so that two tabs can keep
// events at the same time and neither writes over what the other one kept.

const inMemory = () => {
  const held = new Map();
  return {
    getItem: (key) => held.get(key) ?? null,
    setItem: (key, value) => { held.set(key, value); },
    removeItem: (key) => { held.delete(key); },
    key: (place) => [...held.keys()][place] ?? null,
    get length() { return held.size; },
  };
};

const found = () => {
  try {
    localStorage.setItem("trueval-audit/try", "1");
    localStorage.removeItem("trueval-audit/try");
    return localStorage;
  } catch {
    return null; // a browser that is told to keep nothing, or is full
  }
};

const read = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

export class Kept {
  constructor(audit) {
    this.place = `trueval-audit/${audit}/`;
    this.disk = found();
    this.store = this.disk ?? inMemory();
    this.last = 0;
  }

  get lasting() { return this.disk !== null; }

  // Keys sort by time; a clock that is set back makes no event older than one before it.
  keep(event) {
    const before = this.keys("event").at(-1);
    if (before) this.last = Math.max(this.last, Number(before.split("/").at(-2)));
    this.last = Math.max(this.last + 1, Date.now());
    const key = `${this.place}event/${String(this.last).padStart(15, "0")}/${event.id}`;
    const text = JSON.stringify(event);
    try {
      this.store.setItem(key, text);
    } catch { // full: what waits stays on the disk, and this one is held in memory
      this.overflow ??= inMemory();
      this.overflow.setItem(key, text);
    }
    return key;
  }

  keys(kind) {
    const every = new Set();
    for (const store of [this.store, this.overflow]) {
      for (let place = 0; store && place < store.length; place += 1) {
        const key = store.key(place);
        if (key?.startsWith(`${this.place}${kind}/`)) every.add(key);
      }
    }
    return [...every].sort();
  }

  text(key) { return this.store.getItem(key) ?? this.overflow?.getItem(key) ?? null; }

  waiting() {
    return this.keys("event").map((key) => ({ key, event: read(this.text(key)) })).filter(({ event }) => event);
  }

  remove(key) {
    this.store.removeItem(key);
    this.overflow?.removeItem(key);
  }

  // An event that the server will never take is nothing to send again, and nothing to throw away.
  refuse(key, event, why) {
    try {
      this.store.setItem(key.replace("/event/", "/refused/"), JSON.stringify({ event, why }));
      this.remove(key);
    } catch { // full: it stays where it is
    }
  }

  putAway() { this.keys("refused").forEach((key) => this.remove(key)); }

  refused() { return this.keys("refused").map((key) => read(this.text(key))).filter(Boolean); }
}
