/** The inputs of a run: text to type, a file to drop, a row of its data, or the example. */

import { useEffect, useState } from "preact/hooks";
import { Told, upload, type Given, type InputOf, type Run, type Trouble } from "./api";
import { Problem } from "./parts";
import { Rows } from "./rows";

const FILES: Record<string, string> = { image: "image/*", audio: "audio/*", video: "video/*,image/gif" };
const PAUSE = 300;

export interface Form { run: Run; inputs: Record<string, Given>; texts: Record<string, string>; give(inputs: Record<string, Given>): void }

export function Inputs({ run, inputs, texts, give }: Form) {
  const [picking, pick] = useState(false);
  const splits = Object.keys(run.splits);
  const row = Object.values(inputs).find(one => typeof one === "object" && "row" in one) as { row: number; split: string } | undefined;
  return (
    <section class="rg-inputs" aria-label="Input">
      {run.inputs.map(one => (
        <Field key={`${run.name} ${one.name}`} one={one} alone={run.inputs.length === 1} given={inputs[one.name]}
          text={texts[one.name]} give={value => give({ ...inputs, [one.name]: value })} />
      ))}
      <p class="rg-under">
        {row && <span>row {row.row} of {row.split}</span>}
        {Object.keys(run.example).length > 0 &&
          <button type="button" class="rg-plain" onClick={() => give({ ...run.example })}>example</button>}
        {(splits.length > 0 || run.split) &&
          <button type="button" class="rg-plain" aria-expanded={picking} onClick={() => pick(!picking)}>pick from the data</button>}
      </p>
      {picking && <Rows run={run} choose={(number, split) => {
        give(Object.fromEntries(run.inputs.map(one => [one.name, { row: number, split }])));
      }} />}
    </section>
  );
}

interface FieldOf { one: InputOf; alone: boolean; given: Given | undefined; text: string | undefined; give(value: Given): void }

function Field({ one, alone, given, text, give }: FieldOf) {
  if (FILES[one.media]) return <Drop one={one} given={given} give={give} />;
  const shown = typeof given === "string" ? given : given && text ? text : "";
  return <Typed one={one} alone={alone} shown={shown} give={give} />;
}

function Typed({ one, alone, shown, give }: { one: InputOf; alone: boolean; shown: string; give(value: Given): void }) {
  const [text, set] = useState(shown);
  const [timer, wait] = useState(0);
  useEffect(() => set(shown), [shown]);
  const send = (value: string) => { clearTimeout(timer); if (value !== shown) give(value); };
  return (
    <label class="rg-field">
      <span class={alone ? "rg-hidden" : ""}>{one.name}</span>
      <textarea rows={1} dir="auto" spellcheck={false} value={text} placeholder={`Type ${one.name === "source" ? "a source" : one.name}`}
        onInput={event => {
          const value = event.currentTarget.value;
          set(value);
          clearTimeout(timer);
          wait(window.setTimeout(() => send(value), PAUSE));
        }}
        onKeyDown={event => {
          if (event.key === "Enter" && !event.shiftKey && one.media === "text") { event.preventDefault(); send(text); }
        }}
        onBlur={() => send(text)} />
    </label>
  );
}

function Drop({ one, given, give }: { one: InputOf; given: Given | undefined; give(value: Given): void }) {
  const [name, setName] = useState("");
  const [over, setOver] = useState(false);
  const [trouble, setTrouble] = useState<Trouble>();
  const take = async (file: File | undefined) => {
    if (!file) return;
    setTrouble(undefined);
    try {
      const found = await upload(file);
      setName(file.name);
      give({ upload: found.upload });
    } catch (error) {
      setTrouble(error instanceof Told ? error : { message: String(error), where: one.name, fix: "" });
    }
  };
  const told = given === undefined || typeof given === "string" ? "" : "row" in given ? `from row ${given.row}` : name || "your file";
  return (
    <div class="rg-field">
      <label class={`rg-drop${over ? " rg-over" : ""}`}
        onDragOver={event => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
        onDrop={event => { event.preventDefault(); setOver(false); void take(event.dataTransfer?.files[0]); }}>
        <span>{one.name}</span>
        <span class="rg-drop-told">{told || `Drop ${/^[aeiou]/.test(one.media) ? "an" : "a"} ${one.media} here, or choose a file`}</span>
        <input type="file" class="rg-hidden" accept={FILES[one.media]} onChange={event => void take(event.currentTarget.files?.[0])} />
      </label>
      <Problem trouble={trouble} />
    </div>
  );
}
