"use strict";
(() => {
  const NARROW = 560; // CSS pixels under which labels get smaller and shorter
  const PAPER = 680; // CSS pixels, fits A4 and Letter inside the margins that browsers leave
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const digits = (value) => value === null ? "–" : value.toFixed(4);
  // Plotly reads a few HTML tags and TeX between dollars in labels, so names are escaped before it sees them.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "&#36;");
  const shortened = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

  // ---- tables ----
  const keyOf = (cell, numeric) => {
    if (!numeric) return cell.textContent;
    return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
  const sortBy = (table, heading, index) => {
    const numeric = heading.classList.contains("number");
    const before = heading.getAttribute("aria-sort");
    const first = numeric ? "descending" : "ascending";
    const other = numeric ? "ascending" : "descending";
    const order = before === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [keyOf(row.cells[index], numeric), row]);
    rows.sort(([a], [b]) => a === null ? (b === null ? 0 : 1) : b === null ? -1 : sign * compare(a, b));
    body.append(...rows.map(([, row]) => row));
    for (const each of table.tHead.rows[0].cells) each.setAttribute("aria-sort", each === heading ? order : "none");
  };
  const makeSortable = (table) => {
    Array.from(table.tHead.rows[0].cells).forEach((heading, index) => {
      const button = element("button", { type: "button", textContent: heading.textContent });
      button.addEventListener("click", () => sortBy(table, heading, index));
      heading.replaceChildren(button);
    });
  };
  const makeFilter = (table) => {
    if (table.tBodies[0].rows.length < 30) return;
    const input = element("input", { type: "search" });
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    table.parentElement.before(element("label", { className: "filter" }, "Filter rows", input));
  };
  for (const table of document.querySelectorAll("table[data-file]")) {
    makeSortable(table);
    makeFilter(table);
  }

  // ---- plots ----
  const axis = (extra = {}) => ({
    gridcolor: color("line"), linecolor: color("line"), zerolinecolor: color("line"), tickcolor: color("line"),
    automargin: true, ...extra,
    ...(extra.title ? { title: { text: extra.title, font: { size: 12 }, standoff: 8 } } : {}),
  });
  const layout = (extra = {}) => ({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 8, r: 12, t: 8, b: 8 },
    font: { color: color("text"), size: 13, family: getComputedStyle(document.body).fontFamily },
    hoverlabel: { bgcolor: color("raised"), bordercolor: color("line"), font: { color: color("text") } },
    showlegend: false, ...extra,
  });
  const spread = (ends, at, vertical) => {
    const low = [], place = [];
    ends.lowest.forEach((lowest, index) => {
      low.push(lowest, ends.highest[index], null);
      place.push(at[index], at[index], null);
    });
    return vertical ? { x: place, y: low } : { x: low, y: place };
  };
  const ranges = (values, at, hover, vertical, width) => {
    const along = (list) => vertical ? { x: at, y: list } : { x: list, y: at };
    const marks = { mode: "markers", text: hover, hovertemplate: "%{text}<extra></extra>" };
    return [
      { ...spread(values, at, vertical), mode: "lines", name: "lowest to highest", hoverinfo: "skip",
        line: { color: color("range"), width } },
      { ...along(values.expected), ...marks, name: "expected", marker: { color: color("expected"), size: width + 3 } },
      { ...along(values.tie_broken), ...marks, name: "tie-broken",
        marker: { color: color("tie_broken"), symbol: "x-thin", size: width, line: { width: 2, color: color("tie_broken") } } },
    ];
  };
  const told = (name, values, index) => `<b>${plain(name)}</b><br>expected ${digits(values.expected[index])}` +
    `<br>lowest ${digits(values.lowest[index])}<br>highest ${digits(values.highest[index])}` +
    `<br>tie-broken ${digits(values.tie_broken[index])}`;
  // Lines do not widen the range that Plotly chooses, so ends would touch the frame.
  const around = (...lists) => {
    const known = lists.flat().filter((value) => value !== null && value !== undefined);
    const low = Math.min(...known), high = Math.max(...known);
    const room = (high - low || Math.abs(high) || 1) * .05;
    return [low - room, high + room];
  };
  // Names are on a numbered axis: equal names stay apart, and none is taken for a number or a date.
  const named = (names, width) => {
    const most = Math.max(8, Math.floor(width / 22));
    const pair = ([first, second]) => width < NARROW
      ? `${plain(shortened(first, most))}<br>− ${plain(shortened(second, most - 2))}`
      : plain(shortened(`${first} − ${second}`, 2 * most));
    const label = (name) => Array.isArray(name) ? pair(name) : plain(shortened(name, most));
    return { tickmode: "array", tickvals: names.map((_, index) => index), ticktext: names.map(label) };
  };

  const RANGE_KEY = [["bar", "range", "lowest to highest"], ["dot", "expected", "expected"], ["cross", "tie_broken", "tie-broken"]];

  const drawers = {
    tieRange(data, width) {
      const at = data.runs.map((_, index) => index);
      const hover = data.runs.map((name, index) => told(name, data, index));
      return [ranges(data, at, hover, false, 7), layout({
        xaxis: axis({ nticks: Math.max(4, Math.floor(width / 90)), range: around(data.lowest, data.highest, data.tie_broken) }),
        yaxis: axis({ ...named(data.runs, width), range: [data.runs.length - .4, -.6], showgrid: false, zeroline: false }),
      }), RANGE_KEY];
    },
    tieGroups(data) {
      const traces = data.runs.map((run, index) => ({
        type: "bar", name: plain(run.name), x: data.sizes, y: run.share, marker: { color: color(`run-${index % 8}`), pattern: { shape: index >= 8 ? "/" : "" } },
        hovertemplate: `<b>${plain(run.name)}</b><br>groups of %{x}: %{y:.4f} of documents<extra></extra>`,
      }));
      return [traces, layout({
        barmode: "group", bargap: .25,
        xaxis: axis({ type: "category", title: "documents in the group" }),
        yaxis: axis({ rangemode: "tozero", title: "share of documents" }),
      }), data.runs.map((run, index) => ["square", `run-${index % 8}`, run.name])];
    },
    queries(data, width, chosen) {
      const values = data.values[chosen.run][chosen.measure];
      const key = (index) => chosen.order === "range" ? values.highest[index] - values.lowest[index]
        : chosen.order === "bias" ? Math.abs(values.tie_broken[index] - values.expected[index]) : values.expected[index];
      const known = data.queries.map((_, index) => index).filter((index) => values.expected[index] !== null);
      if (chosen.order !== "input") known.sort((a, b) => key(b) - key(a));
      const sorted = {};
      for (const name of Object.keys(values)) sorted[name] = known.map((index) => values[name][index]);
      const names = known.map((index) => data.queries[index]);
      const hover = names.map((name, index) => told(`query ${name}`, sorted, index));
      const thick = Math.max(2, Math.min(7, Math.floor(width / (known.length * 1.8 + 1))));
      return [ranges(sorted, names.map((_, index) => index), hover, true, thick), layout({
        xaxis: axis({ title: `${known.length} queries`, showticklabels: false, ticks: "", showgrid: false, zeroline: false,
          range: [-1, known.length] }),
        yaxis: axis({ title: plain(data.measures[chosen.measure]) }),
      }), RANGE_KEY];
    },
    differences(data, width) {
      const at = data.names.map((_, index) => index);
      const hover = data.names.map((name, index) => `<b>${plain(name.join(" − "))}</b><br>${plain(data.told[index])}`);
      const line = (ends, name, tone, size) => ({
        ...spread({ lowest: ends.map((end) => end[0]), highest: ends.map((end) => end[1]) }, at, false),
        mode: "lines", name, hoverinfo: "skip", line: { color: tone, width: size },
      });
      return [[
        line(data.ties, "tie range of the difference", color("range"), 10),
        line(data.interval, data.interval_name, color("run-1"), 2),
        { x: data.expected, y: at, mode: "markers", name: "expected difference", text: hover,
          hovertemplate: "%{text}<extra></extra>", marker: { color: color("expected"), size: 9 } },
      ], layout({
        xaxis: axis({ zerolinecolor: color("text"), nticks: Math.max(4, Math.floor(width / 90)),
          range: around([0], data.expected, ...data.ties, ...data.interval) }),
        yaxis: axis({ ...named(data.names, width), range: [data.names.length - .4, -.6], showgrid: false, zeroline: false }),
      }), [["bar", "range", "tie range of the difference"], ["thin", "run-1", data.interval_name], ["dot", "expected", "expected difference"]]];
    },
    precisionCurves(data) {
      const at = data.curves[0].k.map((_, index) => index);
      const traces = data.curves.flatMap((curve, index) => {
        const tone = `run-${index % 8}`;
        const hover = at.map((place) => told(`${curve.name}, k = ${curve.k[place]}`, curve, place));
        return [
          { x: [...at, ...at.toReversed()], y: [...curve.highest, ...curve.lowest.toReversed()], mode: "lines", fill: "toself",
            fillcolor: color(tone), opacity: .18, line: { width: 0 }, hoverinfo: "skip" },
          { x: at, y: curve.expected, mode: "lines+markers", line: { color: color(tone), width: 1.5 }, marker: { size: 6 },
            text: hover, hovertemplate: "%{text}<extra></extra>" },
          { x: at, y: curve.tie_broken, mode: "markers", hoverinfo: "skip",
            marker: { color: color(tone), symbol: "x-thin", size: 8, line: { width: 2, color: color(tone) } } },
        ];
      });
      return [traces, layout({
        xaxis: axis({ title: "k", tickmode: "array", tickvals: at, ticktext: data.curves[0].k.map(String) }),
        yaxis: axis({}),
      }), data.curves.map((curve, index) => ["square", `run-${index % 8}`, curve.name])];
    },
  };

  const choices = (holder, data, redraw) => {
    const chosen = { run: data.start[0], measure: data.start[1], order: "expected" };
    const add = (name, label, options) => {
      const select = element("select", {}, ...options.map(([value, text]) => element("option", { value, textContent: text })));
      select.addEventListener("change", () => {
        chosen[name] = name === "order" ? select.value : Number(select.value);
        redraw();
      });
      select.value = chosen[name];
      holder.append(element("label", {}, label, select));
    };
    add("run", "Run", data.runs.map((name, index) => [index, name]));
    add("measure", "Measure", data.measures.map((name, index) => [index, name]));
    add("order", "Sorted by", [["expected", "expected value"], ["range", "tie range"], ["bias", "size of bias"], ["input", "order of the judgments"]]);
    return chosen;
  };

  const plots = [];
  let printing = false;
  const config = { responsive: true, displayModeBar: false };
  const showKey = (holder, entries) => {
    const grid = holder.closest(".figures"), name = holder.dataset.draw;
    if (grid.querySelector(`[data-key="${name}"]`)) return;
    const key = element("ul", { className: "key" }, ...entries.map(([shape, tone, label]) => {
      const mark = element("span", { className: shape, ariaHidden: "true" });
      mark.style.setProperty("--tone", `var(--${tone})`);
      return element("li", {}, mark, label);
    }));
    key.dataset.key = name;
    holder.closest("figure").before(key);
  };
  const start = (holder) => {
    const data = JSON.parse(holder.parentElement.querySelector("script").textContent);
    const height = parseFloat(holder.style.height);
    let chosen = null;
    const draw = () => {
      const width = printing ? PAPER : holder.clientWidth || 640;
      const [traces, shape, key] = drawers[holder.dataset.draw](data, width, chosen);
      if (width < NARROW) shape.font.size = 11;
      showKey(holder, key);
      return Plotly.react(holder, traces, { ...shape, height, ...(printing ? { width } : { autosize: true }) }, config);
    };
    if (holder.dataset.draw === "queries") chosen = choices(holder.parentElement.querySelector(".controls"), data, draw);
    holder.replaceChildren();
    plots.push(draw);
    return draw();
  };
  if (window.Plotly) {
    const redraw = () => plots.forEach((draw) => draw());
    Promise.all(Array.from(document.querySelectorAll(".plot"), start))
      .then(() => { document.documentElement.dataset.plots = String(plots.length); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    const onPaper = (now) => {
      if (printing === now) return;
      printing = now;
      document.documentElement.classList.toggle("paper", now); // before print styles apply, so that plots read light colors
      redraw();
    };
    matchMedia("print").addEventListener("change", (event) => onPaper(event.matches));
    window.addEventListener("beforeprint", () => onPaper(true));
    window.addEventListener("afterprint", () => onPaper(false));
    let waiting = 0;
    window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redraw, 150); });
  }
})();
