import { html } from '../core/html.js';
import { Empty, Time } from './states.js';

/** The audit trail's actions in words; an unknown one is shown as it is. */
const ACTIONS = {
  'account-written': 'changed the account',
  'account-created': 'created the account',
  'password-changed': 'changed the password',
  'app-created': 'created the app',
  'app-renamed': 'renamed the app',
  'app-deleted': 'deleted the app',
  'app-suspended': 'suspended the app',
  'app-resumed': 'resumed the app',
  'scope-requested': 'requested the scope',
  'scope-approved': 'approved the scope',
  'scope-rejected': 'rejected the scope',
  'key-created': 'created a key',
  'key-revoked': 'revoked a key',
  'key-rolled': 'rolled a key',
  'secret-rotated': 'rotated the signing secret',
  'secrets-resealed': 'sealed the secrets at rest with a new key',
  'rule-set-written': 'stored the rule set',
  'rule-set-deleted': 'deleted the rule set',
  'limits-set': 'set the limits',
  'account-deleted': 'deleted the account',
  'test-event-sent': 'sent a test event',
  'webhook-resent': 'sent a webhook again',
  'webhooks-resent': 'sent failed webhooks again:',
};

const wordsOf = (action) => ACTIONS[action] ?? action.replace(/^tier-/, 'set the tier to ');

/** Who did what to what, the newest first. */
export const AuditList = ({ entries }) =>
  entries.length === 0
    ? html`<${Empty} title="Nothing yet"><p>Every change is written down here.</p><//>`
    : html`<ol class="rows audit">${entries.map(
        ({ at, actor, action, subject }, place) => html`<li key=${`${at}/${place}`}>
          <div class="grow"><strong class="break">${actor}</strong> ${wordsOf(action)} <code class="sub break">${subject}</code></div>
          <p class="sub facts"><${Time} at=${at} /></p>
        </li>`,
      )}</ol>`;
