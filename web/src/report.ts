/** A report made alive: its figures answer a pointer and keys, tables sort and filter, steps are chosen by a slider. The
 * page stands without it too. */

import { enliven } from "./still";

export function report(root: Element): void {
  root.querySelectorAll<HTMLElement>(".steps").forEach(stepped);
  root.querySelectorAll<HTMLElement>(".drawing").forEach(enliven);
  root.querySelectorAll<HTMLTableElement>("table.sortable").forEach(table => { sorted(table); searched(table); });
}

function stepped(steps: HTMLElement): void {
  const slider = steps.querySelector("input"), told = steps.querySelector("output");
  const figures = [...steps.querySelectorAll<HTMLElement>("figure")];
  if (!slider || !told) return;
  const show = () => {
    figures.forEach((one, place) => { one.hidden = place + 1 !== Number(slider.value); });
    told.textContent = `${slider.value} of ${figures.length}`;
  };
  steps.classList.add("live");
  slider.addEventListener("input", show);
  show();
}

function sorted(table: HTMLTableElement): void {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])], body = table.tBodies[0]!;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending", sign = down ? -1 : 1;
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row, place) => ({ row, place, value: valueOf(row.cells[column]) }));
      rows.sort((a, b) => sign * compared(a.value, b.value) || a.place - b.place);
      body.append(...rows.map(one => one.row));
    });
  });
}

function valueOf(cell: HTMLTableCellElement | undefined): number | string {
  const text = cell?.textContent?.trim() ?? "", plain = text.replaceAll(",", "").replace("−", "-");
  return text !== "" && !Number.isNaN(Number(plain)) ? Number(plain) : text.toLowerCase();
}

function compared(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return String(a).localeCompare(String(b));
}

function searched(table: HTMLTableElement): void {
  const rows = [...table.tBodies[0]!.rows];
  if (rows.length < 2) return;
  const field = document.createElement("input"), label = document.createElement("label"), told = document.createElement("output");
  field.type = "search";
  label.className = "filter";
  label.append("filter", field, told);
  table.parentElement!.before(label);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every(word => (row.textContent ?? "").toLowerCase().includes(word));
    told.textContent = words.length ? `${rows.filter(row => !row.hidden).length} of ${rows.length}` : "";
  });
}
