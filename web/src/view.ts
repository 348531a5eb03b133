/** What the page shows, as data: it stands in the address, and every change can be undone. */

import { useCallback, useEffect, useState } from "preact/hooks";
import type { Asked, Given } from "./api";
import type { Edit } from "./edits";

export type Mode = "look" | "compare" | "chat";
export interface View {
  run: string; other?: string; mode: Mode; inputs: Record<string, Given>; output?: string; prefix?: string;
  /** The output that is scored instead of the model's own. */
  target?: string; edits: Edit[]; beam?: number; panel?: string;
  /** Turns of a dialog, the last by the reader. */
  turns?: string[];
}

export function asked(view: View): Asked {
  const found: Asked = { run: view.run, inputs: view.inputs, edits: view.edits };
  if (view.output) found.output = view.output;
  if (view.target) found.target = view.target;
  else if (view.prefix) found.prefix = view.prefix;
  if (view.beam) found.search = { beam: view.beam };
  if (view.panel) found.panel = view.panel;
  return found;
}

function read(): Partial<View> {
  try {
    const found: unknown = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    return found && typeof found === "object" ? found as Partial<View> : {};
  } catch {
    return {};
  }
}

interface Past { now: View; before: View[]; after: View[] }
export interface Seen {
  view: View; canUndo: boolean; canRedo: boolean;
  /** keep: whether it can be undone */
  change(patch: Partial<View>, keep?: boolean): void;
  undo(): void; redo(): void;
}

export function useView(first: View): Seen {
  const [past, set] = useState<Past>(() => ({ now: { ...first, ...read() }, before: [], after: [] }));
  const change = useCallback((patch: Partial<View>, keep = true) => set(({ now, before, after }) => ({
    now: { ...now, ...patch }, before: keep ? [...before.slice(-99), now] : before, after: keep ? [] : after,
  })), []);
  const undo = useCallback(() => set(one => one.before.length
    ? { now: one.before.at(-1)!, before: one.before.slice(0, -1), after: [one.now, ...one.after] } : one), []);
  const redo = useCallback(() => set(one => one.after.length
    ? { now: one.after[0]!, before: [...one.before, one.now], after: one.after.slice(1) } : one), []);
  useEffect(() => {
    const told = "#" + encodeURIComponent(JSON.stringify(past.now));
    if (told !== location.hash) history.replaceState(null, "", told);
  }, [past.now]);
  useEffect(() => {
    const moved = () => set({ now: { ...first, ...read() }, before: [], after: [] });
    const typed = (event: KeyboardEvent) => {
      const writing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      if (writing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
      event.preventDefault();
      if (event.shiftKey) redo(); else undo();
    };
    addEventListener("hashchange", moved);
    addEventListener("keydown", typed);
    return () => { removeEventListener("hashchange", moved); removeEventListener("keydown", typed); };
  }, []);
  return { view: past.now, canUndo: past.before.length > 0, canRedo: past.after.length > 0, change, undo, redo };
}
