import { html } from '../lib/html.js';
import { Empty, Loaded } from './states.js';

/**
 * The rows of `usePages`, and the button for the next page. A page that found nothing may have a next one.
 *
 * @param empty the text where there is nothing at all
 */
export const Pages = ({ pages: { first, rows, readMore }, empty, children }) =>
  html`<${Loaded} resource=${first}>${() => html`
    ${rows.length === 0 && html`<${Empty} title=${readMore ? 'Nothing so far' : 'Nothing found'}><p>${readMore ? 'There are more entries to search.' : empty}</p><//>`}
    ${rows.length > 0 && children(rows)}
    ${readMore && html`<div class="actions"><button type="button" onClick=${readMore}>${rows.length === 0 ? 'Search on' : 'Show more'}</button></div>`}
  `}<//>`;
