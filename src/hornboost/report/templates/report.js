"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  // All text from the data goes through textContent: nothing in it can become an element.
  const element = (tag, css, ...children) => {
    const made = document.createElement(tag);
    if (css) made.className = css;
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  const few = (value) => String(Number(value.toPrecision(5)));
  const signed = (value) => (value < 0 ? "−" : "+") + (data.link ? few(Math.abs(value)) : Math.abs(value).toFixed(3));
  const vote = (value) => (data.link === "log" ? "× " + few(Math.exp(value)) : signed(value));
  const total = (value) => few(data.link === "log" ? Math.exp(value) : value);

  const themes = ["auto", "light", "dark"];
  const names = { auto: "as the system", light: "light", dark: "dark" };
  const setTheme = (theme) => {
    document.documentElement.dataset.theme = theme;
    byId("theme").querySelector("span").textContent = theme;
    byId("theme").setAttribute("aria-label", "Theme: " + names[theme]);
    try { localStorage.setItem("hornboost-theme", theme); } catch { /* pages from a file may not keep anything */ }
  };
  byId("theme").addEventListener("click", () => {
    setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length]);
  });
  try {
    const kept = localStorage.getItem("hornboost-theme");
    if (themes.includes(kept)) setTheme(kept);
  } catch { /* as above */ }

  const cards = byId("rule-cards");
  if (cards) {
    const all = [...cards.children].map((card) => ({ card, text: card.textContent.toLowerCase() }));
    const keys = {
      influence: (d) => -Math.abs(d.vote) * d.covered, number: (d) => Number(d.number), vote: (d) => -Math.abs(d.vote), covered: (d) => -d.covered,
      precision: (d) => -d.precision, length: (d) => Number(d.length),
    };
    const update = () => {
      const key = keys[byId("rule-sort").value];
      const wanted = byId("rule-search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      const css = byId("rule-class").value;
      all.sort((a, b) => key(a.card.dataset) - key(b.card.dataset) || a.card.dataset.number - b.card.dataset.number);
      let count = 0;
      for (const { card, text } of all) {
        const fits = wanted.every((word) => text.includes(word)) && (!css || card.dataset.class === css);
        card.hidden = !fits;
        count += fits;
      }
      cards.append(...all.map(({ card }) => card));
      byId("rule-count").textContent = count === all.length ? `${count} rules` : `${count} of ${all.length} rules`;
      byId("rule-none").hidden = count > 0;
    };
    for (const id of ["rule-search", "rule-class", "rule-sort"]) byId(id).addEventListener("input", update);
    byId("rule-controls").addEventListener("submit", (event) => event.preventDefault());
    update();
  }

  const slider = byId("path-rules");
  if (slider) {
    const steps = [...byId("path-table").tBodies[0].rows];
    const cursor = document.querySelector("#path .cursor");
    const show = () => {
      const step = steps[Number(slider.value)];
      const figures = [...step.cells].map((cell) => cell.textContent);
      const count = Number(figures[0]);
      for (const value of document.querySelectorAll("#path-tiles .value")) value.textContent = figures[Number(value.dataset.of)];
      cursor.setAttribute("transform", `translate(${step.dataset.x} 0)`);
      slider.setAttribute("aria-valuetext", count === 1 ? "1 rule" : `${count} rules`);
      const ofCards = cards ? [...cards.children] : [];
      for (const card of ofCards) card.classList.toggle("later", Number(card.dataset.number) > count);
      byId("path-note").textContent = count < ofCards.length ? `Of the ${ofCards.length} rules below, those found later are dimmed.` : "All rules: the model as it is.";
    };
    slider.addEventListener("input", show);
    byId("path-controls").addEventListener("submit", (event) => event.preventDefault());
    byId("path-controls").hidden = false;
    show();
  }

  const list = byId("example-list");
  if (!list) return;
  const PAGE = 20;
  let room = PAGE;

  const voteBar = (vote, largest) => {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "-60 0 120 12");
    svg.setAttribute("class", "votebar");
    svg.setAttribute("aria-hidden", "true");
    const width = Math.max(1, (58 * Math.abs(vote)) / largest);
    const rect = document.createElementNS(SVG, "rect");
    const line = document.createElementNS(SVG, "path");
    for (const [name, value] of Object.entries({ x: vote < 0 ? -width : 0, y: 1, width, height: 10, class: vote < 0 ? "neg" : "pos" })) rect.setAttribute(name, value);
    line.setAttribute("d", "M0 0V12");
    line.setAttribute("class", "zero");
    svg.append(rect, line);
    return svg;
  };

  const short = (text) => (text.length > 240 ? text.slice(0, 240) + "…" : text);

  const ruleLink = (rule) => {
    const link = element("a", "", `rule ${rule + 1}`);
    link.href = `#rule-${rule + 1}`;
    return link;
  };

  const witnessTable = ([table, cells]) => {
    const caption = element("caption", "", `a row of ${table}`);
    const heads = cells.map(([column, , used]) => {
      const head = element("th", used ? "used" : "", column);
      head.scope = "col";
      return head;
    });
    const values = cells.map(([, value, used]) => element("td", used ? "used" : "", value));
    const made = element("table", "", caption, element("thead", "", element("tr", "", ...heads)), element("tbody", "", element("tr", "", ...values)));
    const scroll = element("div", "scroll", made);
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `witness in ${table}`);
    return scroll;
  };

  const detail = (one) => {
    const votes = [data.link ? 0 : one.start, ...one.fired.map((fired) => fired[1])].map(Math.abs);
    const largest = Math.max(...votes, Math.abs(one.more[1]), 1e-9);
    const items = one.fired.map(([rule, worth, rows]) =>
      element("li", "", voteBar(worth, largest), element("b", "", vote(worth)), " from ", ruleLink(rule), ", because of",
        rows.length ? "" : " the example being there", element("span", "said", short(data.rules[rule])), element("div", "witnesses", ...rows.map(witnessTable))));
    if (one.more[0]) items.push(element("li", "", voteBar(one.more[1], largest), element("b", "", vote(one.more[1])), ` from ${one.more[0]} further rules that fired`));
    const start = data.link ? element("li", "", element("b", "", total(one.start)), " is the base value, where no rule fires")
      : element("li", "", voteBar(one.start, largest), element("b", "", signed(one.start)), " from the start, and from rules that did not fire");
    const said = data.link ? `${data.label} is predicted as ${total(one.score)}, made of:` : `Score ${signed(one.score)} for ${data.label} = ${one.about}, made of:`;
    const made = element("div", "detail", element("p", "", said), element("ul", "", ...(data.link ? [start, ...items] : [...items, start])));
    if (one.missed.length) {
      made.append(element("h4", "", "Nearest rules that did not fire"), element("ul", "", ...one.missed.map(([rule, worth, satisfied, conditions, failed]) =>
        element("li", "", `would have ${data.link ? "meant" : "voted"} ${vote(worth)}: `, ruleLink(rule), `; ${satisfied} of ${conditions} conditions hold; ${failed}`))));
    }
    return made;
  };

  const entries = data.examples.map((one, k) => {
    const button = element("button", "", element("span", "key", one.key), element("span", "", `${data.label} = ${one.prediction}` + (data.link ? (one.truth === null ? "" : ` (it is ${one.truth})`) : ` (${one.about} with ${(100 * one.probability).toFixed(0)} %)`)),
      one.right ? null : element("span", "wrong", `wrong: it is ${one.truth}`), element("span", "sofar", `${one.why} · ${one.fired.length + one.more[0]} rules fired`));
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    const item = element("li", "example", button);
    item.id = `example-${k}`;
    button.addEventListener("click", () => open(item, one, button.getAttribute("aria-expanded") !== "true"));
    const cells = one.fired.flatMap(([, , rows]) => rows.flatMap(([table, found]) => [table, ...found.map(([, value]) => value)]));
    return { one, item, text: [one.key, one.prediction, one.truth ?? "", ...cells].join("\u0000").toLowerCase() };
  });

  const open = (item, one, wanted) => {
    item.querySelector("button").setAttribute("aria-expanded", String(wanted));
    const shown = item.querySelector(".detail");
    if (shown) shown.hidden = !wanted;
    else if (wanted) item.append(detail(one));
  };

  const showExamples = () => {
    const wanted = byId("example-search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const kind = byId("example-kind").value;
    const fitting = entries.filter(({ one, text }) => wanted.every((word) => text.includes(word)) && (!kind || (kind === "wrong" ? !one.right : one.why === kind)));
    list.replaceChildren(...fitting.slice(0, room).map(({ item }) => item));
    byId("example-count").textContent = fitting.length === entries.length ? `${entries.length} examples` : `${fitting.length} of ${entries.length} examples`;
    byId("example-none").hidden = fitting.length > 0;
    byId("example-more").hidden = fitting.length <= room;
  };
  byId("example-search").addEventListener("input", () => { room = PAGE; showExamples(); });
  byId("example-kind").addEventListener("input", () => { room = PAGE; showExamples(); });
  byId("example-controls").addEventListener("submit", (event) => event.preventDefault());
  byId("example-more").addEventListener("click", () => { room += PAGE; showExamples(); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-example]");
    if (!link) return;
    const { item, one } = entries[Number(link.dataset.example)];
    byId("example-search").value = "";
    byId("example-kind").value = "";
    room = entries.length;
    showExamples();
    open(item, one, true);
  });
  showExamples();
})();
