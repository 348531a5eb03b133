/** Marks → SVG elements. Text is only ever set as text. */

import { inside as within, type Handle, type Mark, type Scene, type TextMark } from "./scene";
import type { Theme } from "./theme";

const SVG = "http://www.w3.org/2000/svg";
type Attributes = Record<string, string | number | undefined>;

/** An element that a reader can reach: it stands for something, or has something to tell. */
export interface Reached { element: SVGElement; at: Handle | undefined; tip: string }

export interface Drawn {
  svg: SVGSVGElement;
  reached: Reached[];
  paint(theme: Theme): void;
}

export function make(name: string, attributes: Attributes = {}): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(key, String(value));
  return element;
}

export function draw(scene: Scene): Drawn {
  const painted: [SVGElement, string, string][] = [];
  const reached: Reached[] = [];

  function paint(element: SVGElement, mark: Mark): void {
    if (mark.m === "group" || mark.m === "image") return;
    if (mark.fill) painted.push([element, "fill", mark.fill]);
    else element.setAttribute("fill", "none");
    if (mark.stroke) painted.push([element, "stroke", mark.stroke]);
    if (mark.sw !== undefined) element.setAttribute("stroke-width", String(mark.sw));
  }

  function shape(mark: Mark, inside: boolean): SVGElement {
    switch (mark.m) {
      case "rect": return make("rect", { x: mark.x, y: mark.y, width: mark.w, height: mark.h, rx: mark.r });
      case "circle": return make("circle", { cx: mark.x, cy: mark.y, r: mark.r });
      case "shape":
        return make("path", {
          d: mark.d, "stroke-dasharray": mark.dash?.join(" "), "stroke-linejoin": "round", "stroke-linecap": "round",
        });
      case "image":
        return make("image", {
          x: mark.x, y: mark.y, width: mark.w, height: mark.h, preserveAspectRatio: "none",
          href: scene.images?.[mark.src], class: mark.sharp && "rg-sharp",
        });
      case "text": return text(mark);
      case "group": {
        const moved = mark.dx || mark.dy;
        const group = make("g", {
          class: mark.k, transform: moved ? `translate(${mark.dx ?? 0} ${mark.dy ?? 0})` : undefined,
        });
        within(mark, scene).forEach(one => group.append(element(one, inside)));
        return group;
      }
    }
  }

  /** inside: whether it belongs to something that a reader can reach; what does not lets the pointer through. */
  function element(mark: Mark, inside: boolean): SVGElement {
    const caught = inside || !!mark.at || !!mark.tip;
    const made = shape(mark, caught);
    if (!caught && mark.m !== "group" && mark.o !== 0) made.setAttribute("pointer-events", "none");
    paint(made, mark);
    if (mark.o !== undefined) made.setAttribute("opacity", String(mark.o));
    for (const [name, value] of Object.entries(mark.tags ?? {})) made.setAttribute(`data-${name}`, value);
    if (mark.at || mark.tip) reach(made, mark);
    return made;
  }

  function reach(made: SVGElement, mark: Mark): void {
    const tip = mark.tip ?? "", words = tip || said(mark);
    made.setAttribute("data-n", String(reached.length));
    made.setAttribute("tabindex", "-1");
    made.setAttribute("role", mark.at ? "button" : mark.m === "group" ? "group" : "img");
    made.setAttribute("aria-label", words.replaceAll("\n", ", ") || mark.at?.kind || "");
    if (mark.at) made.classList.add(`at-${mark.at.kind}`);
    if (mark.at?.kind === "weight" || mark.at?.kind === "word") made.setAttribute("data-column", String(mark.at.position));
    if (mark.at?.kind === "weight") made.setAttribute("data-value", String(mark.at.value));
    reached.push({ element: made, at: mark.at, tip });
  }

  const svg = make("svg", {
    class: "rg-svg", role: "group", "aria-roledescription": "figure", "aria-label": scene.title || scene.description,
    width: scene.width, height: scene.height, viewBox: `0 0 ${scene.width} ${scene.height}`,
  }) as SVGSVGElement;
  scene.marks.forEach(mark => svg.append(element(mark, false)));
  return {
    svg, reached,
    paint(theme) {
      const side = theme === "dark" ? 1 : 0;
      for (const [one, attribute, name] of painted) one.setAttribute(attribute, scene.colors[name]?.[side] ?? name);
    },
  };
}

function text(mark: TextMark): SVGElement {
  const element = make("text", {
    x: mark.x, y: mark.y, "font-size": mark.s, "text-anchor": mark.a, textLength: mark.len,
    transform: mark.turn ? `rotate(${mark.turn} ${mark.x} ${mark.y})` : undefined,
    "font-weight": mark.b && 600, "font-style": mark.i && "italic", class: mark.mono && "rg-mono",
    direction: mark.rtl && "rtl", "unicode-bidi": mark.rtl && "embed",
  });
  element.textContent = mark.t;
  return element;
}

/** What a mark without a tip says: its texts. */
function said(mark: Mark): string {
  if (mark.m === "text") return mark.t;
  return mark.m === "group" ? mark.marks.map(one => one.tip ?? said(one)).filter(Boolean).join(" ") : "";
}
