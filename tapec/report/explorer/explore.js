"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const get = (id) => document.getElementById(id);
  const data = JSON.parse(get("data").textContent);
  const isShown = (item) => item.getClientRects().length > 0;
  const touch = matchMedia("(pointer: coarse)").matches;
  let variant = 0;
  let step = 0;
  let pinned = null;  // names of lines that stay lit
  let pinnedAt = null;  // what was clicked

  // -- steps: the panels of one of them are shown -------------------------------------------------------------------
  const steps = () => data.variants[variant].steps;

  function listSteps() {
    get("steps").replaceChildren(...steps().map(({ name }, k) => {
      const [item, button] = [document.createElement("li"), document.createElement("button")];
      button.textContent = name;
      button.addEventListener("click", () => showStep(k));
      item.append(button);
      return item;
    }));
    get("slider").max = steps().length - 1;
  }

  function showStep(k) {
    step = Math.min(Math.max(k, 0), steps().length - 1);
    const { does, facts, panel, code, passes, last } = steps()[step];
    for (const item of all("[data-panel]")) {
      const wanted = item.parentElement.id === "code" ? code : item.parentElement.dataset.view === "passes" ? passes : panel;
      item.hidden = item.dataset.panel !== wanted;
    }
    all("#steps button").forEach((button, j) => {
      button.toggleAttribute("aria-current", j === step);
      if (j === step) get("steps").scrollLeft = button.offsetLeft - get("steps").clientWidth / 2;
    });
    get("does").textContent = does;
    get("facts").textContent = facts;
    get("code-note").textContent = step === steps().length - 1 ? "" : last ? "as it is in the end" : "if it ended at this step";
    get("slider").value = step;
    get("back").disabled = step === 0;
    get("next").disabled = step === steps().length - 1;
    zoom(scale);
    search();
  }

  get("slider").addEventListener("input", (event) => showStep(Number(event.target.value)));
  get("back").addEventListener("click", () => showStep(step - 1));
  get("next").addEventListener("click", () => showStep(step + 1));
  for (const button of all("[data-go]")) button.addEventListener("click", () => showStep(Number(button.dataset.go)));

  // -- variants: one, and the code of another beside it -------------------------------------------------------------
  get("left").addEventListener("change", (event) => {
    variant = Number(event.target.value);
    listSteps();
    showStep(steps().length - 1);
  });
  get("right").addEventListener("change", (event) => {
    const on = event.target.value !== "";
    get("beside").hidden = get("beside-bar").hidden = !on;
    get("beside").replaceChildren();
    if (!on) return;
    const other = data.variants[Number(event.target.value)];
    const { code, facts } = other.steps.at(-1);
    const copy = document.querySelector(`#code [data-panel="${code}"]`).cloneNode(true);
    delete copy.dataset.panel;
    copy.hidden = false;
    get("beside").append(copy);
    get("beside-name").textContent = other.label;
    get("beside-facts").textContent = facts;
  });

  // -- views of the graph -------------------------------------------------------------------------------------------
  function showView(name) {
    for (const view of all("[data-view]")) view.hidden = view.dataset.view !== name;
    for (const button of all("[data-shows]")) button.setAttribute("aria-pressed", String(button.dataset.shows === name));
    for (const item of all("[data-with]")) item.hidden = item.dataset.with !== name;
    zoom(scale);
  }
  for (const button of all("[data-shows]")) button.addEventListener("click", () => showView(button.dataset.shows));

  // -- zoom and pan -------------------------------------------------------------------------------------------------
  const canvas = document.querySelector('[data-view="picture"]');
  let scale = "fit";

  function zoom(wanted, at = null) {
    scale = wanted;
    const svg = all(".picture svg", canvas).find(isShown);
    if (!svg) return;
    const { width, height } = svg.viewBox.baseVal;
    const room = { width: canvas.clientWidth - 26, height: canvas.clientHeight - 30 };
    const fit = Math.min(1.15, Math.max(Math.min(room.width / width, room.height / height), Math.min(0.6, room.width / width), 0.3));
    const before = svg.getBoundingClientRect();
    svg.style.width = `${width * (scale === "fit" ? fit : scale)}px`;
    if (at) {  // what the pointer is at stays there
      const after = svg.getBoundingClientRect();
      const grown = after.width / before.width;
      canvas.scrollLeft += (at.clientX - before.left) * grown - (at.clientX - after.left);
      canvas.scrollTop += (at.clientY - before.top) * grown - (at.clientY - after.top);
    }
  }

  function zoomBy(factor, at = null) {
    const svg = all(".picture svg", canvas).find(isShown);
    if (svg) zoom(Math.min(4, Math.max(0.1, (svg.getBoundingClientRect().width / svg.viewBox.baseVal.width) * factor)), at);
  }

  for (const button of all("[data-zoom]")) {
    const by = button.dataset.zoom;
    button.addEventListener("click", () => (by === "fit" ? zoom("fit") : zoomBy(Number(by))));
  }
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 300), event);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    const from = { x: event.clientX + canvas.scrollLeft, y: event.clientY + canvas.scrollTop };
    const move = (now) => {
      canvas.classList.add("drags");
      canvas.scrollTo(from.x - now.clientX, from.y - now.clientY);
    };
    const stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
      setTimeout(() => canvas.classList.remove("drags"));
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  });
  canvas.addEventListener("dblclick", () => zoom("fit"));
  addEventListener("resize", () => showStep(step));

  // -- a line and what became of it ---------------------------------------------------------------------------------
  const keysOf = (item) => (item?.dataset.lights ?? item?.dataset.at ?? "").split(" ").filter(Boolean);

  function light(keys) {
    for (const item of all(".lit")) item.classList.remove("lit");
    for (const key of keys) for (const item of all(`[data-at~="${CSS.escape(key)}"]`)) item.classList.add("lit");
    tell(keys);
  }

  function tell(keys) {
    const count = (pane, kind) => all(`${pane} [data-panel]:not([hidden]) ${kind}.lit`).length;
    const [boxes, lines] = [count('[data-view="picture"]', ".box"), count("#code", ".ln")];
    if (!keys.length) {
      get("status").textContent = touch ? "Tap a line to see what it became." : "Point at a line, or a box, to see what belongs together. Click to keep it lit; ? tells more.";
      return;
    }
    const name = document.createElement("b");
    name.textContent = keys.length > 3 ? `${keys.slice(0, 3).join(", ")} and ${keys.length - 3} more` : keys.join(", ");
    const found = [boxes && (boxes === 1 ? "1 box" : `${boxes} boxes`), lines && (lines === 1 ? "1 generated line" : `${lines} generated lines`)].filter(Boolean).join(" and ");
    get("status").replaceChildren(name, ": ", found || "nothing of it is left at this step");
  }

  function pin(item) {
    pinned = item === pinnedAt ? null : keysOf(item);
    pinnedAt = pinned && item;
    light(pinned ?? []);
    if (!pinned) return;
    for (const pane of all(".pane")) {
      if (pane.contains(item)) continue;
      const first = all(".ln.lit, .box.lit", pane).find(isShown);
      first?.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }

  function letGo() {
    pinned = pinnedAt = null;
    light([]);
  }

  const marked = (event) => event.target.closest?.("[data-at], [data-lights]");
  document.addEventListener("mouseover", (event) => {
    const item = marked(event);
    light(item ? keysOf(item) : pinned ?? []);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("a[data-at]")) event.preventDefault();
    if (canvas.classList.contains("drags")) return;
    const item = marked(event);
    if (item) pin(item);
    else if (event.target.closest(".pane")) letGo();
  });

  // -- tooltips -----------------------------------------------------------------------------------------------------
  const tip = get("tip");

  function showTip(box) {
    tip.hidden = !box;
    if (!box) return;
    const told = JSON.parse(box.dataset.box);
    const { numpy, rule } = data.ops[told.op] ?? {};
    const add = (kind, text) => {
      const item = document.createElement(kind);
      item.textContent = text;
      tip.append(item);
    };
    tip.replaceChildren();
    add("h3", told.name ? `${told.name} = ${told.op}` : told.op);
    add("p", [told.type, numpy, told.count > 1 && `${told.count} times`].filter(Boolean).join(" · "));
    if (told.value) add("pre", told.value);
    if (box.dataset.at) add("p", `from ${box.dataset.at.split(" ").join(", ")}`);
    if (rule && !box.matches(".derivative")) add("p", "Derivative rule (y is the result)"), add("pre", rule);
    const at = box.getBoundingClientRect();
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 10))}px`;
    tip.style.top = `${at.bottom + 8 + height < innerHeight ? at.bottom + 8 : Math.max(8, at.top - height - 8)}px`;
  }
  const boxAt = (event) => event.target.closest?.("[data-box]");
  for (const kind of ["mouseover", "focusin", ...(touch ? ["click"] : [])]) document.addEventListener(kind, (event) => showTip(boxAt(event)));
  canvas.addEventListener("scroll", () => showTip(null));

  // -- search -------------------------------------------------------------------------------------------------------
  let place = 0;

  function search() {
    for (const item of all(".hit")) item.classList.remove("hit");
    const wanted = get("search").value.trim().toLowerCase();
    const found = wanted ? all(".ln, .box").filter((item) => isShown(item) && item.textContent.toLowerCase().includes(wanted)) : [];
    for (const item of found) item.classList.add("hit");
    get("hits").textContent = wanted ? String(found.length) : "";
    return found;
  }
  get("search").addEventListener("input", () => { place = 0; search(); });
  get("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const found = search();
    if (!found.length) return;
    place %= found.length;
    found[place].scrollIntoView({ block: "center", inline: "nearest" });
    get("hits").textContent = `${++place} of ${found.length}`;
  });

  // -- copy ---------------------------------------------------------------------------------------------------------
  async function copy(button) {
    const panels = button.dataset.copy === "code" ? all("#code [data-panel]") : all('[data-view="text"] [data-panel]');
    const wanted = button.dataset.copy === "code" ? steps()[step].code : steps()[step].panel;
    const text = all("code", panels.find((item) => item.dataset.panel === wanted)).map((line) => line.textContent.trimEnd()).join("\n") + "\n";
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // a page that is a file may not be allowed to
      const area = document.body.appendChild(document.createElement("textarea"));
      area.value = text;
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1200);
  }
  for (const button of all("[data-copy]")) button.addEventListener("click", () => copy(button));

  // -- widths of the panes ------------------------------------------------------------------------------------------
  const main = get("main");
  for (const gutter of all(".gutter")) {
    const neighbours = () => [gutter.previousElementSibling, gutter.nextElementSibling];
    const widths = () => all("section", main).map((section) => section.getBoundingClientRect().width);
    const resize = (by) => {
      const [left] = neighbours();
      const k = all("section", main).indexOf(left);
      const now = widths();
      const moved = Math.min(Math.max(by, 120 - now[k]), now[k + 1] - 120);
      now[k] += moved;
      now[k + 1] -= moved;
      ["--left", "--middle", "--last"].forEach((name, j) => main.style.setProperty(name, `${now[j]}fr`));
      if (scale === "fit") zoom("fit");
    };
    gutter.addEventListener("pointerdown", (event) => {
      gutter.setPointerCapture(event.pointerId);
      let x = event.clientX;
      const move = (now) => { resize(now.clientX - x); x = now.clientX; };
      gutter.addEventListener("pointermove", move);
      gutter.addEventListener("pointerup", () => gutter.removeEventListener("pointermove", move), { once: true });
    });
    gutter.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -30, ArrowRight: 30 }[event.key];
      if (by) { event.stopPropagation(); event.preventDefault(); resize(by); }
    });
  }

  // -- panes of a phone ---------------------------------------------------------------------------------------------
  function showPane(name) {
    document.body.dataset.pane = name;
    for (const button of all("[data-to]")) button.setAttribute("aria-pressed", String(button.dataset.to === name));
    zoom(scale);
    light(pinned ?? []);
    all(`section[data-pane="${name}"] .ln.lit, section[data-pane="${name}"] .box.lit`).find(isShown)?.scrollIntoView({ block: "center", inline: "nearest" });
  }
  for (const button of all("[data-to]")) button.addEventListener("click", () => showPane(button.dataset.to));

  // -- light and dark -----------------------------------------------------------------------------------------------
  const root = document.documentElement;
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const setTheme = (dark) => (root.dataset.theme = dark ? "dark" : "light");
  get("theme").addEventListener("click", () => setTheme(root.dataset.theme !== "dark"));
  isDark.addEventListener("change", () => setTheme(isDark.matches));
  get("about").addEventListener("click", () => get("help").showModal());

  // -- keys ---------------------------------------------------------------------------------------------------------
  function nextLine(by) {
    const lines = all("#user .ln[data-at], #user .ln[data-lights]");
    const now = lines.indexOf(pinnedAt);
    const line = lines[now < 0 ? (by > 0 ? 0 : lines.length - 1) : (now + by + lines.length) % lines.length];
    if (line) { pin(line); line.scrollIntoView({ block: "nearest" }); }
  }
  const views = ["picture", "text", "changes", "passes"];
  const keys = {
    ArrowLeft: () => showStep(step - 1), ArrowRight: () => showStep(step + 1), ArrowUp: () => nextLine(-1), ArrowDown: () => nextLine(1),
    "+": () => zoomBy(1.25), "=": () => zoomBy(1.25), "-": () => zoomBy(0.8), 0: () => zoom("fit"), "/": () => get("search").focus(),
    d: () => get("theme").click(), "?": () => get("help").showModal(), Escape: () => { letGo(); showTip(null); },
  };
  views.forEach((name, k) => (keys[k + 1] = () => showView(name)));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("dialog")) return;
    if (event.target.matches("input[type=search], select")) {
      if (event.key === "Escape") { event.target.value = ""; event.target.blur(); search(); }
      return;
    }
    if (!keys[event.key] || (event.target.matches("input") && event.key.startsWith("Arrow"))) return;
    event.preventDefault();
    keys[event.key]();
  });

  for (const kind of ["derivative", "test", "behind"]) get(`legend-${kind}`).hidden = !document.querySelector(`.tp .${kind}`);
  setTheme(isDark.matches);
  listSteps();
  showView("picture");
  showPane("user");
  showStep(steps().length - 1);
  light([]);
})();
