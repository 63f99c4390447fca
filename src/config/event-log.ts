import type { Variables } from './schema.ts';

/** Event log settings: the servers and name of a NATS JetStream stream. */
export type EventLogSetting = {
  /** `host:port` of each server, prefixed with `tls://` for TLS. */
  servers: readonly string[];
  login: { user: string; pass: string } | { token: string } | Record<string, never>;
  stream: string;
  /** Number of servers that store a copy of each message. */
  replicas: number;
};

const form = /^(?<scheme>nats|tls):\/\/(?:(?<login>[^@/]*)@)?(?<hosts>[^@/]+)\/?$/;

/**
 * Parses EVENT_LOG_URL (`nats://user:password@a:4222,b:4222,c:4222`, or `tls:`) and the related variables. Returns null
 * if no event log is configured.
 * @param problems array to which problems are added, without the password
 */
export function parseEventLog(raw: Variables, problems: string[]): EventLogSetting | null {
  if (raw.EVENT_LOG_URL === '') return null;
  const { scheme, login, hosts = '' } = form.exec(raw.EVENT_LOG_URL)?.groups ?? {};
  const names = hosts.split(',');
  if (scheme === undefined || names.some((host) => !URL.canParse(`http://${host}`))) {
    problems.push('EVENT_LOG_URL must look like nats://host:4222,host:4222, with or without user:password@');
    return null;
  }
  return {
    servers: names.map((host) => (scheme === 'tls' ? `tls://${host}` : host)),
    login: parseLogin(login, problems),
    stream: raw.EVENT_LOG_STREAM,
    replicas: raw.EVENT_LOG_REPLICAS || (names.length >= 3 ? 3 : 1),
  };
}

function parseLogin(text: string | undefined, problems: string[]): EventLogSetting['login'] {
  if (text === undefined) return {};
  try {
    const [user = '', ...rest] = text.split(':').map(decodeURIComponent);
    return rest.length === 0 ? { token: user } : { user, pass: rest.join(':') };
  } catch {
    problems.push('EVENT_LOG_URL must contain the user and password percent-encoded');
    return {};
  }
}
