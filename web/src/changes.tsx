/** The active edits, each of which can be taken back. */

import { told, type Edit, type Names } from "./edits";
import type { Seen } from "./view";

export function Changes({ seen, names }: { seen: Seen; names: Names }) {
  const { view, change } = seen, many = view.edits.length + (view.prefix ? 1 : 0);
  if (!many && !seen.canUndo && !seen.canRedo) return null;
  const remove = (edit: Edit) => change({ edits: view.edits.filter(one => one !== edit) });
  return (
    <section class="rg-changes" aria-label="Edits">
      <h2>Edits</h2>
      <ul class="rg-list">
        {view.prefix && <li><span dir="auto">it begins with “{view.prefix}”</span>
          <button type="button" class="rg-plain" onClick={() => change({ prefix: undefined })} aria-label="remove the beginning">×</button></li>}
        {view.edits.map((one, n) => (
          <li key={n}><span dir="auto">{told(one, names)}</span>
            <button type="button" class="rg-plain" onClick={() => remove(one)} aria-label={`remove: ${told(one, names)}`}>×</button></li>
        ))}
      </ul>
      {!many && <p class="rg-muted">none</p>}
      <p class="rg-under">
        <button type="button" class="rg-plain" disabled={!seen.canUndo} onClick={seen.undo}>undo</button>
        <button type="button" class="rg-plain" disabled={!seen.canRedo} onClick={seen.redo}>redo</button>
        {many > 1 && <button type="button" class="rg-plain" onClick={() => change({ edits: [], prefix: undefined })}>remove all</button>}
      </p>
    </section>
  );
}
