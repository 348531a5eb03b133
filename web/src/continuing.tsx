/** A language model: how surprising each token of a text is, and how the text goes on. */

import { useState } from "preact/hooks";
import type { Answer, Run } from "./api";
import { useAnswer } from "./asking";
import { Inputs } from "./inputs";
import { Figure, number, Problem } from "./parts";
import { Taking } from "./taking";
import { asked, type Seen } from "./view";

export function Continue({ run, seen }: { run: Run; seen: Seen }) {
  const { view, change } = seen;
  const name = run.inputs[0]?.name ?? run.outputs[0] ?? "text";
  const text = typeof view.inputs[name] === "string" ? view.inputs[name] : "";
  const look = asked({ ...view, inputs: { [name]: text }, edits: [] });
  const found = useAnswer<Answer>("/api/look", text ? look : null, 15);
  const [wanted, want] = useState<{ prompt: string; seed: number; temperature: number }>();
  const [heat, setHeat] = useState(1);
  const more = useAnswer<{ text: string }>("/api/continue", wanted ? { run: run.name, ...wanted, length: 200 } : null);
  const answer = text ? found.answer : undefined;
  return (
    <>
      <Inputs run={run} inputs={view.inputs} texts={{}} give={inputs => change({ inputs })} />
      <p class="rg-under">
        <button type="button" class="rg-plain" onClick={() => want({ prompt: text, seed: Math.floor(Math.random() * 1e6), temperature: heat })}>continue it</button>
        <label class="rg-slide">temperature <input type="range" min="0" max="2" step="0.1" value={heat}
          onInput={event => setHeat(Number(event.currentTarget.value))} /><output>{heat.toFixed(1)}</output></label>
      </p>
      <Problem trouble={found.trouble ?? more.trouble} />
      {more.busy && <p class="rg-muted">writing …</p>}
      {wanted && more.answer && !more.busy && <section aria-label="Continuation" class="rg-continued">
        <p aria-live="polite" dir="auto">{more.answer.text}</p>
        <button type="button" class="rg-plain" onClick={() => change({ inputs: { [name]: more.answer!.text } })}>take it as the text</button>
      </section>}
      {answer && <div class="rg-split">
        <div class="rg-stage">
          {answer.score !== null && <p class="rg-under"><span>log p {number(answer.score)}</span></p>}
          {answer.scene && <Figure scene={answer.scene} />}
        </div>
        <aside><Taking look={look} answer={answer} files={false} /></aside>
      </div>}
    </>
  );
}
