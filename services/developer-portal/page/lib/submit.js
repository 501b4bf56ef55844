import { toast } from '../ui/toasts.js';
import { makeUuid } from './api.js';
import { useEffect, useRef, useState } from './html.js';

/** @import { ApiError } from './api.js' */

/**
 * The state of a form; the faults by JSON pointer.
 * @typedef {{ busy: boolean, error: ApiError | undefined, faults: Record<string, string>,
 *   isUncertain: boolean }} State
 * @typedef {State & { onSubmit: (event: SubmitEvent) => Promise<void>, formRef: { current: any } }}
 *   Submission
 */

/** @type {State} */
const IDLE = { busy: false, error: undefined, faults: {}, isUncertain: false };

/**
 * A form that sends something. It has an idempotency key from the moment it is opened:
 *
 *   open ──submit──► busy ──answer──► done
 *    ▲                │ ├──refused──► open, faults beside the fields, a new key (nothing was made)
 *    └────────────────┘ └──no answer─► uncertain: the same values can be sent again under the same key, so that
 *                                      the request takes effect once, whether or not the first try arrived
 *
 * A session that has ended leaves the form as it is: the person signs in over it and submits again.
 * @template T
 * @param {(values: any, idempotencyKey: string) => Promise<T>} send values are the form's fields by
 *   name
 * @param {(answer: T) => unknown} [onDone]
 * @returns {Submission}
 */
export function useSubmit(send, onDone) {
  const [state, setState] = useState(IDLE);
  const formRef = useRef(/** @type {any} */ (null));
  const newAttempt = () => ({ key: makeUuid(), values: /** @type {any} */ (undefined), isBusy: false });
  const attempt = useRef(newAttempt());

  /** @param {SubmitEvent} event */
  const onSubmit = async (event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    const { current } = attempt;
    if (current.isBusy) return;
    if (current.values === undefined) {
      const faults = findFaults(form);
      if (Object.keys(faults).length > 0) return setState({ ...IDLE, faults });
      current.values = Object.fromEntries(new FormData(form));
    }
    current.isBusy = true;
    setState((last) => ({ ...last, busy: true }));
    try {
      const answer = await send(current.values, current.key);
      attempt.current = newAttempt();
      setState(IDLE);
      onDone?.(answer);
    } catch (error) {
      current.isBusy = false;
      // Nothing was done. The typed values stay, and so does a first try that may have arrived.
      if (error.code === 'session-missing') {
        if (!state.isUncertain) current.values = undefined;
        return setState((last) => ({ ...last, busy: false }));
      }
      const isUncertain = error.isUncertain === true;
      if (!isUncertain) attempt.current = newAttempt();
      setState({ busy: false, error, faults: error.faults ?? {}, isUncertain });
    }
  };

  // Moves the focus to the first fault, for people who submitted by keyboard. Not in a layout
  // effect: the fields get their faults by context, and are drawn after the form.
  useEffect(() => {
    /** @type {HTMLFormElement | null} */
    const form = formRef.current;
    if (!form || state.busy) return;
    /** @type {HTMLElement | null} */
    const place = form.querySelector('[aria-invalid="true"]') ?? form.querySelector('[role="alert"]');
    if (state.error || Object.keys(state.faults).length > 0) place?.focus();
  }, [state]);

  return { ...state, onSubmit, formRef };
}

/**
 * The faults of a form's fields before it is sent, by JSON pointer. The server validates again;
 * this only saves a round trip, so it checks only the constraints that the fields declare.
 * @param {HTMLFormElement} form
 */
function findFaults(form) {
  /** @type {Record<string, string>} */
  const faults = {};
  for (const element of form.elements) {
    const field = /** @type {HTMLInputElement} */ (element);
    const fault = field.name && field.validity && !field.matches(':disabled') && faultOf(field);
    if (fault) faults[`/${field.name}`] = fault;
  }
  return faults;
}

/** @param {HTMLInputElement} field */
function faultOf(field) {
  const { validity } = field;
  if (field.required && field.value.trim() === '') return field.dataset['missing'] ?? 'Please fill this in.';
  if (field.minLength > 0 && [...field.value].length < field.minLength)
    return `At least ${field.minLength} characters.`;
  if (validity.typeMismatch)
    return field.type === 'email'
      ? 'This is not an e-mail address.'
      : 'Write a whole URL, like https://example.com/hooks.';
  return validity.valid ? undefined : field.validationMessage;
}

/**
 * A button that sends something without a form. Its idempotency key stays until an answer came, so
 * that a second press after a lost connection sends it once.
 * @template T
 * @param {(idempotencyKey: string, about: T) => Promise<unknown>} send
 * @param {(about: T) => unknown} onDone
 * @returns {[(about: T) => Promise<void>, T | true | undefined]} the function, and what it is busy
 *   with
 */
export function useAction(send, onDone) {
  const key = useRef(makeUuid());
  const [busy, setBusy] = useState(/** @type {T | true | undefined} */ (undefined));
  /** @param {T} about */
  const act = async (about) => {
    if (busy !== undefined) return;
    setBusy(about ?? true);
    try {
      await send(key.current, about);
      key.current = makeUuid();
      onDone(about);
    } catch (error) {
      if (!error.isUncertain) key.current = makeUuid();
      toast(
        error.isUncertain
          ? 'The connection was lost. Trying again is safe: it is done only once.'
          : error.message,
        'bad',
      );
    }
    setBusy(undefined);
  };
  return [act, busy];
}
