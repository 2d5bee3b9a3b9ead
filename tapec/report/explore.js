"use strict";
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const slider = document.getElementById("slider");
  const steps = JSON.parse(document.getElementById("steps").textContent);
  const sameLine = (at) => at.split(" ").flatMap((one) => all(`[data-at~="${CSS.escape(one)}"]`));
  let pinned = null;

  // -- passes ----------------------------------------------------------------------------------------------------
  function showStep(k) {
    const step = steps[k];
    document.getElementById("stage").textContent = step.name;
    document.getElementById("facts").textContent = step.facts;
    for (const panel of all("[data-panel]")) panel.hidden = panel.dataset.panel !== String(step.panel);
    for (const panel of all("[data-diff]")) panel.hidden = panel.dataset.diff !== String(k);
  }
  slider.addEventListener("input", () => showStep(Number(slider.value)));

  // -- picture, text, changes ------------------------------------------------------------------------------------
  function showView(name) {
    for (const view of all("[data-view]")) view.hidden = view.dataset.view !== name;
    for (const button of all("[data-shows]")) button.setAttribute("aria-pressed", String(button.dataset.shows === name));
  }
  for (const button of all("[data-shows]")) button.addEventListener("click", () => showView(button.dataset.shows));
  document.getElementById("fit").addEventListener("click", (event) => {
    const on = document.body.classList.toggle("fit");
    event.currentTarget.setAttribute("aria-pressed", String(on));
  });

  // -- one line and what it became -------------------------------------------------------------------------------
  function light(at) {
    for (const item of all(".lit")) item.classList.remove("lit");
    if (at) for (const item of sameLine(at)) item.classList.add("lit");
  }
  const lineOf = (event) => event.target.closest?.("[data-at]")?.dataset.at ?? null;
  document.addEventListener("mouseover", (event) => light(lineOf(event) ?? pinned));
  document.addEventListener("click", (event) => {
    const at = lineOf(event);
    if (at === null) {
      if (event.target.closest(".pane")) light((pinned = null));
      return;
    }
    pinned = at === pinned ? null : at;
    light(pinned);
    if (!pinned) return;
    const here = event.target.closest("section");
    for (const section of all("section")) {
      if (section === here) continue;
      const first = [...section.querySelectorAll(".lit")].find((item) => item.getClientRects().length);
      first?.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  });

  showStep(Number(slider.value));
  showView("picture");
})();
