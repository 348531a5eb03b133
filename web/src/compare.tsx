/** Two runs on one input: what each writes and where it looks, and where they first diverge. */

import type { Answer, Run } from "./api";
import { useAnswer } from "./asking";
import { Inputs } from "./inputs";
import { Output } from "./output";
import { Facts, Figure, Problem, Working } from "./parts";
import type { Scene } from "./scene";
import type { Seen } from "./view";

interface Compared {
  runs?: string[]; texts: string[]; scenes: (Scene | null)[]; looks?: Answer[];
  divergence: Record<string, unknown> & { scene?: Scene };
}

/** Whether two runs take the same inputs. */
export function comparable(run: Run, other: Run): boolean {
  const names = (one: Run) => one.inputs.map(input => input.name).sort().join("\n");
  return other.name !== run.name && !other.error && !run.error && other.kind !== "continues" && names(run) === names(other);
}

export function Compare({ run, runs, seen }: { run: Run; runs: Run[]; seen: Seen }) {
  const { view, change } = seen;
  const others = runs.filter(one => comparable(run, one));
  const other = others.find(one => one.name === view.other) ?? others[0];
  const ready = other && run.inputs.every(one => view.inputs[one.name]);
  const found = useAnswer<Compared>("/api/compare", ready ? { runs: [run.name, other.name], inputs: view.inputs, edits: view.edits } : null, 15);
  const answer = ready ? found.answer : undefined;
  return (
    <>
      <Inputs run={run} inputs={view.inputs} texts={answer?.looks?.[0]?.inputs ?? {}} give={inputs => change({ inputs, edits: [] })} />
      <p class="rg-under"><label>beside <select value={other?.name} onChange={event => change({ other: event.currentTarget.value })}>
        {others.map(one => <option key={one.name}>{one.name}</option>)}</select></label></p>
      <Problem trouble={found.trouble} />
      <Working {...found} />
      {found.busy && !answer && <p class="rg-muted rg-empty" role="status">Looking …</p>}
      {answer && <>
        <div class="rg-pair" aria-busy={found.busy}>
          {[run.name, other!.name].map((name, n) => (
            <section key={name} aria-label={name}>
              <h2>{name}</h2>
              {answer.looks?.[n] ? <Output answer={answer.looks[n]} /> : <p class="rg-text" dir="auto">{answer.texts[n]}</p>}
              {answer.scenes[n] && <Figure scene={answer.scenes[n]} />}
            </section>
          ))}
        </div>
        {Object.keys(answer.divergence).length > 0 && <section class="rg-divergence" aria-label="Where they diverge">
          <h2>Where they diverge</h2>
          {answer.divergence.scene && <Figure scene={answer.divergence.scene} />}
          <Facts of={answer.divergence} except={["scene"]} />
        </section>}
      </>}
    </>
  );
}
