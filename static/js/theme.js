// Dark or light: the system's choice until a person makes their own. Runs before the page is drawn.
(() => {
  const root = document.documentElement;
  const stored = localStorage.getItem("theme");
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("[data-theme-button]");
    button.hidden = false;
    button.addEventListener("click", () => {
      const systemIsDark = matchMedia("(prefers-color-scheme: dark)").matches;
      const isDark = root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark;
      root.dataset.theme = isDark ? "light" : "dark";
      localStorage.setItem("theme", root.dataset.theme);
    });
  });
})();
