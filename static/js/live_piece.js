// A live update replaces its piece of the page. What a person opened in it stays open, what they scrolled stays there
// (htmx itself brings focus back to an element with the same id), and what it has to say is said to screen readers.
(() => {
  let open = [];
  let scrolled = [];
  const announcer = () => document.querySelector("[data-announcer]");
  const sentence = (root) => root.querySelector?.("[data-announce]")?.textContent.replace(/\s+/g, " ").trim();
  document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
    open = [...target.querySelectorAll("details[id][open]")].map((details) => details.id);
    scrolled = [...target.querySelectorAll("[id][tabindex='0']")]
      .filter((region) => region.scrollTop || region.scrollLeft)
      .map((region) => [region.id, region.scrollTop, region.scrollLeft]);
    announcer().dataset.before = sentence(target) ?? "";
  });
  document.addEventListener("htmx:afterSwap", ({ detail: { elt } }) => {
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const [id, top, left] of scrolled) document.getElementById(id)?.scrollTo(left, top);
    open = [];
    scrolled = [];
    const now = sentence(elt);
    if (now && now !== announcer().dataset.before) announcer().textContent = now;
  });
})();
