/** A dialog with a model; below its last answer, where it looked in what was said. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer, Run, Turn } from "./api";
import { useAnswer } from "./asking";
import { Figure, Problem } from "./parts";
import type { Seen } from "./view";

export function Chat({ run, seen }: { run: Run; seen: Seen }) {
  const { view, change } = seen;
  const turns = view.turns ?? [];
  const asked = turns.length % 2 ? turns : turns.slice(0, -1);
  const found = useAnswer<Answer>("/api/chat", asked.length ? { run: run.name, turns: asked } : null);
  const [text, set] = useState("");
  const list = useRef<HTMLOListElement>(null);
  const answer = asked.length ? found.answer : undefined;
  // The answer becomes a turn, once it has come to the question that was asked.
  useEffect(() => {
    const said = answer?.turns?.at(-1)?.text ?? answer?.text;
    if (!found.busy && said !== undefined && turns.length % 2 && answer?.turns?.length === turns.length + 1)
      change({ turns: [...turns, said || "…"] }, false);
    list.current?.lastElementChild?.scrollIntoView({ block: "nearest" });
  }, [answer, found.busy]);
  const send = (event: Event) => {
    event.preventDefault();
    if (!text.trim() || turns.length % 2) return;
    change({ turns: [...turns, text.trim()] });
    set("");
  };
  const shown: Turn[] = turns.map((one, n) => ({ speaker: n % 2 ? run.name : "you", text: one }));
  return (
    <div class="rg-chat">
      <ol ref={list} aria-live="polite" aria-label="Dialog">
        {shown.map((one, n) => (
          <li key={n} class={n % 2 ? "" : "rg-mine"}><span class="rg-hidden">{one.speaker}: </span><span dir="auto">{one.text}</span></li>
        ))}
        {turns.length % 2 === 1 && found.busy && <li class="rg-muted">…</li>}
      </ol>
      <Problem trouble={found.trouble} />
      <form onSubmit={send} class="rg-say">
        <input value={text} dir="auto" placeholder="Say something" aria-label="Say something" onInput={event => set(event.currentTarget.value)} />
        <button class="rg-plain">send</button>
        {turns.length > 0 && <button type="button" class="rg-plain" onClick={() => change({ turns: [] })}>start again</button>}
      </form>
      {answer?.scene && turns.length > 0 && <section class="rg-stage" aria-label="Where it looked"><Figure scene={answer.scene} /></section>}
    </div>
  );
}
