"use strict";
// live.js draws the run under way from the events of /live, which live.go describes.
(function () {
  const ns = "http://www.w3.org/2000/svg", width = 360, height = 130, left = 44, bottom = 18, top = 8;
  const span = 300; // seconds that a figure shows
  const colours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999933", "#8877cc"];
  const figures = [
    { title: "Throughput of each client, ops/s", keys: ["ops_per_s"], role: "client" },
    { title: "Latency of calls, ms: p50, and p99 dashed", keys: ["p50_ms", "p99_ms"] },
    { title: "Processors of each node, %", keys: ["cpu_percent"] },
    { title: "Memory in use on each node, GiB", keys: ["memory_gib"] },
    { title: "Network, Gb/s: received, and sent dashed", keys: ["rx_gbps", "tx_gbps"] },
  ];
  const live = document.getElementById("live"), line = document.getElementById("state");
  let state = null, points = [], nodes = [], windowS = 0, phase = null;
  let first = 0, last = 0; // moments of the points

  const make = (parent, name, attributes, text) => {
    const e = parent.namespaceURI === ns || name === "svg" ? document.createElementNS(ns, name) : document.createElement(name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    return parent.appendChild(e);
  };

  // count writes a number to three digits, as the terminal does.
  const count = n => {
    let unit = 0;
    for (; n >= 999.5; n /= 1000) unit++;
    return Number(n.toPrecision(3)) + ["", "k", "M", "G", "T"][unit];
  };

  const isClients = p => p.role === "client" && p.ops_per_s !== undefined;
  const nodeOf = p => p.role + " " + p.node;

  // begin makes the figures of another run.
  function begin() {
    points = [];
    nodes = [];
    windowS = 0;
    phase = null;
    live.querySelectorAll("iframe, .charts, #keys").forEach(e => e.remove());
    const all = make(live, "div", { class: "charts" });
    for (const f of figures) {
      const box = make(all, "div", {});
      make(box, "h3", {}, f.title);
      f.svg = make(box, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": f.title });
    }
    make(live, "p", { id: "keys", class: "soft" });
  }

  // add takes over new points.
  function add(more) {
    for (const p of more) {
      windowS = p.window_s || windowS;
      if (!nodes.includes(nodeOf(p))) {
        nodes.push(nodeOf(p));
        const key = make(document.getElementById("keys"), "span", {});
        make(key, "i", {}).style.background = colours[(nodes.length - 1) % colours.length];
        key.append(nodeOf(p));
      }
      if (isClients(p) && (!phase || phase.node === p.node && phase.name !== p.phase)) phase = { node: p.node, name: p.phase, t: p.t };
      points.push(p);
    }
    last = points.reduce((t, p) => Math.max(t, p.t), 0);
    points = points.filter(p => p.t > last - span);
    first = points.reduce((t, p) => Math.min(t, p.t), last);
  }

  // draw draws a figure again. It has its axes from the beginning.
  function draw(f) {
    f.svg.replaceChildren();
    const lines = new Map();
    let highest = 0;
    for (const p of points) f.keys.forEach((key, dashed) => {
      if (p[key] === undefined || (f.role && p.role !== f.role)) return;
      const name = nodeOf(p) + "|" + dashed;
      if (!lines.has(name)) lines.set(name, []);
      lines.get(name).push([p.t, p[key]]);
      highest = Math.max(highest, p[key]);
    });
    const most = highest || 1;
    const x = t => left + (width - left - 4) * (t - first) / Math.max(last - first, 1);
    const y = v => top + (height - top - bottom) * (1 - v / most);
    make(f.svg, "line", { x1: left, x2: width, y1: y(0), y2: y(0) });
    make(f.svg, "line", { x1: left, x2: width, y1: y(most), y2: y(most) });
    make(f.svg, "text", { x: left - 6, y: y(most) + 6, "text-anchor": "end" }, count(most));
    make(f.svg, "text", { x: left - 6, y: y(0) + 3, "text-anchor": "end" }, "0");
    make(f.svg, "text", { x: left, y: height - 3 }, `${Math.round(last - first)} s ago`);
    make(f.svg, "text", { x: width - 4, y: height - 3, "text-anchor": "end" }, "now");
    if (lines.size === 0) make(f.svg, "text", { x: (left + width) / 2, y: y(most / 2), "text-anchor": "middle" }, "nothing recorded yet");
    for (const [name, values] of lines) {
      const [node, dashed] = name.split("|");
      const dot = values.length === 1;
      if (dot) values.push(values[0]);
      const drawn = make(f.svg, "polyline", { points: values.map(([t, v]) => `${x(t).toFixed(1)},${y(v).toFixed(1)}`).join(" "),
        stroke: colours[nodes.indexOf(node) % colours.length], "stroke-dasharray": dashed === "1" ? "4 3" : "none", style: dot ? "stroke-width: 5" : "" });
      make(drawn, "title", {}, node);
    }
  }

  // tell says in words how far the run is.
  function tell() {
    const name = state.id ? ["Run " + state.id + (state.ended ? "" : " is under way"), state.progress].filter(Boolean).join(", ") : "";
    if (state.fault || state.ended) {
      line.textContent = state.fault ? [name, state.fault].filter(Boolean).join(": ") : "No run is under way. The last one: ";
      if (state.ended) make(line, "a", { href: state.report }, state.id);
      return;
    }
    const rates = new Map(points.filter(isClients).map(p => [p.node, p.ops_per_s])); // the last of each
    if (!phase) {
      line.textContent = name + ": it is being prepared (machines, ceilings).";
      return;
    }
    const of = phase.name === "window" && windowS ? ` of ${windowS}` : "", age = Date.now() / 1000 - last;
    line.textContent = `${name}: ${phase.name} ${Math.round(last - phase.t) + 1}${of} s, ${count([...rates.values()].reduce((a, b) => a + b, 0))} ops/s` +
      (age > 10 ? `; no news for ${Math.round(age)} s` : "");
  }

  // end shows the report of a run that this page saw.
  function end() {
    live.querySelectorAll(".charts, #keys").forEach(e => e.remove());
    make(live, "iframe", { src: state.report, title: "Report of " + state.id });
    list();
  }

  // list shows the list of runs as it is now.
  async function list() {
    const page = new DOMParser().parseFromString(await (await fetch("/")).text(), "text/html");
    for (const part of ["#runs", ".headline"]) document.querySelector(part).replaceWith(page.querySelector(part));
  }

  const stream = new EventSource("live");
  stream.onmessage = message => {
    const before = state;
    state = JSON.parse(message.data);
    if (state.id && !state.ended && (state.new || !live.querySelector(".charts"))) begin();
    if (state.id && !state.ended) {
      add(state.points || []);
      figures.forEach(draw);
    }
    tell();
    if (state.new && before) list();
    if (state.ended && before && !before.ended && before.id === state.id) end();
  };
  stream.onerror = () => { line.textContent = "kvsplot serve does not answer."; };
  setInterval(() => { if (state && !state.ended && stream.readyState === EventSource.OPEN) tell(); }, 5000);
})();
