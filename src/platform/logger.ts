import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { limitFloods } from './log-floods.ts';

export type Logger = PinoLogger;

/**
 * Query parameters whose values may be logged. All other values are removed, because they may contain a person's name,
 * a secret or a signed link.
 */
const harmlessParameters = new Set([
  'loyaltyboost',
  'creative',
  'campaignId',
  'country',
  'width',
  'height',
  'aspect_ratio',
  'limit',
]);
const harmlessValue = /^[A-Za-z0-9:%]{0,16}$/;
/** Matches path segments of 40 or more characters, which may be one-time links or tokens. IDs are always shorter. */
const longName = /[\w.~:*-]{40,}/g;
const plainName = /^[A-Za-z_]{1,32}$/;
/** Matches the part of a path after the users segment, which contains the publisher's ID for a user. */
const userPath = /(\/users?(?:\/|%2f)).+/i;

/** Returns a path with user IDs removed. */
export const pathWithoutUsers = (path: string): string => path.replace(userPath, '$1…');

/**
 * Returns a request path in the form in which it is logged. Only plain paths and known parameters are included, because
 * anything else may contain personal data.
 */
export function loggedUrl(url: string): string {
  const plain = /^[\w/.~:*-]*/.exec(url.startsWith('/') ? url : '')?.[0] ?? '';
  const rest = url.slice(plain.length);
  const path = pathWithoutUsers(plain).replace(longName, '…');
  if (rest === '') return path;
  if (!rest.startsWith('?')) return path.endsWith('…') ? path : `${path}…`;
  const parameters = rest
    .slice(1)
    .split('&')
    .map((pair) => {
      const mark = pair.indexOf('=');
      const name = pair.slice(0, Math.max(0, mark));
      if (!plainName.test(name)) return '…';
      return harmlessParameters.has(name) && harmlessValue.test(pair.slice(mark + 1)) ? pair : `${name}=…`;
    });
  return `${path}?${parameters.join('&')}`;
}

/** Serialises an error without the fields in which PostgreSQL quotes row values. */
function serializeError(err: Error): object {
  const { detail, where, ...rest } = pino.stdSerializers.err(err) as object as Record<string, unknown>;
  return rest;
}

/**
 * Creates the process logger, which writes JSON lines without keys, secrets, addresses or payloads. During an outage,
 * each kind of warning or error is logged once per second.
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      serializers: {
        err: serializeError,
        req: (request: { method: string; url: string; id?: string }) => ({
          method: request.method,
          url: loggedUrl(request.url),
        }),
        res: (reply: { statusCode: number }) => ({ status: reply.statusCode }),
      },
      redact: {
        paths: [
          'authorization',
          'headers.authorization',
          'req.headers',
          'api_key',
          'key',
          'secret',
          'ip',
          'payload',
          'body',
        ],
        remove: true,
      },
    },
    limitFloods(destination ?? pino.destination(1)),
  );
}
