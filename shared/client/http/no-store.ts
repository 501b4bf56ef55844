/**
 * The option that keeps `fetch` from answering out of a cache of the runtime or the framework, such
 * as that of Next. Workers of Cloudflare with an older compatibility date throw for the option,
 * also where their `Request` has the member; so it is tried.
 */
export function noStore(): { readonly cache?: 'no-store' } {
  try {
    const request = new Request('http://localhost/', { cache: 'no-store' });
    return request.cache === 'no-store' ? { cache: 'no-store' } : {};
  } catch {
    return {};
  }
}
