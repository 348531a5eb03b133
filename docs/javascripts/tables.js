/* A table that is wider than its page scrolls; it can do so by keys, too. */
const reachable = () => {
  for (const one of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    one.tabIndex = 0;
    one.setAttribute("role", "group");
    one.setAttribute("aria-label", "Table");
  }
};
new MutationObserver(reachable).observe(document.body, { childList: true, subtree: true });
reachable();
