/** The menu of a handle, beside it. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Choice, SlidingDeed } from "./choices";

export interface Place { x: number; y: number }

export function Menu({ title, all, at, close }: { title: string; all: Choice[]; at: Place; close(): void }) {
  const root = useRef<HTMLDivElement>(null);
  const back = useRef(document.activeElement);
  useLayoutEffect(() => {
    const box = root.current!, width = document.documentElement.clientWidth;
    box.style.left = `${Math.max(8, Math.min(at.x, width - box.offsetWidth - 8)) + scrollX}px`;
    const below = at.y + 8 + box.offsetHeight > innerHeight && at.y > box.offsetHeight;
    box.style.top = `${(below ? at.y - box.offsetHeight - 8 : at.y + 8) + scrollY}px`;
    box.querySelector<HTMLElement>("button, input")?.focus();
  }, [at.x, at.y]);
  useEffect(() => {
    const away = (event: Event) => { if (!root.current?.contains(event.target as Node)) close(); };
    addEventListener("pointerdown", away);
    return () => {
      removeEventListener("pointerdown", away);
      const before = back.current;
      if (before instanceof HTMLElement || before instanceof SVGElement) if (before.isConnected) before.focus();
    };
  }, []);
  const moved = (event: KeyboardEvent) => {
    if (event.key === "Escape") { event.stopPropagation(); close(); }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!step) return;
    const all = [...root.current!.querySelectorAll<HTMLElement>("button, input")];
    all[(all.indexOf(document.activeElement as HTMLElement) + step + all.length) % all.length]?.focus();
    event.preventDefault();
  };
  return (
    <div class="rg-menu" ref={root} role="dialog" aria-label={title} onKeyDown={moved}>
      {title && <p class="rg-menu-title">{title}</p>}
      {all.map(one => <Entry key={one.label} one={one} close={close} />)}
    </div>
  );
}

function Entry({ one, close }: { one: Choice; close(): void }) {
  const [text, set] = useState("");
  if ("slide" in one) return <Slider one={one} />;
  if ("ask" in one) {
    const send = (event: Event) => {
      event.preventDefault();
      if (text.trim()) { one.tell(text.trim()); close(); }
    };
    return (
      <form class="rg-ask" onSubmit={send}>
        <label>{one.label}
          <input value={text} placeholder={one.ask} onInput={event => set(event.currentTarget.value)} /></label>
      </form>
    );
  }
  return <button type="button" onClick={() => { close(); one.act(); }}>{one.label}</button>;
}

function Slider({ one }: { one: SlidingDeed }) {
  const [value, set] = useState(one.slide);
  return (
    <label class="rg-slide">{one.label}
      <input type="range" min="0" max="1" step="0.01" value={value}
        onInput={event => { set(Number(event.currentTarget.value)); one.set(Number(event.currentTarget.value)); }} />
      <output>{value.toFixed(2)}</output></label>
  );
}
