/** Edits of the attention and of structures, as `regard.model.edits` reads them. */

import { rowOf, type Handle, type Scene } from "./scene";

type How = "force" | "forbid";
export type Edit =
  | { edit: "weights"; input: string; step: number; weights: Record<string, number> }
  | { edit: "pin"; input: string; step: number; position: number }
  | { edit: "zero"; input: string; step: number | null; positions: number[] }
  | { edit: "uniform"; input: string; step: number | null }
  | { edit: "truth"; input: string }
  | { edit: "region"; input: string; step: number | null; box: number[] }
  | { edit: "span"; input: string; step: number | null; from: number; to: number }
  | { edit: "arc"; input: string; head: number; dependent: number; how: How }
  | { edit: "segment"; input: string; step: number | null; start: number; end: number; how: How }
  | { edit: "mask"; input: string; positions: number[] };

const ROWS = new Set(["weights", "pin", "zero", "uniform", "region", "span"]);
const stepOf = (one: Edit): number | null | undefined => "step" in one ? one.step : undefined;

/** Whether a new edit makes an old one moot. */
function replaced(old: Edit, by: Edit): boolean {
  if (old.input !== by.input) return false;
  if (by.edit === "zero") return old.edit === "zero" && old.step === by.step;
  if (ROWS.has(by.edit)) return ROWS.has(old.edit) && stepOf(old) === stepOf(by);
  if (by.edit === "arc" && old.edit === "arc")
    return old.dependent === by.dependent && (old.head === by.head || old.how === "force" && by.how === "force");
  if (by.edit === "segment" && old.edit === "segment")
    return old.step === by.step && old.start === by.start && old.end === by.end;
  return by.edit === old.edit && (by.edit === "truth" || by.edit === "mask");
}

/** The edits with one more. Positions of zero and mask gather in one edit. */
export function added(edits: Edit[], edit: Edit): Edit[] {
  const old = edits.find(one => replaced(one, edit));
  if (old && (edit.edit === "zero" || edit.edit === "mask") && "positions" in old) {
    const positions = [...new Set([...old.positions, ...edit.positions])].sort((a, b) => a - b);
    return edits.map(one => one === old ? { ...edit, positions } : one);
  }
  return [...edits.filter(one => !replaced(one, edit)), edit];
}

/** The edits without those that concern a handle. */
export function without(edits: Edit[], at: Handle): Edit[] {
  return edits.filter(one => {
    switch (at.kind) {
      case "arc": return !(one.edit === "arc" && one.input === at.input && one.dependent === at.dependent);
      case "segment": return !(one.edit === "segment" && one.input === at.input && one.step === at.step);
      case "word": return !(one.edit === "mask" && one.input === at.input && one.positions.includes(at.position));
      case "piece": return stepOf(one) !== at.step;
      case "weight": case "plane": return !(one.input === at.input && stepOf(one) === at.step);
      default: return true;
    }
  });
}

/** The row of a step with one weight changed; the others share what is left in their proportions. */
export function weighed(scene: Scene, input: string, step: number, position: number, value: number): Edit {
  const row = rowOf(scene, input, step);
  row.delete(position);
  const rest = [...row.values()].reduce((sum, one) => sum + one, 0);
  const weights: Record<string, number> = { [position]: round(value) };
  for (const [place, weight] of row) {
    const share = (1 - value) * (rest > 0 ? weight / rest : 1 / row.size);
    if (share >= 1e-4) weights[place] = round(share);
  }
  return value >= 1 ? { edit: "pin", input, step, position } : { edit: "weights", input, step, weights };
}

const round = (value: number): number => Math.round(value * 1e4) / 1e4;

export interface Names { inputs: Record<string, string[]>; pieces: string[] }

/** An edit in words. */
export function told(one: Edit, names: Names): string {
  const word = (position: number) => `“${names.inputs[one.input]?.[position] ?? position}”`;
  const words = (positions: number[]) =>
    positions.length > 4 ? `${positions.length} positions` : positions.map(word).join(", ");
  const step = stepOf(one);
  const at = step === undefined ? "" : step === null ? "everywhere: " : `${names.pieces[step] ?? "step"} (${step + 1}): `;
  switch (one.edit) {
    case "weights": {
      const [most] = Object.entries(one.weights).sort((a, b) => b[1] - a[1]);
      return `${at}weights, most on ${most ? `${word(Number(most[0]))} ${most[1].toFixed(2)}` : "nothing"}`;
    }
    case "pin": return `${at}look only at ${word(one.position)}`;
    case "zero": return `${at}do not look at ${words(one.positions)}`;
    case "uniform": return `${at}look everywhere alike`;
    case "truth": return `look where the truth says in ${one.input}`;
    case "region": return `${at}look at a region of ${one.input}`;
    case "span": return `${at}look from ${percent(one.from)} to ${percent(one.to)}`;
    case "arc": return `${one.how} ${one.head ? word(one.head - 1) : "root"} → ${word(one.dependent - 1)}`;
    case "segment": return `${at}${one.how} the segment ${word(one.start)} … ${word(one.end - 1)}`;
    case "mask": return `mask ${words(one.positions)}`;
  }
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;
