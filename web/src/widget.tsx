/** The live view of a notebook, in anywidget's format. Without a model behind it, it is only read. */

import { render as draw } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Answer, InputOf, Trouble } from "./api";
import type { Deeds } from "./choices";
import { added, told, weighed, without, type Edit } from "./edits";
import { Output } from "./output";
import { Figure, Problem, Tabs } from "./parts";
import { segmented } from "./scene";
import { Opening, Stage, Steps, type Opened } from "./stage";
import { watch } from "./theme";

interface State { answer: Answer; editable: boolean; inputs: InputOf[]; error: Trouble | null }
/** What a notebook's model offers (anywidget). */
export interface Model {
  get(name: string): unknown;
  on(event: string, call: (...args: never[]) => void): void;
  off(event: string, call: (...args: never[]) => void): void;
  send(message: unknown): void;
}

export function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const root = document.createElement("div");
  root.className = "rg rg-widget";
  el.append(root);
  const stop = watch(root, () => undefined);
  draw(<Widget model={model} />, root);
  return () => { stop(); draw(null, root); root.remove(); };
}

function Widget({ model }: { model: Model }) {
  const read = (): State => model.get("state") as State;
  const [state, set] = useState(read);
  const [edits, change] = useState<Edit[]>([]);
  const [panel, choose] = useState<string>();
  const [opened, open] = useState<Opened>();
  useEffect(() => {
    const changed = () => set(read());
    model.on("change:state", changed);
    return () => model.off("change:state", changed);
  }, []);
  const ask = (next: Edit[], wanted = panel) => {
    change(next);
    model.send({ edits: next, panel: wanted ?? null });
  };
  const { answer, editable, error } = state;
  const pieces = answer.pieces.map(one => one.text);
  const deeds: Deeds = {
    edit: edit => ask(added(edits, edit)),
    reset: at => ask(without(edits, at)),
    edited: at => without(edits, at).length < edits.length,
    weigh: (at, value) => {
      if (at.kind === "weight" && answer.scene) ask(added(edits, weighed(answer.scene, at.input, at.step, at.position, value)));
    },
    pieces, segmented: input => segmented(answer.scene, input), row: false,
  };
  const picked = (name: string | undefined) => { choose(name); model.send({ edits, panel: name ?? null }); };
  return (
    <>
      <Output answer={answer} />
      <Problem trouble={error ?? undefined} />
      {editable
        ? <Stage answer={answer} deeds={deeds} inputs={state.inputs} panel={panel} choose={picked} open={open} />
        : <Read answer={answer} panel={panel} choose={picked} />}
      {edits.length > 0 && <ul class="rg-list" aria-label="Edits">{edits.map((one, n) => (
        <li key={n}>{told(one, { inputs: answer.handles.inputs, pieces })}
          <button type="button" class="rg-plain" aria-label="remove" onClick={() => ask(edits.filter(other => other !== one))}>×</button></li>))}</ul>}
      <Opening opened={opened} deeds={deeds} close={() => open(undefined)} />
    </>
  );
}

/** A figure and its panels that nobody answers. */
function Read({ answer, panel, choose }: { answer: Answer; panel: string | undefined; choose(name: string | undefined): void }) {
  const all = [{ name: "figure", title: "Figure" }, ...answer.panels.filter(one => one.name !== "figure")];
  const drawn = answer.panel?.name === panel ? answer.panel : undefined;
  return (
    <section class="rg-stage">
      {all.length > 1 && <Tabs label="Panels" all={all} chosen={panel ?? "figure"} choose={name => choose(name === "figure" ? undefined : name)} />}
      {!panel ? answer.scene && <Figure key="figure" scene={answer.scene} />
        : drawn?.steps ? <Steps key={panel} all={drawn.steps} /> : drawn?.scene ? <Figure key={panel} scene={drawn.scene} /> : <p>…</p>}
    </section>
  );
}
