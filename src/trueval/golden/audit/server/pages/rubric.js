"use strict";
// What there is to choose for each task, and by which keys.

// As the store has it: 1 where the text that is shown first is better.
const SIDES = [
  { value: 1, keys: ["a", "1", "ArrowLeft"], words: "Passage A is better", short: "A", sign: "A" },
  { value: 0, keys: ["=", "2"], words: "Both are equally good", short: "Equal", sign: "=" },
  { value: -1, keys: ["b", "3", "ArrowRight"], words: "Passage B is better", short: "B", sign: "B" },
];

// Before anybody has a name, and for each grade: of passages, and of claims.
const SHOWN = {
  passages: {
    opening: "You read a query and a passage and say how much the passage helps. It takes one key.",
    grade: { kind: "Query and passage", question: "How much of the answer does the passage hold?", ends: ["nothing", "all of it"] },
  },
  claims: {
    opening: "You read a claim and a text and say whether the text supports the claim. It takes one key.",
    grade: { kind: "Claim and text", question: "Does the text support the claim?", ends: ["contradicts it", "supports it in whole"] },
  },
};
const SHOWS = SHOWN[document.body.dataset.shows] ?? SHOWN.passages;
export const OPENING = SHOWS.opening;

export const TASKS = {
  grade: SHOWS.grade,
  order: { kind: "Query and two passages", question: "Which passage helps more to answer the query?" },
  answer: { kind: "Question and answer", question: "How good is the answer?", ends: ["wrong", "correct and complete"] },
};

// Choices of a task on a scale: [{value, keys, words, sign}]. Words of the scale's ends where the audit has none.
export const choicesOf = (task, scale, anchors) => {
  if (task === "order") return SIDES;
  const said = anchors[task] ?? {};
  const choices = [];
  for (let grade = scale[0]; grade <= scale[1]; grade += 1) {
    const end = grade === scale[0] ? "The least" : grade === scale[1] ? "The most" : "";
    choices.push({ value: grade, keys: [String(grade)], words: said[grade] ?? end, sign: String(grade) });
  }
  return choices;
};
