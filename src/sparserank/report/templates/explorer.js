// Moves the size at the top of a page. The data are read from the page, and names are set as text: nothing in them is
// ever markup or code.
(() => {
  const root = document.querySelector(".explorer"), data = JSON.parse(root.querySelector("script").textContent);
  const $ = name => root.querySelector(name), slider = $("input"), chosen = data.sizes[data.chosen];
  const show = i => {
    const size = data.sizes[i], own = new Set(size.features), kept = new Set(chosen.features);
    $(".at strong").textContent = size.title;
    $(".at span").textContent = size.worth;
    $(".side code").textContent = size.command;
    slider.setAttribute("aria-valuetext", size.title + size.worth);
    const all = [...size.features, ...chosen.features.filter(f => !own.has(f))];
    const more = all.length - data.most, chips = all.slice(0, data.most).map(f => {
      const chip = document.createElement("li");
      const at = size.features.indexOf(f);
      chip.textContent = data.names[f] + (at < 0 || !size.lost.length ? "" : " " + size.lost[at]);
      chip.className = !own.has(f) ? "leave" : kept.has(f) ? "" : "enter";
      return chip;
    });
    if (more > 0) {
      const rest = document.createElement("li");
      rest.textContent = more + " more";
      chips.push(rest);
    }
    $(".chips").replaceChildren(...chips);
    root.querySelectorAll(".beside figure").forEach((figure, k) => {
      const found = size.beside[k];
      figure.querySelector(".lost").setAttribute("d", found.lost);
      figure.querySelector(".won").setAttribute("d", found.won);
      figure.querySelector(".said").textContent = found.said;
    });
    root.querySelectorAll(".matrix tr").forEach(row => [...row.cells].forEach((cell, k) =>
      cell.classList.toggle("now", k === i + 1)));
  };
  slider.addEventListener("input", () => show(+slider.value));
  addEventListener("beforeprint", () => { slider.value = data.chosen; show(data.chosen); });
  $(".slide").hidden = false;
  slider.value = data.chosen;
  show(data.chosen);
})();
