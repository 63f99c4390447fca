import { request } from 'undici';

/** Delivery received from the listener stream. */
export type ForwardedDelivery = {
  delivery_id: string;
  webhook_id: string;
  attempt: number;
  event: string;
  deadline_ms: number;
  headers?: Record<string, string>;
  body?: string;
};

/** Result of a forwarded delivery, in the format that the service expects. */
export type Forwarded = {
  took_ms: number;
  status?: number;
  headers?: Record<string, string>;
  body_base64?: string;
  truncated?: boolean;
  error?: { class: string; message: string };
};

/** Maximum size of a reported response body, in bytes. */
const maxBytes = 16_384;
const maxMessageLength = 300;

/** Sends a delivery to a local server once, with its original headers. Never rejects. */
export async function forward(
  url: string,
  { headers, body, deadline_ms: deadlineMs }: ForwardedDelivery,
): Promise<Forwarded> {
  const startMs = performance.now();
  const duration = () => ({ took_ms: Math.round((performance.now() - startMs) * 10) / 10 });
  if (headers === undefined || body === undefined)
    return { ...duration(), error: { class: 'other', message: 'the service could not create the request' } };
  try {
    const answer = await request(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(deadlineMs) });
    const { bytes, truncated } = await readStart(answer.body);
    return {
      ...duration(),
      status: answer.statusCode,
      headers: Object.fromEntries(
        Object.entries(answer.headers).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.join(', ') : (value ?? ''),
        ]),
      ),
      body_base64: bytes.toString('base64'),
      truncated,
    };
  } catch (err) {
    return {
      ...duration(),
      error: { class: errorClassOf(err as Error), message: (err as Error).message.slice(0, maxMessageLength) },
    };
  }
}

async function readStart(body: AsyncIterable<Buffer>): Promise<{ bytes: Buffer; truncated: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), truncated: length > maxBytes };
}

const classes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ECONNRESET: 'reset',
  UND_ERR_SOCKET: 'reset',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
};

function errorClassOf(err: Error & { code?: unknown }): string {
  if (err.name === 'TimeoutError') return 'timeout';
  return classes[String(err.code)] ?? (String(err.code).startsWith('HPE_') ? 'protocol' : 'other');
}
