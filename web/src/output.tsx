/** What the model wrote: its pieces with their probabilities, and what an edit changed. */

import type { Answer, Piece } from "./api";
import { number } from "./parts";

const NOTABLE = 0.01;

export function Output({ answer, open }: { answer: Answer; open?: (step: number, x: number, y: number) => void }) {
  const { before, pieces } = answer, changed = new Set(answer.changed);
  const aligned = before && before.pieces.length === pieces.length;
  return (
    <section class="rg-output" aria-label="Output">
      <p class="rg-hidden" aria-live="polite">{said(answer)}</p>
      <ol class="rg-pieces" dir="auto">
        {pieces.map((piece, step) => (
          <li key={step}>
            <button type="button" class={`rg-piece${changed.has(step) ? " rg-changed" : ""}${special(piece.text) ? " rg-special" : ""}`}
              aria-label={spoken(answer, step)} disabled={!open}
              onClick={event => {
                const box = event.currentTarget.getBoundingClientRect();
                open?.(step, box.x, box.bottom);
              }}>
              {aligned && changed.has(step) && <del>{before.pieces[step]!.text}</del>}
              <span class="rg-piece-text">{piece.text || "∅"}</span>
              {piece.p !== null && <span class="rg-p"><i style={{ width: `${100 * piece.p}%` }} /></span>}
              <small>{piece.p === null ? "" : piece.p.toFixed(2)}<Effect of={answer.effects[step]} /></small>
            </button>
          </li>
        ))}
      </ol>
      {!pieces.length && <p class="rg-text" dir="auto">{answer.text || "(nothing)"}</p>}
      <p class="rg-under">
        {answer.score !== null && <span>log p {number(answer.score)}</span>}
        {before && <span class={changed.size || before.text !== answer.text ? "rg-was" : ""} dir="auto">
          {before.text === answer.text ? "the same text as before" : <>before: {before.text || "(nothing)"}</>}
          {before.score !== null && <> · log p {number(before.score)}</>}</span>}
        {answer.target?.[0] && <span dir="auto">truth: {answer.target.join(" · ")}</span>}
      </p>
      {answer.probabilities && answer.probabilities.length > 1 && <Labels all={answer.probabilities} />}
      {answer.alternatives && answer.alternatives.length > 1 && (
        <details><summary>{answer.alternatives.length} alternatives</summary>
          <ol class="rg-list">{answer.alternatives.map((one, n) => (
            <li key={n} dir="auto">{one.text} {one.score !== null && <small>{number(one.score)}</small>}</li>))}</ol>
        </details>)}
    </section>
  );
}

const LIKELY = 5;

/** The most probable labels. */
function Labels({ all }: { all: Piece[] }) {
  return (
    <ol class="rg-labels" aria-label="Most probable labels">
      {all.slice(0, LIKELY).map(one => (
        <li key={one.text}><span dir="auto">{one.text}</span>
          <span class="rg-p"><i style={{ width: `${100 * (one.p ?? 0)}%` }} /></span><small>{(one.p ?? 0).toFixed(3)}</small></li>
      ))}
    </ol>
  );
}

function Effect({ of }: { of: number | null | undefined }) {
  if (typeof of !== "number" || Math.abs(of) < NOTABLE) return null;
  return <b class={of < 0 ? "rg-down" : "rg-up"}>{of < 0 ? "−" : "+"}{Math.abs(of).toFixed(2)}</b>;
}

const special = (text: string): boolean => /^<.+>$/.test(text);

function said(answer: Answer): string {
  const many = answer.changed.length;
  const told = answer.before ? (many ? `, ${many} ${many === 1 ? "piece" : "pieces"} changed` : ", nothing changed") : "";
  return `Output: ${answer.text}${told}`;
}

function spoken(answer: Answer, step: number): string {
  const piece = answer.pieces[step]!, effect = answer.effects[step];
  const parts = [piece.text || "empty"];
  if (piece.p !== null) parts.push(`probability ${piece.p.toFixed(2)}`);
  if (answer.changed.includes(step)) parts.push("changed");
  else if (typeof effect === "number" && Math.abs(effect) >= NOTABLE) parts.push(`log p changed by ${effect.toFixed(2)}`);
  return parts.join(", ");
}
