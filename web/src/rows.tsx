/** Rows of a run's data, in their order or the strangest first. */

import { useState } from "preact/hooks";
import type { RowOf, Run } from "./api";
import { useAnswer } from "./asking";
import { Problem, Working } from "./parts";

const COUNT = 8;

export function Rows({ run, choose }: { run: Run; choose(row: number, split: string): void }) {
  const known = Object.keys(run.splits), splits = known.length ? known : [run.split!];
  const [split, setSplit] = useState(run.split ?? (splits.includes("test") ? "test" : splits[0]!));
  const [sort, setSort] = useState<"order" | "strange">("order");
  const [start, setStart] = useState(0);
  const found = useAnswer<{ rows: RowOf[]; total: number }>("/api/rows", { run: run.name, split, sort, start, count: COUNT });
  const total = found.answer?.total ?? 0;
  return (
    <div class="rg-rows">
      <p class="rg-under">
        <label>from <select value={split} onChange={event => { setSplit(event.currentTarget.value); setStart(0); }}>
          {splits.map(name => <option key={name} value={name}>{name}</option>)}</select></label>
        <label>sorted <select value={sort}
          onChange={event => { setSort(event.currentTarget.value as "order" | "strange"); setStart(0); }}>
          <option value="order">as they are</option><option value="strange">strangest first</option></select></label>
      </p>
      <Working {...found} />
      <Problem trouble={found.trouble} />
      {found.busy && !found.answer && !found.of && <p class="rg-muted" role="status">Reading …</p>}
      <ul aria-busy={found.busy}>
        {found.answer?.rows.map(row => (
          <li key={row.row}><button type="button" onClick={() => choose(row.row, split)}>
            <span class="rg-row-number">{row.row}</span>
            <span class="rg-row-text" dir="auto">
              {Object.values(row.images ?? {}).map((source, n) => <img key={n} src={source} alt="" />)}
              {Object.values(row.inputs).filter(Boolean).join(" · ")}</span>
            <Told row={row} />
          </button></li>
        ))}
      </ul>
      {total > COUNT && <p class="rg-under">
        <button type="button" class="rg-plain" disabled={start === 0} onClick={() => setStart(Math.max(0, start - COUNT))}>earlier</button>
        <span>{start + 1} to {Math.min(start + COUNT, total)} of {total}</span>
        <button type="button" class="rg-plain" disabled={start + COUNT >= total} onClick={() => setStart(start + COUNT)}>later</button></p>}
    </div>
  );
}

function Told({ row }: { row: RowOf }) {
  const target = [row.target ?? []].flat(), right = row.prediction !== undefined && target.includes(row.prediction);
  return (
    <span class="rg-row-told" dir="auto">
      {row.prediction !== undefined && <span class={right || !target.length ? "" : "rg-wrong"}>{row.prediction}</span>}
      {!right && target.length > 0 && <span class="rg-muted"> truth: {target[0]}</span>}
      {row.reasons && row.reasons.length > 0 && <em>{row.reasons.join(" · ")}</em>}
    </span>
  );
}
