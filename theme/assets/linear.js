// Linear algebra, special functions and random numbers for the widgets of the
// pages. Matrices are arrays of rows. Nothing is changed that comes in.
window.Linear = (() => {
  const dot = (u, v) => u.reduce((sum, x, j) => sum + x * v[j], 0);
  const matvec = (A, v) => A.map(row => dot(row, v));

  // L with A = L L^T, or null: A is symmetric, its lower triangle is read
  function cholesky(A) {
    const L = A.map(row => row.map(() => 0));
    for (let j = 0; j < A.length; j++) {
      for (let i = j; i < A.length; i++) {
        let rest = A[i][j];
        for (let k = 0; k < j; k++) rest -= L[i][k] * L[j][k];
        if (i > j) L[i][j] = rest / L[j][j];
        else if (rest > 0 && rest < Infinity) L[j][j] = Math.sqrt(rest);
        else return null;
      }
    }
    return L;
  }
  // L x = b, L^T x = b, A x = b; and ln|A|
  function forward(L, b) {
    const x = [];
    L.forEach((row, i) => {
      let rest = b[i];
      for (let k = 0; k < i; k++) rest -= row[k] * x[k];
      x.push(rest / row[i]);
    });
    return x;
  }
  function backward(L, b) {
    const x = b.slice();
    for (let i = L.length - 1; i >= 0; i--) {
      for (let k = i + 1; k < L.length; k++) x[i] -= L[k][i] * x[k];
      x[i] /= L[i][i];
    }
    return x;
  }
  const solve = (L, b) => backward(L, forward(L, b));
  const logdet = L => 2 * L.reduce((sum, row, i) => sum + Math.log(row[i]), 0);

  // 1 / (1 + e^-a) and ln(1 + e^a)
  const sigmoid = a => 1 / (1 + Math.exp(-a));
  const log1pexp = a => Math.max(a, 0) + Math.log1p(Math.exp(-Math.abs(a)));

  // The normal density and distribution function. In the tail, x = |a| > NEAR,
  // 1 - Phi(x) = phi(x) / (x + d), d = 1/(x + 2/(x + 3/(x + ...))), Laplace;
  // near 0, Phi(a) = 1/2 + phi(a) (a + a^3/3 + a^5/15 + ...).
  const [ROOT_TWO_PI, NEAR] = [Math.sqrt(2 * Math.PI), 1.5];
  function normalPdf(a) { // a^2 = b^2 + (a - b)(a + b), and b^2 has no rounding
    const b = Math.trunc(16 * a) / 16;
    return b * b > 1e4 ? 0 // and not 0 times infinity
      : Math.exp(-b * b / 2) * Math.exp(-(a - b) * (a + b) / 2) / ROOT_TWO_PI;
  }
  function excess(x) {
    let d = 0;
    for (let k = 160; k > 0; k--) d = k / (x + d);
    return d;
  }
  function series(a) {
    let [sum, term] = [0, a];
    for (let k = 3; k < 60; k += 2) {
      sum += term;
      term *= a * a / k;
    }
    return 0.5 + normalPdf(a) * sum;
  }
  const tail = x => normalPdf(x) / (x + excess(x));
  const normalCdf = a => a < -NEAR ? tail(-a)
    : a > NEAR ? 1 - tail(a) : series(a);
  const logNormalCdf = a => a < -NEAR
    ? -a * a / 2 - Math.log(ROOT_TWO_PI * (excess(-a) - a))
    : a > NEAR ? Math.log1p(-tail(a)) : Math.log(series(a));
  // r = phi / Phi = (ln Phi)' and r' = -r (r + a)
  const mills = a => a < -NEAR ? excess(-a) - a : normalPdf(a) / normalCdf(a);
  const millsPrime = a => a < -NEAR ? -mills(a) * excess(-a)
    : -mills(a) * (mills(a) + a);

  // x and w with E f(z) = sum_i w_i f(x_i), z ~ N(0, 1), for polynomials f up
  // to degree 2n - 1. The roots of each Hermite polynomial lie between those
  // of the one before. h_k = He_k / sqrt(k!), and 1/w = sum_{k<n} h_k(x)^2.
  function hermite(n) {
    const ladder = (x, m) => {
      let [low, high, sum] = [0, 1, 0];
      for (let k = 0; k < m; k++) {
        sum += high * high;
        [low, high] = [high,
          (x * high - Math.sqrt(k) * low) / Math.sqrt(k + 1)];
      }
      return [high, sum];
    };
    let x = [];
    for (let m = 1; m <= n; m++) {
      const ends = [-2 * Math.sqrt(m), ...x, 2 * Math.sqrt(m)];
      x = ends.slice(1).map((b, i) => {
        let [left, right] = [ends[i], b];
        const sign = Math.sign(ladder(left, m)[0]);
        for (let k = 0; k < 60; k++) {
          const middle = (left + right) / 2;
          if (ladder(middle, m)[0] * sign > 0) left = middle;
          else right = middle;
        }
        return (left + right) / 2;
      });
    }
    return {x, w: x.map(at => 1 / ladder(at, n)[1])};
  }

  // a generator of standard normal numbers, the same ones for the same seed:
  // mulberry32 and the method of Box and Muller
  function normals(seed) {
    let state = seed >>> 0;
    const uniform = () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let z = Math.imul(state ^ state >>> 15, state | 1);
      z ^= z + Math.imul(z ^ z >>> 7, z | 61);
      return (((z ^ z >>> 14) >>> 0) + 0.5) / 4294967296;
    };
    return () => Math.sqrt(-2 * Math.log(uniform()))
      * Math.cos(2 * Math.PI * uniform());
  }

  return {dot, matvec, cholesky, forward, backward, solve, logdet, sigmoid,
    log1pexp, normalPdf, normalCdf, logNormalCdf, mills, millsPrime, hermite,
    normals};
})();
