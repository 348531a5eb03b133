/** Two questions about a piece: what look makes the model say a word here, and which training rows are alike. */

import { useState } from "preact/hooks";
import type { Asked } from "./api";
import { useAnswer } from "./asking";
import type { Edit } from "./edits";
import { number, Problem, Working } from "./parts";

export type Question = { ask: "why"; step: number; word: string } | { ask: "like"; step: number };

interface Why {
  word: string; said: string; positions: string[]; own: number[]; row: number[]; distance: number;
  before: number; after: number; found: boolean; changed: string | null; edits: Edit[];
}
interface Neighbor { row: number; step: number; distance: number; piece: string; output: string[]; inputs: Record<string, string> }

interface QuestionsOf {
  look: Asked; pieces: string[]; question: Question | undefined; set(question: Question | undefined): void;
  attempt(edits: Edit[]): void; row(row: number, split: string): void;
}

export function Questions({ look, pieces, question, set, attempt, row }: QuestionsOf) {
  const [step, choose] = useState(0);
  const [word, write] = useState("");
  if (!pieces.length) return null;
  return (
    <section class="rg-questions" aria-label="Ask">
      <h2>Ask</h2>
      <form onSubmit={event => { event.preventDefault(); if (word.trim()) set({ ask: "why", step, word: word.trim() }); }}>
        <label>What look makes it say <input value={word} placeholder="a word" size={9}
          onInput={event => write(event.currentTarget.value)} /></label>
        <label>instead of <select value={step} onChange={event => choose(Number(event.currentTarget.value))}>
          {pieces.map((piece, n) => <option key={n} value={n}>{n + 1}. {piece}</option>)}</select></label>
        <p class="rg-under"><button class="rg-plain">ask</button>
          <button type="button" class="rg-plain" onClick={() => set({ ask: "like", step })}>training rows alike here</button></p>
      </form>
      {question && <Found key={JSON.stringify([question, look.run, look.inputs])} look={look} question={question} attempt={attempt} row={row} />}
    </section>
  );
}

interface FoundOf { look: Asked; question: Question; attempt(edits: Edit[]): void; row(row: number, split: string): void }

function Found({ look, question, attempt, row }: FoundOf) {
  const { ask, ...rest } = question;
  // The question is about the model's own look, and is asked once.
  const [asked] = useState(() => ({ run: look.run, inputs: look.inputs, ...(look.output ? { output: look.output } : {}), ...rest }));
  const found = useAnswer<Why & { neighbours?: Neighbor[] }>(`/api/${ask}`, asked);
  const { answer } = found;
  return (
    <div aria-live="polite">
      <Working {...found} />
      {found.busy && !found.of && <p class="rg-muted rg-found">…</p>}
      <Problem trouble={found.trouble} />
      {answer && !found.busy && !found.trouble && (ask === "why"
        ? <Reason of={answer} attempt={attempt} /> : <Alike all={answer.neighbours ?? []} row={row} />)}
    </div>
  );
}

/** Weights that moved by less are not told. */
const MOVED = 0.02;

function Reason({ of, attempt }: { of: Why; attempt(edits: Edit[]): void }) {
  if (of.found && of.distance === 0) return <p class="rg-found">It already says “{of.word}” here.</p>;
  const moved = of.row.map((now, place) => ({ place, now, change: now - of.own[place]! }))
    .filter(one => Math.abs(one.change) >= MOVED).sort((one, other) => Math.abs(other.change) - Math.abs(one.change)).slice(0, 6);
  return (
    <div class="rg-found">
      <p dir="auto">{of.found
        ? <>It says “{of.word}” instead of “{of.said}” if {Math.round(100 * of.distance)} % of the weight moves: p from {of.before.toFixed(2)} to {of.after.toFixed(2)}.</>
        : <>No look was found that makes it say “{of.word}” here; at best its p is {number(of.after)}, from {number(of.before)}.</>}</p>
      <ul class="rg-list">
        {moved.map(one => (
          <li key={one.place}><span dir="auto">{of.positions[one.place]}</span>
            <span class={one.change < 0 ? "rg-down" : "rg-up"}>{of.own[one.place]!.toFixed(2)} → {one.now.toFixed(2)}</span></li>
        ))}
      </ul>
      {of.changed && <p class="rg-muted" dir="auto">{of.changed}</p>}
      {of.edits.length > 0 && <button type="button" class="rg-plain" onClick={() => attempt(of.edits)}>try this look</button>}
    </div>
  );
}

function Alike({ all, row }: { all: Neighbor[]; row(row: number, split: string): void }) {
  if (!all.length) return <p class="rg-muted">No training rows are alike.</p>;
  return (
    <ol class="rg-list rg-found">
      {all.map((one, n) => (
        <li key={n}>
          <span dir="auto">{Object.values(one.inputs).join(" · ")} → {one.output.map((piece, step) =>
            step === one.step ? <mark key={step}>{piece}</mark> : ` ${piece} `)}</span>
          <button type="button" class="rg-plain" aria-label={`open row ${one.row} of train`} onClick={() => row(one.row, "train")}>{one.distance.toFixed(2)}</button>
        </li>
      ))}
    </ol>
  );
}
