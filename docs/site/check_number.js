// What a published mean can claim, computed in the browser as trueval.published does (comparison/gate/published_means.py,
// where the formulas and their sources are). tests/test_site.py compares the two on 1,000 inputs.
"use strict";

const CheckNumber = (() => {
  const HALVINGS = 60; // of [0, 1], until the ends are adjacent doubles
  const DIGITS = 12; // more digits of a published mean are rounding noise

  class Refused extends Error {}

  // As Python rounds: a half goes to the even neighbor.
  function round(number) {
    const low = Math.floor(number);
    const rest = number - low;
    if (rest !== 0.5) return rest < 0.5 ? low : low + 1;
    return low % 2 === 0 ? low : low + 1;
  }

  // The digits after the point that a number is written with, 12 at most.
  function digitsOf(number) {
    const [digits, exponent] = String(number).split("e");
    const after = (digits.split(".")[1] || "").length - Number(exponent || 0);
    return Math.min(Math.max(after, 0), DIGITS);
  }

  function shown(number) {
    return String(Number(number.toPrecision(6)));
  }

  // Kullback-Leibler divergence of two Bernoulli distributions.
  function divergence(mean, other) {
    const part = (one, two) => (one === 0 ? 0 : two === 0 ? Infinity : one * Math.log(one / two));
    return part(mean, other) + part(1 - mean, 1 - other);
  }

  // The means x with n kl(m, x) <= ln(2 / (1 - level)), for any values between 0 and 1 (Hoeffding 1963).
  function klInterval(mean, queries, level) {
    const bound = Math.log(2 / (1 - level)) / queries;
    const last = (end) => {
      let [near, far] = [mean, end];
      for (let step = 0; step < HALVINGS; step++) {
        const middle = (near + far) / 2;
        if (divergence(mean, middle) <= bound) near = middle;
        else far = middle;
      }
      return near;
    };
    return [last(0), last(1)];
  }

  // ln Gamma(x) for x >= 1: Stirling's series from 10 on, the recurrence below.
  function logGamma(x) {
    let shift = 0;
    for (; x < 10; x++) shift += Math.log(x);
    const s = 1 / (x * x);
    const series = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - (s * 691) / 360360))))) / x;
    return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series - shift;
  }

  // Continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method.
  function betaFraction(x, a, b) {
    const tiny = 1e-300;
    const away = (value) => (Math.abs(value) < tiny ? tiny : value);
    let c = 1;
    let d = 1 / away(1 - ((a + b) * x) / (a + 1));
    let found = d;
    for (let m = 1; m < 100000; m++) {
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      for (const term of [even, odd]) {
        d = 1 / away(1 + term * d);
        c = away(1 + term / c);
        found *= c * d;
      }
      if (Math.abs(c * d - 1) < 1e-16) break;
    }
    return found;
  }

  // The regularized incomplete beta function I_x(a, b).
  function betaInc(x, a, b) {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - betaInc(1 - x, b, a);
    const front = a * Math.log(x) + b * Math.log1p(-x) + logGamma(a + b) - logGamma(a) - logGamma(b);
    return (Math.exp(front) / a) * betaFraction(x, a, b);
  }

  // The x with I_x(a, b) = p.
  function betaIncInverse(a, b, p) {
    let [low, high] = [0, 1];
    for (let step = 0; step < HALVINGS; step++) {
      const middle = (low + high) / 2;
      if (betaInc(middle, a, b) < p) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  }

  // The interval of a proportion (Clopper & Pearson 1934).
  function clopperPearson(successes, queries, level) {
    const tail = (1 - level) / 2;
    const failures = queries - successes;
    // By symmetry the upper end is 1 - x with a small p, which keeps its digits.
    const low = successes ? betaIncInverse(successes, failures + 1, tail) : 0;
    const high = failures ? 1 - betaIncInverse(failures, successes + 1, tail) : 1;
    return [low, high];
  }

  function checkGrain(name, number, queries, grain) {
    const nearest = (round((number * queries) / grain) * grain) / queries;
    if (Math.abs(nearest - number) > 0.5 * 10 ** -digitsOf(number) + 10 ** -DIGITS) {
      throw new Refused(
        `No ${queries} values that are multiples of ${shown(grain)} have a ${name} of ${shown(number)}; the nearest is ` +
          `${shown(nearest)}. Correct value, difference, queries or grain, or leave the grain out.`
      );
    }
  }

  function check(value, queries, grain, difference, level) {
    if (!(value >= 0 && value <= 1)) throw new Refused("value must be between 0 and 1; divide points by 100.");
    if (!Number.isInteger(queries) || queries < 1) throw new Refused("queries must be an integer >= 1.");
    if (grain !== null && !(grain > 0 && grain <= 1)) {
      throw new Refused("grain must be above 0 and at most 1, such as 1 for values of 0 or 1.");
    }
    if (!(level > 0.5 && level < 1)) throw new Refused("level must be between 0.5 and 1, such as 0.95.");
    const most = Math.max(value, 1 - value);
    if (difference !== null && !(Math.abs(difference) <= most + 10 ** -DIGITS)) {
      throw new Refused(
        `difference must leave the other mean between 0 and 1, so be at most ${shown(most)} beside ${shown(value)}.`
      );
    }
    if (grain === null) return;
    checkGrain("mean", value, queries, grain);
    if (difference !== null) checkGrain("mean difference", difference, queries, grain);
  }

  // As trueval.published; null stands for None, and for a p of which nothing is claimed.
  function published(value, queries, grain = null, difference = null, level = 0.95) {
    check(value, queries, grain, difference, level);
    const binary = grain === 1;
    const interval = binary ? clopperPearson(round(value * queries), queries, level) : klInterval(value, queries, level);
    let leastP = null;
    if (grain !== null && difference !== null) {
      const grains = Math.min(queries, Number(((queries * Math.abs(difference)) / grain).toFixed(DIGITS - 3)));
      leastP = Math.min(1, 2 ** (1 - grains));
    }
    return { interval, method: binary ? "clopper-pearson" : "kl", leastP };
  }

  // The difference of two published means. With a grain both are taken as the nearest means that such values have.
  function difference(value, baseline, queries, grain = null) {
    published(baseline, queries, grain);
    if (grain !== null) return ((round((value * queries) / grain) - round((baseline * queries) / grain)) * grain) / queries;
    return Number((value - baseline).toFixed(Math.max(digitsOf(value), digitsOf(baseline))));
  }

  // The sentences of the page; the words are those of `trueval power --value`.
  function sentences(value, queries, baseline, grain, level) {
    const gap = baseline === null ? null : difference(value, baseline, queries, grain);
    const found = published(value, queries, grain, gap, level);
    const [low, high] = found.interval.map((end) => end.toFixed(4));
    const said = [`A mean of ${value.toFixed(4)} over ${queries} queries supports the ${level} interval [${low}, ${high}].`];
    if (gap === null) return said;
    if (found.leastP === null) {
      said.push(
        `A difference of ${gap.toFixed(4)} may be significant or not: two means cannot show it, the values of each query can.`
      );
      return said;
    }
    const alpha = Number((1 - level).toFixed(DIGITS));
    const claim = found.leastP < alpha ? "may be" : "cannot be";
    const p = found.leastP < 0.0001 ? found.leastP.toExponential(1) : found.leastP.toFixed(4);
    said.push(
      `A difference of ${gap.toFixed(4)} ${claim} significant at ${alpha}: the least p that the paired randomization ` +
        `test can give, whatever the values are, is ${p}.`
    );
    return said;
  }

  function attach(form, output) {
    const number = (name) => {
      const text = form.elements[name].value.trim().replace(",", ".");
      if (text === "") return null;
      const read = Number(text);
      if (Number.isNaN(read)) throw new Refused(`${name} must be a number. Got ${text}.`);
      return read;
    };
    const show = () => {
      let said;
      try {
        const [value, queries] = [number("value"), number("queries")];
        said =
          value === null || queries === null
            ? ["Enter the mean and the number of queries."]
            : sentences(value, queries, number("baseline"), number("grain"), number("level") ?? 0.95);
        output.classList.remove("refused");
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        said = [error.message];
        output.classList.add("refused");
      }
      output.replaceChildren(
        ...said.map((text) => Object.assign(document.createElement("p"), { textContent: text }))
      );
    };
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    show();
  }

  if (typeof document !== "undefined") {
    const form = document.getElementById("check-number");
    if (form) attach(form, document.getElementById("check-answer"));
  }
  return { published, difference, sentences, Refused };
})();
globalThis.CheckNumber = CheckNumber;
