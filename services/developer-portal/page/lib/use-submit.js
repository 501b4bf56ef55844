import { makeUuid } from './api.js';
import { findFaults } from './find-faults.js';
import { useLayoutEffect, useRef, useState } from './html.js';

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
 *
 * @param send `(values, idempotencyKey) => Promise`; values are the form's fields by name
 * @returns the form's state, and `onSubmit` and `formRef` for the form element
 */
export function useSubmit(send, onDone) {
  const [state, setState] = useState(IDLE);
  const formRef = useRef(null);
  const attempt = useRef({ key: makeUuid(), values: undefined, isBusy: false });

  const onSubmit = async (event) => {
    event.preventDefault();
    const { current } = attempt;
    if (current.isBusy) return;
    if (current.values === undefined) {
      const faults = findFaults(event.currentTarget);
      if (Object.keys(faults).length > 0) return setState({ ...IDLE, faults });
      current.values = valuesOf(event.currentTarget);
    }
    current.isBusy = true;
    setState((last) => ({ ...last, busy: true }));
    try {
      const answer = await send(current.values, current.key);
      attempt.current = { key: makeUuid(), values: undefined, isBusy: false };
      setState(IDLE);
      onDone?.(answer);
    } catch (error) {
      // Nothing was done. The typed values stay, and so does a first try that may have arrived.
      if (error.code === 'session-missing') {
        current.isBusy = false;
        if (!state.isUncertain) current.values = undefined;
        return setState((last) => ({ ...last, busy: false }));
      }
      const isUncertain = error.isUncertain === true;
      if (!isUncertain) attempt.current = { key: makeUuid(), values: undefined, isBusy: false };
      current.isBusy = false;
      setState({ busy: false, error, faults: error.faults ?? {}, isUncertain });
    }
  };

  // Moves the focus to the first fault, for people who submitted by keyboard.
  useLayoutEffect(() => {
    const form = formRef.current;
    if (!form || state.busy) return;
    const place = form.querySelector('[aria-invalid="true"]') ?? form.querySelector('[role="alert"]');
    if (state.error || Object.keys(state.faults).length > 0) place?.focus();
  }, [state]);

  return { ...state, onSubmit, formRef };
}

const valuesOf = (form) => Object.fromEntries(new FormData(form));
