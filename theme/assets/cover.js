// The referee of the cover: three parties compute a gradient, and any of their
// signs can be turned. Four observations; differences over h = 1e-5.
const [PHI, T, H] = [[[1, -1], [1, 0.5], [1, 2], [1, 3]], [0, 1, 0, 1], 1e-5];
const BOUND = 1e-8;

const dot = (u, v) => u.reduce((sum, x, j) => sum + x * v[j], 0);
const sigmoid = a => 1 / (1 + Math.exp(-a));
// E(w) = sum_n ln(1 + e^a) - t a, for any size of a
const error = w => PHI.reduce((sum, phi, n) => {
  const a = dot(w, phi);
  return sum + Math.max(a, 0) + Math.log1p(Math.exp(-Math.abs(a))) - T[n] * a;
}, 0);
const moved = (w, j, h) => w.map((x, i) => x + (i == j ? h : 0));

// what each party says at w; a sign is 1 as it should be, or -1
function parties(w, [printed, coded, measured]) {
  const sum = [0, 0];
  PHI.forEach((phi, n) => phi.forEach((x, j) => {
    sum[j] += (sigmoid(dot(w, phi)) - printed * T[n]) * x;
  }));
  const errors = PHI.map((phi, n) => sigmoid(dot(w, phi)) - coded * T[n]);
  const product = [0, 1].map(j => dot(PHI.map(phi => phi[j]), errors));
  const slopes = [0, 1].map(j => (error(moved(w, j, H))
    - measured * error(moved(w, j, -H))) / (2 * H));
  return [sum, product, slopes];
}

// values, and how far apart library and measurement, page and measurement, page
// and library are: gaps[k] is the gap of the two others than party k
window.bookReferee = (w, signs) => {
  const values = parties(w, signs);
  const gap = (u, v) => Math.max(...u.map((x, j) => Math.abs(x - v[j])));
  const gaps = [[1, 2], [0, 2], [0, 1]].map(
    ([i, k]) => gap(values[i], values[k]));
  return {values, gaps};
};

document.addEventListener("DOMContentLoaded", () => {
  const figure = document.querySelector("figure.referee");
  const boxes = [...figure.querySelectorAll(".party")];
  const judgement = figure.querySelector(".judgement");
  const names = ["the page", "the library", "the measurement"];
  const signs = [1, 1, 1];
  let w = [0.3, -0.7];

  const written = x => x.toFixed(6).replace("-", "−");
  const power = x => x.toExponential(0).replace("-", "⁻")
    .replace(/e(.)(\d+)/, (_, sign, digits) => " × 10" + sign.replace("+", "")
      + digits.replace(/\d/g, d => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]));
  const round = x => Number(x.toPrecision(2)).toLocaleString("en-GB");
  const show = () => {
    const {values, gaps} = window.bookReferee(w, signs);
    const agree = gaps.map(gap => gap <= BOUND);
    const all = agree.every(Boolean), odd = agree.indexOf(true);
    boxes.forEach((box, k) => {
      box.querySelector("output").textContent = values[k].map(written).join(", ");
      box.querySelector("button").textContent = signs[k] > 0 ? "−" : "+";
      box.classList.toggle("wrong", !all && (odd < 0 || odd == k));
    });
    figure.classList.toggle("broken", !all);
    judgement.querySelector("b").textContent =
      (all ? "✓" : "✗") + " the referee:";
    judgement.lastChild.textContent = all
      ? ` all three agree, within ${power(Math.max(...gaps))}; allowed is ` +
        `${power(BOUND)}.`
      : odd < 0 ? " no two agree."
      : ` the others agree, ${names[odd]} is off by ` +
        `${round(gaps[(odd + 1) % 3])}.`;
  };
  boxes.forEach((box, k) => {
    const button = box.querySelector("button");
    button.disabled = false;
    button.setAttribute("aria-label", `the sign of ${names[k]}`);
    button.addEventListener("click", () => { signs[k] *= -1; show(); });
  });
  figure.querySelector(".live").hidden = false;
  figure.querySelector(".again").addEventListener("click", () => {
    w = w.map(() => Math.round(40 * (Math.random() - 0.5)) / 10);
    show();
  });
});
