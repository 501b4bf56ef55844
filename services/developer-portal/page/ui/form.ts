import { faultAt, makeUuid } from '../lib/api.ts';
import {
  createContext,
  html,
  useContext,
  useDomId,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type VNode,
} from '../lib/html.ts';
import { keptKeys, useApp, useSession } from '../lib/session.ts';
import { type Submission, useSubmit } from '../lib/submit.ts';
import { SecretsShown } from './copy.ts';
import { toast } from './toasts.ts';

const TYPING_MS = 250;
const NEVER_TWICE = 'Trying again is safe: it is done only once.';

/** The faults of the form around, by JSON pointer. */
const Faults = createContext<Record<string, string>>({});
export const useFaults = () => useContext(Faults);

/** The fault of a member, or of the first faulty entry of the list that it holds. */
function useFault(pointer: string) {
  const faults = useFaults();
  return faults[pointer] ?? faults[Object.keys(faults).find((key) => key.startsWith(`${pointer}/`)) ?? ''];
}

/** The fault of something that is no field. */
export function Fault({ of }) {
  const fault = useFaults()[of];
  return fault && html`<p class="fault" role="alert" tabindex="-1">${fault}</p>`;
}

/**
 * A labelled field with its hint and, beside it, its fault. Everything else goes to the element.
 * `pointer` is that of the member of the body that the field becomes, where it is not `/` and its
 * name; `fault` is given where it is not that of the form; `as` may be `textarea`. A field with
 * `choices` is a select: texts by value, pairs, or values; one is `chosen` at first, where the field
 * has no `value`.
 *
 * @example
 * html`<${Field} label="Name" name="name" required maxlength="64" />`
 */
export function Field({
  label,
  name,
  required = false,
  hint,
  pointer,
  fault: given,
  choices,
  chosen,
  as = choices ? 'select' : 'input',
  class: className = '',
  ...rest
}) {
  const id = useDomId('field');
  const found = useFault(pointer ?? `/${name}`);
  const fault = given ?? found;
  const describedBy = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const shared = {
    id,
    name,
    required,
    ...rest,
    'aria-invalid': fault ? 'true' : undefined,
    'aria-describedby': describedBy || undefined,
  };
  return html`<div class=${`field ${className}`}>
    <label for=${id}>${label}${required ? '' : html`<span class="optional">${as === 'select' ? '' : ' optional'}</span>`}</label>
    ${as === 'textarea' && html`<textarea ...${shared}></textarea>`}
    ${as === 'select' && html`<select ...${shared}>${drawOptions(choices, rest['value'], chosen)}</select>`}
    ${as === 'input' && html`<input type="text" autocomplete="off" spellcheck=${false} ...${shared} />`}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${fault && html`<p class="fault" id=${`${id}-fault`}>${fault}</p>`}
  </div>`;
}

/** The options of a select field. A value that came as JSON may be none of the choices. */
function drawOptions(choices, value, chosen) {
  const list = Array.isArray(choices) ? choices : Object.entries(choices);
  const pairs = list.map((one) => (Array.isArray(one) ? one : [one, one]));
  const isOffered = value === undefined || pairs.some(([offered]) => String(offered) === value);
  return (isOffered ? pairs : [...pairs, [value, value]]).map(
    ([offered, text]) =>
      html`<option key=${offered} value=${offered} selected=${String(offered) === chosen || undefined}>${text}</option>`,
  );
}

/** A field of a filter that is kept in the address by `useQuery`. */
export function FilterField({ query: [values, change], name, label, choices, ...rest }) {
  // What is typed and not yet chosen: the list may be drawn anew meanwhile.
  const [draft, setDraft] = useState<string>();
  const choose = (event) => {
    setDraft(undefined);
    change({ [name]: event.target.value.trim() });
  };
  return html`<${Field} label=${label} name=${name} choices=${choices && [['', 'All'], ...choices]}
    value=${draft ?? values[name]} onInput=${(event) => setDraft(event.target.value)} onChange=${choose} ...${rest} />`;
}

