/** The figures of a page that stand there already, as SVG: the same tips, hovered rows and keys as of those drawn here. */

import type { Reached } from "./draw";
import { enlivened } from "./figure";

/** Make a still figure alive when it comes into view; its `<title>` elements become tips. */
export function enliven(box: HTMLElement): void {
  const svg = box.querySelector<SVGSVGElement>("svg.regard"), scroller = svg?.parentElement;
  if (!svg || !scroller) return;
  const seen = new IntersectionObserver(entries => {
    if (!entries.some(one => one.isIntersecting)) return;
    seen.disconnect();
    const reached = [...svg.querySelectorAll<SVGTitleElement>(":scope :not(svg, defs *) > title")].flatMap(found);
    reached[0]?.element.setAttribute("tabindex", "0");
    if (reached.length) svg.setAttribute("role", "group");
    box.classList.add("rg-still");
    enlivened(box, scroller, () => ({ svg, reached }));
  }, { rootMargin: "200px" });
  seen.observe(box);
}

function found(title: SVGTitleElement, place: number): Reached {
  const element = title.parentElement as unknown as SVGElement, tip = title.textContent ?? "";
  title.remove();
  element.setAttribute("data-n", String(place));
  element.setAttribute("tabindex", "-1");
  element.setAttribute("role", element.localName === "g" ? "group" : "img");
  element.setAttribute("aria-label", tip.replaceAll("\n", ", "));
  return { element, at: undefined, tip };
}
