import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';

export type Logger = PinoLogger;

/**
 * Query values that may name a person, a secret or a signed link are cut out of the logged path: only parameter names
 * known to be harmless keep their value.
 */
const harmlessParameters = new Set(['loyaltyboost', 'creative', 'campaignId', 'country', 'width', 'height', 'aspect_ratio', 'limit']);

/** The path of a request as it may be logged. */
export function loggedUrl(url: string): string {
  const mark = url.indexOf('?');
  if (mark === -1) return url;
  const names = url
    .slice(mark + 1)
    .split('&')
    .map((pair) => {
      const [name = ''] = pair.split('=', 1);
      return harmlessParameters.has(name) ? pair : `${name}=…`;
    });
  return `${url.slice(0, mark)}?${names.join('&')}`;
}

/** The process logger: JSON lines; keys, secrets, addresses and payloads never reach them. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      serializers: {
        err: pino.stdSerializers.err,
        req: (request: { method: string; url: string; id?: string }) => ({ method: request.method, url: loggedUrl(request.url) }),
        res: (reply: { statusCode: number }) => ({ status: reply.statusCode }),
      },
      redact: {
        paths: ['authorization', 'headers.authorization', 'req.headers', 'api_key', 'key', 'secret', 'ip', 'payload', 'body'],
        remove: true,
      },
    },
    destination ?? pino.destination(1),
  );
}
