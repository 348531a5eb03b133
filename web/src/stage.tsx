/** The figure with its panels as tabs; a hand on a handle edits, or opens a menu. */

import { useState } from "preact/hooks";
import type { Answer, InputOf } from "./api";
import { choices, type Deeds, type Range } from "./choices";
import type { Action } from "./figure";
import { Menu, type Place } from "./menu";
import { Figure, Tabs } from "./parts";
import type { Handle, Scene } from "./scene";

export interface Opened { at: Handle; place: Place; range?: Range }

interface StageOf {
  answer: Answer; deeds: Deeds; inputs: InputOf[]; panel: string | undefined; choose(panel: string | undefined): void;
  open(what: Opened): void;
}

export function Stage({ answer, deeds, inputs, panel, choose, open }: StageOf) {
  const on = (at: Handle, action: Action) => {
    switch (action.do) {
      case "open": return open({ at, place: action });
      case "range": return open({ at, place: action, range: action });
      case "weight": return deeds.weigh(at, action.value);
      case "zero":
        if (at.kind === "weight") deeds.edit({ edit: "zero", input: at.input, step: at.step, positions: [at.position] });
        else if (at.kind === "word") deeds.edit({ edit: "mask", input: at.input, positions: [at.position] });
        return;
      case "region": {
        if (at.kind !== "plane") return;
        const [left, top, right, bottom] = action.box, timed = inputs.find(one => one.name === at.input)?.media !== "image";
        if (right - left < 0.01) return;
        if (timed) deeds.edit({ edit: "span", input: at.input, step: at.step, from: left, to: right });
        else if (bottom - top > 0.01) deeds.edit({ edit: "region", input: at.input, step: at.step, box: action.box });
      }
    }
  };
  const others = answer.panels.filter(one => one.name !== "figure");
  const all = [{ name: "figure", title: "Figure" }, ...others];
  const shown = panel && all.some(one => one.name === panel) ? panel : "figure";
  const drawn = shown !== "figure" && answer.panel?.name === shown ? answer.panel : undefined;
  return (
    <section class="rg-stage" aria-label="Figure">
      {others.length > 0 &&
        <Tabs label="Panels" all={all} chosen={shown} choose={name => choose(name === "figure" ? undefined : name)} />}
      <div role={others.length ? "tabpanel" : undefined} aria-label={others.length ? all.find(one => one.name === shown)?.title : undefined}>
        {shown === "figure"
          ? answer.scene && <Figure key="figure" scene={answer.scene} on={on} />
          : drawn?.steps ? <Steps key={shown} all={drawn.steps} on={on} />
          : drawn?.scene ? <Figure key={shown} scene={drawn.scene} on={on} />
          : <p class="rg-muted">…</p>}
        {shown === "figure" && !answer.scene && <p class="rg-muted">This model has no attention to show.</p>}
      </div>
    </section>
  );
}

export function Steps({ all, on }: { all: Scene[]; on?: (at: Handle, action: Action) => void }) {
  const [step, set] = useState(0);
  const shown = all[Math.min(step, all.length - 1)];
  return (
    <div>
      <label class="rg-steps">step
        <input type="range" min="1" max={all.length} value={step + 1} onInput={event => set(Number(event.currentTarget.value) - 1)} />
        <output>{step + 1} of {all.length}</output></label>
      {shown && <Figure scene={shown} on={on} />}
    </div>
  );
}

/** The menu of what was opened. */
export function Opening({ opened, deeds, close }: { opened: Opened | undefined; deeds: Deeds; close(): void }) {
  if (!opened) return null;
  const all = choices(opened.at, deeds, opened.range);
  if (!all.length) return null;
  return <Menu title={title(opened.at, deeds)} all={all} at={opened.place} close={close} />;
}

function title(at: Handle, deeds: Deeds): string {
  if (at.kind === "piece" || at.kind === "weight") return deeds.pieces[at.step] ?? "";
  return at.kind === "branch" ? at.prefix.join(" ") : "";
}
