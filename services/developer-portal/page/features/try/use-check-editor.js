import { useEffect, useState } from '../../lib/html.js';
import { parseJson } from '../../lib/parse-json.js';
import { buildCheck } from './build-check.js';
import { checkOfFragment, fragmentOf } from './check-address.js';
import { readCheck } from './read-check.js';

/** Browsers refuse to change the address too often. */
const SAVE_AFTER_MS = 400;

const textOf = (check) => JSON.stringify(check, null, 2);

/** `form` shows the last JSON that it can represent; `isShown` tells whether that is the current JSON. */
const ofText = (text, last) => {
  const parsed = parseJson(text);
  const form = parsed.fault ? undefined : readCheck(parsed.value);
  return { text, parsed, form: form ?? last, isShown: form !== undefined };
};
const ofForm = (form) => {
  const text = textOf(buildCheck(form));
  return { text, parsed: parseJson(text), form, isShown: true };
};

/**
 * A check as a form and as JSON, either of which may be edited: the other one follows. It is kept in the address, so
 * that a reload and a shared link open the same check.
 *
 * @param makeForm the form of a new check
 * @returns `{ form, text, parsed, isShown, isKept }`, and `setForm`, `setText` and `open` for a whole check
 */
export function useCheckEditor(makeForm) {
  const read = () => {
    const check = checkOfFragment(location.hash);
    return check && ofText(textOf(check), makeForm());
  };
  const [state, setState] = useState(() => read() ?? ofForm(makeForm()));
  const { parsed } = state;
  const fragment = parsed.fault ? undefined : fragmentOf(parsed.value);
  useEffect(() => {
    if (fragment === undefined || fragment === location.hash) return undefined;
    const save = () => history.replaceState(null, '', location.pathname + location.search + fragment);
    const timer = setTimeout(save, SAVE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [fragment]);
  useEffect(() => {
    const follow = () => setState((last) => read() ?? last);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return {
    ...state,
    isKept: parsed.fault !== undefined || fragment !== undefined,
    setForm: (form) => setState(ofForm(form)),
    setText: (text) => setState((last) => ofText(text, last.form)),
    open: (check) => setState((last) => ofText(textOf(check), last.form)),
  };
}
