// In the script Tab indents; Escape first gives Tab back to the keyboard user.
document.addEventListener("keydown", (event) => {
  const area = event.target;
  if (!(area instanceof HTMLTextAreaElement) || area.name !== "script") return;
  if (event.key === "Escape") area.dataset.leave = "1";
  else if (event.key === "Tab" && !event.shiftKey && !area.dataset.leave) {
    event.preventDefault();
    area.setRangeText("    ", area.selectionStart, area.selectionEnd, "end");
  } else delete area.dataset.leave;
});
