/** Questions to the server as hooks: the newest answer wins, long work shows its progress. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { post, Told, type Trouble } from "./api";

export interface Asking<T> {
  answer: T | undefined; trouble: Trouble | undefined; busy: boolean; done: number; of: number; cancel(): void;
}

function told(error: unknown): Trouble {
  return error instanceof Told ? error : { message: String(error), where: "", fix: "" };
}

/** Ask whenever the question changes, one request at a time; null asks nothing. */
export function useAnswer<T>(path: string, question: unknown, wait = 0): Asking<T> {
  const key = question === null ? "" : JSON.stringify(question);
  const [answer, setAnswer] = useState<T>();
  const [trouble, setTrouble] = useState<Trouble>();
  const [busy, setBusy] = useState(false);
  const [steps, setSteps] = useState([0, 0]);
  const stop = useRef<AbortController | undefined>(undefined);
  const wanted = useRef(""), asking = useRef(false);

  const ask = useCallback(async () => {
    if (asking.current) return;
    asking.current = true;
    setBusy(true);
    while (wanted.current) {
      const now = wanted.current;
      wanted.current = "";
      stop.current = new AbortController();
      try {
        const found = await post<T>(path, JSON.parse(now), stop.current.signal, (done, of) => setSteps([done, of]));
        if (!wanted.current) { setAnswer(found); setTrouble(undefined); }
      } catch (error) {
        if (!wanted.current && (error as Error).name !== "AbortError") setTrouble(told(error));
      }
    }
    asking.current = false;
    setBusy(false);
    setSteps([0, 0]);
  }, [path]);

  useEffect(() => {
    wanted.current = key;
    if (!key) return;
    const timer = setTimeout(() => void ask(), wait);
    return () => clearTimeout(timer);
  }, [key, path]);
  const cancel = useCallback(() => { wanted.current = ""; stop.current?.abort(); }, []);
  return { answer, trouble, busy, done: steps[0]!, of: steps[1]!, cancel };
}
