import { ask } from './api.js';
import { useEffect, useState } from './html.js';
import { useSession } from './session.js';

/**
 * Something that is read from the API when the component appears, and again when the path changes, `reload` is
 * called, or the person signs in again. The old data stay on the screen during a new read.
 *
 * @returns `{ value, error, reload }`; neither value nor error while it is read the first time
 */
export function useResource(path) {
  const [state, setState] = useState({ path });
  const [round, setRound] = useState(0);
  const { signIns } = useSession();
  useEffect(() => {
    let isWanted = true;
    const settle = (outcome) => isWanted && setState({ path, ...outcome });
    ask('GET', path).then(
      (value) => settle({ value }),
      (error) => settle({ error }),
    );
    return () => {
      isWanted = false;
    };
  }, [path, round, signIns]);
  const current = state.path === path ? state : {};
  return { value: current.value, error: current.error, reload: () => setRound((last) => last + 1) };
}
