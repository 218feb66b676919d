"use strict";
(function () {
  const all = (what, from) => Array.from((from || document).querySelectorAll(what));
  const byId = (id) => document.getElementById(id);

  /* ---- theme: as the system, light, dark ---- */
  const themes = [["", "as the system"], ["light", "light"], ["dark", "dark"]];
  const button = byId("theme");
  let theme = 0;
  button.hidden = false;
  button.addEventListener("click", function () {
    theme = (theme + 1) % themes.length;
    if (themes[theme][0]) {
      document.documentElement.setAttribute("data-theme", themes[theme][0]);
    } else {
      document.documentElement.removeAttribute("data-theme");
    }
    button.textContent = "Theme: " + themes[theme][1];
  });

  /* ---- tables: sorting and filtering ---- */
  function valueOf(row, column, kind) {
    const cell = row.cells[column];
    if (kind === "n" || kind === "b") {
      return cell.hasAttribute("data-v") ? Number(cell.getAttribute("data-v")) : -Infinity;
    }
    return cell.textContent;
  }
  function sort(header, kind) {
    const table = header.closest("table"), body = table.tBodies[0], column = header.cellIndex;
    const numeric = kind === "n" || kind === "b";
    const was = header.getAttribute("aria-sort");
    const up = was ? was === "descending" : !numeric || kind === "n" && column === 0;
    const rows = Array.from(body.rows).map((row, i) => [valueOf(row, column, kind), i, row]);
    rows.sort(function (a, b) {
      const order = numeric ? (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)
                            : a[0].localeCompare(b[0], "en", { numeric: true });
      return (up ? order : -order) || a[1] - b[1];
    });
    all("th", table).forEach((th) => th.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows.forEach((r) => body.appendChild(r[2]));
  }
  all("th button").forEach(function (b) {
    b.addEventListener("click", () => sort(b.closest("th"), b.getAttribute("data-sort")));
  });
  all("input[data-filter]").forEach(function (input) {
    const rows = Array.from(byId(input.getAttribute("data-filter")).tBodies[0].rows);
    const said = input.closest(".filter").querySelector("output");
    input.addEventListener("input", function () {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      rows.forEach(function (row) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((w) => text.includes(w));
        n += row.hidden ? 0 : 1;
      });
      said.textContent = words.length ? n + " of " + rows.length : "";
    });
  });

  /* ---- diagram ---- */
  const box = document.querySelector(".diagram"), svg = box && box.querySelector("svg");
  if (!svg) {
    return;
  }
  const whole = svg.viewBox.baseVal, full = [whole.x, whole.y, whole.width, whole.height];
  let view = full.slice();
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  box.classList.add("live");
  all(".tools, .hint").forEach((e) => { e.hidden = false; });

  function show() {
    svg.setAttribute("viewBox", view.join(" "));
  }
  /* Picture units in one pixel of the screen. */
  function scale() {
    return Math.max(view[2] / box.clientWidth, view[3] / box.clientHeight);
  }
  /* Changes the scale, but what is at (x, y) of the box stays there. */
  function zoom(factor, x, y) {
    const s = scale(), w = box.clientWidth, h = box.clientHeight;
    const left = view[0] - (w * s - view[2]) / 2, top = view[1] - (h * s - view[3]) / 2;
    const next = Math.min(Math.max(s * factor, 0.05), Math.max(full[2] / w, full[3] / h) * 2);
    view = [left + x * (s - next), top + y * (s - next), w * next, h * next];
    show();
  }
  function middle(factor) {
    zoom(factor, box.clientWidth / 2, box.clientHeight / 2);
  }
  function move(dx, dy) {
    const s = scale();
    view[0] += dx * s;
    view[1] += dy * s;
    show();
  }
  const acts = {
    in: () => middle(0.75),
    out: () => middle(4 / 3),
    fit: function () { view = full.slice(); show(); },
    one: () => middle(0.75 / scale())
  };
  all("button[data-zoom]").forEach(function (b) {
    b.addEventListener("click", () => acts[b.getAttribute("data-zoom")]());
  });
  const keys = { "+": acts.in, "=": acts.in, "-": acts.out, "0": acts.fit, "1": acts.one,
    ArrowLeft: () => move(-60, 0), ArrowRight: () => move(60, 0),
    ArrowUp: () => move(0, -60), ArrowDown: () => move(0, 60) };
  box.addEventListener("keydown", function (e) {
    if (keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) {
      keys[e.key]();
      e.preventDefault();
    }
  });
  box.addEventListener("wheel", function (e) {
    if (e.ctrlKey || e.metaKey || document.activeElement === box) {
      const r = box.getBoundingClientRect();
      zoom(e.deltaY < 0 ? 0.85 : 1 / 0.85, e.clientX - r.left, e.clientY - r.top);
      e.preventDefault();
    }
  }, { passive: false });
  let drag = null;
  box.addEventListener("pointerdown", function (e) {
    drag = { x: e.clientX, y: e.clientY, moved: false };
    box.focus({ preventScroll: true });
  });
  box.addEventListener("pointermove", function (e) {
    if (drag && (drag.moved || Math.abs(e.clientX - drag.x) + Math.abs(e.clientY - drag.y) > 4)) {
      if (!drag.moved) {
        box.setPointerCapture(e.pointerId);
        box.classList.add("moving");
      }
      move(drag.x - e.clientX, drag.y - e.clientY);
      drag = { x: e.clientX, y: e.clientY, moved: true };
    }
  });
  ["pointerup", "pointercancel"].forEach(function (name) {
    box.addEventListener(name, function (e) {
      if (name === "pointerup" && drag && !drag.moved) {
        pick(e.target.closest(".node"), false);
      }
      drag = null;
      box.classList.remove("moving");
    });
  });

  /* ---- one box of the diagram and what there is to read about it ---- */
  const about = byId("about");
  function pick(node, center) {
    all(".picked").forEach((e) => e.classList.remove("picked"));
    about.hidden = !node || node.id === "legend";
    if (about.hidden) {
      return;
    }
    const link = node.querySelector("a");
    node.classList.add("picked");
    about.textContent = link && (link.getAttribute("xlink:title") || link.getAttribute("title")) || node.id;
    const name = node.id.replace(/^(fw|bw|saved|n|net)_/, "");
    all("tr[data-node]").forEach(function (row) {
      row.classList.toggle("picked", row.getAttribute("data-node") === name);
    });
    if (center) {
      const b = node.getBoundingClientRect(), r = box.getBoundingClientRect();
      move(b.left + b.width / 2 - r.left - r.width / 2, b.top + b.height / 2 - r.top - r.height / 2);
    }
  }
  const prefixes = ["saved_", "fw_", "bw_", "n_", "net_", ""];
  function find(name) {
    for (const p of prefixes) {
      const node = byId(p + name);
      if (node && node.classList.contains("node")) {
        return node;
      }
    }
    return null;
  }
  function go(node) {
    box.scrollIntoView({ block: "nearest" });
    if (scale() > 1) {
      acts.one();
    }
    pick(node, true);
  }
  all("tr[data-node]").forEach(function (row) {
    if (!find(row.getAttribute("data-node"))) {
      return; // folded away, or left out
    }
    row.tabIndex = 0;
    row.addEventListener("click", function () {
      if (!String(window.getSelection())) {
        go(find(row.getAttribute("data-node")));
      }
    });
    row.addEventListener("keydown", function (e) {
      if (e.key === "Enter") {
        go(find(row.getAttribute("data-node")));
      }
    });
  });
  const input = byId("find"), found = byId("found");
  input.addEventListener("input", function () {
    const text = input.value.trim();
    const node = text && (find(text) || all(".node", svg).find((n) => n.id.includes(text)));
    found.textContent = !text || node ? "" : "not in the diagram";
    if (node) {
      go(node);
    }
  });
})();
