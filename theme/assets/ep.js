// The clutter problem, site by site: take one out, project, put it back, in any
// order. `compute` makes every number that is shown.
window.EP = (() => {
  const [A, B] = [10, 9]; // variances of the clutter and of the prior
  const density = (x, m, v) =>
    Math.exp(-((x - m) ** 2) / (2 * v)) / Math.sqrt(2 * Math.PI * v);
  const total = values => values.reduce((sum, x) => sum + x, 0);

  // Moments of N(m, v) times the factor of x; rho: x is no clutter.
  function tilted(x, w, {m, v}) {
    const good = (1 - w) * density(x, m, v + 1), junk = w * density(x, 0, A);
    const Z = good + junk, [rho, rest] = [good / Z, junk / Z];
    const [gain, d] = [v / (v + 1), x - m];
    return {logZ: Math.log(Z), rho, m: m + rho * gain * d,
      v: v * rest + rho * gain + rho * rest * (gain * d) ** 2};
  }
  // ln of the integral of N(m, v) exp(nu x - tau x^2 / 2)
  const logIntegral = ({m, v}, tau, nu) =>
    (2 * m * nu + v * nu * nu - tau * m * m) / (2 * (1 + v * tau))
    - Math.log1p(v * tau) / 2;

  // The Gaussian prior times all sites but n, or null where that is none.
  function belief({tau, nu}, n = -1) {
    const sum = sites => total(sites.filter((_, k) => k != n));
    const precision = 1 / B + sum(tau);
    return precision > 0 ? {m: sum(nu) / precision, v: 1 / precision} : null;
  }
  // What a visit of site n sees and makes.
  function visit({x, w}, sites, n) {
    const cavity = belief(sites, n);
    if (!cavity) return null;
    const t = tilted(x[n], w, cavity);
    const tau = 1 / t.v - 1 / cavity.v, nu = t.m / t.v - cavity.m / cavity.v;
    return {cavity, tilted: t, tau, nu};
  }
  function put(state, sites, n) {
    const made = visit(state, sites, n);
    if (made) [sites.tau[n], sites.nu[n]] = [made.tau, made.nu];
    sites.there[n] = true;
  }
  const none = ({x}) => ({tau: x.map(() => 0), nu: x.map(() => 0),
    there: x.map(() => false)});

  // ln Z_EP of any sites; null if a cavity is no Gaussian
  function logEvidence(state, sites) {
    const made = state.x.map((_, n) => visit(state, sites, n));
    if (made.includes(null)) return null;
    return total(made.map(({cavity, tilted: t}, n) =>
      t.logZ - logIntegral(cavity, sites.tau[n], sites.nu[n])))
      + logIntegral({m: 0, v: B}, total(sites.tau), total(sites.nu));
  }
  // the largest distance of tilted moments from those of q, in q's own units
  function gap(state, sites) {
    const q = belief(sites);
    return !q ? Infinity : Math.max(...state.x.map((_, n) => {
      const t = visit(state, sites, n)?.tilted;
      return t ? Math.max(Math.abs(t.m - q.m) / Math.sqrt(q.v),
        Math.abs(t.v / q.v - 1)) : Infinity;
    }));
  }
  // visits of all sites in turn, until nothing changes: how many sweeps
  function settle(state, sites, each = () => {}) {
    for (let sweep = 0; sweep < 200; sweep++) {
      if (gap(state, sites) <= 1e-12) return sweep;
      state.x.forEach((_, n) => { put(state, sites, n); each(n); });
    }
    return null;
  }

  function adf({x, w}, order) {
    let [q, logZ] = [{m: 0, v: B}, 0];
    for (const n of order) {
      q = tilted(x[n], w, q);
      logZ += q.logZ;
    }
    return {m: q.m, v: q.v, logZ, order};
  }
  // 2^N Gaussians: which points are clutter?
  function exact({x, w}) {
    const parts = Array.from({length: 2 ** x.length}, (_, bits) => {
      let [log, precision, sum] = [-Math.log(B) / 2, 1 / B, 0];
      x.forEach((at, n) => {
        if (bits >> n & 1) {
          log += Math.log((1 - w) / Math.sqrt(2 * Math.PI)) - at * at / 2;
          [precision, sum] = [precision + 1, sum + at];
        } else log += Math.log(w * density(at, 0, A));
      });
      return {log: log - Math.log(precision) / 2 + sum * sum / (2 * precision),
        m: sum / precision, v: 1 / precision};
    });
    const most = Math.max(...parts.map(p => p.log));
    const share = parts.map(p => Math.exp(p.log - most)), all = total(share);
    const m = total(parts.map((p, i) => share[i] * p.m)) / all;
    return {m, logZ: most + Math.log(all), v: total(parts.map(
      (p, i) => share[i] * (p.v + (p.m - m) ** 2))) / all};
  }
  const factor = (x, w, theta) =>
    (1 - w) * density(x, theta, 1) + w * density(x, 0, A);
  const logJoint = ({x, w}, theta) => Math.log(density(theta, 0, B))
    + total(x.map(at => Math.log(factor(at, w, theta))));
  // A Gaussian at the highest mode, by Newton's method from a grid.
  function laplace(state) {
    const {x, w} = state, grid = Widget.steps(-10, 10, 801);
    const heights = grid.map(theta => logJoint(state, theta));
    let m = grid[heights.indexOf(Math.max(...heights))], bend;
    for (let k = 0; k < 30; k++) {
      let slope = -m / B;
      bend = -1 / B;
      for (const at of x) {
        const rho = (1 - w) * density(at, m, 1) / factor(at, w, m);
        slope += rho * (at - m);
        bend += rho * (1 - rho) * (at - m) ** 2 - rho;
      }
      m -= slope / bend;
    }
    return {m, v: -1 / bend,
      logZ: logJoint(state, m) + Math.log(2 * Math.PI / -bend) / 2};
  }

  // state: x, w, acts, n. An act 2 puts site 2 in, -2 takes it out; n is chosen.
  function compute(state) {
    const sites = none(state);
    for (const act of state.acts) {
      const n = Math.abs(act) - 1;
      if (act > 0) put(state, sites, n);
      else if (belief(sites, n)) {
        sites.tau[n] = sites.nu[n] = 0;
        sites.there[n] = false;
      }
    }
    const first = [...new Set(state.acts.filter(a => a > 0).map(a => a - 1))];
    const order = [...first,
      ...[...state.x.keys()].filter(n => !first.includes(n))];
    const end = none(state), sweeps = settle(state, end);
    return {...sites, q: belief(sites), next: visit(state, sites, state.n),
      logZ: logEvidence(state, sites), gap: gap(state, sites),
      adf: adf(state, order), exact: exact(state), laplace: laplace(state),
      ep: {...belief(end), logZ: logEvidence(state, end), sweeps}};
  }
  // the acts that lead on until nothing changes
  function onwards(state) {
    const {tau, nu, there} = compute(state), acts = [];
    settle(state, {tau, nu, there}, n => acts.push(n + 1));
    return acts;
  }
  return {compute, onwards, density, factor, logJoint, logIntegral,
    START: {x: [-4, -0.5, 1, 2.2, 2.8], w: 0.3, acts: [], n: 0}};
})();

