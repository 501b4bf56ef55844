import { ask } from './api.js';
import { useEffect, useState } from './html.js';
import { useSession } from './session.js';

const AGAIN_MS = 1_500;
const AFTER_FAILURE_MS = 5_000;

/**
 * Reads a resource of the API repeatedly until `isDone(value)`. The last value stays on the screen while the connection is
 * lost.
 *
 * @returns `{ value, error, reload }`; the error only where nothing was read yet
 */
export function useProgress(path, isDone) {
  const [state, setState] = useState({});
  const [round, setRound] = useState(0);
  const { signIns } = useSession();
  useEffect(() => {
    let isWanted = true;
    let timer;
    const read = async () => {
      let waitMs = AGAIN_MS;
      try {
        const value = await ask('GET', path);
        if (!isWanted) return;
        setState({ value });
        if (isDone(value)) return;
      } catch (error) {
        if (!isWanted) return;
        setState((last) => (last.value === undefined ? { error } : last));
        if (error.status === 404) return;
        waitMs = AFTER_FAILURE_MS;
      }
      timer = setTimeout(read, waitMs);
    };
    void read();
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [path, round, signIns]);
  return { ...state, reload: () => setRound((last) => last + 1) };
}
