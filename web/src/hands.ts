/** Drags: up and down sets a weight, sideways takes a span of positions, over an image draws a region. */

import { make, type Reached } from "./draw";
import type { On } from "./figure";
import type { Handle, PlaneHandle, WeightHandle } from "./scene";

const SLACK = 5;
/** Pixels from weight 0 to weight 1. */
const REACH = 140;
/** Milliseconds between two tries while a weight is dragged. */
const PAUSE = 120;

interface Drag {
  at: Handle; element: Element; x: number; y: number; mode: "" | "weight" | "range" | "region";
  value: number; last: WeightHandle | undefined; band: SVGElement | undefined;
}

export function hands(
  holder: HTMLElement, reachedAt: (target: EventTarget | null) => Reached | undefined, on: On,
  tell: (words: string, near: Element) => void,
): () => void {
  let drag: Drag | undefined, tried = 0;

  function down(event: PointerEvent): void {
    const one = reachedAt(event.target);
    if (!one?.at || event.button !== 0) return;
    drag = {
      at: one.at, element: one.element, x: event.clientX, y: event.clientY, mode: "",
      value: one.at.kind === "weight" ? one.at.value : 0, last: undefined, band: undefined,
    };
    if (one.at.kind === "plane") event.preventDefault();
  }

  function move(event: PointerEvent): void {
    if (!drag) return;
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (!drag.mode) {
      if (Math.hypot(dx, dy) < SLACK) return;
      if (drag.at.kind === "plane") drag.mode = "region";
      else if (drag.at.kind === "weight" && event.pointerType !== "touch")
        drag.mode = Math.abs(dy) > Math.abs(dx) ? "weight" : "range";
      else { drag = undefined; return; }
      holder.setPointerCapture(event.pointerId);
      holder.classList.add("rg-dragging");
    }
    event.preventDefault();
    if (drag.mode === "weight") weigh(event, drag.at as WeightHandle, dy);
    else if (drag.mode === "range") span(event, drag.at as WeightHandle);
    else region(event);
  }

  function weigh(event: PointerEvent, at: WeightHandle, dy: number): void {
    drag!.value = Math.min(1, Math.max(0, at.value - dy / REACH));
    const element = drag!.element.isConnected ? drag!.element : holder;
    tell(drag!.value.toFixed(2), element);
    if (event.timeStamp - tried > PAUSE) {
      tried = event.timeStamp;
      on(at, { do: "weight", value: drag!.value, final: false });
    }
  }

  function span(event: PointerEvent, at: WeightHandle): void {
    const rect = drag!.element.getBoundingClientRect();
    const below = reachedAt(document.elementFromPoint(event.clientX, rect.y + rect.height / 2));
    if (below?.at?.kind !== "weight" || below.at.input !== at.input || below.at.step !== at.step) return;
    drag!.last = below.at;
    const there = below.element.getBoundingClientRect();
    const left = Math.min(rect.x, there.x), right = Math.max(rect.right, there.right);
    band(left, rect.y, right, rect.bottom);
  }

  function region(event: PointerEvent): void {
    const [left, top, right, bottom] = inside(event);
    band(left, top, right, bottom);
  }

  /** The drawn box on the screen, within the plane. */
  function inside(event: PointerEvent): [number, number, number, number] {
    const room = drag!.element.getBoundingClientRect();
    const x = [drag!.x, event.clientX].map(one => Math.min(room.right, Math.max(room.x, one)));
    const y = [drag!.y, event.clientY].map(one => Math.min(room.bottom, Math.max(room.y, one)));
    return [Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y)];
  }

  /** A rubber band over the figure, given on the screen. */
  function band(left: number, top: number, right: number, bottom: number): void {
    const svg = holder.querySelector("svg")!, matrix = svg.getScreenCTM();
    if (!matrix) return;
    const back = matrix.inverse();
    const first = new DOMPoint(left, top).matrixTransform(back), last = new DOMPoint(right, bottom).matrixTransform(back);
    if (!drag!.band?.isConnected) svg.append((drag!.band = make("rect", { class: "rg-band", rx: 3 })));
    const place = { x: first.x, y: first.y, width: last.x - first.x, height: last.y - first.y };
    for (const [name, value] of Object.entries(place)) drag!.band.setAttribute(name, String(value));
  }

  function up(event: PointerEvent): void {
    const done = drag;
    if (!done) return;
    if (done.mode === "weight") on(done.at, { do: "weight", value: done.value, final: true });
    else if (done.mode === "range") {
      const at = done.at as WeightHandle, other = (done.last ?? at).position;
      const start = Math.min(at.position, other), end = Math.max(at.position, other) + 1;
      on(at, { do: "range", start, end, x: event.clientX, y: event.clientY });
    } else if (done.mode === "region") {
      const room = done.element.getBoundingClientRect(), [left, top, right, bottom] = inside(event);
      const share = (value: number, from: number, size: number) => Math.round(1000 * (value - from) / size) / 1000;
      const box: [number, number, number, number] = [
        share(left, room.x, room.width), share(top, room.y, room.height),
        share(right, room.x, room.width), share(bottom, room.y, room.height),
      ];
      on(done.at as PlaneHandle, { do: "region", box });
    } else if (reachedAt(event.target)?.at) on(done.at, { do: "open", x: event.clientX, y: event.clientY });
    cancel();
  }

  function cancel(): void {
    drag?.band?.remove();
    drag = undefined;
    holder.classList.remove("rg-dragging");
  }

  const listening: [keyof HTMLElementEventMap, (event: never) => void][] = [
    ["pointerdown", down], ["pointermove", move], ["pointerup", up], ["pointercancel", cancel],
  ];
  listening.forEach(([name, call]) => holder.addEventListener(name, call as EventListener));
  return () => listening.forEach(([name, call]) => holder.removeEventListener(name, call as EventListener));
}
