/** Pieces and the text they make. */

import type { Answer } from "./api";

const END = /^<.+>$/;

/** The text of pieces: joined as the output joins its own. */
export function spelled(pieces: string[], answer: Answer | undefined): string {
  const own = answer?.pieces.map(one => one.text).filter(one => !END.test(one)) ?? [];
  const tight = own.length > 0 && own.join("") === answer?.text;
  return pieces.filter(one => !END.test(one)).join(tight ? "" : " ");
}

/** A text with one of its pieces changed. */
export function changedText(text: string, pieces: string[], position: number, by: string): string {
  const words = text.trim().split(/\s+/), letters = [...text];
  const bare = pieces.filter(one => !END.test(one)).length;
  if (text && words.length === bare) return words.map((one, n) => n === position ? by : one).join(" ");
  if (text && letters.length === bare) return letters.map((one, n) => n === position ? by : one).join("");
  const all = pieces.map((one, n) => n === position ? by : one).filter(one => !END.test(one));
  return all.join(pieces.every(one => [...one].length <= 1 || END.test(one)) ? "" : " ");
}
