import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { useResource } from '../../lib/use-resource.js';
import { Badge, Card, Loaded } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';

/** The entries of a batch with rules that could not be read, and the reasons. */
export function UnreadEntries({ path }) {
  const first = useResource(`${path}/unread`);
  const [more, setMore] = useState(undefined);
  const readMore = async (from) => {
    try {
      const page = await ask('GET', `${path}/unread?from=${from}`);
      setMore({ entries: [...(more?.entries ?? []), ...page.entries], next: page.next });
    } catch (error) {
      toast(error.message, 'bad');
    }
  };
  return html`<${Card} title="Could not be read">
    <${Loaded} resource=${first}>${({ entries, next: afterFirst }) => {
      const all = [...entries, ...(more?.entries ?? [])];
      const next = more ? more.next : afterFirst;
      return html`
        <ul class="rows inner">${all.map((entry) => html`<${Entry} key=${entry.index} entry=${entry} />`)}</ul>
        ${next !== undefined && html`<button type="button" onClick=${() => readMore(next)}>Look further</button>`}
      `;
    }}<//>
  <//>`;
}

const Entry = ({ entry: { index, account, accounts, ref: id, errors } }) => html`<li>
  <div class="grow">
    <p class="row-title break">${index + 1}. ${id && `${id} `}<code>${account ?? accounts.join(', ')}</code></p>
    ${errors.map(
      (
        { roleId, message, retryable },
        place,
      ) => html`<p class="sub" key=${place}>${roleId && html`Role <code>${roleId}</code>: `}${message}
        ${' '}${retryable ? 'Another try may decide it.' : 'Another try will not decide it: correct the rule.'}</p>`,
    )}
  </div>
  <div class="badges">${[...new Set(errors.map(({ code }) => code))].map((code) => html`<${Badge} key=${code} tone="warn">${code}<//>`)}</div>
</li>`;
