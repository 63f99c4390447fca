import type { Socket } from 'node:net';

/** Maximum number of interim responses (1xx) to skip before a final response. */
const maxInterim = 16;

/** Maximum size of an interim response, in bytes. Longer ones are left to the HTTP parser, which rejects them. */
const maxHeadBytes = 16_384;

/** Matches the start of an interim response other than 101, which would switch the connection to another protocol. */
const interimStart = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/;
/** Number of characters needed to recognise an interim response. */
const startLength = 'HTTP/1.1 100 '.length;

/**
 * Skips interim responses from a receiver. Without this, undici would treat an unexpected `100 Continue` as a protocol
 * error and close the connection, although HTTP requires clients to ignore it (RFC 9110, section 15.2).
 * @returns a function that must be called before each request
 */
export function skipInterimResponses(socket: Socket): () => void {
  let isAtHead = true;
  let skipped = 0;
  let pending: Buffer | null = null;
  const read = socket.read.bind(socket) as () => Buffer | null;
  socket.read = (): Buffer | null => {
    for (;;) {
      const chunk = read();
      if (chunk === null || !isAtHead) return chunk;
      pending = pending === null ? chunk : Buffer.concat([pending, chunk]);
      while (isAtHead && pending.length >= startLength) {
        const end = interimStart.test(pending.toString('latin1', 0, startLength)) ? pending.indexOf('\r\n\r\n') : -2;
        if (end === -1 && pending.length <= maxHeadBytes) break;
        if (end < 0 || skipped === maxInterim) isAtHead = false;
        else {
          skipped++;
          pending = pending.subarray(end + 4);
        }
      }
      if (isAtHead) continue;
      const response = pending;
      pending = null;
      return response;
    }
  };
  return () => {
    isAtHead = true;
    skipped = 0;
    pending = null;
  };
}
