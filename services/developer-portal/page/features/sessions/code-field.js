import { html, useEffect, useRef } from '../../lib/html.js';
import { Field } from '../../ui/field.js';

/** The code of an authenticator app, or a recovery code. */
export const CodeField = ({
  label = 'Code',
  ...rest
}) => html`<${Field} label=${label} name="code" required maxlength="64"
  autocapitalize="off" autocomplete="one-time-code" ...${rest} />`;

/** The second step of signing in: takes the focus when it appears. */
export function CodeStep({ fault }) {
  const step = useRef(null);
  useEffect(() => step.current.querySelector('input').focus(), []);
  return html`<div ref=${step}><${CodeField} hint="From your authenticator app, or one of your recovery codes." fault=${fault} /></div>`;
}
