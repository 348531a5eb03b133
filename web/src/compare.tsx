/** Two runs on one input: what each writes and where it looks, and where they first diverge. */

import type { Answer, Run } from "./api";
import { useAnswer } from "./asking";
import { Inputs } from "./inputs";
import { Output } from "./output";
import { Figure, number, Problem, Working } from "./parts";
import type { Scene } from "./scene";
import type { Seen } from "./view";

interface Compared {
  runs?: string[]; texts: string[]; scenes: (Scene | null)[]; looks?: Answer[];
  divergence: Partial<Divergence>;
}
interface Side { text: string; piece: string; own: number; other: number | null; looked: Record<string, number[]>; positions: Record<string, string[]> }
interface Divergence { step: number | null; common: string[]; first: Side; second: Side; scene: Scene; told: string }

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
          <Diverging of={answer.divergence} names={[run.name, other!.name]} />
        </section>}
      </>}
    </>
  );
}

function Diverging({ of, names }: { of: Partial<Divergence>; names: [string, string] }) {
  if (of.step === null || of.step === undefined || !of.first || !of.second) return <p>{of.told || "They give the same answer."}</p>;
  const sides = [[names[0], of.first, of.second], [names[1], of.second, of.first]] as const;
  return (
    <>
      <p dir="auto">First at piece {of.step + 1}{of.common?.length ? <>, after “{of.common.join(" ")}”</> : null}:</p>
      <dl class="rg-sides">
        {sides.map(([name, side, theirs]) => (
          <div key={name}><dt>{name}</dt>
            <dd dir="auto">says “{side.piece}” with p {number(side.own)}; {side.other === null
              ? <>it cannot write “{theirs.piece}”</> : <>“{theirs.piece}” has p {number(side.other)}</>}{most(side)}</dd></div>
        ))}
      </dl>
      {of.scene && <Figure scene={of.scene} />}
    </>
  );
}

/** Where it looked most. */
function most(side: Side): string {
  const found = Object.entries(side.looked).flatMap(([input, weights]) =>
    weights.map((weight, place) => ({ weight, word: side.positions[input]?.[place] ?? String(place) })));
  const best = found.sort((one, other) => other.weight - one.weight).slice(0, 3).filter(one => one.weight >= 0.05);
  return best.length ? `; it looks at ${best.map(one => `${one.word} ${one.weight.toFixed(2)}`).join(", ")}` : "";
}
