/** One page of the documentation; its text is `pages/<slug>.md`. */
export type Topic = { readonly slug: string; readonly title: string; readonly summary: string };

/** All pages in the order of the sidebar. */
export const TOPICS: readonly Topic[] = [
  { slug: 'quickstart', title: 'Quickstart', summary: 'A first check in a minute' },
  {
    slug: 'checks',
    title: 'Checks',
    summary: 'Sync, poll, webhook; unreadable rules; blocks; several wallets',
  },
  { slug: 'rules', title: 'Rules', summary: 'Every rule type with an example; rule sets' },
  { slug: 'recipes', title: 'Recipes', summary: 'Staking, shares, votes, memberships: rule sets to copy' },
  { slug: 'batches', title: 'Batches', summary: 'A whole community in one request' },
  { slug: 'watches', title: 'Watches', summary: 'A webhook when a role changes' },
  { slug: 'webhooks', title: 'Webhooks', summary: 'Verify messages in three languages; attempts' },
  { slug: 'proofs', title: 'Signed verdicts', summary: 'Show a result to another service' },
  { slug: 'authzen', title: 'AuthZEN', summary: 'Decisions for gateways that speak the standard' },
  { slug: 'who-asks', title: 'Who asks', summary: 'Prove that a visitor controls a wallet' },
  { slug: 'errors', title: 'Errors', summary: 'Every code and what to do' },
  { slug: 'limits', title: 'Limits', summary: 'Rates, quotas and other bounds' },
  { slug: 'idempotency', title: 'Idempotency and retries', summary: 'Repeat a request safely' },
  {
    slug: 'data',
    title: 'Keys, secrets and your data',
    summary: 'What is kept, where, how long, and how it is erased',
  },
  { slug: 'operating', title: 'Run it yourself', summary: 'For who operates Rolecall: where to read what' },
  {
    slug: 'versioning',
    title: 'Versions and promises',
    summary: 'What may change, how long you are told before, what is new',
  },
  { slug: 'reference', title: 'Reference', summary: 'Every operation, field and answer' },
];
