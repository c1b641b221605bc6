// Terminal colours as elements. Text only ever becomes text nodes, so a log cannot bring markup with it.
window.ansi = (() => {
  // Colour and weight sequences are kept; every other control sequence is left out.
  const sequence = /\x1b(?:\[([0-9;]*)m|\[[0-9;?]*[A-Za-ln-z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g;
  const apply = (codes, style) => {
    for (const code of (codes || "0").split(";").map(Number)) {
      if (code === 0) style.clear();
      else if (code === 1) style.add("ansi-bold");
      else if (code === 2) style.add("ansi-dim");
      else if (code === 22) ["ansi-bold", "ansi-dim"].forEach((name) => style.delete(name));
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97) || code === 39) {
        [...style].filter((name) => /-\d+$/.test(name)).forEach((name) => style.delete(name));
        if (code !== 39) style.add(`ansi-${30 + (code % 10)}`);
      }
    }
  };
  const piece = (text, style) => {
    // What is left of control characters is shown as a mark instead of doing something.
    const node = document.createTextNode(text.replace(/\r\n/g, "\n").replace(/[\x00-\x08\x0b-\x1f\x7f]/g, "\ufffd"));
    if (!style.size) return node;
    const span = document.createElement("span");
    span.className = [...style].join(" ");
    span.append(node);
    return span;
  };
  return {
    // `style` is a Set that lives as long as the log: colours go on over pieces.
    render(text, style) {
      const fragment = document.createDocumentFragment();
      let at = 0;
      for (const match of text.matchAll(sequence)) {
        if (match.index > at) fragment.append(piece(text.slice(at, match.index), style));
        if (match[0].endsWith("m") && match[0].startsWith("\x1b[")) apply(match[1], style);
        at = match.index + match[0].length;
      }
      if (at < text.length) fragment.append(piece(text.slice(at), style));
      return fragment;
    },
  };
})();