document.addEventListener("DOMContentLoaded", () => {
  const figure = document.getElementById("ep-widget");
  if (!figure) return;
  const {written, steps, plot, points} = Widget;
  figure.querySelector("figcaption").insertAdjacentHTML("beforebegin", `
    <div class="controls sites" role="group" aria-label="Sites"></div>
    <div class="stage"><svg role="img"></svg></div>
    <div class="controls">
      <button type="button" data-do="step"></button>
      <button type="button" data-do="sweep">Visit all in turn</button>
      <button type="button" data-do="settle">Until nothing changes</button>
      <button type="button" data-do="adf">ADF in another order</button>
      <button type="button" data-do="undo">Take that back</button>
      <button type="button" data-do="reset">Start again</button></div>
    <p class="said" role="status"></p>
    <svg class="small" role="img"></svg>
    <div class="controls"><label class="slide"><span>share of clutter</span>
      <input type="range" min="1" max="9"><output aria-live="off"></output>
      </label></div>
    <table><thead><tr><td></td><th scope="col">mean</th>
      <th scope="col">deviation</th><th scope="col">ln <i>Z</i></th></tr></thead>
      <tbody></tbody></table>`);
  const find = what => figure.querySelector(what);
  const [stage, main, below, said, body, share] = [".stage", ".stage svg",
    "svg.small", ".said", "tbody", "input"].map(find);
  const GRID = steps(-8, 8, 321), [LOW, HIGH] = [GRID[0], GRID.at(-1)];
  let state, found, picture, project, history;

  const clip = v => Math.max(LOW + 0.2, Math.min(HIGH - 0.2, v));
  const normal = ({m, v}) => GRID.map(theta => EP.density(theta, m, v));
  const told = ({m, v}) =>
    `mean ${written(m)}, deviation ${written(Math.sqrt(v))}`;
  const site = (tau, nu) => `τ = ${written(tau)}, ν = ${written(nu)}`;

  for (const n of EP.START.x.keys()) {
    const button = document.createElement("button");
    button.type = "button";
    button.addEventListener("click", () => choose(n));
    find(".sites").append(button);
  }
  function choose(n) {
    if (n == state.n) return;
    project = false;
    state.n = n;
    act(`Site ${n + 1}.`);
  }
  function act(words) {
    found = EP.compute(state);
    show();
    const n = state.n + 1, there = found.there[state.n];
    const what = project ? `Cavity times factor ${n}: ${told(found.next.tilted)
      }, not clutter with probability ${
        written(found.next.tilted.rho)}. The site that does this has ${
      site(found.next.tau, found.next.nu)}${found.next.tau < 0
        ? ": a negative precision, for the point has raised a doubt" : ""}.`
      : `${found.there.some(Boolean) ? "Now q has" : "The prior has"} ${
        told(found.q)}; the exact posterior has ${told(found.exact)}.` + (there ? ""
        : ` Site ${n} is out: this is its cavity.`);
    said.textContent = `${words} ${what}`.trim();
  }

  function show() {
    if (!main.clientWidth) return; // before its style is there
    const {q, next, exact, there, tau, nu} = found, n = state.n;
    const truth = GRID.map(
      theta => Math.exp(EP.logJoint(state, theta) - exact.logZ));
    const now = normal(q), curves = [truth, now];
    let product, moments;
    if (project) {
      moments = normal(next.tilted);
      product = normal(next.cavity).map((c, i) => c * EP.factor(
        state.x[n], state.w, GRID[i]) / Math.exp(next.tilted.logZ));
      curves.push(product, moments);
    }
    const most = 1.25 * Math.max(...curves.flat());
    picture = plot(main, [LOW, HIGH], [0, most], {xlabel: "θ",
      ylabel: "density", left: 28,
      xticks: [-6, -4, -2, 0, 2, 4, 6].map(v => [v])});
    picture.band(GRID, GRID.map(() => 0), truth, "shade");
    picture.line(GRID, now, "method" + (project ? " dotted" : ""));
    if (project) {
      picture.line(GRID, product, "mean");
      picture.line(GRID, moments, "method dashed");
    }
    const name = !there.some(Boolean) ? "prior"
      : there[n] ? "q" : `q without site ${n + 1}`;
    picture.legend([["shade", "exact"],
      ["method" + (project ? " dotted" : ""), name],
      ...project ? [["mean", `times factor ${n + 1}`],
        ["method dashed", "its Gaussian"]] : []]);
    picture.draw();
    main.setAttribute("aria-label", `Densities of θ. Exact: ${told(exact)}. ${
      name}: ${told(q)}.${project ? ` Tilted: ${told(next.tilted)}.` : ""}`);
    const factor = GRID.map(theta => EP.factor(state.x[n], state.w, theta));
    const f = plot(below, [LOW, HIGH], [0, 1.5 * Math.max(...factor)], {
      left: 28, xlabel: "θ", xticks: [-6, -4, -2, 0, 2, 4, 6].map(v => [v])});
    f.line(GRID, factor, "mean");
    const shown = project ? [next.tau, next.nu]
      : there[n] && next ? [tau[n], nu[n]] : null;
    if (shown) f.line(GRID, GRID.map(theta => Math.exp(next.tilted.logZ
      - EP.logIntegral(next.cavity, ...shown)
      + shown[1] * theta - shown[0] * theta * theta / 2)), "method dashed");
    f.legend([["mean", `factor ${n + 1}`],
      ...shown ? [["method dashed", `site ${n + 1}`]] : []]);
    f.draw();
    below.setAttribute("aria-label", `Factor ${n + 1}, highest at ${
      written(state.x[n], 1)}, and ${shown ? `its site, ${site(...shown)}`
      : "no site"}.`);

    [...find(".sites").children].forEach((button, k) => {
      button.setAttribute("aria-pressed", k == n);
      button.innerHTML = `site ${k + 1}<small>${there[k]
        ? site(tau[k], nu[k]) : "out"}</small>`;
    });
    find("[data-do=step]").textContent = there[n] ? `Take site ${n + 1} out`
      : project ? `Put site ${n + 1} in` : `Multiply by factor ${n + 1}, project`;
    find("[data-do=undo]").setAttribute("aria-disabled", !history.length);
    share.value = Math.round(10 * state.w);
    share.nextElementSibling.textContent = written(state.w, 1);
    share.setAttribute("aria-valuetext", written(state.w, 1));
    const {ep, adf, laplace} = found;
    body.innerHTML = [["q now", {...q, logZ: there.every(Boolean) ? found.logZ
      : null}], [`ADF, ${adf.order.map(k => k + 1).join(" ")}`, adf],
    [ep.sweeps == null ? "EP, not settled after 200 sweeps"
      : `EP, ${ep.sweeps} sweeps`, ep.sweeps == null ? {} : ep],
    ["Laplace", laplace], ["exact", exact]].map(([text, {m, v, logZ}]) =>
      `<tr><th scope="row">${text}</th>${[m, Math.sqrt(v), logZ].map(
        value => `<td>${value == null || Number.isNaN(value) ? "–"
          : written(value, 3)}</td>`).join("")}</tr>`).join("");
    buttons.show(n);
  }

  const buttons = points(stage, {
    count: () => state.x.length,
    place: i => [picture.X(state.x[i]), picture.Y(0) - 10],
    name: i => `point ${i + 1}: x = ${written(state.x[i], 1)}`,
    kind: () => "",
    choose,
    nudge: (i, right, up, far) =>
      move(i, state.x[i] + (right + up) * (far ? 0.5 : 0.1)),
    drag: (i, px) => move(i, picture.x(px)),
  });
  function move(i, to) {
    const x = Math.round(10 * clip(to)) / 10;
    if (x == state.x[i]) return;
    state.x[i] = x;
    project = false;
    act(`Point ${i + 1} is at ${written(x, 1)}, and the same visits again.`);
  }

  const kept = change => {
    history.push([structuredClone(state), project]);
    project = false;
    change();
  };
  const DO = {
    step: () => kept(() => {
      const n = state.n + 1, [, before] = history.at(-1);
      if (found.there[state.n]) {
        if (!found.next) {
          history.pop();
          return act(`Without site ${n} no Gaussian would be left: the others `
            + "have a negative precision. It stays.");
        }
        state.acts.push(-n);
        act(`Site ${n} is out.`);
      } else if (before) {
        state.acts.push(n);
        act(`Site ${n} is in.`);
      } else {
        project = true;
        act("");
      }
    }),
    sweep: () => kept(() => {
      state.acts.push(...state.x.map((_, k) => k + 1));
      act("All sites visited, 1 to 5.");
    }),
    settle: () => kept(() => {
      const more = EP.onwards(state);
      state.acts.push(...more);
      const sweeps = more.length / state.x.length;
      act(EP.compute(state).gap <= 1e-12
        ? `After ${sweeps} sweep${sweeps == 1 ? "" : "s"} nothing changes.`
        : "After 200 sweeps the sites still move: try other points.");
    }),
    adf: () => kept(() => {
      const order = [...state.x.keys()].map(k => [Math.random(), k + 1]);
      state.acts = order.sort((u, v) => u[0] - v[0]).map(pair => pair[1]);
      act(`Each point seen once, in the order ${state.acts.join(", ")}.`);
    }),
    undo: () => {
      if (!history.length) return;
      [state, project] = history.pop();
      act("One step back.");
    },
    reset: () => {
      [state, project, history] = [structuredClone(EP.START), false, []];
      act("All sites are out.");
    },
  };
  for (const button of figure.querySelectorAll("[data-do]"))
    button.addEventListener("click", () => DO[button.dataset.do]());
  share.addEventListener("input", () => {
    state.w = share.value / 10;
    project = false;
    act(`A share of ${written(state.w, 1)} is clutter.`);
  });
  DO.reset();
  new ResizeObserver(show).observe(stage);
});
