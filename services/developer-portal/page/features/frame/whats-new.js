import { html } from '../../lib/html.js';
import { useRead } from '../../lib/resources.js';
import { Card, loaded, PageHead } from '../../ui/page.js';
import { readChangelog } from './read-changelog.js';

/** @import { Piece } from './read-changelog.js' */

/** The project's changelog, as it is in the repository. */
export function WhatsNew() {
  const resource = useRead('changelog', async () => {
    const response = await fetch('/assets/changelog.md').catch(() => undefined);
    if (!response?.ok) throw new Error('The changes could not be read.');
    return readChangelog(await response.text());
  });
  return html`
    <${PageHead} title="What’s new"><p class="sub">Every change of this service that developers and operators notice.</p><//>
    ${loaded(resource, (parts) =>
      parts.map(
        ({ title, entries }) => html`<${Card} key=${title} title=${title}>
          <ul class="changes">${entries.map((pieces, place) => html`<li key=${place}>${pieces.map(draw)}</li>`)}</ul>
        <//>`,
      ),
    )}
  `;
}

/** @param {Piece} piece */
function draw({ kind, text, href }) {
  if (kind === 'code') return html`<code class="break">${text}</code>`;
  if (kind === 'strong') return html`<strong>${text}</strong>`;
  if (kind === 'em') return html`<em>${text}</em>`;
  if (kind === 'link') return html`<a href=${href} target="_blank" rel="noopener noreferrer">${text}</a>`;
  return text;
}
