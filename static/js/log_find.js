// Find in the log: every place is marked, Enter goes to the next one, Shift+Enter to the one before.
// Marks are ranges over the text (the CSS Highlight API), so that the log's elements stay as they are.
document.addEventListener("DOMContentLoaded", () => {
  const view = document.querySelector("[data-log]");
  const find = document.querySelector("[data-log-find]");
  const found = document.querySelector("[data-log-found]");
  if (!view || !window.Highlight) return;
  find.hidden = false;
  let at = -1;
  let last = "";

  const places = (word) => {
    const ranges = [];
    const walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.data.toLowerCase();
      for (let i = text.indexOf(word); i >= 0; i = text.indexOf(word, i + word.length)) {
        const range = new Range();
        range.setStart(node, Math.min(i, node.length));
        range.setEnd(node, Math.min(i + word.length, node.length));
        ranges.push(range);
      }
    }
    return ranges;
  };
  const clear = () => {
    CSS.highlights.clear();
    found.textContent = "";
    at = -1;
    last = "";
  };

  find.addEventListener("input", () => find.value || clear());
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !find.value) return;
    event.preventDefault();
    const word = find.value.toLowerCase();
    const ranges = places(word);
    if (word !== last) at = event.shiftKey ? 0 : -1;
    last = word;
    CSS.highlights.clear();
    if (!ranges.length) {
      found.textContent = "not found";
      return;
    }
    at = (at + (event.shiftKey ? -1 : 1) + ranges.length) % ranges.length;
    found.textContent = `${at + 1} of ${ranges.length}`;
    CSS.highlights.set("found", new Highlight(...ranges));
    const here = new Highlight(ranges[at]);
    here.priority = 1;
    CSS.highlights.set("found-here", here);
    const box = ranges[at].getBoundingClientRect();
    const frame = view.getBoundingClientRect();
    if (box.top < frame.top || box.bottom > frame.bottom) view.scrollTop += box.top - frame.top - frame.height / 3;
  });
});
