import { readPages } from './http/pages.ts';
import { RolecallError } from './http/rolecall-error.ts';
import { type ApiRequest, type CallOptions, parseAnswer, type Transport } from './http/transport.ts';

export type PutOptions = CallOptions & {
  /** Only if this is the present version; otherwise `version-conflict`. */
  readonly ifMatch?: number | string | undefined;
  /** `*`: only if there is none yet. */
  readonly ifNoneMatch?: '*' | undefined;
};

/** Documents that a client app keeps under ids of its own: rule sets and watches. */
export type Documents<Body, Kept> = {
  /** Creates or replaces the document. */
  readonly put: (id: string, body: Body, options?: PutOptions) => Promise<Kept>;
  readonly get: (id: string, options?: CallOptions) => Promise<Kept>;
  /** All documents, ordered by id. */
  readonly list: (options?: CallOptions) => AsyncGenerator<Kept, void>;
  /** Does nothing if there is none. */
  readonly delete: (id: string, options?: CallOptions) => Promise<void>;
};

/** @param name the member of a list's answer that holds the documents */
export function makeDocuments<Body, Kept>(
  transport: Transport,
  path: string,
  name: string,
): Documents<Body, Kept> {
  const send = async (id: string, request: Omit<ApiRequest, 'path'>) =>
    transport.send({ ...request, path: `${path}/${segmentOf(id)}` });
  return {
    put: async (id, body, { ifMatch, ifNoneMatch, ...options } = {}) => {
      const headers = {
        ...(ifMatch === undefined ? {} : { 'if-match': etagOf(ifMatch) }),
        ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
      };
      // The answer to a write may be lost: then the condition would refuse the repeated write.
      const isRepeatable = ifMatch === undefined && ifNoneMatch === undefined;
      return parseAnswer(await send(id, { method: 'PUT', body, headers, isRepeatable, ...options })) as Kept;
    },
    get: async (id, options = {}) => parseAnswer(await send(id, { method: 'GET', ...options })) as Kept,
    list: (options = {}) => readPages<Kept>(transport, path, name, options),
    delete: async (id, options = {}) => {
      await send(id, { method: 'DELETE', ...options });
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
