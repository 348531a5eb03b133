/** Small things that every view uses: a figure, an error, a bar of progress, a button that copies. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Trouble } from "./api";
import { figure, type Live, type On } from "./figure";
import type { Scene } from "./scene";

export function Figure({ scene, on }: { scene: Scene; on?: On | undefined }) {
  const root = useRef<HTMLDivElement>(null), live = useRef<Live | undefined>(undefined), latest = useRef(on), drawn = useRef<Scene | undefined>(undefined);
  latest.current = on;
  useEffect(() => {
    live.current = figure(root.current!, scene, on && ((at, action) => latest.current?.(at, action)));
    drawn.current = scene;
    return () => live.current?.destroy();
  }, []);
  useEffect(() => {
    if (drawn.current !== scene) live.current?.update(scene);
    drawn.current = scene;
  }, [scene]);
  return <div ref={root} />;
}

export function Problem({ trouble }: { trouble: Trouble | undefined }) {
  if (!trouble) return null;
  return (
    <div class="rg-problem" role="alert">
      <p>{trouble.where && <code>{trouble.where}</code>} {trouble.message}</p>
      {trouble.fix && <p class="rg-fix">{trouble.fix}</p>}
    </div>
  );
}

export function Working({ busy, done, of, cancel }: { busy: boolean; done: number; of: number; cancel(): void }) {
  if (!busy || !of) return null;
  return (
    <p class="rg-working">
      <progress value={done} max={of} aria-label="progress" /> <span>{done} of {of}</span>
      <button type="button" class="rg-plain" onClick={cancel}>cancel</button>
    </p>
  );
}

export function Copy({ text, children }: { text: string; children: string }) {
  const [done, set] = useState(false);
  const copy = () => void navigator.clipboard.writeText(text).then(() => {
    set(true);
    setTimeout(() => set(false), 1500);
  }).catch(() => undefined);
  return <button type="button" class="rg-plain" onClick={copy} aria-live="polite">{done ? "copied" : children}</button>;
}

/** Tabs, moved through by arrow keys. */
export function Tabs<T extends string>({ label, all, chosen, choose }:
  { label: string; all: { name: T; title: string }[]; chosen: T; choose(name: T): void }) {
  const moved = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const place = all.findIndex(one => one.name === chosen), next = all[(place + step + all.length) % all.length]!;
    choose(next.name);
    const holder = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => holder.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  return (
    <div class="rg-tabs" role="tablist" aria-label={label} onKeyDown={moved}>
      {all.map(one => (
        <button type="button" role="tab" key={one.name} aria-selected={one.name === chosen}
          tabIndex={one.name === chosen ? 0 : -1} onClick={() => choose(one.name)}>{one.title}</button>
      ))}
    </div>
  );
}

export function number(value: unknown): string {
  return typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(3) : String(value);
}
