import { type ApiError, makeUuid } from './api.ts';
import { useEffect, useRef, useState } from './html.ts';

type State = {
  busy: boolean;
  error: ApiError | undefined;
  /** By JSON pointer. */
  faults: Record<string, string>;
  isUncertain: boolean;
};
export type Submission = State & {
  onSubmit: (event: SubmitEvent) => Promise<void>;
  formRef: { current: HTMLFormElement };
};

const IDLE: State = { busy: false, error: undefined, faults: {}, isUncertain: false };

const newAttempt = (): { key: string; values?: object | undefined; isBusy: boolean } => ({
  key: makeUuid(),
  isBusy: false,
});

/**
 * A form that sends something. It has an idempotency key from the moment it is opened:
 *
 *   open ──submit──► busy ──answer──► done
 *    ▲                │ ├──refused──► open, faults beside the fields, a new key (nothing was made)
 *    └────────────────┘ └──no answer─► uncertain: the same values can be sent again under the same key, so that
 *                                      the request takes effect once, whether or not the first try arrived
 *
 * A session that has ended leaves the form as it is: the person signs in over it and submits again.
 * @param send values are the form's fields by name
 */
export function useSubmit<T>(
  send: (values, idempotencyKey: string) => Promise<T>,
  onDone?: (answer: T) => unknown,
): Submission {
  const [state, setState] = useState(IDLE);
  const formRef = useRef<HTMLFormElement>(null);
  const attempt = useRef(newAttempt());

  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
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
    if (state.busy || (!state.error && Object.keys(state.faults).length === 0)) return;
    const first = (selector: string) => formRef.current?.querySelector<HTMLElement>(selector);
    (first('[aria-invalid="true"]') ?? first('[role="alert"]'))?.focus();
  }, [state]);

  return { ...state, onSubmit, formRef };
}

/** The faults of a form's fields before it is sent, by JSON pointer. The server validates again;
 * this only saves a round trip, so it checks only the constraints that the fields declare. */
function findFaults(form: HTMLFormElement) {
  const faults: Record<string, string> = {};
  for (const element of form.elements) {
    const field = element as HTMLInputElement;
    const fault = field.name && field.validity && !field.matches(':disabled') && faultOf(field);
    if (fault) faults[`/${field.name}`] = fault;
  }
  return faults;
}

function faultOf(field: HTMLInputElement) {
  const { validity } = field;
  if (field.required && field.value.trim() === '') return field.dataset['missing'] ?? 'Please fill this in.';
  if (field.minLength > 0 && [...field.value].length < field.minLength)
    return `At least ${field.minLength} characters.`;
  if (validity.typeMismatch)
    return field.type === 'email'
      ? 'This is not an e-mail address.'
      : 'Write a whole URL, like https://example.com/hooks.';
  if (validity.patternMismatch) return field.dataset['mismatch'] ?? field.validationMessage;
  return validity.valid ? undefined : field.validationMessage;
}
