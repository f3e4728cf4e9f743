"use strict";
// Which key was pressed, on whatever keyboard: what it writes where that means something here, else its place. On a
// French keyboard the place of 5 writes "(", on a Russian one that of u writes another letter.

const KNOWN = /^([0-9abusn?=]|Arrow(Left|Right))$/;
const ASCII = /^[ -~]$/;

export const keyOf = ({ key, code, shiftKey }) => {
  const written = key.length === 1 ? key.toLowerCase() : key;
  if (KNOWN.test(written)) return written;
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(code ?? "");
  if (digit && !shiftKey) return digit[1];
  const letter = /^Key([ABUSN])$/.exec(code ?? "");
  return letter && key.length === 1 && !ASCII.test(key) ? letter[1].toLowerCase() : null;
};
