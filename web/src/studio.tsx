/** The studio: a page in which one sees, edits and compares what models do. */

import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { runs as askRuns, Told, type Run, type Trouble } from "./api";
import { Chat } from "./chat";
import { comparable, Compare } from "./compare";
import { Continue } from "./continuing";
import { Look } from "./look";
import { Problem, Tabs } from "./parts";
import { choose, themeOf, watch, type Theme } from "./theme";
import { useView, type Mode } from "./view";

export function studio(root: Element): void {
  root.classList.add("rg", "rg-studio");
  watch(root, () => undefined);
  render(<Studio root={root} />, root);
}

function Studio({ root }: { root: Element }) {
  const [all, set] = useState<Run[]>();
  const [trouble, setTrouble] = useState<Trouble>();
  useEffect(() => {
    askRuns().then(found => set(found.runs)).catch((error: unknown) =>
      setTrouble(error instanceof Told ? error : { message: String(error), where: "", fix: "" }));
  }, []);
  if (trouble) return <main><Problem trouble={trouble} /></main>;
  if (!all) return <main><p class="rg-muted rg-empty" role="status">Loading the models …</p></main>;
  return <Open root={root} all={all} />;
}

function Open({ root, all }: { root: Element; all: Run[] }) {
  const first = all.find(one => !one.error) ?? all[0]!;
  const seen = useView({ run: first.name, mode: first.kind === "dialog" ? "chat" : "look", inputs: first.example ?? {}, edits: [] });
  const { view, change } = seen;
  const run = all.find(one => one.name === view.run) ?? first;
  const modes = useMemo(() => {
    const found: { name: Mode; title: string }[] = [];
    if (run.kind === "dialog") found.push({ name: "chat", title: "Chat" });
    found.push({ name: "look", title: "Look" });
    if (all.some(other => comparable(run, other))) found.push({ name: "compare", title: "Compare" });
    return found;
  }, [run, all]);
  const mode = modes.some(one => one.name === view.mode) ? view.mode : modes[0]!.name;
  const pick = (name: string) => {
    const next = all.find(one => one.name === name)!;
    const same = next.inputs?.every(one => one.name in view.inputs) && next.kind === run.kind;
    change({
      run: name, edits: [], prefix: undefined, panel: undefined,
      inputs: same ? view.inputs : next.example ?? {}, mode: next.kind === "dialog" && !same ? "chat" : view.mode,
    });
  };
  return (
    <>
      <header class="rg-bar">
        <h1>regard</h1>
        {all.length > 1
          ? <label><span class="rg-hidden">run</span><select value={run.name} onChange={event => pick(event.currentTarget.value)}>
            {all.map(one => <option key={one.name}>{one.name}</option>)}</select></label>
          : <span class="rg-run">{run.name}</span>}
        {modes.length > 1 && <Tabs label="Views" all={modes} chosen={mode} choose={next => change({ mode: next }, false)} />}
        <Switch root={root} />
      </header>
      <main key={run.name}>
        {run.error ? <Problem trouble={run.error} />
          : run.kind === "continues" ? <Continue run={run} seen={seen} />
          : mode === "chat" ? <Chat run={run} seen={seen} />
          : mode === "compare" ? <Compare run={run} runs={all} seen={seen} />
          : <Look run={run} seen={seen} />}
      </main>
    </>
  );
}

function Switch({ root }: { root: Element }) {
  const [theme, set] = useState<Theme>(themeOf(root));
  useEffect(() => watch(root, set), []);
  const other = theme === "dark" ? "light" : "dark";
  return <button type="button" class="rg-plain rg-switch" onClick={() => choose(other)} aria-label={`switch to ${other} colors`}>{theme === "dark" ? "☀" : "☾"}</button>;
}
