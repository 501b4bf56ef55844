/** Domains of one client app. */
export const SIGN_IN_DOMAINS_MAX = 20;
const DOMAIN_LENGTH_MAX = 259;
const PORT_MAX = 65_535;

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const NAME = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`);

/** A domain as it is compared, or what is wrong with it: a sentence. */
type JudgedDomain = { readonly domain: string } | { readonly fault: string };

/**
 * Judges a domain that sign-in messages may be for: the authority of a page's address, host and
 * port, in lower case.
 *
 * @example
 * judgeSignInDomain('Shop.example:8443'); // { domain: 'shop.example:8443' }
 * judgeSignInDomain('https://shop.example'); // { fault: 'Leave the scheme out: shop.example, not …' }
 */
export function judgeSignInDomain(text: string): JudgedDomain {
  const domain = text.trim().toLowerCase();
  const fault = faultOf(domain);
  return fault === undefined ? { domain } : { fault };
}

/**
 * Judges a list of domains: the first bad one is named.
 *
 * @example
 * judgeSignInDomains(['a.example', 'a.example', 'B.example']); // { domains: ['a.example', 'b.example'] }
 */
export function judgeSignInDomains(
  texts: readonly string[],
): { readonly domains: readonly string[] } | { readonly fault: string } {
  const domains = new Set<string>();
  for (const text of texts) {
    const judged = judgeSignInDomain(text);
    if ('fault' in judged) return { fault: `${JSON.stringify(text)}: ${judged.fault}` };
    domains.add(judged.domain);
  }
  if (domains.size > SIGN_IN_DOMAINS_MAX) return { fault: `At most ${SIGN_IN_DOMAINS_MAX} domains.` };
  return { domains: [...domains] };
}

function faultOf(domain: string): string | undefined {
  if (domain === '') return 'Enter a domain such as example.com.';
  if (domain.length > DOMAIN_LENGTH_MAX) return `A domain has at most ${DOMAIN_LENGTH_MAX} characters.`;
  if (domain.includes('://')) return 'Leave the scheme out: example.com, not https://example.com.';
  if (domain.includes('@')) return 'Leave the user name out: example.com, not user@example.com.';
  if (domain.includes('*')) return 'A domain with * is not accepted: list each domain.';
  if (/[/?#\\]/.test(domain)) return 'Leave the path out: example.com, not example.com/login.';
  if (!/^[\x21-\x7e]*$/.test(domain))
    return 'Only ASCII is accepted: write an international name as browsers send it, such as xn--bcher-kva.example.';
  const match = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(domain);
  const [, host = '', port] = match ?? [];
  if (port !== undefined && !isPort(port)) return `The port must be a number from 1 to ${PORT_MAX}.`;
  const isAddress = host.startsWith('[') && URL.canParse(`http://${host}/`);
  return isAddress || NAME.test(host)
    ? undefined
    : 'The host must be a name such as example.com, or an address such as 192.0.2.1 or [2001:db8::1].';
}

const isPort = (text: string): boolean => /^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= PORT_MAX;
