import type { Phase } from './connections.ts';
import { proxyErrorCode } from './proxy.ts';
import { type ErrorClass, type Failure, fail } from './result.ts';

const maxMessageLength = 300;

const localCodes = new Set([
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'UND_ERR_DESTROYED',
  'UND_ERR_CLOSED',
]);
const resetCodes = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);
const protocolCodes = new Set(['HTTPParserError', 'UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH']);
const tlsCode = /^(ERR_SSL_|ERR_TLS_|EPROTO$)/;

/** What an error of a connection in this phase means. */
export function failureOf(error: Error, phase: Phase): Failure {
  // undici's parser errors have a name only: their code is undefined.
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  // Where every address of a host was tried, the error is an AggregateError without a message.
  const message = (error.message || code).slice(0, maxMessageLength);
  return fail(errorClassOf(code, message, phase), message);
}

function errorClassOf(code: string, message: string, phase: Phase): ErrorClass {
  if (localCodes.has(code) || code === proxyErrorCode) return 'local';
  if (code === 'UND_ERR_INVALID_ARG') return 'other';
  if (phase !== 'open') return phase === 'tls' ? 'tls' : 'connect';
  if (tlsCode.test(code)) return 'tls';
  if (protocolCodes.has(code)) return 'protocol';
  // undici has one code for a connection that closed and for one it closed itself, over a stray 100 or 101.
  if (code === 'UND_ERR_SOCKET') return message.startsWith('bad ') ? 'protocol' : 'reset';
  return resetCodes.has(code) ? 'reset' : 'other';
}
