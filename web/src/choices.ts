/** What can be done with a handle. It depends on the kind of the handle alone, so a stranger's drawing has it too. */

import type { Edit } from "./edits";
import type { Handle } from "./scene";

/** A deed, a deed that asks for a text, or a weight to slide. */
export interface Deed { label: string; act: () => void }
export interface AskingDeed { label: string; ask: string; tell: (text: string) => void }
export interface SlidingDeed { label: string; slide: number; set: (value: number) => void }
export type Choice = Deed | AskingDeed | SlidingDeed;

/** What the page can do; a read-only figure has none of it. */
export interface Deeds {
  edit(edit: Edit): void;
  weigh(at: Handle, value: number): void;
  reset(at: Handle): void;
  /** Whether something of this handle is edited. */
  edited(at: Handle): boolean;
  prefix?(pieces: string[]): void;
  word?(input: string, position: number, text: string): void;
  why?(step: number, word: string): void;
  like?(step: number): void;
  pieces: string[];
  /** Whether an input is read in segments. */
  segmented(input: string): boolean;
  /** Whether the input is a row whose truth is known. */
  row: boolean;
}

export interface Range { start: number; end: number }

export function choices(at: Handle, deeds: Deeds, range?: Range): Choice[] {
  const found = range && at.kind === "weight" ? ofRange(at, deeds, range) : of(at, deeds);
  if (deeds.edited(at)) found.push({ label: "Undo the edits here", act: () => deeds.reset(at) });
  return found;
}

function ofRange(at: Handle & { kind: "weight" }, deeds: Deeds, { start, end }: Range): Choice[] {
  const { input, step } = at, positions = Array.from({ length: end - start }, (_, n) => start + n);
  const even = Object.fromEntries(positions.map(one => [one, 1 / positions.length]));
  const found: Choice[] = [
    { label: "Look only at these", act: () => deeds.edit({ edit: "weights", input, step, weights: even }) },
    { label: "Do not look at these", act: () => deeds.edit({ edit: "zero", input, step, positions }) },
  ];
  if (deeds.segmented(input)) for (const how of ["force", "forbid"] as const)
    found.push({ label: `${name(how)} this segment`, act: () => deeds.edit({ edit: "segment", input, step, start, end, how }) });
  return found;
}

function of(at: Handle, deeds: Deeds): Choice[] {
  switch (at.kind) {
    case "weight": {
      const { input, step, position } = at;
      const found: Choice[] = [
        { label: "Weight", slide: at.value, set: value => deeds.weigh(at, value) },
        { label: "Look only here", act: () => deeds.edit({ edit: "pin", input, step, position }) },
        { label: "Do not look here", act: () => deeds.edit({ edit: "zero", input, step, positions: [position] }) },
        { label: "Never look here", act: () => deeds.edit({ edit: "zero", input, step: null, positions: [position] }) },
        { label: "Look everywhere alike", act: () => deeds.edit({ edit: "uniform", input, step }) },
      ];
      if (deeds.row) found.push({ label: "Look where the truth says", act: () => deeds.edit({ edit: "truth", input }) });
      return found;
    }
    case "arc":
      return (["force", "forbid"] as const).map(how => ({
        label: `${name(how)} this arc`,
        act: () => deeds.edit({ edit: "arc", input: at.input, head: at.head, dependent: at.dependent, how }),
      }));
    case "segment":
      return (["force", "forbid"] as const).map(how => ({
        label: `${name(how)} this segment`,
        act: () => deeds.edit({ edit: "segment", input: at.input, step: at.step, start: at.start, end: at.end, how }),
      }));
    case "piece": return ofPiece(at.step, deeds);
    case "word": {
      const found: Choice[] = [{
        label: "Mask it", act: () => deeds.edit({ edit: "mask", input: at.input, positions: [at.position] }),
      }];
      if (deeds.word) found.push({
        label: "Change it", ask: "another word", tell: text => deeds.word!(at.input, at.position, text),
      });
      return found;
    }
    case "branch": return deeds.prefix ? [{ label: "Go on from here", act: () => deeds.prefix!(at.prefix) }] : [];
    case "plane": return [{
      label: "Look everywhere alike", act: () => deeds.edit({ edit: "uniform", input: at.input, step: at.step }),
    }];
  }
}

function ofPiece(step: number, deeds: Deeds): Choice[] {
  const before = deeds.pieces.slice(0, step), found: Choice[] = [];
  const { prefix, why, like } = deeds;
  if (prefix) {
    found.push({ label: "Write another word here", ask: "another word", tell: text => prefix([...before, text]) });
    found.push({ label: "Keep all up to here", act: () => prefix(deeds.pieces.slice(0, step + 1)) });
  }
  if (why) found.push({ label: "What look makes it say …?", ask: "a word", tell: text => why(step, text) });
  if (like) found.push({ label: "Which training rows are alike?", act: () => like(step) });
  return found;
}

const name = (how: string): string => how === "force" ? "Force" : "Forbid";
