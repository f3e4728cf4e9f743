"use strict";
(() => {
  const MOST_ON_PAPER = 60; // rows of a folded table that opens itself for paper; longer ones are named only
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // ---- numbers, as trueval/report/number_texts.py writes them ----
  const NONE = "–";
  // Halves are rounded to the even digit, as Python does and toFixed does not. A number that is a half of the fourth
  // decimal to the last bit is an odd number of thirty-seconds.
  const rounded = (value) => {
    const size = Math.abs(value), parts = size * 32;
    if (!Number.isInteger(parts) || parts % 2 === 0) return value.toFixed(4);
    const lower = Math.floor(size * 1e4);
    return (Math.sign(value) * (lower % 2 ? lower + 1 : lower) / 1e4).toFixed(4);
  };
  const fixed = (value) => {
    if (Math.abs(value) < 1e-12) return "0.0000";
    if (Math.abs(value) < 0.00005) return value > 0 ? "<.0001" : ">-.0001";
    return rounded(value);
  };
  const FORMS = { fixed, signed: (value) => value < 0.00005 ? fixed(value) : `+${fixed(value)}`, plain: String };

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
  const makeUseful = (table) => {
    makeSortable(table);
    makeFilter(table);
  };

  // ---- folded tables: rows are data until somebody opens them ----
  const makeHeading = (column) => {
    const heading = element("th", { scope: "col", textContent: column.title });
    heading.setAttribute("aria-sort", "none");
    if (column.field) heading.dataset.field = column.field;
    if (column.turned) heading.dataset.turned = column.turned;
    if (column.numeric) heading.className = "number";
    return heading;
  };
  const makeCell = (column, packed) => {
    const [value, text, strong, at] = Array.isArray(packed) ? packed
      : [packed, packed === null ? NONE : column.numeric ? FORMS[column.form](packed) : packed, column.strong];
    const cell = element("td", { textContent: text });
    if (at) cell.dataset.at = at;
    if (!column.numeric) {
      if (text.length > 60) cell.className = "long";
      return cell;
    }
    cell.className = strong ? "number strong" : "number";
    if (value !== null) cell.dataset.value = value;
    return cell;
  };
  const build = (details) => {
    const data = details.querySelector("script[data-table]");
    if (!data) return;
    const { columns, rows } = JSON.parse(data.textContent);
    const body = element("tbody", {}, ...rows.map(([source, turned, ...cells]) => {
      const row = element("tr", {}, ...cells.map((cell, index) => makeCell(columns[index], cell)));
      row.dataset.source = source;
      if (turned) row.dataset.turned = "";
      return row;
    }));
    const table = element("table", { id: data.dataset.table },
      element("thead", {}, element("tr", {}, ...columns.map(makeHeading))), body);
    table.dataset.file = data.dataset.file;
    if (columns.length > 9) table.className = "many";
    table.setAttribute("aria-labelledby", `${data.dataset.table}-caption`);
    details.querySelector(".scroll").append(table);
    data.remove();
    makeUseful(table);
  };
  const unfold = (details) => {
    const template = details.querySelector(":scope > template");
    if (!template) return;
    details.append(template.content);
    template.remove();
    details.querySelectorAll("table[data-file]").forEach(makeUseful);
  };
  document.querySelectorAll("table[data-file]").forEach(makeUseful);
  for (const [selector, open] of [["details.rows", build], ["details.case", unfold]]) {
    for (const details of document.querySelectorAll(selector)) {
      details.addEventListener("toggle", () => details.open && open(details));
    }
  }

  // ---- links open what they lead into ----
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // ---- paper: what is short opens, and closes again ----
  let opened = [];
  addEventListener("beforeprint", () => {
    const short = (details) => Number(details.dataset.rows || 0) <= MOST_ON_PAPER;
    opened = Array.from(document.querySelectorAll("details:not([open])")).filter(short);
    for (const details of opened) {
      build(details);
      unfold(details);
      details.open = true;
    }
  });
  addEventListener("afterprint", () => opened.splice(0).forEach((details) => { details.open = false; }));

  // ---- charts to choose from: the library stays packed until a reader comes near one ----
  const library = document.getElementById("library");
  let unpacked = null;
  const unpack = async () => {
    const bytes = Uint8Array.from(atob(library.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    // A script element of this very text: the policy of the page allows it by its hash.
    document.head.append(element("script", { textContent: await new Response(stream).text() }));
    return window.vegaEmbed;
  };
  // A single plot is as wide as the page; several are beside each other where there is room, else one under another.
  const AXIS = 44, NARROWEST = 640; // CSS pixels of the labels beside a plot, and of a page with room for two
  const fitted = (spec, room) => {
    if (!spec.concat) return { ...spec, width: "container", autosize: { type: "fit-x", contains: "padding" } };
    const columns = room < NARROWEST ? 1 : spec.columns;
    const width = Math.floor((room - (columns - 1) * (spec.spacing ?? 16)) / columns) - AXIS;
    return { ...spec, columns, concat: spec.concat.map((view) => ({ ...view, width })) };
  };
  const mount = async (data) => {
    const holder = document.getElementById(data.dataset.chart), figure = holder.closest("figure");
    const controls = figure.querySelector(".controls");
    const stage = element("div", { className: "stage" });
    holder.after(stage);
    const spec = fitted(JSON.parse(data.textContent), stage.clientWidth);
    // The policy of the page forbids code made from text: `ast` has expressions read step by step instead.
    const embed = await (unpacked ??= unpack());
    await embed(stage, spec, {
      ast: true, renderer: "svg", actions: false, bind: controls, defaultStyle: false, tooltip: { disableDefaultStyle: true },
      logLevel: 1, // errors only: a layer without marks is no reason for a warning
    });
    stage.setAttribute("role", "img");
    stage.setAttribute("aria-label", holder.getAttribute("aria-label"));
    holder.remove();
    stage.id = data.dataset.chart;
    figure.dataset.live = "";
  };
  if (library && window.DecompressionStream) {
    const seen = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        mount(target.querySelector("script[data-chart]"));
      }
    }, { rootMargin: "300px" });
    for (const data of document.querySelectorAll("script[data-chart]")) seen.observe(data.closest("figure"));
  }
  document.documentElement.dataset.ready = "";
})();
