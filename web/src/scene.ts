/** A figure as Python writes it (`regard.live.scene_json`): its marks, and what they stand for. */

export interface WeightHandle { kind: "weight"; input: string; step: number; position: number; value: number }
export interface ArcHandle { kind: "arc"; input: string; head: number; dependent: number; value: number }
export interface SegmentHandle { kind: "segment"; input: string; step: number; start: number; end: number; value: number }
export interface PieceHandle { kind: "piece"; step: number }
export interface WordHandle { kind: "word"; input: string; position: number }
export interface PlaneHandle { kind: "plane"; input: string; step: number | null }
export interface BranchHandle { kind: "branch"; prefix: string[] }
export type Handle =
  | WeightHandle | ArcHandle | SegmentHandle | PieceHandle | WordHandle | PlaneHandle | BranchHandle;

interface Painted {
  fill?: string; stroke?: string; sw?: number; o?: number;
  tip?: string; tags?: Record<string, string>; at?: Handle;
}
export interface RectMark extends Painted { m: "rect"; x: number; y: number; w: number; h: number; r?: number }
export interface TextMark extends Painted {
  m: "text"; x: number; y: number; t: string; s: number; a?: string; turn?: number; len?: number;
  b?: 1; i?: 1; mono?: 1; rtl?: 1;
}
export interface ShapeMark extends Painted { m: "shape"; d: string; dash?: number[] }
export interface CircleMark extends Painted { m: "circle"; x: number; y: number; r: number }
export interface ImageMark extends Painted { m: "image"; x: number; y: number; w: number; h: number; src: number; sharp?: 1 }
export interface GroupMark extends Painted {
  m: "group"; marks: Mark[]; dx?: number; dy?: number; k?: string;
  /** Squares in a row, painted after the marks, and what is painted over them. */
  cells?: Cells; after?: Mark[];
}
export interface Cells {
  x: number; y: number; p: number; s: number; r?: number; rtl?: 1; edge?: 1; input: string; step: number; row: string; cols: number;
  v: number[]; f: number[]; n: string[]; true?: number[]; told?: string;
}
export type Mark = RectMark | TextMark | ShapeMark | CircleMark | ImageMark | GroupMark;

export interface Scene {
  width: number; height: number; title: string; description: string;
  /** name → [on light paper, on dark screens] */
  colors: Record<string, [string, string]>;
  marks: Mark[];
  images?: string[];
  /** Labels of columns. */
  labels?: string[][];
}

/** The marks of a group, its cells among them. */
export function inside(group: GroupMark, scene: Scene): Mark[] {
  return group.cells ? [...group.marks, ...squares(group.cells, scene), ...group.after ?? []] : group.marks;
}

function squares(of: Cells, scene: Scene): RectMark[] {
  const many = of.v.length, names = scene.labels?.[of.cols] ?? [], found: RectMark[] = [];
  for (let place = 0; place < many; place++) {
    const position = of.rtl ? many - 1 - place : place, value = of.v[position]!, empty = of.n[position] === "0";
    const told = of.true?.includes(position) ? `\n${of.told}` : "";
    found.push({
      m: "rect", x: of.x + place * of.p, y: of.y, w: of.s, h: of.s, ...of.r ? { r: of.r } : {},
      fill: empty ? "paper" : `v${of.f[position]}`, ...empty && of.edge ? { stroke: "faint", sw: 0.75 } : {},
      tip: `${of.row} ← ${names[position] ?? ""}  ${of.n[position]}${told}`,
      at: { kind: "weight", input: of.input, step: of.step, position, value },
    });
  }
  return found;
}

/** The same for handles that stand for the same thing, whatever its value. */
export function identity(at: Handle): string {
  const { value, ...rest } = at as unknown as Record<string, unknown>;
  void value;
  return JSON.stringify(rest);
}

/** Every handle of a scene, in painting order. */
export function* handles(scene: Scene, marks = scene.marks): Generator<Handle> {
  for (const mark of marks) {
    if (mark.at) yield mark.at;
    if (mark.m === "group") yield* handles(scene, inside(mark, scene));
  }
}

/** Whether segments of an input are drawn. */
export function segmented(scene: Scene | null | undefined, input: string): boolean {
  if (scene) for (const at of handles(scene)) if (at.kind === "segment" && at.input === input) return true;
  return false;
}

/** The weights of one step over one input, by position. */
export function rowOf(scene: Scene, input: string, step: number): Map<number, number> {
  const found = new Map<number, number>();
  for (const at of handles(scene))
    if (at.kind === "weight" && at.input === input && at.step === step) found.set(at.position, at.value);
  return found;
}
