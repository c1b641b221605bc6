// Buttons with data-copy="#id" put that element's text on the clipboard. Without JavaScript they are not shown.
(() => {
  const show = (root) => root.querySelectorAll("[data-copy]").forEach((button) => (button.hidden = false));
  document.addEventListener("DOMContentLoaded", () => show(document));
  document.addEventListener("htmx:afterSwap", () => show(document));
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent);
    const word = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = word), 1500);
  });
})();
