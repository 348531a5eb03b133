/** A dialog with a model; below its last answer, where it looked in what was said, and what changes if it looks elsewhere. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer, Run, Turn } from "./api";
import { useAnswer } from "./asking";
import { Changes } from "./changes";
import type { Deeds } from "./choices";
import { added, weighed, without } from "./edits";
import { Output } from "./output";
import { Problem } from "./parts";
import { segmented } from "./scene";
import { Opening, Stage, type Opened } from "./stage";
import type { Seen } from "./view";

export function Chat({ run, seen }: { run: Run; seen: Seen }) {
  const { view, change } = seen;
  const turns = view.turns ?? [];
  const asked = turns.length % 2 ? turns : turns.slice(0, -1);
  const found = useAnswer<Answer>("/api/chat", asked.length ? { run: run.name, turns: asked, edits: view.edits } : null);
  const [opened, open] = useState<Opened>();
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
    change({ turns: [...turns, text.trim()], edits: [] });
    set("");
  };
  const pieces = answer?.pieces.map(one => one.text) ?? [];
  const deeds: Deeds = {
    edit: edit => change({ edits: added(view.edits, edit) }),
    reset: at => change({ edits: without(view.edits, at) }),
    edited: at => without(view.edits, at).length < view.edits.length,
    weigh: (at, value) => {
      if (at.kind === "weight" && answer?.scene)
        change({ edits: added(view.edits, weighed(answer.scene, at.input, at.step, at.position, value)) });
    },
    pieces, segmented: input => segmented(answer?.scene, input), row: false,
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
        {turns.length > 0 && <button type="button" class="rg-plain" onClick={() => change({ turns: [], edits: [] })}>start again</button>}
      </form>
      {answer && turns.length > 0 && <>
        {view.edits.length > 0 && <Output answer={answer} />}
        {answer.scene && <Stage answer={{ ...answer, panels: [] }} deeds={deeds} inputs={run.inputs} panel={undefined}
          choose={() => undefined} open={open} />}
        <Changes seen={seen} names={{ inputs: answer.handles.inputs, pieces }} />
        <Opening opened={opened} deeds={deeds} close={() => open(undefined)} />
      </>}
    </div>
  );
}
