import { html } from '../core/html.js';
import { PageHead } from '../parts/page-head.js';

/** Said of a path that leads nowhere, and of an app that is not there (any more, or for this account). */
export const Missing = () => html`
  <${PageHead} title="Nothing here" />
  <p class="prose">This page does not exist, or it belongs to another account.</p>
  <p><a class="button" href="/apps">Back to your apps</a></p>
`;
