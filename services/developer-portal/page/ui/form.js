import { faultAt } from '../lib/api.js';
import {
  createContext,
  html,
  useContext,
  useDomId,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from '../lib/html.js';
import { keptKeys, useApp } from '../lib/session.js';
import { useSubmit } from '../lib/submit.js';
import { SecretsShown } from './copy.js';
import { toast } from './toasts.js';

/** @import { Value, VNode } from '/assets/vendor/htm-preact.js' */
/** @import { Submission } from '../lib/submit.js' */

const NEVER_TWICE = 'Trying again is safe: it is done only once.';
const TYPING_MS = 250;

/**
 * The faults of the form around a field, by JSON pointer.
 * @type {ReturnType<typeof createContext<Record<string, string>>>}
 */
const Faults = createContext({});

/**
 * A labelled field with its hint and, beside it, its fault. Everything else goes to the element.
 * @param {object} props
 * @param {string} props.label
 * @param {string} props.name
 * @param {Value} [props.hint]
 * @param {string} [props.pointer] of the member of the body that the field becomes, where it is not
 *   `/` and its name
 * @param {Value} [props.fault] where it is not that of the form
 * @param {'input' | 'textarea' | 'select'} [props.as]
 * @param {string} [props.class]
 * @param {boolean} [props.required]
 * @param {Value} [props.children]
 *
 * @example
 * html`<${Field} label="Name" name="name" required maxlength="64" />`
 */
export function Field({
  label,
  hint,
  pointer,
  fault: given,
  as = 'input',
  class: className = '',
  children,
  ...rest
}) {
  const id = useDomId('field');
  const faults = useContext(Faults);
  const fault = given ?? faults[pointer ?? `/${rest.name}`];
  const describedBy = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const shared = {
    id,
    ...rest,
    'aria-invalid': fault ? 'true' : undefined,
    'aria-describedby': describedBy || undefined,
  };
  return html`<div class=${`field ${className}`}>
    <label for=${id}>${label}${rest.required ? '' : html`<span class="optional">${as === 'select' ? '' : ' optional'}</span>`}</label>
    ${as === 'textarea' && html`<textarea ...${shared}></textarea>`}
    ${as === 'select' && html`<select ...${shared}>${children}</select>`}
    ${as === 'input' && html`<input type="text" autocomplete="off" spellcheck=${false} ...${shared} />`}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${fault && html`<p class="fault" id=${`${id}-fault`}>${fault}</p>`}
  </div>`;
}

/**
 * The options of a select field.
 * @param {string | number} [chosen] at first, where the field has no `value`
 */
export const options = (pairs, chosen) =>
  pairs.map(
    ([value, text]) =>
      html`<option key=${value} value=${value} selected=${value === chosen || undefined}>${text}</option>`,
  );

/**
 * A field of a filter that is kept in the address.
 * @param {object} props
 * @param {[Record<string, string>, (changes: Record<string, string>) => void]} props.query of
 *   `useQuery`
 * @param {string} props.name
 * @param {string} props.label
 * @param {readonly (readonly [value: string, text: string])[]} [props.choices] beside all
 */
export function FilterField({ query: [values, change], name, label, choices, ...rest }) {
  // What is typed and not yet chosen: the list may be drawn anew meanwhile.
  const [draft, setDraft] = useState(/** @type {string | undefined} */ (undefined));
  const choose = (event) => {
    setDraft(undefined);
    change({ [name]: event.target.value.trim() });
  };
  return html`<${Field} label=${label} name=${name} as=${choices ? 'select' : 'input'}
    value=${draft ?? values[name]} onInput=${(event) => setDraft(event.target.value)} onChange=${choose} ...${rest}>
    ${choices && options([['', 'All'], ...choices])}
  <//>`;
}

/** What a field of date and time holds, as the API takes it; undefined while it is empty or half
 * typed. */
export const instantOf = (local) =>
  Number.isNaN(Date.parse(local)) ? undefined : new Date(local).toISOString();

/** A password to verify, or with `isNew` one to set. */
export const Password = ({ label = 'Password', name = 'password', isNew = false, ...rest }) =>
  html`<${Field} label=${label} name=${name} type="password" required maxlength="128" minlength=${isNew ? 12 : undefined}
    autocomplete=${isNew ? 'new-password' : 'current-password'} hint=${isNew ? 'At least 12 characters.' : undefined} ...${rest} />`;

/** The code of an authenticator app, or a recovery code. */
export const CodeField = ({ label = 'Code', ...rest }) =>
  html`<${Field} label=${label} name="code" required maxlength="64" autocapitalize="off" autocomplete="one-time-code" ...${rest} />`;

const OVERLAPS = /** @type {const} */ ([
  [0, 'At once'],
  [1, 'After 1 hour'],
  [24, 'After 24 hours'],
  [72, 'After 3 days'],
  [168, 'After 7 days'],
]);

/** How long a replaced key or secret stays valid beside its successor. */
export const Overlap = ({ label }) =>
  html`<${Field} label=${label} name="overlapHours" as="select">${options(OVERLAPS, 24)}<//>`;

/** An API key of the app, to send a request with. */
export const KeyField = ({ value, onText, ...rest }) => html`<${Field}
  label="API key" name="apiKey" required maxlength="100" class="mono-input"
  value=${value} placeholder="rck_live_…" onInput=${(event) => onText(event.target.value)} ...${rest}
  hint=${keptKeys.has(useApp().clientId) ? 'The key that you have just made.' : 'Paste a key of this app.'} />`;

/** A box to tick, with an explanation under it. */
export function Checkbox({ label, hint, name, ...rest }) {
  const id = useDomId('box');
  return html`<div class="checkbox">
    <input type="checkbox" id=${id} name=${name} aria-describedby=${hint ? `${id}-hint` : undefined} ...${rest} />
    <div><label for=${id}>${label}</label>${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}</div>
  </div>`;
}

/** Boxes that become one member of the body, with its fault. */
export function Choices({ legend, pointer, children }) {
  const fault = useContext(Faults)[pointer];
  return html`<fieldset class="choices">
    <legend>${legend}</legend>${children}
    ${fault && html`<p class="fault" role="alert" tabindex="-1">${fault}</p>`}
  </fieldset>`;
}

/** A field whose text is searched for shortly after typing has paused. */
export function SearchField({ label, value, onSearch }) {
  const [text, setText] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => text.trim() !== value && onSearch(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<${Field} label=${label} type="search" name="query" required maxlength="254" value=${text}
    onInput=${(event) => setText(event.target.value)} />`;
}

/**
 * A form that is sent by `useSubmit`. After a lost connection its fields are disabled and the
 * button sends the same request again, which takes effect once even if the first attempt succeeded.
 * @param {object} props
 * @param {Submission} props.form
 * @param {string} props.submit
 * @param {string} [props.tone]
 * @param {Value} props.children
 * @param {() => void} [props.onCancel]
 * @param {string} [props.cancel]
 * @param {string} [props.label]
 */
export function Form({ form, submit, tone = '', children, onCancel, cancel = 'Cancel', label }) {
  const { busy, isUncertain, faults, onSubmit, formRef } = form;
  return html`<form ref=${formRef} onSubmit=${onSubmit} novalidate aria-busy=${busy} aria-label=${label}>
    <fieldset disabled=${isUncertain}><${Faults.Provider} value=${faults}>${children}<//></fieldset>
    <${FormError} form=${form} />
    <div class="actions">
      ${onCancel && html`<button type="button" onClick=${onCancel}>${cancel}</button>`}
      <button type="submit" class=${`primary ${tone}`} aria-disabled=${busy ? 'true' : undefined}>
        ${isUncertain ? 'Try again' : submit}
      </button>
    </div>
  </form>`;
}

/**
 * The fault of a form as a whole; that of one field is shown beside the field.
 * @param {{ form: Submission }} props
 */
function FormError({ form: { error, faults, isUncertain } }) {
  if (!error || (error.status === 422 && Object.keys(faults).some((pointer) => pointer !== ''))) return null;
  const lost = 'The connection was lost, so it is not known whether this arrived.';
  const text = isUncertain ? `${error.status === 0 ? lost : error.message} ${NEVER_TWICE}` : error.message;
  return html`<p class="notice bad" role="alert" tabindex="-1">${text}</p>`;
}

/**
 * A form that needs nothing of its state outside of it: `send` and `onDone` are those of
 * `useSubmit`, the rest that of `Form`.
 * @param {{ send: Parameters<typeof useSubmit>[0], onDone?: (answer: any) => unknown }} props
 */
export const SendForm = ({ send, onDone, ...rest }) =>
  html`<${Form} form=${useSubmit(send, onDone)} ...${rest} />`;

/**
 * A modal dialog that is open as long as it is drawn. The browser keeps the focus inside and gives
 * it back.
 *
 * The focus begins at the first field, or at the heading where there is none: the close button is
 * not a place to begin.
 * @param {object} props
 * @param {string} props.title
 * @param {() => void} [props.onClose] called by Escape and the close button; without it the dialog
 *   closes by its own buttons only
 * @param {Value} props.children
 * @param {boolean} [props.isCovering] whether nothing of the page behind may be read
 */
export function Dialog({ title, onClose, children, isCovering = false }) {
  const ref = useRef(/** @type {any} */ (null));
  const id = useDomId('dialog');
  useLayoutEffect(() => {
    /** @type {HTMLDialogElement} */
    const dialog = ref.current;
    const opener = /** @type {HTMLElement | null} */ (document.activeElement);
    dialog.showModal();
    const first = '[autofocus], input:not([type=hidden], [readonly]), select, textarea';
    /** @type {HTMLElement | null} */
    const place = dialog.querySelector(first) ?? dialog.querySelector('h2');
    place?.focus();
    return () => {
      dialog.close();
      if (opener?.isConnected) opener.focus();
    };
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    onClose?.();
  };
  // Chromium closes the dialog on a second Escape even if the page prevents it; a secret that is
  // shown once must stay.
  const keep = (event) => {
    if (event.key === 'Escape' && !onClose) event.preventDefault();
  };
  return html`<dialog ref=${ref} class=${isCovering ? 'dialog covering' : 'dialog'} aria-labelledby=${id}
    onCancel=${cancel} onKeyDown=${keep}>
    <header>
      <h2 id=${id} tabindex="-1">${title}</h2>
      ${onClose && html`<button type="button" class="plain close" aria-label="Close" onClick=${onClose}>×</button>`}
    </header>
    ${children}
  </dialog>`;
}

/** Of the dialog around: the functions that close it, and that say a text when it is done. */
const Opened = createContext({ close() {}, done(/** @type {string | undefined} */ _said) {} });

/**
 * The dialog that a page has open, if any. It closes itself when it is cancelled or done.
 * @param {() => void} [afterwards] called when one was done
 * @returns {[Value, (dialog: VNode) => void]} it, and the function that opens one
 * @example
 * const [dialog, open] = useDialog(reload);
 * open(html`<${Confirm} title="Revoke the key?" action="Revoke" said="Key revoked" send=${send} />`);
 */
export function useDialog(afterwards) {
  const [shown, setShown] = useState(/** @type {VNode | null} */ (null));
  const close = () => setShown(null);
  const done = (/** @type {string | undefined} */ said) => {
    close();
    if (said) toast(said);
    afterwards?.();
  };
  return [shown && html`<${Opened.Provider} value=${{ close, done }}>${shown}<//>`, setShown];
}

/**
 * A dialog with a form; the rest is that of `SendForm`.
 * @param {object} props
 * @param {string} props.title
 * @param {string | ((answer: any) => string)} [props.said] when it is done
 * @param {(answer: any) => void} [props.onDone] instead
 * @param {Value} props.children
 */
export function FormDialog({ title, said, onDone, children, ...rest }) {
  const { close, done } = useContext(Opened);
  const sent = onDone ?? ((answer) => done(typeof said === 'function' ? said(answer) : said));
  return html`<${Dialog} title=${title} onClose=${close}>
    <${SendForm} ...${rest} onDone=${sent} onCancel=${close}>${children}<//>
  <//>`;
}

/**
 * Asks before something that has large effects; the rest is that of `FormDialog`.
 * @param {object} props
 * @param {string} props.action
 * @param {string} [props.typed] a text that has to be typed first, for actions that destroy a lot
 * @param {() => Promise<unknown>} props.send
 * @param {Value} props.children
 */
export const Confirm = ({ action, typed, send, children, ...rest }) => html`<${FormDialog}
  tone="danger" submit=${action} ...${rest}
  send=${async (values) => {
    if (typed !== undefined && values.typed.trim() !== typed)
      throw faultAt('/typed', `Type “${typed}” exactly as shown.`);
    return send();
  }}>
  <div class="prose">${children}</div>
  ${typed && html`<${Field} label=${`Type “${typed}” to confirm`} name="typed" required />`}
<//>`;

/**
 * A dialog whose form makes secrets, which it then shows once; the rest is that of `FormDialog`.
 * @param {object} props
 * @param {(made: any) => { title: string, secrets: string[][], note?: string, intro?: Value }}
 *   props.show
 * @param {(made: any) => void} [props.onMade]
 * @param {string} [props.said] when the secrets are stored
 * @param {(made: any) => void} [props.onDone] instead
 */
export function MakeSecrets({ show, onMade, said, onDone, ...rest }) {
  const { done } = useContext(Opened);
  const [made, setMade] = useState(/** @type {any} */ (undefined));
  const keep = (answer) => {
    onMade?.(answer);
    setMade(answer);
  };
  if (made === undefined) return html`<${FormDialog} key="ask" ...${rest} onDone=${keep} />`;
  const { title, intro, ...secrets } = show(made);
  return html`<${Dialog} key="made" title=${title}>
    ${intro}<${SecretsShown} ...${secrets} onDone=${() => (onDone ? onDone(made) : done(said))} />
  <//>`;
}
