import { readPages } from './http/pages.ts';
import { RolecallError } from './http/rolecall-error.ts';
import type { CallOptions, Transport } from './http/transport.ts';

export type PutOptions = CallOptions & {
  /** Only if this is the present version; otherwise `version-conflict`. */
  readonly ifMatch?: number | string | undefined;
  /** `*`: only if there is none yet. */
  readonly ifNoneMatch?: '*' | undefined;
};

/** Documents that a client app keeps under ids of its own: rule sets and watches. */
export type Documents<Body, Kept> = ReturnType<typeof makeDocuments<Body, Kept>>;

/** @param name the member of a list's answer that holds the documents */
export function makeDocuments<Body, Kept>(transport: Transport, path: string, name: string) {
  const pathOf = (id: string) => `${path}/${segmentOf(id)}`;
  return {
    /** Creates or replaces the document. */
    async put(id: string, body: Body, { ifMatch, ifNoneMatch, ...options }: PutOptions = {}): Promise<Kept> {
      const headers = {
        ...(ifMatch === undefined ? {} : { 'if-match': etagOf(ifMatch) }),
        ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
      };
      // The answer to a write may be lost: then the condition would refuse the repeated write.
      const isRepeatable = ifMatch === undefined && ifNoneMatch === undefined;
      const path = pathOf(id);
      return transport.ask({ method: 'PUT', path, body, headers, isRepeatable, ...options });
    },
    get: async (id: string, options: CallOptions = {}): Promise<Kept> =>
      transport.ask({ method: 'GET', path: pathOf(id), ...options }),
    /** All documents, ordered by id. */
    list: (options: CallOptions = {}): AsyncGenerator<Kept, void> =>
      readPages(transport, path, name, options),
    /** Does nothing if there is none. */
    async delete(id: string, options: CallOptions = {}): Promise<void> {
      await transport.send({ method: 'DELETE', path: pathOf(id), ...options });
    },
  };
}

const etagOf = (version: number | string): string =>
  typeof version === 'number' || /^[0-9]+$/.test(version) ? `"${version}"` : version;

/** An id as a segment of a path; an empty one would name the list. */
export function segmentOf(id: string): string {
  if (typeof id !== 'string' || id === '' || id === '.' || id === '..')
    throw new RolecallError('config-invalid', 'The id must be a text that is not empty, such as "holders".');
  return encodeURIComponent(id);
}
