// A view whose connection has ended opens itself again as soon as the dashboard answers.
addEventListener("load", () => {
  const look = setInterval(async () => {
    if (!document.body.classList.contains("-closed")) return;
    try {
      if ((await fetch(location.href, { cache: "no-store" })).ok) { clearInterval(look); location.reload(); }
    } catch { /* not yet */ }
  }, 3000);
});
