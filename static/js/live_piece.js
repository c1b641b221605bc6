// A live update replaces its piece of the page. What a person opened in it stays open, what they scrolled or focused
// stays there, and what it has to say is said to screen readers.
(() => {
  let open = [];
  let scrolled = [];
  let focused = "";
  const announcer = () => document.querySelector("[data-announcer]");
  const sentence = (root) => {
    const said = root.querySelector?.("[data-announce]");
    return said && (said.dataset.announce || said.textContent.replace(/\s+/g, " ").trim());
  };
  document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
    open = [...target.querySelectorAll("details[id][open]")].map((details) => details.id);
    scrolled = [...target.querySelectorAll("[id][tabindex='0']")]
      .filter((region) => region.scrollTop || region.scrollLeft)
      .map((region) => [region.id, region.scrollTop, region.scrollLeft]);
    focused = target.contains(document.activeElement) ? document.activeElement.id : "";
    announcer().dataset.before = sentence(target) ?? "";
  });
  document.addEventListener("htmx:afterSwap", ({ detail: { elt } }) => {
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const [id, top, left] of scrolled) document.getElementById(id)?.scrollTo(left, top);
    // htmx does this too, but before what is around the element has been opened again.
    if (focused && document.activeElement === document.body) {
      document.getElementById(focused)?.focus({ preventScroll: true });
    }
    open = [];
    scrolled = [];
    focused = "";
    const now = sentence(elt);
    if (now && now !== announcer().dataset.before) announcer().textContent = now;
  });
})();
