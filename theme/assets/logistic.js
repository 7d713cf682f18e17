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
  // weights and their standard errors, null where no single w is the best.
  function compute({points, alpha}) {
    const Z = points.map(({x, y, t}) => times(2 * t - 1, [1, x, y]));
    const found = separation(Z);
    if (!alpha && (found.kind != "none" || found.rank < 3)) {
      const rows = found.kind == "none" ? Z : found.tied.map(n => Z[n]);
      const Q = basis(rows), inside = rows.map(z => matvec(Q, z));
      const v = minimum(inside, 0, Q.length);
      return {...found, error: error(v, inside, 0), w: null, se: null};
    }
    const w = minimum(Z, alpha, 3), L = cholesky(slopes(w, Z, alpha).H);
    const se = range(3).map(
      j => Math.sqrt(solve(L, range(3).map(i => Number(i == j)))[j]));
    return {...found, error: error(w, Z, alpha), w, se};
  }
  return {compute};
})();