/** A password to verify, or with `isNew` one to set. */
export const Password = ({ label = 'Password', name = 'password', isNew = false, ...rest }) =>
  html`<${Field} label=${label} name=${name} type="password" required maxlength="128" minlength=${isNew ? 12 : undefined}
    autocomplete=${isNew ? 'new-password' : 'current-password'} hint=${isNew ? 'At least 12 characters.' : undefined} ...${rest} />`;

/** Proves that the person of the session is there: the password, or for an account without one a
 * sign-in within the last five minutes. */
export const OwnPassword = (props) =>
  useSession().account.hasPassword
    ? html`<${Password} ...${props} />`
    : html`<p class="sub">It works within five minutes after you have signed in at your identity provider.</p>`;

/** The code of an authenticator app, or a recovery code. */
export const CodeField = ({ label = 'Code', ...rest }) =>
  html`<${Field} label=${label} name="code" required maxlength="64" autocapitalize="off" autocomplete="one-time-code" ...${rest} />`;

export function KeyField() {
  const kept = keptKeys.get(useApp().clientId);
  return html`<${Field} label="API key" name="apiKey" required maxlength="100" class="mono-input" placeholder="rck_live_…"
    defaultValue=${kept ?? ''} hint=${kept ? 'The key that you have just made.' : 'Paste a key of this app.'} />`;
}

export function Checkbox({ label, hint, name, ...rest }) {
  const id = useDomId('box');
  return html`<div class="checkbox">
    <input type="checkbox" id=${id} name=${name} aria-describedby=${hint ? `${id}-hint` : undefined} ...${rest} />
    <div><label for=${id}>${label}</label>${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}</div>
  </div>`;
}

