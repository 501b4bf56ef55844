import { html } from '../lib/html.js';

const NEVER_TWICE = 'Trying again is safe: it is done only once.';

/**
 * A form that is sent by `useSubmit`. After a lost connection its fields are disabled and the button sends the same request
 * again, which takes effect once even if the first attempt succeeded.
 */
export function Form({ form, submit, tone = '', children, onCancel, cancel = 'Cancel', label }) {
  const { busy, isUncertain, onSubmit, formRef } = form;
  return html`<form ref=${formRef} onSubmit=${onSubmit} novalidate aria-busy=${busy} aria-label=${label}>
    <fieldset disabled=${isUncertain}>${children}</fieldset>
    <${FormError} form=${form} />
    <div class="actions">
      ${onCancel && html`<button type="button" onClick=${onCancel}>${cancel}</button>`}
      <button type="submit" class=${`primary ${tone}`} aria-disabled=${busy ? 'true' : undefined}>
        ${isUncertain ? 'Try again' : submit}
      </button>
    </div>
  </form>`;
}

/** The fault of a form as a whole; a fault of one field is shown beside that field. */
function FormError({ form: { error, faults, isUncertain } }) {
  if (!error) return null;
  const known = Object.keys(faults).filter((pointer) => pointer !== '');
  if (known.length > 0 && error.status === 422) return null;
  return html`<p class="notice bad" role="alert" tabindex="-1">${isUncertain ? uncertain(error) : error.message}</p>`;
}

const uncertain = ({ status, message }) =>
  status === 0
    ? `The connection was lost, so it is not known whether this arrived. ${NEVER_TWICE}`
    : `${message} ${NEVER_TWICE}`;
