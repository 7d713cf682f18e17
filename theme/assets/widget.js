// What the widgets of the pages share: pictures in pixels of the page, points
// that are moved by hand or by keyboard, and numbers as the book writes them.
window.Widget = (() => {
  const written = (x, digits = 2) => Number.isFinite(x)
    ? x.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−") : "none";
  const steps = (from, to, count) => Array.from({length: count},
    (_, i) => from + (to - from) * i / (count - 1));

  // An SVG with axes; x and y are the ranges, lines are clipped to the frame.
  function plot(svg, x, y, {xticks = [], yticks = [], xlabel = "",
      ylabel = "", left = 44, bottom = 40} = {}) {
    const [wide, high, top, right] = [svg.clientWidth, svg.clientHeight, 8, 10];
    svg.setAttribute("viewBox", `0 0 ${wide} ${high}`); // paper is narrower
    const [w, h] = [wide - left - right, high - top - bottom];
    const X = at => left + (at - x[0]) / (x[1] - x[0]) * w;
    const Y = at => top + (y[1] - at) / (y[1] - y[0]) * h;
    const [inside, outside] = [[], []];
    const pair = (a, b) => `${X(a).toFixed(1)} ${
      Math.max(-999, Math.min(1999, Y(b))).toFixed(1)}`;
    const path = (d, look) =>
      inside.push(`<path class="${look}" d="M${d}"/>`);
    const word = (px, py, text, look = "") =>
      outside.push(`<text class="${look}" x="${px}" y="${py}">${text}</text>`);
    outside.push(`<path class="axis" d="M${left} ${top}v${h}h${w}"/>`);
    for (const [at, text = written(at, 0)] of xticks)
      word(X(at), top + h + 16, text, "middle");
    for (const [at, text = written(at, 0)] of yticks)
      word(left - 6, Y(at) + 4, text, "end");
    word(left + w / 2, high - 4, xlabel, "middle");
    outside.push(`<text class="middle" transform="translate(11 ${
      top + h / 2}) rotate(-90)">${ylabel}</text>`);
    return {
      X, Y,
      x: px => x[0] + (px - left) / w * (x[1] - x[0]),
      y: py => y[1] - (py - top) / h * (y[1] - y[0]),
      line: (xs, ys, look) => path(xs.map((a, i) => pair(a, ys[i])).join("L"),
        look),
      band: (xs, low, up, look) => path([...xs.map((a, i) => pair(a, up[i])),
        ...xs.map((a, i) => pair(a, low[i])).reverse()].join("L") + "Z", look),
      dot: (a, b) => inside.push(`<circle class="dot" cx="${X(a)}" cy="${
        Y(b)}" r="4.5"/>`),
      legend: kinds => kinds.forEach(([look, text], i) => {
        const py = top + 12 + 20 * i;
        outside.push(`<path class="${look}" d="M${left + 12} ${py}h26${
          look == "shade" ? "v-6h-26z" : ""}"/>`);
        word(left + 46, py + 4, text);
      }),
      draw: () => {
        svg.innerHTML = `<svg x="${left}" y="${top}" width="${w}" height="${h
          }" viewBox="${left} ${top} ${w} ${h}">${inside.join("")}</svg>`
          + outside.join("");
      },
    };
  }

  // One button over the picture for each point. `of` has count(), place(i) in
  // pixels, name(i), kind(i), and what a reader may do: choose(i), nudge(i,
  // right, up, far), drag(i, px, py), drop(i), add(px, py).
  const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1],
    ArrowDown: [0, -1]};
  function points(stage, of) {
    const buttons = [];
    const inside = event => {
      const box = stage.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    // targets of neighbours overlap where there is little room
    const nearest = (px, py) => {
      const far = buttons.map((_, i) =>
        Math.hypot(of.place(i)[0] - px, of.place(i)[1] - py));
      return buttons[far.indexOf(Math.min(...far))];
    };
    const make = i => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "point"; // out of the flow, whose size is asked
      button.addEventListener("focus", () => of.choose(i));
      button.addEventListener("keydown", event => {
        const arrow = ARROWS[event.key];
        if (arrow) of.nudge(i, ...arrow, event.shiftKey);
        else if (of.drop && /^(Delete|Backspace)$/.test(event.key)) of.drop(i);
        else return;
        event.preventDefault();
      });
      button.addEventListener("pointerdown", event => {
        event.preventDefault(); // or the press itself moves the focus
        const held = nearest(...inside(event));
        held.focus();
        held.setPointerCapture(event.pointerId);
      });
      button.addEventListener("pointermove", event => {
        if (button.hasPointerCapture(event.pointerId))
          of.drag(i, ...inside(event));
      });
      stage.append(button);
      return button;
    };
    stage.addEventListener("click", event => {
      if (of.add && !event.target.closest("button")) of.add(...inside(event));
    });
    return {
      show(chosen) {
        while (buttons.length < of.count()) buttons.push(make(buttons.length));
        while (buttons.length > of.count()) buttons.pop().remove();
        buttons.forEach((button, i) => {
          const [px, py] = of.place(i);
          button.style.left = `calc(${100 * px / stage.clientWidth}% - 22px)`;
          button.style.top = `calc(${100 * py / stage.clientHeight}% - 22px)`;
          button.className = `point ${of.kind(i)}`;
          button.classList.toggle("chosen", i == chosen);
          button.setAttribute("aria-label", of.name(i));
        });
      },
      focus: i => buttons[i]?.focus(),
    };
  }

  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  return {written, steps, plot, points, still};
})();
