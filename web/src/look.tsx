/** One input of one run: what it writes, where it looks, and what changes if it looks elsewhere. */

import { useRef, useState } from "preact/hooks";
import type { Answer, Run } from "./api";
import { useAnswer } from "./asking";
import { Changes } from "./changes";
import { changedText, spelled } from "./words";
import type { Deeds } from "./choices";
import { added, weighed, without } from "./edits";
import { Inputs } from "./inputs";
import { Output } from "./output";
import { Problem, Working } from "./parts";
import { Questions, type Question } from "./questions";
import { segmented, type Handle, type Scene } from "./scene";
import { Opening, Stage, type Opened } from "./stage";
import { Taking } from "./taking";
import { asked, type Seen } from "./view";

export function Look({ run, seen }: { run: Run; seen: Seen }) {
  const { view, change } = seen;
  const ready = run.inputs.every(one => view.inputs[one.name] !== undefined && view.inputs[one.name] !== "");
  const look = asked(view), found = useAnswer<Answer>("/api/look", ready ? look : null, 15);
  const answer = ready ? found.answer : undefined;
  const [opened, open] = useState<Opened>();
  const [question, setQuestion] = useState<Question>();
  const dragging = useRef<{ key: string; from: Scene } | undefined>(undefined), rest = useRef(0);
  const pieces = answer?.pieces.map(one => one.text) ?? [];

  const deeds: Deeds = {
    edit: edit => change({ edits: added(view.edits, edit) }),
    reset: at => change({ edits: without(view.edits, at) }),
    edited: at => without(view.edits, at).length < view.edits.length,
    weigh: (at, value) => {
      if (at.kind !== "weight" || !answer?.scene) return;
      // A drag is one change, however often it tries; the other weights are those from its start.
      const key = `${at.input} ${at.step} ${at.position}`, first = dragging.current?.key !== key;
      if (first) dragging.current = { key, from: answer.scene };
      clearTimeout(rest.current);
      rest.current = window.setTimeout(() => { dragging.current = undefined; }, 800);
      change({ edits: added(view.edits, weighed(dragging.current!.from, at.input, at.step, at.position, value)) }, first);
    },
    prefix: words => change({ prefix: spelled(words, answer), edits: view.edits }),
    word: (input, position, text) => {
      const old = view.inputs[input], shown = answer?.handles.inputs[input] ?? [];
      change({ inputs: { ...view.inputs, [input]: changedText(typeof old === "string" ? old : answer?.inputs?.[input] ?? "", shown, position, text) } });
    },
    why: (step, word) => setQuestion({ ask: "why", step, word }),
    like: step => setQuestion({ ask: "like", step }),
    pieces, segmented: input => segmented(answer?.scene, input),
    row: Object.values(view.inputs).every(one => typeof one === "object" && "row" in one),
  };
  const at = (step: number): Handle => ({ kind: "piece", step });
  const fresh = { edits: [], prefix: undefined, target: undefined };
  return (
    <>
      <Inputs run={run} inputs={view.inputs} texts={answer?.inputs ?? {}}
        give={inputs => change({ inputs, ...fresh })} />
      {run.outputs.length > 1 && <p class="rg-under"><label>output <select value={view.output ?? run.outputs[0]}
        onChange={event => change({ output: event.currentTarget.value, ...fresh })}>
        {run.outputs.map(name => <option key={name}>{name}</option>)}</select></label></p>}
      <Problem trouble={found.trouble} />
      <Working {...found} />
      {answer && (
        <div class={`rg-split${found.busy ? " rg-busy" : ""}`} aria-busy={found.busy}>
          <div>
            <Output answer={answer} open={(step, x, y) => open({ at: at(step), place: { x, y } })} />
            <Stage answer={answer} deeds={deeds} inputs={run.inputs} panel={view.panel}
              choose={panel => change({ panel }, false)} open={open} />
          </div>
          <aside>
            <Changes seen={seen} names={{ inputs: answer.handles.inputs, pieces }} />
            {run.search.beam !== undefined && <Beam seen={seen} usual={run.search.beam} />}
            {run.search.beam !== undefined && <Target seen={seen} truth={answer.target?.[0]} />}
            <Questions look={look} pieces={pieces} question={question} set={setQuestion}
              attempt={edits => change({ edits })}
              row={(row, split) => change({ inputs: Object.fromEntries(run.inputs.map(one => [one.name, { row, split }])), ...fresh })} />
            <Taking look={look} answer={answer} />
          </aside>
        </div>
      )}
      {ready && !answer && found.busy && <p class="rg-muted rg-empty" role="status">Looking …</p>}
      {!ready && !found.trouble && <p class="rg-muted rg-empty">Type an input, or pick one from the data.</p>}
      <Opening opened={opened} deeds={deeds} close={() => open(undefined)} />
    </>
  );
}

function Beam({ seen, usual }: { seen: Seen; usual: number }) {
  const beam = seen.view.beam ?? usual;
  return (
    <section aria-label="Search">
      <h2>Search</h2>
      <label class="rg-slide">beam
        <input type="range" min="1" max="12" value={beam} onChange={event => seen.change({ beam: Number(event.currentTarget.value) })} />
        <output>{beam === 1 ? "greedy" : beam}</output></label>
    </section>
  );
}

/** Another output to score: what would the model look at if it had to write this? */
function Target({ seen, truth }: { seen: Seen; truth: string | undefined }) {
  const { target } = seen.view, [text, set] = useState(target ?? "");
  const give = (value: string) => { set(value); seen.change({ target: value.trim() || undefined, prefix: undefined }); };
  return (
    <section class="rg-target" aria-label="Another output">
      <h2>Another output</h2>
      <form onSubmit={event => { event.preventDefault(); give(text); }}>
        <input value={text} dir="auto" placeholder="let it write this" aria-label="the output to score" onInput={event => set(event.currentTarget.value)} />
        <button class="rg-plain">score</button></form>
      <p class="rg-under">
        {truth && truth !== target && <button type="button" class="rg-plain" onClick={() => give(truth)}>the truth</button>}
        {target && <button type="button" class="rg-plain" onClick={() => give("")}>its own</button>}</p>
    </section>
  );
}
