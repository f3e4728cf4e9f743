"use strict";
// What there is to choose for each task, and by which keys.

const SIDES = [
  { value: "left", key: "1", also: "ArrowLeft", words: "The left one is better", short: "Left", sign: "←" },
  { value: "equal", key: "2", also: "=", words: "Both are equally good", short: "Equal", sign: "=" },
  { value: "right", key: "3", also: "ArrowRight", words: "The right one is better", short: "Right", sign: "→" },
];

export const TASKS = {
  grade: { kind: "Query and passage", question: "How much of the answer does the passage hold?" },
  order: { kind: "Query and two passages", question: "Which passage helps more to answer the query?" },
  answer: { kind: "Question and answer", question: "How good is the answer?" },
};

// Choices of a task on a scale: [{value, key, also, words, sign}]. Words of the scale's ends where the audit has none.
export const choicesOf = (task, scale, anchors) => {
  if (task === "order") return SIDES;
  const said = anchors[task] ?? {};
  const choices = [];
  for (let grade = scale[0]; grade <= scale[1]; grade += 1) {
    const end = grade === scale[0] ? "The least" : grade === scale[1] ? "The most" : "";
    choices.push({ value: grade, key: String(grade), words: said[grade] ?? end, sign: String(grade) });
  }
  return choices;
};
