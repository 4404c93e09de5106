// The list of runs: drop-downs write into the search, and chosen rows stay chosen while the table is replaced.
(() => {
  "use strict";

  const query = document.getElementById("q");
  const menus = [...document.querySelectorAll("select[data-term]")];
  // Words of a search; what is in quotes belongs to one word.
  const words = (text) => text.match(/(?:"[^"]*"|[^\s"])+|"/g) ?? [];
  const isOf = (field) => (word) => word.startsWith(`${field}:`);

  // From here on the search alone is sent; without scripts the drop-downs are parameters of their own.
  for (const menu of menus) menu.removeAttribute("name");

  const show = () => {
    for (const menu of menus) {
      const said = words(query.value).filter(isOf(menu.dataset.term));
      const value = said.length === 1 ? said[0].slice(menu.dataset.term.length + 1).replaceAll('"', "") : "";
      menu.value = [...menu.options].some((o) => o.value === value) ? value : "";
    }
  };
  for (const menu of menus) {
    menu.addEventListener("change", () => {
      const kept = words(query.value).filter((word) => !isOf(menu.dataset.term)(word));
      const plain = /^[^\s",<>=:]+$/.test(menu.value) && menu.dataset.term === "state";
      const said = menu.value && `${menu.dataset.term}:${plain ? menu.value : `"${menu.value}"`}`;
      query.value = [...(said ? [said] : []), ...kept].join(" ");
    });
  }
  query?.addEventListener("input", show);
  document.addEventListener("htmx:historyRestore", show);

  // Selection
  const chosen = new Set();
  const boxes = () => [...document.querySelectorAll("input[name=run][form=compare]")];
  const hold = (form, ids) => {
    for (const more of form.querySelectorAll("input[name=run]")) more.remove();
    for (const id of ids) {
      const hidden = document.createElement("input");
      hidden.type = "hidden";
      hidden.name = "run";
      hidden.value = id;
      form.append(hidden);
    }
  };
  const count = () => {
    const form = document.querySelector("form[data-selection]");
    if (!form) return;
    const most = Number(form.dataset.most);
    const note = form.querySelector("[data-selection-count]");
    form.querySelector("button").disabled = chosen.size < 2 || chosen.size > most;
    note.textContent = chosen.size ? `${chosen.size} ${note.dataset.some}` : note.dataset.none;
    // Those of other pages of the list are sent too.
    const seen = new Set(boxes().map((box) => box.value));
    hold(form, [...chosen].filter((id) => !seen.has(id)));
    const tagging = document.querySelector("form[data-tagging]");
    if (tagging) {
      tagging.hidden = chosen.size === 0;
      hold(tagging, chosen);
    }
    const all = document.querySelector("[data-choose-all]");
    if (all) {
      const marked = boxes().filter((box) => box.checked).length;
      all.checked = marked > 0 && marked === boxes().length;
      all.indeterminate = marked > 0 && !all.checked;
    }
  };
  const restore = () => {
    for (const box of boxes()) box.checked = chosen.has(box.value);
    count();
  };
  const choose = (box) => {
    if (box.checked) chosen.add(box.value);
    else chosen.delete(box.value);
  };
  document.addEventListener("change", (event) => {
    const box = event.target.closest("input[name=run][form=compare]");
    const all = event.target.closest("[data-choose-all]");
    if (all) for (const one of boxes()) one.checked = all.checked;
    for (const one of all ? boxes() : box ? [box] : []) choose(one);
    if (all || box) count();
  });
  document.addEventListener("htmx:afterSwap", restore);
  for (const box of boxes()) if (box.checked) chosen.add(box.value);
  restore();
})();
