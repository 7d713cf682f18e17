// Logistic regression under the reader's hand: points of two classes in the
// plane, and what follows from them. `compute` is all of the mathematics, and
// what is drawn and written comes from it alone.
window.bookLogistic = (() => {
  const {dot, matvec, cholesky, solve, sigmoid, log1pexp} = window.Linear;
  const CLEAR = 1e-12; // what is nearer to a plane, per length, lies on it
  const range = n => [...Array(n).keys()];
  const sum = numbers => numbers.reduce((total, x) => total + x, 0);
  const norm = v => Math.hypot(...v);
  const times = (c, v) => v.map(x => c * x);
  const plus = (u, v) => u.map((x, j) => x + v[j]);
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1],
    a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  // the margin of z under u, rounding taken off
  const margin = (u, z) =>
    Math.abs(dot(u, z)) <= CLEAR * norm(u) * norm(z) ? 0 : dot(u, z);

  // The vectors u with no negative margin u^T z_n form a cone, and its edges
  // lie on the planes of two rows, fewer where the rows span less. With edges
  // e, all margins are positive for some u if they are for sum_e e; `tied` are
  // the rows whose margin is zero for every u.
  function separation(Z) {
    const normals = Z.flatMap((a, i) => Z.slice(i + 1).map(b => [a, b]))
      .filter(([a, b]) => norm(cross(a, b)) > CLEAR * norm(a) * norm(b))
      .map(([a, b]) => cross(a, b));
    const flat = normals.every(n => Z.every(z => margin(n, z) == 0));
    const rank = !Z.length ? 0 : !normals.length ? 1 : flat ? 2 : 3;
    const lines = [[], Z.slice(0, 1), Z.map(z => cross(normals[0] || z, z)),
      normals][rank];
    const edges = lines.flatMap(u => [u, times(-1, u)]).filter(u => {
      const margins = Z.map(z => margin(u, z));
      return margins.every(m => m >= 0) && margins.some(m => m > 0);
    }).map(u => times(1 / norm(u), u));
    const tied = range(Z.length).filter(
      n => edges.every(u => margin(u, Z[n]) == 0));
    const kind = !edges.length ? "none" : tied.length ? "quasi-complete"
      : "complete";
    return {kind, rank, tied, u: edges.length ? edges.reduce(plus) : null};
  }

  // E(w) = sum_n ln(1 + e^-m_n) + alpha/2 w^T w, m_n = w^T z_n, and slopes
  const error = (w, Z, alpha) => sum(matvec(Z, w).map(m => log1pexp(-m)))
    + alpha / 2 * dot(w, w);
  function slopes(w, Z, alpha) {
    const m = matvec(Z, w);
    const g = w.map((x, j) =>
      alpha * x - sum(Z.map((z, n) => sigmoid(-m[n]) * z[j])));
    const H = w.map((_, i) => w.map((_, j) => (i == j ? alpha : 0)
      + sum(Z.map((z, n) => sigmoid(m[n]) * sigmoid(-m[n]) * z[i] * z[j]))));
    return {g, H};
  }
  // Newton's method, halving steps that do not lower E enough
  function minimum(Z, alpha, size) {
    let w = range(size).map(() => 0), decrement = Infinity;
    for (let k = 0; k < 100 && decrement > 1e-20; k++) {
      const {g, H} = slopes(w, Z, alpha), E = error(w, Z, alpha);
      const d = times(-1, solve(cholesky(H), g));
      decrement = -dot(g, d);
      let eta = 1;
      while (eta > 1e-18 && error(plus(w, times(eta, d)), Z, alpha)
        > E - 1e-4 * eta * decrement + 1e-13 * (1 + E)) eta /= 2;
      w = plus(w, times(eta, d));
    }
    return w;
  }
  // orthonormal vectors that span the rows: Gram and Schmidt, twice
  function basis(Z) {
    const Q = [];
    Z.forEach(z => {
      const off = v => Q.reduce((r, q) => plus(r, times(-dot(q, r), q)), v);
      const rest = off(off(z));
      if (norm(rest) > 1e-9 * norm(z)) Q.push(times(1 / norm(rest), rest));
    });
    return Q;
  }

  // What points {x, y, t} and the precision alpha of the prior on all three
  // weights give. kind, rank, tied, u: how the classes separate, see above;
  // error: the least value of E, or what it falls towards; w and se: the
  // weights and their standard errors, y: p(C1|x) at the points; null where no
  // single w is the best.
  function compute({points, alpha}) {
    const Z = points.map(({x, y, t}) => times(2 * t - 1, [1, x, y]));
    const found = separation(Z);
    if (!alpha && (found.kind != "none" || found.rank < 3)) {
      const rows = found.kind == "none" ? Z : found.tied.map(n => Z[n]);
      const Q = basis(rows), inside = rows.map(z => matvec(Q, z));
      const v = minimum(inside, 0, Q.length);
      return {...found, error: error(v, inside, 0), w: null, se: null,
        y: null};
    }
    const w = minimum(Z, alpha, 3), L = cholesky(slopes(w, Z, alpha).H);
    const se = range(3).map(
      j => Math.sqrt(solve(L, range(3).map(i => Number(i == j)))[j]));
    const y = points.map(({x, y}) => sigmoid(dot(w, [1, x, y])));
    return {...found, error: error(w, Z, alpha), w, se, y};
  }
  return {compute};
})();

