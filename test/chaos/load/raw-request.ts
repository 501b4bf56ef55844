import { Agent, type IncomingMessage, request } from 'node:http';

/** More than any wait in the system. */
const TIMEOUT_MS = 60_000;

type RawRequest = {
  readonly url: string;
  readonly apiKey: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Bytes of the body that are held back for `heldBackMs`; default 0. */
  readonly heldBack?: number;
  readonly heldBackMs?: number;
  /** How long the answer is not read, once it has begun, before its connection is cut; default 0:
   * it is read. */
  readonly unreadMs?: number;
  /** Another address of loopback: the connections of one are bounded. */
  readonly from?: string | undefined;
  readonly signal?: AbortSignal;
};

export type RawAnswer = {
  /** 0 if the connection broke before an answer. */
  readonly status: number;
  /** Of a problem. */
  readonly code: string | undefined;
  readonly text: string;
  readonly tookMs: number;
};

const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });

/** A request of a client that may be slow: its body, or its reading of the answer. Resolves in any
 * case. */
export function sendRaw(options: RawRequest): Promise<RawAnswer> {
  const { url, apiKey, body, heldBack = 0, heldBackMs = 0, unreadMs = 0 } = options;
  const began = performance.now();
  return new Promise((resolve) => {
    const end = (status: number, text = ''): void => {
      clearTimeout(rest);
      clearTimeout(unread);
      resolve({ status, code: codeOf(status, text), text, tookMs: performance.now() - began });
    };
    let [rest, unread]: (NodeJS.Timeout | undefined)[] = [];
    let begunStatus = 0;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const outgoing = request(url, {
      agent,
      method: options.method ?? (bytes ? 'POST' : 'GET'),
      ...(options.from && { localAddress: options.from }),
      ...(options.signal && { signal: options.signal }),
      timeout: TIMEOUT_MS,
      headers: {
        'x-api-key': apiKey,
        ...(bytes && { 'content-type': 'application/json', 'content-length': bytes.length }),
        ...options.headers,
      },
    });
    // An answer that was cut off counts by its status: a client that reads too slowly is cut off.
    outgoing.on('error', () => end(begunStatus));
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.on('response', (answer) => {
      begunStatus = answer.statusCode ?? 0;
      const cut = (): void => {
        end(begunStatus);
        outgoing.destroy();
      };
      // A refusal is read at once.
      if (unreadMs > 0 && answer.statusCode === 200) unread = setTimeout(cut, unreadMs);
      else readText(answer, (text) => end(begunStatus, text));
    });
    if (bytes && heldBack > 0) {
      outgoing.write(bytes.subarray(0, bytes.length - heldBack));
      rest = setTimeout(() => outgoing.end(bytes.subarray(bytes.length - heldBack)), heldBackMs);
    } else outgoing.end(bytes);
  });
}

function readText(answer: IncomingMessage, then: (text: string) => void): void {
  const chunks: Buffer[] = [];
  answer.on('data', (chunk: Buffer) => chunks.push(chunk));
  answer.on('error', () => undefined);
  answer.on('close', () => then(Buffer.concat(chunks).toString('utf8')));
}

function codeOf(status: number, text: string): string | undefined {
  if (status < 400) return undefined;
  try {
    return (JSON.parse(text) as { code?: string }).code;
  } catch {
    return undefined;
  }
}
