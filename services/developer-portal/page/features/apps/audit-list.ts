import type { AuditEntry } from '../../lib/api.ts';
import { html } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { useApp } from '../../lib/session.ts';
import { Empty, loaded, PageHead } from '../../ui/page.ts';
import { Time } from '../../ui/values.ts';

/** The audit trail's actions in words; an unknown one is shown as it is. */
export const ACTIONS: Record<string, string> = {
  'account-written': 'changed the account',
  'account-created': 'created the account',
  'signed-in': 'signed in',
  'sign-in-failed': 'failed to sign in:',
  'account-read': 'looked at the account',
  'app-read': 'looked at the app',
  'accounts-listed': 'searched accounts:',
  'apps-listed': 'searched apps:',
  'command-run': 'ran the admin command',
  'password-changed': 'changed the password',
  'account-verified': 'vouched for the account',
  'operator-granted': 'granted operator rights to the account',
  'operator-read-granted': 'granted the right to read as an operator to the account',
  'operator-withdrawn': 'withdrew the operator rights of the account',
  'password-reset': 'set a new password by a link',
  'reset-link-made': 'made a link for a new password',
  'two-factor-enabled': 'turned two-factor authentication on',
  'two-factor-disabled': 'turned two-factor authentication off',
  'two-factor-reset': 'reset two-factor authentication',
  'single-sign-on-joined': 'joined at the identity provider',
  'single-sign-on-reset': 'reset the single sign-on of the account',
  'recovery-code-used': 'signed in with a recovery code',
  'recovery-codes-renewed': 'made new recovery codes',
  'notices-turned-on': 'turned e-mail about the apps on',
  'notices-turned-off': 'turned e-mail about the apps off',
  'app-created': 'created the app',
  'app-renamed': 'renamed the app',
  'alerts-set': 'set the address for alerts about the quota',
  'domains-set': 'set the domains of sign-in messages',
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
  'secrets-resealed': 're-encrypted the secrets with a new key',
  'member-invited': 'invited',
  'invitation-withdrawn': 'withdrew the invitation',
  'member-joined': 'joined the team:',
  'member-role-set': 'set the role of',
  'member-removed': 'removed from the team:',
  'member-left': 'left the team:',
  'tier-free': 'set the tier to free',
  'tier-paid': 'set the tier to paid',
  'tier-enterprise': 'set the tier to enterprise',
  'rule-set-written': 'stored the rule set',
  'rule-set-deleted': 'deleted the rule set',
  'watch-written': 'stored the watch',
  'watch-deleted': 'deleted the watch',
  'watch-paused': 'paused the watch',
  'watch-resumed': 'resumed the watch',
  'watch-released': 'sent the held revocations of the watch',
  'watch-members-changed': 'changed the members of the watch',
  'limits-set': 'set the limits',
  'account-deleted': 'deleted the account',
  'test-event-sent': 'sent a test event',
  'webhook-resent': 'sent a webhook again',
  'webhooks-resent': 'sent failed webhooks again:',
};

/** The audit trail, newest first. `about` draws of which account and app an entry is, where the reader
 * cannot know. */
export const AuditList = ({ entries, about }) =>
  entries.length === 0
    ? html`<${Empty} title="Nothing yet"><p>Changes are recorded here.</p><//>`
    : html`<ol class="rows audit">${entries.map(
        (entry: AuditEntry, place) => html`<li key=${`${entry.at}/${place}`}>
          <div class="grow"><strong class="break">${entry.actor}</strong> ${ACTIONS[entry.action] ?? entry.action} <code class="sub break">${entry.subject}</code>
            ${entry.from && html`<p class="sub break">${entry.from}</p>`}</div>
          <p class="sub facts">${about?.(entry)}<${Time} at=${entry.at} /></p>
        </li>`,
      )}</ol>`;

export function Activity() {
  const audit = useResource('GET /api/apps/:clientId/audit', useApp());
  return html`
    <${PageHead} title="Activity"><p class="sub">Changes of the last 90 days with their authors; of rule sets, watches and members the newest 500, repeats within an hour as one.</p><//>
    ${loaded(audit, (entries) => html`<${AuditList} entries=${entries} />`)}
  `;
}
