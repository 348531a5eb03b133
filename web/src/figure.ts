/** One live figure: tips, hovered rows, the keyboard, and hands on its handles. */

import { draw, type Drawn, type Reached } from "./draw";
import { hands } from "./hands";
import { isDirection, nearest } from "./nearest";
import { identity, type Handle, type Scene } from "./scene";
import { watch, type Theme } from "./theme";

/** What a reader does with a handle. `final` is false while a hand still drags. */
export type Action =
  | { do: "open"; x: number; y: number }
  | { do: "weight"; value: number; final: boolean }
  | { do: "zero" }
  | { do: "range"; start: number; end: number; x: number; y: number }
  | { do: "region"; box: [number, number, number, number] };
export type On = (handle: Handle, action: Action) => void;

export interface Live { update(scene: Scene): void; destroy(): void }

const STEP = 0.1;
let count = 0;

export function figure(root: Element, scene: Scene, on?: On): Live {
  const box = document.createElement("div"), told = document.createElement("div"), scroller = document.createElement("div");
  box.className = "rg rg-figure";
  box.classList.toggle("rg-editable", on !== undefined);
  told.className = "rg-hidden";
  told.id = `rg-told-${++count}`;
  scroller.className = "rg-scroller";
  box.append(told, scroller);
  root.append(box);

  let drawn: Drawn, theme: Theme = "light";
  const alive = enlivened(box, scroller, () => drawn, on);

  function show(next: Scene): void {
    const focused = alive.reachedAt(document.activeElement);
    const key = focused?.at && identity(focused.at);
    drawn = draw(next);
    told.textContent = next.description;
    drawn.svg.setAttribute("aria-describedby", told.id);
    drawn.svg.style.width = `max(${0.75 * next.width}px, min(100%, ${next.width}px))`;
    drawn.paint(theme);
    scroller.replaceChildren(drawn.svg);
    alive.rest();
    const again = key && drawn.reached.find(one => one.at && identity(one.at) === key);
    if (again) alive.focus(again);
    else drawn.reached[0]?.element.setAttribute("tabindex", "0");
  }

  const stop = watch(box, now => {
    theme = now;
    drawn?.paint(now);
  });
  show(scene);
  return {
    update: show,
    destroy() {
      stop();
      alive.letGo();
      box.remove();
    },
  };
}

interface Alive {
  reachedAt(target: EventTarget | null): Reached | undefined;
  focus(one: Reached): void;
  /** Nothing is hovered or told. */
  rest(): void;
  letGo(): void;
}

/** Tips, hovered rows, the keyboard and hands for a drawn figure in a box, whatever drew it. */
export function enlivened(box: HTMLElement, scroller: HTMLElement, drawn: () => Pick<Drawn, "svg" | "reached">, on?: On): Alive {
  const tip = document.createElement("div");
  let marked: Element | null = null;
  tip.className = "rg-tip";
  tip.setAttribute("aria-hidden", "true");
  tip.hidden = true;
  box.append(tip);

  function reachedAt(target: EventTarget | null): Reached | undefined {
    const element = target instanceof Element ? target.closest("[data-n]") : null;
    return element && drawn()?.svg.contains(element) ? drawn().reached[Number(element.getAttribute("data-n"))] : undefined;
  }

  function focus(one: Reached): void {
    drawn().svg.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    one.element.setAttribute("tabindex", "0");
    (one.element as SVGElement & { focus(options?: FocusOptions): void }).focus();
  }

  function tell(words: string, near: Element): void {
    tip.hidden = !words;
    if (!words) return;
    tip.textContent = words;
    const at = near.getBoundingClientRect(), home = box.getBoundingClientRect();
    const left = at.x + at.width / 2 - home.x - tip.offsetWidth / 2;
    const above = at.y - home.y - tip.offsetHeight - 6;
    tip.style.left = `${Math.max(0, Math.min(left, home.width - tip.offsetWidth))}px`;
    tip.style.top = `${above + home.y < 0 ? at.bottom - home.y + 6 : above}px`;
  }

  /** The columns that a row attends to stand out. */
  function mark(target: EventTarget | null): void {
    const row = target instanceof Element ? target.closest(".row") : null;
    if (row === marked) return;
    marked = row;
    const holder = row?.closest(".matrix, .segments");
    const weights = new Map<string, number>();
    row?.querySelectorAll("[data-column][data-value]").forEach(cell =>
      weights.set(cell.getAttribute("data-column")!, Number(cell.getAttribute("data-value"))));
    const most = Math.max(1e-9, ...weights.values());
    drawn().svg.querySelectorAll<SVGElement>(".columns text[data-column]").forEach(label => {
      const inside = holder?.contains(label);
      const share = inside ? (weights.get(label.getAttribute("data-column")!) ?? 0) / most : 1;
      label.style.opacity = inside ? String(0.25 + 0.75 * share) : "";
    });
  }

  box.addEventListener("pointerover", event => {
    const one = reachedAt(event.target);
    mark(event.target);
    tell(one?.tip ?? "", one?.element ?? box);
  });
  box.addEventListener("pointerleave", () => { mark(null); tip.hidden = true; });
  box.addEventListener("focusin", event => {
    const one = reachedAt(event.target);
    if (one) { mark(event.target); tell(one.tip, one.element); }
  });
  box.addEventListener("focusout", () => { mark(null); tip.hidden = true; });
  box.addEventListener("keydown", event => {
    const one = reachedAt(event.target);
    if (!one || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = one.at;
    if (isDirection(event.key)) {
      const next = nearest(one.element, drawn().reached, event.key);
      if (next) focus(next);
    } else if (event.key === "Escape") {
      tip.hidden = true;
    } else if (on && at && (event.key === "Enter" || event.key === " ")) {
      const where = one.element.getBoundingClientRect();
      on(at, { do: "open", x: where.x + where.width / 2, y: where.bottom });
    } else if (on && at?.kind === "weight" && /^[+=\-−]$/.test(event.key)) {
      const change = event.key === "+" || event.key === "=" ? STEP : -STEP;
      on(at, { do: "weight", value: Math.min(1, Math.max(0, at.value + change)), final: true });
    } else if (on && at && (event.key === "Delete" || event.key === "Backspace")) {
      on(at, { do: "zero" });
    } else return;
    event.preventDefault();
  });
  // Assistive technology clicks without a pointer.
  box.addEventListener("click", event => {
    const one = reachedAt(event.target);
    if (!on || !one?.at || event.detail !== 0) return;
    const where = one.element.getBoundingClientRect();
    on(one.at, { do: "open", x: where.x + where.width / 2, y: where.bottom });
  });
  const letGo = on ? hands(scroller, reachedAt, on, (words, near) => tell(words, near)) : () => undefined;

  return { reachedAt, focus, letGo, rest() { marked = null; tip.hidden = true; } };
}
