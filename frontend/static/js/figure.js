// Draws every figure of a page: JSON from a json_script element, colours from the page's CSS variables.
(() => {
  "use strict";

  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 44rem)");

  const withAlpha = (hex, alpha) => {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    return `rgba(${r}, ${g}, ${b}, ${alpha})`;
  };
  const resolver = () => {
    const style = getComputedStyle(document.documentElement);
    const known = new Map();
    return (name) => {
      if (!known.has(name)) {
        const [variable, alpha] = name.slice(1).split(":");
        const value = style.getPropertyValue(`--${variable}`).trim();
        known.set(name, alpha ? withAlpha(value, alpha) : value);
      }
      return known.get(name);
    };
  };
  const resolved = (value, of) => {
    if (typeof value === "string") return /^\$[a-z]/.test(value) ? of(value) : value;
    if (Array.isArray(value)) return value.map((item) => resolved(item, of));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item, of)]));
    }
    return value;
  };

  const config = (name) => ({
    displaylogo: false,
    showSendToCloud: false,
    responsive: true,
    displayModeBar: narrow.matches ? false : "hover",
    scrollZoom: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage"],
    toImageButtonOptions: { format: "svg", filename: name },
  });

  const draw = (holder, figure) => {
    holder.figure = figure;
    const { data, layout } = resolved(figure, resolver());
    return Plotly.react(holder.querySelector(".plot"), data, layout, config(holder.dataset.name));
  };

  // A figure with levels of detail asks the server again for the range that is shown; the address carries it.
  const followZoom = (holder) => {
    const plot = holder.querySelector(".plot");
    let asked = null;
    let timer = null;
    const show = async (from, to) => {
      const url = new URL(holder.dataset.detail, location.href);
      const page = new URL(location.href);
      for (const [name, value] of [["from", from], ["to", to]]) {
        for (const address of [url, page]) {
          if (value === undefined) address.searchParams.delete(name);
          else address.searchParams.set(name, Number(value).toFixed(6));
        }
      }
      if (from === undefined) page.searchParams.delete("domain");
      else page.searchParams.set("domain", holder.dataset.domain);
      if (asked === url.href) return;
      asked = url.href;
      const response = await fetch(url, { headers: { Accept: "application/json" } });
      if (!response.ok || asked !== url.href) return;
      await draw(holder, await response.json());
      if (holder.dataset.domain === undefined) return;
      history.replaceState(history.state, "", page);
      const form = holder.parentElement.querySelector(".range-form");
      const [low, high] = holder.figure.layout.xaxis.range;
      form.elements.from.value = low.toFixed(6);
      form.elements.to.value = high.toFixed(6);
      page.searchParams.set("part", "table");
      page.searchParams.set("domain", holder.dataset.domain);
      const behind = `#behind-${holder.dataset.domain}`;
      htmx.ajax("GET", page.pathname + page.search, { target: behind, swap: "outerHTML" });
    };
    plot.on("plotly_relayout", (change) => {
      const reset = change["xaxis.autorange"];
      const from = change["xaxis.range[0]"] ?? change["xaxis.range"]?.[0];
      const to = change["xaxis.range[1]"] ?? change["xaxis.range"]?.[1];
      if (!reset && from === undefined) return;
      clearTimeout(timer);
      timer = setTimeout(() => (reset ? show() : show(from, to)), 150);
    });
  };

  // The figure as a file, drawn here: on the page's own sheet, at the size it is seen in.
  const save = async (holder, format) => {
    const plot = holder.querySelector(".plot");
    const of = resolver();
    const { data, layout } = resolved(holder.figure, of);
    const size = { width: plot.clientWidth, height: plot.clientHeight };
    const paper = { paper_bgcolor: of("$sheet"), plot_bgcolor: of("$sheet") };
    const image = await Plotly.toImage({ data, layout: { ...layout, ...paper, ...size } }, { format, scale: 2, ...size });
    const link = document.createElement("a");
    link.href = image;
    link.download = `${holder.dataset.name || "figure"}.${format}`;
    link.click();
  };
  const offerFiles = (holder) => {
    const what = holder.querySelector(".plot").getAttribute("aria-label") ?? "";
    const bar = document.createElement("p");
    bar.className = "figure-files";
    for (const format of ["png", "svg"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = format.toUpperCase();
      button.setAttribute("aria-label", `${format.toUpperCase()}: ${what}`);
      button.addEventListener("click", () => save(holder, format));
      bar.append(button);
    }
    holder.append(bar);
  };

  const start = async (holder) => {
    const figure = JSON.parse(document.getElementById(holder.dataset.figure).textContent);
    // Before it is drawn it is a picture; once it can be zoomed and clicked it is a group of things to use.
    holder.querySelector(".plot").setAttribute("role", "group");
    await draw(holder, figure);
    offerFiles(holder);
    if (holder.dataset.detail) followZoom(holder);
    if (holder.dataset.link) {
      holder.querySelector(".plot").on("plotly_click", ({ points }) => {
        const name = points[0]?.customdata?.[0];
        if (name) location.href = holder.dataset.link.replace("ATTEMPT", encodeURIComponent(name));
      });
    }
    holder.dataset.drawn = "true";
  };

  const all = () => document.querySelectorAll("[data-figure]");
  for (const holder of all()) start(holder);
  scheme.addEventListener("change", () => {
    for (const holder of all()) if (holder.figure) draw(holder, holder.figure);
  });
})();
