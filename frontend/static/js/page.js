// Small manners of every page: copy, column choice, keyboard movement in tables.
(() => {
  "use strict";

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const before = button.textContent;
    navigator.clipboard.writeText(button.dataset.copy).then(
      () => { button.textContent = document.body.dataset.copied; },
      () => { button.textContent = document.body.dataset.refused; },
    ).then(() => setTimeout(() => { button.textContent = before; }, 1200));
  });

  // Arrow keys move between the rows of a table; Enter follows the row's first link.
  document.addEventListener("keydown", (event) => {
    const row = event.target.closest?.("table.data tbody tr[tabindex]");
    if (!row || event.target !== row) return;
    const moves = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling,
      Home: row.parentElement.firstElementChild, End: row.parentElement.lastElementChild };
    if (event.key === "Enter") {
      row.querySelector("a[href]")?.click();
      return;
    }
    if (!(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]?.focus();
  });

  // Column choice, kept per table in this browser.
  const key = (table) => `columns:${table.id}`;
  const hidden = (table) => new Set(JSON.parse(localStorage.getItem(key(table)) ?? "[]"));
  const show = (table, names) => {
    for (const cell of table.querySelectorAll("[data-column]")) {
      cell.hidden = names.has(cell.dataset.column);
    }
  };
  const applyAll = () => {
    for (const table of document.querySelectorAll("table[data-choosable]")) {
      const names = hidden(table);
      show(table, names);
      for (const box of document.querySelectorAll(`[data-column-choice="${table.id}"] input`)) {
        box.checked = !names.has(box.value);
      }
    }
  };
  document.addEventListener("change", (event) => {
    const owner = event.target.closest("[data-column-choice]");
    if (!owner) return;
    const table = document.getElementById(owner.dataset.columnChoice);
    const boxes = [...owner.querySelectorAll("input")];
    const names = boxes.filter((box) => !box.checked).map((box) => box.value);
    localStorage.setItem(key(table), JSON.stringify(names));
    show(table, new Set(names));
  });
  document.addEventListener("htmx:afterSwap", applyAll);
  applyAll();

  // A slider beside a field: what it says is what the field holds, and the field alone is sent.
  document.addEventListener("input", (event) => {
    const field = document.getElementById(event.target.dataset?.mirrors ?? "");
    if (field) {
      field.value = Number(event.target.value).toFixed(3);
      return;
    }
    for (const slider of document.querySelectorAll(`[data-mirrors="${event.target.id || "-"}"]`)) {
      slider.value = event.target.value;
    }
  }, true);

  // On a narrow screen the tabs scroll; the one that is open is brought into sight.
  const here = document.querySelector(".tabs [aria-current]");
  if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 40;

  // An evidence chip says whether its lines are open; a second click closes them.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const chip = event.detail.elt;
    if (!chip.matches?.("a.chip[aria-controls]")) return;
    const target = document.getElementById(chip.getAttribute("aria-controls"));
    const wasOpen = chip.getAttribute("aria-expanded") === "true";
    for (const other of document.querySelectorAll(`a.chip[aria-controls="${target.id}"]`)) {
      other.setAttribute("aria-expanded", "false");
    }
    if (wasOpen) {
      target.replaceChildren();
      event.preventDefault();
    } else {
      chip.setAttribute("aria-expanded", "true");
    }
  });
})();
