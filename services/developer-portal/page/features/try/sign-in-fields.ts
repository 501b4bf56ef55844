import { type Answer, ask } from '../../lib/api.ts';
import { formatMinute } from '../../lib/format.ts';
import { html, useRef, useState } from '../../lib/html.ts';
import { useApp } from '../../lib/session.ts';
import { Copyable } from '../../ui/copy.ts';
import { Fault, Field, SendButton, useFaults } from '../../ui/form.ts';
import { Details } from '../../ui/page.ts';
import { toast } from '../../ui/toasts.ts';
import { chainsOf, type Rule, textOf, withMember } from '../rule-sets/edit-rules.ts';
import { ChainField } from '../rule-sets/rules-fields.ts';

type SignIn = { message: string; signature: string };

/** The wallets of a check: the first one, and others of the same person. */
export const walletsOf = ({ account, accounts }: Rule) =>
  Array.isArray(accounts) ? accounts.map(textOf) : [textOf(account)];

/** The wallet of a message: its second line. */
const accountOf = (message) => String(message).split('\n')[1]?.toLowerCase() ?? '';
const hexOf = (text) =>
  `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;

/** A browser's wallet, if it has one (EIP-1193). */
type Wallet = { request: (call: object) => Promise<string> };
const walletOfBrowser = () => (globalThis as { ethereum?: Wallet }).ethereum;

/** Proves that the person who tries the check has its wallets: a message for each, signed by a
 * wallet of the browser, or elsewhere and pasted. */
export function SignInFields({ check, chains, setCheck }) {
  const { app, clientId, base } = useApp();
  const signed: SignIn[] = Array.isArray(check['signIn']) ? check['signIn'] : [];
  const open = walletsOf(check).filter(
    (account) =>
      account !== '' && signed.every(({ message }) => accountOf(message) !== account.toLowerCase()),
  );
  const [domain, setDomain] = useState(app.domains[0] ?? '');
  const [chainId, setChainId] = useState(
    chainsOf(check['rules'] ?? [])[0] || String(chains[0]?.chainId ?? ''),
  );
  const [composed, setComposed] = useState<Answer<'POST /api/apps/:clientId/sign-in-messages'>>();
  const [signature, setSignature] = useState('');
  const set = (list: SignIn[]) => setCheck(withMember(check, 'signIn', list.length === 0 ? undefined : list));
  const hint = useRef<HTMLElement>(null);
  const compose = async (account: string) => {
    const form = hint.current.closest('form') ?? undefined;
    const apiKey = String(new FormData(form).get('apiKey')).trim();
    const body = { apiKey, account, domain, chainId: Number(chainId) };
    setComposed(await ask('POST /api/apps/:clientId/sign-in-messages', { params: { clientId }, body }));
    setSignature('');
  };
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
  const faulty = Object.keys(useFaults()).find((pointer) => pointer.startsWith('/signIn'));
  return html`<${Details} summary="Who presents the wallet" isOpen=${signed.length > 0 || faulty !== undefined}>
    <p class="hint" ref=${hint}>A check is about a wallet, not about the visitor. A signature proves the visitor, for one check. <a href="/docs/who-asks">Who asks</a></p>
    ${signed.map(({ message }, place) => {
      const remove = () => set(signed.toSpliced(place, 1));
      return html`<p class="inline spread" key=${place}><span>Signed by <code class="break">${accountOf(message)}</code></span>
        <button type="button" class="plain" onClick=${remove}>Remove</button></p>`;
    })}
    <${Fault} of=${faulty} />
    ${
      app.domains.length === 0
        ? html`<p class="notice">A message is for one of your domains: <a href=${`${base}/settings`}>name them first</a>.</p>`
        : html`<div class="two">
      <${Field} label="Domain" name="domain" choices=${app.domains} value=${domain} onChange=${(event) => setDomain(event.target.value)} />
      <${ChainField} chains=${chains} name="signInChain" required=${false} value=${chainId} onInput=${(event) => setChainId(event.target.value)} />
    </div>
    ${open.map((account) => html`<div key=${account}><${SendButton} send=${() => compose(account)}>Make a message for ${account.slice(0, 8)}…<//></div>`)}`
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
