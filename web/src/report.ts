/** A report made alive: figures from JSON, and tables that sort and filter. The page stands without it too. */

import { figure } from "./figure";
import type { Scene } from "./scene";
import { watch } from "./theme";

/** Rows from which a table can be searched. */
const MANY = 12;

/** Every `<script type="application/json" class="rg-scene">` becomes a figure in its place, and replaces the still one
 * in the same `<figure>`; every `<table class="sortable">` sorts by its heads. */
export function report(root: Element): void {
  root.classList.add("rg");
  watch(root, () => undefined);
  root.querySelectorAll<HTMLScriptElement>('script[type="application/json"].rg-scene').forEach(alive);
  root.querySelectorAll<HTMLTableElement>("table.sortable").forEach(table => { sorted(table); searched(table); });
}

function alive(block: HTMLScriptElement): void {
  const scene = JSON.parse(block.textContent ?? "null") as Scene | null;
  if (!scene) return;
  const holder = document.createElement("div");
  const still = block.parentElement?.querySelector("svg");
  figure(holder, scene);
  if (still) still.replaceWith(holder);
  else block.before(holder);
}

function sorted(table: HTMLTableElement): void {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "rg-sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0]!, sign = up ? 1 : -1;
      const rows = [...body.rows].map((row, place) => ({ row, place, value: valueOf(row.cells[column]) }));
      rows.sort((a, b) => sign * compared(a.value, b.value) || a.place - b.place);
      body.append(...rows.map(one => one.row));
    });
  });
}

function valueOf(cell: HTMLTableCellElement | undefined): number | string {
  const text = cell?.dataset.value ?? cell?.textContent?.trim() ?? "";
  const value = Number.parseFloat(text.replaceAll(/[,\s]/g, "").replace("−", "-"));
  return Number.isNaN(value) ? text.toLowerCase() : value;
}

function compared(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? 1 : -1;
  return String(a).localeCompare(String(b));
}

function searched(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  if (!body || body.rows.length < MANY) return;
  const field = document.createElement("input"), label = document.createElement("label");
  field.type = "search";
  field.className = "rg-search";
  label.append("filter ", field);
  table.before(label);
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const row of body.rows) row.hidden = !(row.textContent ?? "").toLowerCase().includes(wanted);
  });
}
