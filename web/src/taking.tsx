/** A view as a file, a link, a command or a Python call. */

import { useState } from "preact/hooks";
import { download, Told, type Answer, type Asked, type Trouble } from "./api";
import { Copy, Problem } from "./parts";

const KINDS = ["svg", "png", "json", "trace", "html"];

export function Taking({ look, answer, files = true }: { look: Asked; answer: Answer; files?: boolean }) {
  const [trouble, set] = useState<Trouble>();
  const save = (kind: string) => download(look, kind).then(() => set(undefined)).catch((error: unknown) =>
    set(error instanceof Told ? error : { message: String(error), where: kind, fix: "" }));
  return (
    <section class="rg-taking" aria-label="Take it with you">
      <h2>Take it with you</h2>
      <p class="rg-under">
        {files && KINDS.map(kind => <button type="button" class="rg-plain" key={kind} onClick={() => void save(kind)}
          aria-label={`download ${kind.toUpperCase()}`}>{kind}</button>)}
        <Copy text={location.href}>link</Copy></p>
      <Problem trouble={trouble} />
      {answer.python && <details><summary>Python</summary><pre tabIndex={0}>{answer.python}</pre><Copy text={answer.python}>copy</Copy></details>}
      {answer.command && <details><summary>Command</summary><pre tabIndex={0}>{answer.command}</pre><Copy text={answer.command}>copy</Copy></details>}
    </section>
  );
}
