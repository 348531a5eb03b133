/** Two questions about a piece: what look makes the model say a word here, and which training rows are alike. */

import { useState } from "preact/hooks";
import type { Asked } from "./api";
import { useAnswer } from "./asking";
import type { Edit } from "./edits";
import { Facts, number, Problem, Working } from "./parts";

export type Question = { ask: "why"; step: number; word: string } | { ask: "like"; step: number };

interface Why { text?: string; word?: string; found?: boolean; edits?: Edit[]; look?: Edit[]; [more: string]: unknown }
interface Neighbour { row?: number; split?: string; distance?: number; similarity?: number; [more: string]: unknown }

interface QuestionsOf {
  look: Asked; pieces: string[]; question: Question | undefined; set(question: Question | undefined): void;
  attempt(edits: Edit[]): void; row(row: number, split: string): void;
}

export function Questions({ look, pieces, question, set, attempt, row }: QuestionsOf) {
  const [step, choose] = useState(0);
  const [word, write] = useState("");
  const { panel, ...plain } = look;
  void panel;
  const asked = question && (question.ask === "why"
    ? { ...plain, step: question.step, word: question.word } : { ...plain, step: question.step });
  const found = useAnswer<Why & { neighbours?: Neighbour[] }>(`/api/${question?.ask ?? "why"}`, asked ?? null);
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
      {question && <>
        <Working {...found} />
        <Problem trouble={found.trouble} />
        {found.answer && !found.busy && !found.trouble && (question.ask === "why"
          ? <Reason of={found.answer} attempt={attempt} />
          : <Alike all={found.answer.neighbours ?? []} row={row} />)}
      </>}
    </section>
  );
}

function Reason({ of, attempt }: { of: Why; attempt(edits: Edit[]): void }) {
  const edits = of.edits ?? of.look;
  return (
    <div class="rg-found">
      <Facts of={of} />
      {Array.isArray(edits) && edits.length > 0 &&
        <button type="button" class="rg-plain" onClick={() => attempt(edits)}>try this look</button>}
    </div>
  );
}

const MOST = 200;

function Alike({ all, row }: { all: Neighbour[]; row(row: number, split: string): void }) {
  if (!all.length) return <p class="rg-muted">No training rows are alike.</p>;
  return (
    <ol class="rg-list rg-found">
      {all.map((one, n) => (
        <li key={n}>
          <span dir="auto">{texts(one).join(" → ").slice(0, MOST)}</span>
          {typeof one.distance === "number" && <small> {number(one.distance)}</small>}
          {typeof one.similarity === "number" && <small> {number(one.similarity)}</small>}
          {typeof one.row === "number" && <button type="button" class="rg-plain" onClick={() => row(one.row!, one.split ?? "train")}>open</button>}
        </li>
      ))}
    </ol>
  );
}

/** The texts of a neighbour, whatever they are called. */
function texts(one: Neighbour): string[] {
  return Object.entries(one).flatMap(([name, value]) => {
    if (name === "split") return [];
    if (typeof value === "string") return [value];
    if (Array.isArray(value)) return value.filter((part): part is string => typeof part === "string").slice(0, 1);
    if (value && typeof value === "object") return Object.values(value).filter((part): part is string => typeof part === "string");
    return [];
  });
}
