// What a page of results does beyond showing its drawings: charts with values, zoom and switches from the data beside each drawing (by
// uPlot), tables that sort, names of the links under the pointer. Without scripts the page shows all the same.
"use strict";
(() => {
  const css = name => getComputedStyle(document.querySelector("svg.nl")).getPropertyValue(name).trim();
  const number = v => {
    const a = Math.abs(v);
    if (v == null) return "-";
    if (a >= 1000) return Math.round(v).toLocaleString("en-US");
    return a === 0 ? "0" : a >= 0.001 ? String(Number(v.toPrecision(4))) : v.toExponential(1);
  };

  // Charts.
  function chart(figure, data) {
    const { x, y, curves } = data, narrow = () => figure.clientWidth < 520;
    const unit = y.label.replace(/ \(.*|^%.*/, m => (m[0] === "%" ? "%" : ""));
    const series = [], tables = [];
    for (const c of curves) {
      series.push({ ...c, of: c });
      tables.push([c.x, c.y]);
      if (c.bounds.length) {
        // A gap between level lines, so that they are not joined.
        const xs = [], ys = [];
        for (const [from, to, value] of c.bounds) {
          const left = xs.length && from <= xs[xs.length - 1] ? xs[xs.length - 1] + 1e-9 : from;
          xs.push(left, to > left ? to : left + 1e-9);
          ys.push(value, value);
        }
        series.push({ name: (c.name + " (bound)").trim(), colour: c.colour, dashed: true, of: null });
        tables.push([xs, ys]);
      }
    }
    const joined = uPlot.join(tables);
    const ends = [joined[0][0], joined[0][joined[0].length - 1]];
    let high = y.high;
    const near = (u, s, at) => {
      // Values of curves that have none exactly here: the nearest one.
      const of = u.data[s];
      if (s === 0 || at == null || of[at] != null) return at;
      for (let d = 1; d < of.length; d++) {
        if (of[at - d] != null) return at - d;
        if (of[at + d] != null) return at + d;
      }
      return at;
    };
    const marks = u => {
      const ctx = u.ctx, px = devicePixelRatio, X = v => u.valToPos(v, "x", true), Y = v => u.valToPos(v, "y", true);
      ctx.save();
      ctx.beginPath();
      ctx.rect(u.bbox.left - 6 * px, u.bbox.top - 6 * px, u.bbox.width + 12 * px, u.bbox.height + 12 * px);
      ctx.clip();
      series.forEach((s, i) => {
        if (!s.of || !u.series[i + 1].show) return;
        const colour = css("--c" + s.colour), circle = (a, b, r, fill) => {
          ctx.beginPath();
          ctx.arc(X(a), Y(b), r * px, 0, 7);
          if (fill) { ctx.fillStyle = fill; ctx.fill(); }
          ctx.strokeStyle = colour;
          ctx.stroke();
        };
        ctx.lineWidth = 1.6 * px;
        const hollow = new Set(s.of.hollow);
        const marked = s.of.x.length === 1 ? 1 : s.of.marked;
        for (let j = 0; j < marked; j++) circle(s.of.x[j], s.of.y[j], hollow.has(j) ? 4 : 2.5, hollow.has(j) ? css("--paper") : colour);
        for (const [a, b] of s.of.rings) circle(a, b, 6.5);
        ctx.strokeStyle = css("--ink");
        ctx.lineWidth = 1.2 * px;
        for (const [a, low, top] of s.of.intervals) {
          ctx.beginPath();
          for (const [x1, y1, x2, y2] of [[0, low, 0, top], [-4, low, 4, low], [-4, top, 4, top]]) {
            ctx.moveTo(X(a) + x1 * px, Y(y1));
            ctx.lineTo(X(a) + x2 * px, Y(y2));
          }
          ctx.stroke();
        }
      });
      ctx.restore();
    };
    const band = u => {
      if (!data.shaded) return;
      const [a, b] = data.shaded.map(v => Math.min(Math.max(u.valToPos(v, "x", true), u.bbox.left), u.bbox.left + u.bbox.width));
      u.ctx.fillStyle = css("--band");
      u.ctx.fillRect(a, u.bbox.top, b - a, u.bbox.height);
    };
    const axis = (of, more) => ({
      stroke: () => css("--soft"), label: of.label, labelSize: 20, labelFont: "12px system-ui", font: "12px system-ui",
      grid: { stroke: () => css("--grid"), width: 1 }, ticks: { stroke: () => css("--grid"), width: 1 },
      values: (u, all) => all.map(v => (v == null ? "" : number(v))), ...more,
    });
    const size = () => ({ width: Math.max(figure.clientWidth - 20, 200), height: narrow() ? 260 : 300 });
    const box = figure.insertBefore(document.createElement("div"), figure.firstChild);
    const title = box.appendChild(document.createElement("div"));
    title.className = "chart-title";
    title.append(data.title);
    const options = {
      ...size(),
      scales: {
        x: { time: false, distr: x.log ? 3 : 1, range: (u, a, b) => (a <= ends[0] && b >= ends[1] ? [x.low, x.high] : [a, b]) },
        y: { distr: y.log ? 3 : 1, range: () => [y.low, high] },
      },
      axes: [axis(x, { size: 34 }), axis(y, { size: (u, all) => 28 + 7 * Math.max(3, ...(all ?? []).map(v => v.length)) })],
      series: [{ label: x.label, value: (u, v) => number(v) }].concat(series.map((s, i) => ({
        label: s.name || data.title, stroke: () => css("--c" + s.colour), width: 1.7, points: { show: false },
        dash: s.dashed ? [5, 4] : data.overlap && i % 2 ? [8, 8] : undefined, value: (u, v) => number(v) + (v != null && unit ? " " + unit : ""),
        paths: s.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
        fill: s.steps ? () => css("--c" + s.colour) + "29" : undefined,
      }))),
      legend: { markers: { fill: (u, i) => css("--c" + series[i - 1]?.colour) } },
      cursor: { dataIdx: near, drag: { x: true, y: false, dist: 4 }, focus: { prox: 24 } },
      focus: { alpha: 0.35 },
      hooks: { drawClear: [band], draw: [marks] },
    };
    const u = new uPlot(options, joined, box);
    figure.classList.add("live");
    const hint = title.appendChild(document.createElement("span"));
    const remarks = [...data.remarks];
    if (document.querySelector("figure.live") === figure) remarks.push("drag to zoom, double click for all, click on a name to switch it off");
    hint.textContent = remarks.join("; ");
    if (y.label === "%" && !y.log && y.high < 100) {
      const whole = title.appendChild(document.createElement("button"));
      whole.textContent = "0 to 100 %";
      whole.onclick = () => {
        high = high === 100 ? y.high : 100;
        whole.textContent = high === 100 ? "fit" : "0 to 100 %";
        u.setData(joined, false);
        u.setScale("x", { min: u.scales.x.min, max: u.scales.x.max });
      };
    }
    new ResizeObserver(() => {
      if (Math.abs(size().width - u.width) > 1) u.setSize(size());
    }).observe(figure);
    matchMedia("(prefers-color-scheme:dark)").addEventListener("change", () => u.redraw());
    figure.chart = u;
  }
  if (window.uPlot) {
    for (const script of document.querySelectorAll("figure > script.data")) chart(script.parentElement, JSON.parse(script.textContent));
  }

  // Tables: numbers by value, the rest by name, what is missing last.
  const key = cell => {
    const text = cell ? cell.textContent.trim() : "", found = text.replace(/(\d),(?=\d{3})/g, "$1").match(/^[-+]?\d*\.?\d+(e[-+]?\d+)?/i);
    return found ? Number(found[0]) : text === "-" ? "" : text;
  };
  const order = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const head = table.rows[0];
    [...head.cells].forEach((heading, column) => {
      if (heading.tagName !== "TH") return;
      const sort = () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        for (const other of head.cells) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.rows].slice(1).map(row => [key(row.cells[column]), row]);
        rows.sort(([a], [b]) => (down && a !== "" && b !== "" ? order(b, a) : order(a, b)));
        head.parentElement.append(...rows.map(([, row]) => row));
      };
      heading.tabIndex = 0;
      heading.title = "Sort";
      heading.onclick = sort;
      heading.onkeydown = event => { if (event.key === "Enter") sort(); };
    });
  }

  // Pictures of links: the name and value of the link under the pointer.
  let tip = null;
  for (const image of document.querySelectorAll("image[data-cells]")) {
    const cells = JSON.parse(image.dataset.cells), rows = cells.values.length / cells.columns;
    image.querySelector("title")?.remove();
    image.addEventListener("pointermove", event => {
      const box = image.getBoundingClientRect();
      const at = (share, count) => Math.min(Math.max(Math.floor(share * count), 0), count - 1);
      const column = at((event.clientX - box.left) / box.width, cells.columns), row = at((event.clientY - box.top) / box.height, rows);
      const value = cells.values[row * cells.columns + column];
      const named = (prefix, n) => (prefix ? prefix + n : "");
      const parts = [cells.of, named(cells.across, column * cells.step), named(cells.along, cells.upwards ? rows - 1 - row : row)];
      tip ??= document.body.appendChild(Object.assign(document.createElement("div"), { id: "tip" }));
      tip.textContent = parts.filter(Boolean).join(", ") + ": " + (value < 0 ? "no link" : (value / 10).toFixed(1) + "%");
      tip.hidden = false;
      tip.style.top = event.clientY + 16 + "px";
      tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4)) + "px";
    });
    image.addEventListener("pointerleave", () => { if (tip) tip.hidden = true; });
  }
})();