document.addEventListener("DOMContentLoaded", () => {
  const figure = document.getElementById("logistic-widget");
  if (!figure) return;
  const box = document.createElement("div");
  const STEP = 1 / 8, END = 4, UNIT = 48; // of the plane; pixels per unit
  const ALPHA = [0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2,
    5, 10, 20, 50, 100];
  const MOST = 40; // points
  const pairs = rows => rows.map(([x, y, t]) => ({x, y, t}));
  const STARTS = {
    overlap: pairs([[-2.5, -1, 0], [-1.75, 1, 0], [-1, -1.75, 0],
      [-0.5, 0.5, 0], [0.25, -0.75, 0], [1.25, 0.75, 0], [-1.5, 0.25, 1],
      [0.5, 1.5, 1], [1, -0.5, 1], [1.75, 1.75, 1], [2.25, 0, 1],
      [2.75, 1, 1]]),
    complete: pairs([[-2.5, 1.25, 0], [-2, -0.75, 0], [-1.25, 0.5, 0],
      [-0.75, -1.5, 0], [1, 1.5, 1], [1.25, -0.25, 1], [2, -1.25, 1],
      [2.75, 0.75, 1]]),
    "quasi-complete": pairs([[-2.5, 1, 0], [-1.75, -1, 0], [-1, 0.5, 0],
      [0, -1.5, 0], [0, 0, 1], [0, 1.5, 0], [1.25, 1, 1], [1.75, -0.75, 1],
      [2.5, 0.25, 1]]),
  };

  box.className = "touch";
  box.innerHTML = `
<div class="plane">
<svg viewBox="0 0 400 400" role="application"
  aria-label="Points of two classes in the plane"
  aria-describedby="logistic-keys">
<g class="scale"></g><g class="ground"></g><g class="points"></g></svg>
<div class="buttons" role="group" aria-label="The chosen point">
<button type="button" data-do="next">Next point</button>
<button type="button" data-do="relabel">Other class</button>
<button type="button" data-do="remove">Remove</button>
<button type="button" data-do="add">Add</button></div></div>
<p class="said" role="status"></p>
<div class="results">
<div class="buttons" role="group" aria-label="Begin with points of">
${Object.keys(STARTS).map(name => `<button type="button" data-start="${name}">${
    name}</button>`).join("")}</div>
<label>prior precision <i>α</i> <span class="alpha"></span>
<input type="range" min="0" max="${ALPHA.length - 1}" value="0"
  autocomplete="off"></label><p class="ends"><span>0</span><span>100</span></p>
<div class="weights"></div>
<p class="judgement"></p></div>
<p class="keys" id="logistic-keys">Tap the plane to add a point, drag to move
it, tap it twice for its other class. Keys: arrows move it, with Shift further;
Page Down goes on, Space changes the class, Delete removes.</p>`;
  figure.prepend(box);
  const one = selector => box.querySelector(selector);
  const svg = one("svg"), dots = one(".points"), slider = one("input");
  const state = {points: [], alpha: 0};
  let chosen = 0, shown = {}, held = null;

  // ---- numbers and words
  const number = x => Math.abs(x) < 5e-4 ? "0"
    : x.toLocaleString("en-GB", {maximumSignificantDigits: 3})
      .replace("-", "−");
  const exact = x => `${x}`.replace("-", "−");
  const across = x => 200 + UNIT * x, down = y => 200 - UNIT * y;
  const named = (k, p = state.points[k]) =>
    `Point ${k + 1} of class ${p.t}`;
  const at = ({x, y}) => `(${exact(x)}, ${exact(y)})`;
  function judged({kind, rank, tied, error, w}) {
    if (!state.points.length) return "there are no points.";
    const E = number(error), n = tied.length;
    return {
      complete: "complete. Some <b>w</b> makes all margins positive.",
      "quasi-complete": "quasi-complete. Some <b>w</b> makes no margin " +
        `negative; ${n} margins stay 0.`,
      none: rank < 3 && !w ? `none. But the points lie on one line, and many
        weights reach the least <i>E</i>, ${E}.`
        : "none. Every <b>w</b> gives some point a negative margin.",
    }[kind] + (w ? ` <i>E</i>${state.alpha ? ", prior included," : ""} has one
      minimum, ${E}.` : kind == "none" ? "" : ` <i>E</i> falls towards ${E}
      and has no minimum.`);
  }
  const brief = ({kind, w, y}, about) => (w
    ? (about ? ` There p(C₁|x) = ${number(y[chosen])}.` : "") +
      ` Weights ${w.map(number).join(", ")}.` : " No estimate.")
    + (kind == shown.kind ? "" : ` Separation is now ${kind}.`);

  // ---- drawing
  const half = (w, level) => { // where w0 + w1 x + w2 y > level
    const size = Math.hypot(w[1], w[2]);
    if (size < 1e-9) return w[0] > level ? "M0 0H400V400H0z" : "";
    const n = [w[1] / size, w[2] / size], d = (level - w[0]) / size;
    const far = 20 + Math.abs(d);
    const corner = (a, b) => `${across(n[0] * a - n[1] * b).toFixed(2)} ` +
      down(n[1] * a + n[0] * b).toFixed(2);
    return `M${corner(d, -far)}L${corner(d, far)}L` +
      `${corner(d + 2 * far, far)}L${corner(d + 2 * far, -far)}z`;
  };
  const edge = (w, look) => Math.hypot(w[1], w[2]) < 1e-9 ? ""
    : `<path class="${look}" d="${half(w, 0).split("L", 2).join("L")}"/>`;
  function ground({w, u}) {
    const v = w || u || [0, 0, 0], other = v.map(x => -x);
    const levels = w ? [0, Math.log(3), Math.log(9)] : [0];
    return levels.map(c => `<path class="one" d="${half(v, c)}"/>` +
      `<path class="zero" d="${half(other, c)}"/>`).join("") +
      (u ? edge(u, "edge dashed") : "") + (w ? edge(w, "edge") : "");
  }
  function intervals({w, se}) {
    const ends = w ? w.flatMap((x, j) => [x - 1.96 * se[j], x + 1.96 * se[j]])
      : [];
    const top = Math.max(1, ...ends.map(Math.abs));
    const ten = 10 ** Math.floor(Math.log10(top));
    const limit = ten * [1, 2, 5, 10].find(c => c * ten >= top);
    const x = value => (value / limit * 50).toFixed(1);
    one(".weights").innerHTML = [0, 1, 2].map(j => {
      const [low, high] = ends.slice(2 * j, 2 * j + 2);
      return `<p><span><i>w</i><sub>${j}</sub> = ${w ? number(w[j]) : "?"}` +
        `</span><span>${w ? `${number(low)} to ${number(high)}` : "none"}` +
        `</span></p><svg viewBox="-52 -3 104 6" aria-hidden="true">
        <path d="M-50 0H50M0-3V3"/>` + (w ? `<path class="bar" d="M${x(low)} 0H
        ${x(high)}"/><circle cx="${x(w[j])}" r="1.8"/>` : "") + "</svg>";
    }).join("") + `<p class="ends"><span>−${limit}</span>
      <span>95 % intervals</span><span>${limit}</span></p>`;
  }
  const SHAPES = ["M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0", "M0-7.5L7 5.5H-7z"];
  function points() {
    while (dots.children.length > state.points.length) dots.lastChild.remove();
    state.points.forEach((p, k) => {
      if (!dots.children[k]) {
        const g = document.createElementNS(svg.namespaceURI, "g");
        g.innerHTML = '<circle class="reach" r="30"/>' +
          '<circle class="ring" r="11"/><path/>';
        g.setAttribute("role", "button");
        dots.append(g);
      }
      const g = dots.children[k];
      g.setAttribute("class", ["zero", "one"][p.t] +
        (k == chosen ? " chosen" : ""));
      g.setAttribute("transform", `translate(${across(p.x)} ${down(p.y)})`);
      g.setAttribute("tabindex", k == chosen ? 0 : -1);
      g.setAttribute("aria-label", `${named(k)} at ${at(p)}`);
      g.lastChild.setAttribute("d", SHAPES[p.t]);
    });
  }
  function draw(said, about = false) {
    const found = window.bookLogistic.compute(state);
    points();
    one(".ground").innerHTML = ground(found);
    intervals(found);
    one(".judgement").innerHTML = `<b>Separation:</b> ${judged(found)}`;
    box.dataset.kind = found.kind;
    const value = state.alpha ? number(state.alpha) : "0, no prior";
    one(".alpha").textContent = `= ${value}`;
    slider.setAttribute("aria-valuetext", value);
    ["next", "relabel", "remove"].forEach(name => {
      one(`[data-do=${name}]`).disabled = !state.points.length;
    });
    one("[data-do=add]").disabled = state.points.length >= MOST;
    if (said) one(".said").textContent = said + brief(found, about);
    shown = found;
  }

  // ---- what the reader does
  const clip = v => Math.max(-END, Math.min(END, Math.round(v / STEP) * STEP));
  const place = (p, x, y) => Object.assign(p, {x: clip(x), y: clip(y)});
  const focus = () => dots.children[chosen]?.focus({preventScroll: true});
  function add(x, y) {
    if (state.points.length >= MOST) return;
    const t = state.points[chosen]?.t ?? 0;
    chosen = state.points.push(place({t}, x, y)) - 1;
    draw(`${named(chosen)} added at ${at(state.points[chosen])}.`, true);
  }
  const actions = {
    next(by = 1) {
      const n = state.points.length;
      chosen = (chosen + by + n) % n;
      draw(`${named(chosen)} at ${at(state.points[chosen])} is chosen.`, true);
    },
    relabel() {
      state.points[chosen].t ^= 1;
      draw(`Point ${chosen + 1} is now of class ${state.points[chosen].t}.`,
        true);
    },
    remove() {
      const gone = named(chosen);
      state.points.splice(chosen, 1);
      chosen = Math.max(0, Math.min(chosen, state.points.length - 1));
      draw(`${gone} removed; ${state.points.length} are left.`);
    },
    add() {
      let x = 0;
      const taken = () => state.points.some(p => p.x == clip(x) && p.y == 0);
      while (taken() && x < END) x += 4 * STEP;
      add(x, 0);
    },
  };
  box.querySelectorAll("[data-do]").forEach(button =>
    button.addEventListener("click", () => actions[button.dataset.do]()));
  box.querySelectorAll("[data-start]").forEach(button =>
    button.addEventListener("click", () => begin(button.dataset.start, true)));
  slider.addEventListener("input", () => {
    state.alpha = ALPHA[slider.value];
    draw(`Prior precision ${number(state.alpha)}.`);
  });
  const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1],
    ArrowDown: [0, -1]};
  const KEYS = {PageDown: ["next"], PageUp: ["next", -1], " ": ["relabel"],
    Enter: ["relabel"], Delete: ["remove"], Backspace: ["remove"],
    "+": ["add"], Insert: ["add"]};
  svg.addEventListener("keydown", event => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const way = ARROWS[event.key], key = KEYS[event.key];
    if (way) {
      const p = state.points[chosen], by = event.shiftKey ? 1 : STEP;
      place(p, p.x + by * way[0], p.y + by * way[1]);
      draw(`${named(chosen)} moved to ${at(p)}.`, true);
    } else if (key) {
      actions[key[0]](...key.slice(1));
      if (state.points.length) focus();
      else one("[data-do=add]").focus();
    } else return;
    event.preventDefault();
  });

  const where = event => {
    const r = svg.getBoundingClientRect(), scale = 400 / r.width / UNIT;
    return [(event.clientX - r.left) * scale - 200 / UNIT,
      200 / UNIT - (event.clientY - r.top) * scale];
  };
  const drop = (done = true) => { // the finger is up
    const {k, moved, again} = held || {};
    held = null;
    one(".said").removeAttribute("aria-busy");
    if (k >= 0 && done && !moved && again) actions.relabel();
  };
  svg.addEventListener("pointerdown", event => {
    if (event.button) return;
    const [x, y] = where(event);
    const far = state.points.map(p => Math.hypot(p.x - x, p.y - y));
    const near = Math.min(...far);
    const reach = event.pointerType == "mouse" ? 13 : 30;
    const k = near * UNIT <= reach ? far.indexOf(near) : -1;
    held = {k, x, y, moved: false, again: k == chosen};
    if (k < 0) return;
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    one(".said").setAttribute("aria-busy", "true");
    chosen = k;
    focus();
    draw(`${named(k)} at ${at(state.points[k])} is chosen.`, true);
  });
  svg.addEventListener("pointermove", event => {
    if (!held) return;
    const [x, y] = where(event);
    held.moved ||= Math.hypot(x - held.x, y - held.y) * UNIT > 4;
    if (held.k < 0 || !held.moved) return;
    place(state.points[held.k], x, y);
    draw(`${named(held.k)} moved to ${at(state.points[held.k])}.`, true);
  });
  svg.addEventListener("pointerup", event => {
    if (held && held.k < 0 && !held.moved) add(...where(event));
    drop();
    if (state.points.length) focus();
  });
  svg.addEventListener("pointercancel", () => drop(false));

  function begin(name, aloud) {
    state.points = STARTS[name].map(p => ({...p}));
    chosen = 0;
    draw(aloud ? `${state.points.length} points.` : "");
  }
  one(".scale").innerHTML = [-3, -2, -1, 0, 1, 2, 3].map(k =>
    `<path d="M${across(k)} 0V400M0 ${across(k)}H400"/>` +
    `<text x="${across(k)}" y="395">${exact(k)}</text>` + (k == 0 ? ""
      : `<text x="9" y="${down(k) + 4}">${exact(k)}</text>`)).join("") +
    '<text x="388" y="395">x₁</text><text x="12" y="16">x₂</text>';
  begin("overlap");
});