/** A choice of one among few, side by side: radio buttons, so that the arrow keys work. */
export function Segments({ label, options: offered, value, onChange }) {
  const name = useDomId('segments');
  return html`<fieldset class="segments"><legend class="visually-hidden">${label}</legend>
    ${offered.map(
      ([option, text]) => html`<label key=${option}>
        <input type="radio" name=${name} value=${option} checked=${option === value} onChange=${() => onChange(option)} />
        <span>${text}</span></label>`,
    )}
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

/** A form that is sent by `useSubmit`. After a lost connection its fields are disabled and the
 * button sends the same request again, which takes effect once even if the first attempt succeeded.
 * */
export function Form({ form, submit, tone = '', children, onCancel, cancel = 'Cancel', label }) {
  const { busy, isUncertain, faults, onSubmit, formRef }: Submission = form;
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

/** The fault of a form as a whole; that of one field is shown beside the field. */
function FormError({ form: { error, faults, isUncertain } }: { form: Submission }) {
  if (!error || (error.status === 422 && Object.keys(faults).some((pointer) => pointer !== ''))) return null;
  const lost = 'The connection was lost, so it is not known whether this arrived.';
  const first = error.status === 0 ? lost : error.message;
  const text = isUncertain ? `${first} ${NEVER_TWICE}` : error.message;
  return html`<p class="notice bad" role="alert" tabindex="-1">${text}</p>`;
}

/** A form that needs nothing of its state outside of it: `send` and `onDone` are those of
 * `useSubmit`, the rest that of `Form`. */
export const SendForm = ({ send, onDone, ...rest }) =>
  html`<${Form} form=${useSubmit(send, onDone)} ...${rest} />`;

/** A button that sends something without a form, then says `said` and calls `onDone`. Its idempotency
 * key stays until an answer came, so that a second press after a lost connection sends it once. */
export function SendButton({ send, said, onDone, children, ...rest }) {
  const key = useRef(makeUuid());
  const [busy, setBusy] = useState(false);
  const act = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await send(undefined, key.current);
      key.current = makeUuid();
      if (said) toast(said);
      onDone?.();
    } catch (error) {
      if (!error.isUncertain) key.current = makeUuid();
      toast(error.isUncertain ? `The connection was lost. ${NEVER_TWICE}` : error.message, 'bad');
    }
    setBusy(false);
  };
  return html`<button type="button" aria-disabled=${busy ? 'true' : undefined} onClick=${act} ...${rest}>${children}</button>`;
}

/**
 * A modal dialog that is open as long as it is drawn. The browser keeps the focus inside and gives
 * it back. Escape and the close button call `onClose`; without it the dialog closes by its own
 * buttons only. Nothing of the page behind a covering one may be read.
 *
 * The focus begins at the first field, or at the heading where there is none: the close button is
 * not a place to begin.
 */
export function Dialog({ title, onClose, children, isCovering = false }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useDomId('dialog');
  useLayoutEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement as HTMLElement | null;
    dialog.showModal();
    const first = '[autofocus], input:not([type=hidden], [readonly]), select, textarea';
    (dialog.querySelector<HTMLElement>(first) ?? dialog.querySelector('h2'))?.focus();
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

/** Set once the place of the dialog is drawn. */
let show: (dialog: VNode | undefined) => void = () => {};
const closeDialog = () => show(undefined);

/**
 * Opens a dialog over the page. It closes itself when it is cancelled or done.
 *
 * @example
 * openDialog(html`<${Confirm} title="Revoke the key?" action="Revoke" said="Key revoked" send=${send} after=${reload} />`);
 */
export const openDialog = (dialog: VNode) => show(dialog);

export function OpenDialog() {
  const [shown, setShown] = useState<VNode>();
  useLayoutEffect(() => {
    show = setShown;
  }, []);
  return shown;
}

function finish(said: string | undefined, after?: () => unknown) {
  closeDialog();
  if (said) toast(said);
  after?.();
}

/** A dialog with a form; the rest is that of `SendForm`. When it is done, it says `said`, a text or
 * what makes one of the answer, and calls `after`; or it calls `onDone` instead. */
export function FormDialog({ title, said, after, onDone, children, ...rest }) {
  const sent = onDone ?? ((answer) => finish(typeof said === 'function' ? said(answer) : said, after));
  return html`<${Dialog} title=${title} onClose=${closeDialog}>
    <${SendForm} ...${rest} onDone=${sent} onCancel=${closeDialog}>${children}<//>
  <//>`;
}

/** Asks before something that has large effects; the rest is that of `FormDialog`. Where it destroys
 * a lot, the text `typed` has to be typed first. */
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

/** A dialog whose form makes secrets, which it then shows once, as `show` tells of the answer. Once
 * they are stored, it says `said` and calls `after`, or calls `onDone`; the rest is that of
 * `FormDialog`. */
export function MakeSecrets({ show: describe, onMade, said, after, onDone, ...rest }) {
  const [made, setMade] = useState(undefined);
  const keep = (answer) => {
    onMade?.(answer);
    setMade(answer);
  };
  if (made === undefined) return html`<${FormDialog} key="ask" ...${rest} onDone=${keep} />`;
  const { title, intro, ...secrets } = describe(made);
  return html`<${Dialog} key="made" title=${title}>
    ${intro}<${SecretsShown} ...${secrets} onDone=${() => (onDone ? onDone(made) : finish(said, after))} />
  <//>`;
}

/** How long a replaced secret stays valid beside its successor, by hours. */
const OVERLAPS = {
  0: 'At once',
  1: 'After 1 hour',
  24: 'After 24 hours',
  72: 'After 3 days',
  168: 'After 7 days',
};

/** Replaces a secret by a new one; `until` names the end of the old one, which the person chooses. */
export const ReplaceSecret = ({ until, send, children, ...rest }) => html`<${MakeSecrets} ...${rest}
  send=${({ overlapHours }, key) => send({ overlapHours: Number(overlapHours) }, key)}>
  ${children}<${Field} label=${until} name="overlapHours" choices=${OVERLAPS} chosen="24" />
<//>`;
