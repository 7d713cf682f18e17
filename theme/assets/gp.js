// Points, and a Gaussian process that follows: regression on values, or
// Laplace's method on labels. `compute` makes every number that is shown.
window.GP = (() => {
  const {cholesky, forward, solve, logdet, matvec, dot, sigmoid,
    log1pexp, normals} = Linear;
  const GRID = Widget.steps(-5, 5, 81);
  const LENGTHS = Widget.steps(-1.3, 1, 47).map(e => 10 ** e);
  const [JITTER, DRAWS] = [1e-8, 3]; // of the prior variance; functions shown

  const kernel = ({ell, amp}) =>
    (x, z) => amp * amp * Math.exp(-((x - z) ** 2) / (2 * ell * ell));
  const gram = (k, xs, zs) => xs.map(x => zs.map(z => k(x, z)));
  const plus = (A, d) => A.map((row, i) => row.map((a, j) => a + (i == j) * d));

  // Both kinds of posterior are mean = c^T dual, cov = k - (L^-1 s c)^T (...).
  function regression(state, k) {
    const [x, t] = [state.points.map(p => p.x), state.points.map(p => p.y)];
    const L = cholesky(plus(gram(k, x, x), state.noise ** 2));
    const dual = solve(L, t);
    return {x, L, dual, s: x.map(() => 1), evidence: -0.5 * (dot(t, dual)
      + logdet(L) + x.length * Math.log(2 * Math.PI))};
  }

  // GPML algorithm 3.1 with halved steps: f = C a, B = I + W^1/2 C W^1/2.
  function laplace(state, k) {
    const x = state.points.map(p => p.x);
    const sign = state.points.map(p => p.y > 0 ? 1 : -1);
    const C = gram(k, x, x);
    const at = a => {
      const f = matvec(C, a);
      return {a, f, psi: -0.5 * dot(a, f)
        - f.reduce((sum, v, n) => sum + log1pexp(-sign[n] * v), 0),
        g: f.map((v, n) => sign[n] * sigmoid(-sign[n] * v)),
        s: f.map(v => Math.sqrt(sigmoid(v) * sigmoid(-v)))};
    };
    const factor = s => cholesky(plus(
      C.map((row, i) => row.map((c, j) => s[i] * c * s[j])), 1));
    let now = at(x.map(() => 0));
    for (let step = 0; step < 100; step++) {
      const {a, g, s} = now, r = g.map((v, n) => v - a[n]);
      const u = solve(factor(s), matvec(C, r).map((v, n) => s[n] * v));
      const da = r.map((v, n) => v - s[n] * u[n]);
      if (!(Math.max(0, ...matvec(C, da).map(Math.abs)) > 1e-12)) break;
      let next, share = 1;
      do {
        next = at(a.map((v, n) => v + share * da[n]));
        share /= 2;
      } while (next.psi < now.psi && share > 1e-3);
      now = next;
    }
    const L = factor(now.s);
    return {x, L, dual: now.g, s: now.s, evidence: now.psi - logdet(L) / 2};
  }
  const fit = state =>
    (state.labels ? laplace : regression)(state, kernel(state));

  // The mean of sigma(a), a ~ N(m, v): the trapezoidal rule over nine standard
  // deviations to either side; never steps longer than 0.13 of one.
  const NODES = Widget.steps(-9, 9, 141);
  const WEIGHTS = NODES.map(z => Math.exp(-z * z / 2));
  const TOTAL = WEIGHTS.reduce((sum, w) => sum + w);
  const average = (m, v) => NODES.reduce((sum, z, i) =>
    sum + WEIGHTS[i] * sigmoid(m + Math.sqrt(v) * z), 0) / TOTAL;

  // state: labels, points {x, y}, ell, amp, noise, seed, turn. The functions
  // move along an ellipse, from the draw `seed` to the next, as turn goes to 1.
  function compute(state) {
    const k = kernel(state), {x, L, dual, s, evidence} = fit(state);
    const cross = GRID.map(z => x.map(at => k(at, z)));
    const mean = cross.map(c => dot(c, dual));
    const half = cross.map(c => forward(L, c.map((v, n) => s[n] * v)));
    const cov = GRID.map((z, i) => GRID.slice(0, i + 1).map(
      (y, j) => k(z, y) - dot(half[i], half[j])));
    const variance = cov.map((row, i) => Math.max(row[i], 0));
    const root = cholesky(cov.map((row, i) => [...row.slice(0, i),
      row[i] + JITTER * state.amp ** 2, ...GRID.slice(i + 1).fill(0)]));
    const normal = [normals(state.seed), normals(state.seed + 1)];
    const [here, there] = [Math.cos(state.turn * Math.PI / 2),
      Math.sin(state.turn * Math.PI / 2)];
    const draws = Array.from({length: DRAWS}, () => {
      const z = GRID.map(() => here * normal[0]() + there * normal[1]());
      return matvec(root, z).map((v, i) => mean[i] + v);
    });
    return {grid: GRID, mean, variance, root, draws, evidence, lengths: LENGTHS,
      ridge: LENGTHS.map(ell => fit({...state, ell}).evidence),
      p: state.labels ? mean.map((m, i) => average(m, variance[i])) : null};
  }
  return {compute, START: {labels: false, ell: 1, amp: 1, noise: 10 ** -0.7,
    seed: 3, turn: 0, points: [[-3.2, -0.9], [-2.1, -0.2], [-0.9, 1.1],
      [0.4, 0.6], [1.7, -0.7], [2.4, -0.4]].map(([x, y]) => ({x, y}))}};
})();

