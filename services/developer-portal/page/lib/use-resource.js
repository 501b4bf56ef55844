import { ask } from './api.js';
import { useEffect, useState } from './html.js';
import { useSession } from './session.js';

/** Statuses that say that old data must not be shown any more. */
const GONE = [403, 404];

/**
 * Reads a resource of the API when the component appears, and again when the path changes, `reload` is
 * called, or the person signs in again. The old data stay on the screen during a new read, and after a failed one unless
 * the resource is gone or forbidden, so forms on the page keep their input.
 *
 * @returns `{ value, error, reload }`; neither value nor error while it is read the first time, both after a failed
 *   new read
 */
export function useResource(path) {
  const [state, setState] = useState({ path });
  const [round, setRound] = useState(0);
  const { signIns } = useSession();
  useEffect(() => {
    let isWanted = true;
    ask('GET', path).then(
      (value) => isWanted && setState({ path, value }),
      (error) => {
        if (!isWanted) return;
        setState((last) => {
          const isKept = last.path === path && !GONE.includes(error.status);
          return { path, error, value: isKept ? last.value : undefined };
        });
      },
    );
    return () => {
      isWanted = false;
    };
  }, [path, round, signIns]);
  const current = state.path === path ? state : {};
  return { value: current.value, error: current.error, reload: () => setRound((last) => last + 1) };
}
