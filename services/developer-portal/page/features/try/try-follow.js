import { ask } from '../../lib/api.js';
import { formatMs, formatPlural } from '../../lib/format.js';
import { html, useEffect, useState } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useProgress } from '../../lib/use-progress.js';
import { Badge } from '../../ui/states.js';
import { StateBadge } from '../deliveries/deliveries.js';

/** A check that takes longer is left to its own page. */
const FOLLOWED_MS_MAX = 120_000;
/** Between two polls, as the API asks for by `Retry-After`. */
const AGAIN_MS = 1_000;

/**
 * Polls an accepted check until its result is there, with the same key.
 *
 * @returns `{ polls, tookMs, answer, error }`; `answer` is that of the gateway once it is not 202
 */
export function useFollowed(requestId, apiKey) {
  const { api } = useApp();
  const [state, setState] = useState({ polls: 0, tookMs: 0 });
  useEffect(() => {
    if (requestId === undefined) return undefined;
    let isWanted = true;
    let timer;
    const began = performance.now();
    const poll = async (polls) => {
      try {
        const answer = await ask('POST', `${api}/try/${encodeURIComponent(requestId)}`, { body: { apiKey } });
        if (!isWanted) return;
        const tookMs = performance.now() - began;
        const isOver = answer.status !== 202 || tookMs > FOLLOWED_MS_MAX;
        setState({ polls, tookMs, ...(isOver && { answer }) });
        if (!isOver) timer = setTimeout(poll, AGAIN_MS, polls + 1);
      } catch (error) {
        if (isWanted) setState((last) => ({ ...last, error }));
      }
    };
    void poll(1);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [requestId, apiKey]);
  return state;
}

/** The progress of an accepted check: each step as it is reached. */
export function TryProgress({
  requestId,
  acceptedMs,
  followed: { polls, tookMs, answer, error },
  isWebhook,
}) {
  const { base } = useApp();
  const isPending = answer === undefined && error === undefined;
  return html`<ol class="attempts progress" aria-live="polite">
    <li><p class="row-title"><${Badge} tone="good">202<//> Accepted</p><p class="sub facts"><span>${formatMs(acceptedMs)}</span><code class="break">${requestId}</code></p></li>
    <li>
      <p class="row-title"><${Badge} tone=${isPending ? 'quiet' : answer?.status === 200 ? 'good' : 'bad'}>${isPending ? 'Pending' : (answer?.status ?? 'No answer')}<//>
        ${isPending ? 'Waiting for the result' : answer?.status === 200 ? 'Result polled' : (error?.message ?? 'No result yet')}</p>
      <p class="sub facts"><span>${formatPlural(polls, 'poll')}</span><span>${formatMs(tookMs)}</span>${answer && html`<a href=${`${base}/checks/${encodeURIComponent(requestId)}`}>See this check</a>`}</p>
    </li>
    ${isWebhook && answer?.status === 200 && html`<${Delivered} requestId=${requestId} />`}
  </ol>`;
}

/** The first attempt of the webhook; later ones are on the delivery's own page. */
function Delivered({ requestId }) {
  const { api, base } = useApp();
  const isTried = ({ delivery }) => delivery?.attempts.length > 0;
  const { value } = useProgress(`${api}/checks/${encodeURIComponent(requestId)}`, isTried);
  const delivery = value?.delivery;
  const [first] = delivery?.attempts ?? [];
  return html`<li>
    <p class="row-title">${delivery ? html`<${StateBadge} state=${delivery.state} />` : html`<${Badge}>Waiting<//>`} Webhook</p>
    ${first && html`<p class="sub facts"><span>Attempt 1: ${first.status ?? 'no answer'}</span><span>${formatMs(first.durationMs)}</span><a href=${`${base}/webhooks/${encodeURIComponent(requestId)}`}>See what was sent</a></p>`}
  </li>`;
}
