/** What the studio's server is asked, and what it answers. */

import type { Edit } from "./edits";
import type { Scene } from "./scene";

export interface InputOf { name: string; type: string; media: string }
export interface Run {
  name: string; kind: "answers" | "continues" | "dialog"; inputs: InputOf[]; outputs: string[];
  splits: Record<string, number>; split?: string; example: Record<string, string>;
  search: { beam?: number; n_best?: number }; structured: boolean; error?: Trouble;
}
export interface RowGiven { row: number; split: string }
export interface UploadGiven { upload: string }
export type Given = string | RowGiven | UploadGiven;

export interface Piece { text: string; p: number | null }
export interface Written { text: string; score: number | null; pieces: Piece[]; alternatives?: { text: string; score: number | null }[] }
export interface PanelOf { name: string; title: string; scene?: Scene; steps?: Scene[] }
export interface Answer extends Written {
  before?: Written; changed: number[]; effects: (number | null)[]; target?: string[];
  handles: { inputs: Record<string, string[]> };
  /** The inputs as text, where they are one. */
  inputs?: Record<string, string>;
  scene: Scene | null; panels: { name: string; title: string }[]; panel?: PanelOf;
  signs?: unknown[]; ms?: number; command?: string; python?: string;
  turns?: Turn[]; probabilities?: Piece[];
}
export interface Turn { speaker: string; text: string }
export interface RowOf {
  row: number; inputs: Record<string, string>; target?: string[] | string; prediction?: string; reasons?: string[];
  images?: Record<string, string>;
}
export interface Asked {
  run: string; inputs: Record<string, Given>; output?: string; prefix?: string; target?: string; edits?: Edit[];
  search?: { beam?: number }; panel?: string;
}

export interface Trouble { message: string; where: string; fix: string }
/** An error that the server explains. */
export class Told extends Error implements Trouble {
  where: string;
  fix: string;
  constructor(trouble: Partial<Trouble>) {
    super(trouble.message ?? "The server did not answer.");
    this.where = trouble.where ?? "";
    this.fix = trouble.fix ?? "";
  }
}
export type Progress = (done: number, of: number) => void;

const HEADERS = { "x-regard": "1" };

async function asked(path: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, headers: { ...HEADERS, ...(init.headers as Record<string, string>) } });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new Told({ message: "The studio does not answer.", fix: "Is `regard studio` still running? Start it again and reload." });
  }
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({})) as { error?: Trouble };
  throw new Told(body.error ?? { message: `The server refused the request (${answer.status}).`, where: path, fix: "" });
}

/** Ask; a job is followed to its end, or cancelled with the signal. */
export async function post<T>(path: string, body: unknown, signal?: AbortSignal, progress?: Progress): Promise<T> {
  const init = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const found = await (await asked(path, signal ? { ...init, signal } : init)).json() as T & { job?: string };
  return found && typeof found === "object" && typeof found.job === "string" ? follow<T>(found.job, signal, progress) : found;
}

async function follow<T>(job: string, signal?: AbortSignal, progress?: Progress): Promise<T> {
  for (let pause = 60; ; pause = Math.min(500, pause * 1.5)) {
    if (signal?.aborted) {
      await asked(`/api/jobs/${job}`, { method: "DELETE" }).catch(() => undefined);
      throw new DOMException("cancelled", "AbortError");
    }
    const found = await (await asked(`/api/jobs/${job}`, {})).json() as
      { done: number; of: number; result?: T; error?: Trouble };
    if (found.error) throw new Told(found.error);
    if (found.result !== undefined) return found.result;
    progress?.(found.done, found.of);
    await new Promise(resolve => setTimeout(resolve, pause));
  }
}

export async function runs(): Promise<{ runs: Run[]; version: string }> {
  return await (await asked("/api/runs", {})).json() as { runs: Run[]; version: string };
}

export async function upload(file: File): Promise<{ upload: string; media?: string; seen?: unknown }> {
  const init = { method: "POST", body: file, headers: { "content-type": file.type || "application/octet-stream" } };
  return await (await asked("/api/upload", init)).json() as { upload: string };
}

/** Save a view as a file. */
export async function download(look: Asked, kind: string): Promise<void> {
  const init = { method: "POST", body: JSON.stringify({ ...look, as: kind }), headers: { "content-type": "application/json" } };
  const answer = await asked("/api/download", init);
  const link = document.createElement("a"), url = URL.createObjectURL(await answer.blob());
  link.href = url;
  link.download = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? `regard.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