document.addEventListener("DOMContentLoaded", () => {
  const figure = document.getElementById("gp-widget");
  if (!figure) return;
  const {written, steps, plot, points, still} = Widget;
  const slide = (name, text, low, high) => `<label class="slide"><span>${text
    }</span><input type="range" data-name="${name}" min="${low}" max="${high
    }"><output aria-live="off"></output></label>`;
  figure.querySelector("figcaption").insertAdjacentHTML("beforebegin", `
    <div class="controls"><fieldset><legend class="visually-hidden">What is
      known at a point</legend>
      <label><input type="radio" name="gp" value="values"> values</label>
      <label><input type="radio" name="gp" value="labels"> labels</label>
    </fieldset></div>
    <div class="stage"><svg role="img"></svg></div>
    <div class="controls">${slide("ell", "length-scale", -26, 20)}
      ${slide("amp", "amplitude", -10, 14)}
      ${slide("noise", "noise", -26, 0)}</div>
    <div class="controls">
      <button type="button" data-do="add">Add a point where least is known
      </button>
      <button type="button" data-do="drop">Remove it</button>
      <button type="button" data-do="flip">Turn its sign</button>
      <button type="button" data-do="draw">Other functions</button>
      <button type="button" data-do="reset">Start again</button></div>
    <p class="said" role="status"></p>
    <div class="pair"><svg class="small p" role="img"></svg>
      <svg class="small ridge" role="img"></svg></div>`);
  const find = what => figure.querySelector(what);
  const [stage, main, chance, ridge, said] =
    [".stage", ".stage svg", "svg.p", "svg.ridge", ".said"].map(find);
  const NAMES = ["ell", "amp", "noise"], MOST = 24, AMP = [1, 10 ** 0.4];
  let state, chosen, found, before, picture, timer;

  const clip = (v, most) => Math.max(-most, Math.min(most, v));
  const near = v => Math.round(20 * v) / 20;
  const top = () => state.labels ? Math.max(4, 2.5 * state.amp) : 4;
  const height = p => state.labels ? Math.sign(p.y - 1e-9) * 0.9 * top() : p.y;
  const label = p => p.y > 0 ? 1 : 0;
  const what = p => `x = ${written(p.x)}, t = ${
    state.labels ? label(p) : written(p.y)}`;

  function act(words, keep) {
    before = keep ? before : found?.evidence;
    found = GP.compute(state);
    show();
    const gone = found.evidence - before;
    const change = !(Math.abs(gone) >= 0.005) ? "" :
      `, ${gone > 0 ? "up" : "down"} by ${written(Math.abs(gone))}`;
    const best = found.ridge.indexOf(Math.max(...found.ridge));
    const wide = found.variance.indexOf(Math.max(...found.variance));
    const N = state.points.length, apart = Math.max(...found.ridge)
      - Math.min(...found.ridge) > 0.005;
    said.textContent = `${words} With ${N} point${N == 1 ? "" : "s"
      } the log evidence is ${written(found.evidence)}${change}.${apart
        ? ` With this amplitude${state.labels ? "" : " and noise"
        } it is highest at the length-scale ${written(found.lengths[best])}.`
        : ""} Least is known at x = ${
      written(found.grid[wide], 1)}: f = ${written(found.mean[wide], 1)} ± ${
      written(2 * Math.sqrt(found.variance[wide]), 1)}.`;
  }

  function show() {
    if (!main.clientWidth) return; // before its style is there
    const {grid, mean, variance, draws, p, lengths} = found;
    const sd = variance.map(Math.sqrt), most = top();
    const ticks = [-4, -2, 0, 2, 4].map(v => [v]);
    chance.style.display = p ? "" : "none";
    picture = plot(main, [-5, 5], [-most, most], {xticks: ticks, xlabel: "x",
      yticks: [-1, -0.5, 0, 0.5, 1].map(v => [Math.round(v * most)]),
      ylabel: state.labels ? "latent value f" : "f and t"});
    picture.band(grid, mean.map((m, i) => m - 2 * sd[i]),
      mean.map((m, i) => m + 2 * sd[i]), "shade");
    for (const f of draws) picture.line(grid, f, "draw");
    picture.line(grid, mean, "mean");
    picture.draw();
    main.setAttribute("aria-label", "Mean of f, and two standard deviations: "
      + [0, 16, 32, 48, 64, 80].map(i => `at x = ${written(grid[i], 0)} ${
        written(mean[i], 1)} ± ${written(2 * sd[i], 1)}`).join(", ") + ".");
    if (p) {
      const q = plot(chance, [-5, 5], [0, 1], {xticks: ticks, xlabel: "x",
        yticks: [[0], [0.5, "½"], [1]], ylabel: "p(t = 1)"});
      q.line([-5, 5], [0.5, 0.5], "rule");
      q.line(grid, p, "mean");
      q.draw();
      chance.setAttribute("aria-label", "Probability of class 1: "
        + [0, 16, 32, 48, 64, 80].map(i => `at x = ${written(grid[i], 0)} ${
          written(p[i])}`).join(", ") + ".");
    }
    const high = Math.max(...found.ridge, found.evidence);
    const low = Math.max(Math.min(...found.ridge, found.evidence), high - 30);
    const pad = 0.08 * (high - low) + 0.05;
    const r = plot(ridge, [-1.35, 1.05], [low - pad, high + pad], {
      xlabel: "length-scale", ylabel: "log evidence", left: 58,
      xticks: [[-1, "0.1"], [0, "1"], [1, "10"]],
      yticks: [high, low].map(v => [v, written(v, 1)])});
    r.line(lengths.map(Math.log10), found.ridge, "thin");
    r.dot(Math.log10(state.ell), found.evidence);
    r.draw();
    ridge.setAttribute("aria-label", `Log evidence by length-scale: ${
      [0, 6, 16, 26, 36, 46].map(i => `${written(found.ridge[i], 1)} at ${
        written(lengths[i])}`).join(", ")}.`);
    for (const name of NAMES) {
      const input = find(`[data-name=${name}]`);
      input.value = Math.round(20 * Math.log10(state[name]));
      input.nextElementSibling.textContent = written(state[name]);
      input.setAttribute("aria-valuetext", written(state[name]));
      input.closest("label").hidden = name == "noise" && state.labels;
    }
    find("[value=labels]").checked = state.labels;
    find("[value=values]").checked = !state.labels;
    const full = state.points.length >= MOST, none = !state.points[chosen];
    find("[data-do=add]").setAttribute("aria-disabled", full);
    for (const name of ["drop", "flip"])
      find(`[data-do=${name}]`).setAttribute("aria-disabled", none);
    buttons.show(chosen);
  }

  function add(x, y) {
    if (state.points.length >= MOST) return act("No more points fit.", true);
    const p = {x: near(clip(x, 4.95)), y: near(clip(y, 3.9)) || 0.05};
    chosen = state.points.push(p) - 1;
    act(`A point more, ${what(p)}.`);
  }
  function drop(i, refocus) {
    if (!state.points[i]) return;
    const [p] = state.points.splice(i, 1);
    chosen = Math.min(i, state.points.length - 1);
    act(`The point ${what(p)} is gone.`);
    if (refocus) chosen < 0 ? find("[data-do=add]").focus()
      : buttons.focus(chosen);
  }
  function move(i, x, y) {
    const p = state.points[i], old = {...p};
    p.x = near(clip(x, 4.95));
    p.y = state.labels ? (y > 0 ? 1 : -1) * (Math.abs(p.y) || 1)
      : near(clip(y, 3.9));
    if (p.x != old.x || p.y != old.y) act(`Point ${i + 1} is at ${what(p)}.`);
  }
  const buttons = points(stage, {
    count: () => state.points.length,
    place: i => [picture.X(state.points[i].x),
      picture.Y(height(state.points[i]))],
    name: i => `point ${i + 1}: ${what(state.points[i])}`,
    kind: i => state.labels ? `class-${label(state.points[i])}` : "",
    choose: i => { chosen = i; buttons.show(i); },
    nudge: (i, right, up, far) => {
      const {x, y} = state.points[i], step = far ? 0.5 : 0.1;
      move(i, x + step * right, state.labels && up ? up : y + step * up);
    },
    drag: (i, px, py) => move(i, picture.x(px), picture.y(py)),
    drop: i => drop(i, true),
    add: (px, py) => add(picture.x(px), state.labels
      ? Math.sign(picture.y(py)) || 1 : picture.y(py)),
  });

  const DO = {
    add: () => {
      const i = found.variance.indexOf(Math.max(...found.variance));
      add(found.grid[i], state.labels ? (found.mean[i] > 0 ? 1 : -1)
        : found.draws[0][i]);
    },
    drop: () => drop(chosen),
    flip: () => {
      const p = state.points[chosen];
      if (!p) return;
      p.y = -p.y || 1;
      act(`Point ${chosen + 1} is turned to ${what(p)}.`);
    },
    draw: () => {
      cancelAnimationFrame(timer);
      const first = performance.now(), seed = state.seed + 1;
      const step = time => {
        state.turn = Math.min(1, Math.max(0, time - first) / 900);
        if (still() || state.turn == 1) Object.assign(state, {seed, turn: 0});
        found = {...GP.compute({...state}), ridge: found.ridge};
        show();
        if (state.seed != seed) timer = requestAnimationFrame(step);
      };
      act("Three other functions from the same distribution.", true);
      step(first);
    },
    reset: () => {
      cancelAnimationFrame(timer);
      const labels = state?.labels ?? false;
      state = {...structuredClone(GP.START), labels, amp: AMP[Number(labels)]};
      [chosen, found] = [-1, null];
      act("The first points again.");
    },
  };
  for (const button of figure.querySelectorAll("[data-do]"))
    button.addEventListener("click", () => DO[button.dataset.do]());
  for (const input of figure.querySelectorAll("[data-name]"))
    input.addEventListener("input", () => {
      state[input.dataset.name] = 10 ** (input.value / 20);
      act(`The ${input.previousElementSibling.textContent} is ${
        written(state[input.dataset.name])}.`);
    });
  const ask = labels => {
    if (labels == state.labels) return;
    Object.assign(state, {labels, amp: AMP[Number(labels)]});
    found = null; // evidences of labels and of values do not compare
    act(labels ? "Only the signs are known now, as labels." : "The heights are known as well.");
  };
  for (const input of figure.querySelectorAll("[name=gp]"))
    input.addEventListener("change", () => ask(input.value == "labels"));
  DO.reset();
  const linked = () => { if (location.hash == "#gp-labels") ask(true); };
  addEventListener("hashchange", linked);
  linked();
  new ResizeObserver(show).observe(stage);
});
