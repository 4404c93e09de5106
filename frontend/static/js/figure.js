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
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { format: "svg", filename: name },
  });

  const draw = (holder, figure) => {
    holder.figure = figure;
    const { data, layout } = resolved(figure, resolver());
    return Plotly.react(holder.querySelector(".plot"), data, layout, config(holder.dataset.name));
  };

  // A figure with levels of detail asks the server again for the range that is shown.
  const followZoom = (holder) => {
    const plot = holder.querySelector(".plot");
    let asked = null;
    let timer = null;
    plot.on("plotly_relayout", (change) => {
      const reset = change["xaxis.autorange"];
      const from = change["xaxis.range[0]"] ?? change["xaxis.range"]?.[0];
      const to = change["xaxis.range[1]"] ?? change["xaxis.range"]?.[1];
      if (!reset && from === undefined) return;
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const url = new URL(holder.dataset.detail, location.href);
        if (!reset) {
          url.searchParams.set("from", from);
          url.searchParams.set("to", to);
        }
        if (asked === url.href) return;
        asked = url.href;
        const response = await fetch(url, { headers: { Accept: "application/json" } });
        if (!response.ok || asked !== url.href) return;
        await draw(holder, await response.json());
        holder.querySelector(".zoom-note")?.toggleAttribute("hidden", Boolean(reset));
      }, 150);
    });
  };

  const start = async (holder) => {
    const figure = JSON.parse(document.getElementById(holder.dataset.figure).textContent);
    await draw(holder, figure);
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
