import { html } from '../../lib/html.js';
import { PageHead } from '../../ui/page-head.js';

/** Shown for an unknown path, and for an app that does not exist or belongs to another account. */
export const Missing = () => html`
  <${PageHead} title="Nothing here" />
  <p class="prose">This page does not exist, or it belongs to another account.</p>
  <p><a class="button" href="/apps">Back to your apps</a></p>
`;
