import { ask } from '../../lib/api.js';
import { formatMinute } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useAction } from '../../lib/submit.js';
import { Copyable } from '../../ui/copy.js';
import { Field, options } from '../../ui/form.js';
import { Details } from '../../ui/page.js';
import { toast } from '../../ui/toasts.js';
import { chainsOf, textOf, withMember } from '../rule-sets/edit-rules.js';
import { ChainField, faultIn } from '../rule-sets/rules-fields.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @import { Rule } from '../rule-sets/edit-rules.js' */
/** @import { Chains, Faults } from '../rule-sets/rules-fields.js' */
/** @typedef {Answer<'POST /api/apps/:clientId/sign-in-messages'>} Composed */
/** @typedef {{ message: string, signature: string }} SignIn */

/** The wallets of a check: the first one, and others of the same person. @param {Rule} check */
export const walletsOf = ({ account, accounts }) =>
  Array.isArray(accounts) ? accounts.map(textOf) : [textOf(account)];

/** The wallet of a message: its second line. */
const accountOf = (message) => String(message).split('\n')[1]?.toLowerCase() ?? '';
const hexOf = (text) =>
  `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;

/** A browser's wallet, if it has one (EIP-1193). @returns {{ request: (call: object) => Promise<any> } | undefined} */
const walletOfBrowser = () => /** @type {any} */ (globalThis).ethereum;

/**
 * Proves that whoever tries the check has its wallets: a message for each, signed by a wallet of the
 * browser, or elsewhere and pasted.
 * @param {{ check: Rule, apiKey: string, chains: Chains, faults: Faults, setCheck: (check: Rule) =>
 *   void }} props
 */
export function SignInFields({ check, apiKey, chains, faults, setCheck }) {
  const { app, clientId, base } = useApp();
  /** @type {SignIn[]} */
  const signed = Array.isArray(check['signIn']) ? check['signIn'] : [];
  const open = walletsOf(check).filter(
    (account) =>
      account !== '' && signed.every(({ message }) => accountOf(message) !== account.toLowerCase()),
  );
  const [domain, setDomain] = useState(app.domains[0] ?? '');
  const [chainId, setChainId] = useState(
    chainsOf(check['rules'] ?? [])[0] || String(chains[0]?.chainId ?? ''),
  );
  const [composed, setComposed] = useState(/** @type {Composed | undefined} */ (undefined));
  const [signature, setSignature] = useState('');
  const set = (/** @type {SignIn[]} */ list) =>
    setCheck(withMember(check, 'signIn', list.length === 0 ? undefined : list));
  const [compose, isBusy] = useAction(
    async (_, /** @type {string} */ account) => {
      const body = { apiKey: apiKey.trim(), account, domain, chainId: Number(chainId) };
      setComposed(await ask('POST /api/apps/:clientId/sign-in-messages', { params: { clientId }, body }));
      setSignature('');
    },
    () => undefined,
  );
  const add = (given) => {
    set([...signed, { message: composed?.message ?? '', signature: given.trim() }]);
    setComposed(undefined);
  };
  const askWallet = async () => {
    const wallet = walletOfBrowser();
    const message = composed?.message ?? '';
    try {
      await wallet?.request({ method: 'eth_requestAccounts' });
      add(await wallet?.request({ method: 'personal_sign', params: [hexOf(message), accountOf(message)] }));
    } catch (error) {
      toast(error?.message ?? 'The wallet has not signed.', 'bad');
    }
  };
  const fault = faultIn(faults, '/signIn');
  return html`<${Details} summary="Who presents the wallet" isOpen=${signed.length > 0 || fault !== undefined}>
    <p class="hint">A check is about a wallet, not about the visitor. A signature proves the visitor, for one check. <a href="/docs/who-asks">Who asks</a></p>
    ${signed.map(
      (
        { message },
        place,
      ) => html`<p class="inline spread" key=${place}><span>Signed by <code class="break">${accountOf(message)}</code></span>
        <button type="button" class="plain" onClick=${() => set(signed.toSpliced(place, 1))}>Remove</button></p>`,
    )}
    ${fault && html`<p class="fault">${fault}</p>`}
    ${
      app.domains.length === 0
        ? html`<p class="notice">A message is for one of your domains: <a href=${`${base}/settings`}>name them first</a>.</p>`
        : html`<div class="two">
      <${Field} label="Domain" as="select" name="domain" value=${domain} onChange=${(event) => setDomain(event.target.value)}>${options(app.domains.map((one) => [one, one]))}<//>
      <${ChainField} chains=${chains} name="signInChain" required=${false} value=${chainId} onInput=${(event) => setChainId(event.target.value)} />
    </div>
    ${open.map((account) => html`<div key=${account}><button type="button" aria-disabled=${isBusy ? 'true' : undefined} onClick=${() => compose(account)}>Make a message for ${account.slice(0, 8)}…</button></div>`)}`
    }
    ${
      composed &&
      html`<${Copyable} label="Message" value=${composed.message} />
      <p class="hint">Valid until ${formatMinute(composed.expiresAt)}. Sign it with <code>personal_sign</code>.</p>
      ${walletOfBrowser() && html`<div><button type="button" onClick=${askWallet}>Sign with the wallet of this browser</button></div>`}
      <${Field} label="Signature" name="signature" class="mono-input" maxlength="8194" placeholder="0x…" value=${signature} onInput=${(event) => setSignature(event.target.value)} />
      <div><button type="button" disabled=${signature.trim() === ''} onClick=${() => add(signature)}>Add the signature</button></div>`
    }
  <//>`;
}
