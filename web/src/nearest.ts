/** The next element in the direction of an arrow key. */

export type Direction = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown";
export const isDirection = (key: string): key is Direction => /^Arrow(Left|Right|Up|Down)$/.test(key);

/** Nearest along the arrow; what lies aside counts three times as far. */
export function nearest<T extends { element: Element }>(from: Element, all: T[], key: Direction): T | undefined {
  const here = from.getBoundingClientRect();
  const across = key === "ArrowLeft" || key === "ArrowRight", sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
  let best: T | undefined, least = Infinity;
  for (const one of all) {
    if (one.element === from) continue;
    const there = one.element.getBoundingClientRect();
    const dx = there.x + there.width / 2 - here.x - here.width / 2;
    const dy = there.y + there.height / 2 - here.y - here.height / 2;
    const along = sign * (across ? dx : dy), aside = Math.abs(across ? dy : dx);
    if (along < 1 || aside > 2 * along + (across ? here.height : here.width) / 2) continue;
    const far = along + 3 * aside;
    if (far < least) [best, least] = [one, far];
  }
  return best;
}
