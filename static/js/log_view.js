// The driver log: what the page brought is coloured, what is new is fetched when the hub says so, or every 10 s.
document.addEventListener("DOMContentLoaded", () => {
  const view = document.querySelector("[data-log]");
  if (!view) return;
  const follow = document.querySelector("[data-log-follow]");
  follow.hidden = false;
  const style = new Set();
  let next = Number(view.dataset.next);
  let ended = Boolean(view.dataset.end);
  let busy = false;
  let again = false;

  const brought = view.textContent;
  view.textContent = "";
  const isFollowing = () => follow.getAttribute("aria-pressed") === "true";
  const toEnd = () => {
    if (isFollowing()) view.scrollTop = view.scrollHeight;
  };
  const add = (text) => {
    if (!text) return;
    view.append(ansi.render(text, style));
    toEnd();
  };
  add(brought);

  const fetchMore = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      do {
        again = false;
        const response = await fetch(`${view.dataset.log}&after=${next}`);
        if (!response.ok) return;
        const part = await response.json();
        again ||= part.next > next && !part.end;
        next = part.next;
        ended = part.end;
        add(part.text);
      } while (again);
    } finally {
      busy = false;
    }
  };

  follow.addEventListener("click", () => {
    follow.setAttribute("aria-pressed", String(!isFollowing()));
    toEnd();
  });
  // Scrolling up is the wish to read: do not pull the reader down again. Back at the end, follow again.
  let was = 0;
  view.addEventListener("scroll", () => {
    const isAtEnd = view.scrollHeight - view.scrollTop - view.clientHeight < 4;
    if (isAtEnd) follow.setAttribute("aria-pressed", "true");
    else if (view.scrollTop < was) follow.setAttribute("aria-pressed", "false");
    was = view.scrollTop;
  }, { passive: true });
  document.body.addEventListener("htmx:sseMessage", (event) => {
    if (event.detail.type === "log") fetchMore();
  });
  // The SSE extension only passes on events that something listens to.
  const ear = document.createElement("span");
  ear.hidden = true;
  ear.setAttribute("sse-swap", "log");
  ear.setAttribute("hx-swap", "none");
  view.after(ear);
  htmx.process(ear);
  setInterval(() => ended || fetchMore(), 10_000);
  fetchMore();
});
