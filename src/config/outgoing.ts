import { createPublicKey, type KeyObject } from 'node:crypto';

/** HTTP proxy for webhook calls, which pass through it in a CONNECT tunnel. */
export type HttpProxy = {
  host: string;
  port: number;
  secure: boolean;
  /** Value of the `proxy-authorization` header, or null if the proxy requires no credentials. */
  authorization: string | null;
};

/**
 * Parses WEBHOOK_PROXY: empty for no proxy, or `http://user:password@host:port` (`https:` also works).
 * @param problems array to which problems are added, without the password
 */
export function parseHttpProxy(text: string, problems: string[]): HttpProxy | null {
  if (text === '') return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  const credentials = url === null ? null : credentialsOf(url);
  const isProxy =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.hostname !== '' &&
    /^\/?$/.test(url.pathname) &&
    url.search === '';
  if (!isProxy || credentials === null) {
    problems.push('WEBHOOK_PROXY must look like http://proxy.example:3128, with or without user:password@');
    return null;
  }
  const secure = url.protocol === 'https:';
  const login = `${credentials.user}:${credentials.password}`;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (secure ? 443 : 80)),
    secure,
    authorization: login === ':' ? null : `Basic ${Buffer.from(login).toString('base64')}`,
  };
}

/** Syslog server that receives the audit log. */
export type SyslogSetting = { transport: 'tls' | 'tcp' | 'udp'; host: string; port: number };

const syslogPorts = { tls: 6514, tcp: 601, udp: 514 };

/**
 * Parses AUDIT_SYSLOG_URL, such as `tls://logs.example:6514`; `tcp:` and `udp:` are also accepted. Returns null if no
 * syslog server is configured.
 * @param problems array to which problems are added
 */
export function parseSyslog(text: string, problems: string[]): SyslogSetting | null {
  if (text === '') return null;
  const { scheme, host, port } =
    /^(?<scheme>tls|tcp|udp):\/\/(?<host>[^\s/?#@:[\]]+|\[[\da-f:.]+\])(?::(?<port>\d{1,5}))?\/?$/i.exec(text)
      ?.groups ?? {};
  const transport = scheme?.toLowerCase() as SyslogSetting['transport'] | undefined;
  if (transport === undefined || host === undefined || Number(port ?? 1) > 65_535 || Number(port ?? 1) === 0) {
    problems.push('AUDIT_SYSLOG_URL must look like tls://logs.example.com:6514, or begin with tcp:// or udp://');
    return null;
  }
  return { transport, host: host.replace(/^\[|\]$/g, ''), port: Number(port ?? syslogPorts[transport]) };
}

/** SMTP settings for outgoing e-mails. */
export type MailSetting = {
  host: string;
  port: number;
  /** Whether to use TLS from the start of the connection. If false, STARTTLS is used if the server supports it. */
  secure: boolean;
  /** SMTP credentials, or null if the server requires none. */
  credentials: { user: string; password: string } | null;
  /** Sender address, such as `Perkwire <perkwire@example.com>`. */
  from: string;
};

/**
 * Parses SMTP_URL (`smtp://user:password@host:587`, or `smtps:`) and MAIL_FROM. Returns null if no e-mails are to be
 * sent.
 * @param problems array to which problems are added
 */
export function parseMail({ url, from }: { url: string; from: string }, problems: string[]): MailSetting | null {
  if (url === '') return null;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const credentials = parsed === null ? null : credentialsOf(parsed);
  if (parsed === null || !/^smtps?:$/.test(parsed.protocol) || parsed.hostname === '') {
    problems.push('SMTP_URL must look like smtp://user:password@host:587 or smtps://user:password@host:465');
    return null;
  }
  if (credentials === null) problems.push('SMTP_URL must contain the user and password percent-encoded');
  if (!/^[^\r\n@]*[^\s@<]+@[^\s@>]+>?$/.test(from))
    problems.push('MAIL_FROM must be set if SMTP_URL is set, such as Perkwire <perkwire@example.com>');
  const secure = parsed.protocol === 'smtps:';
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? (secure ? 465 : 587) : Number(parsed.port),
    secure,
    credentials: credentials?.user === '' ? null : credentials,
    from,
  };
}

/**
 * Returns the percent-decoded user name and password from a URL, or empty strings if absent. Returns null if they can't
 * be decoded.
 */
function credentialsOf({ username, password }: URL): { user: string; password: string } | null {
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    return null;
  }
}

const mailProviders = ['sendgrid', 'mailgun', 'postmark', 'ses'] as const;

/**
 * Credentials for bounce reports, by e-mail provider: a key, a password, or an SNS topic ARN. Reports from providers
 * that are not listed are rejected.
 */
export type MailFeedback = { readonly [Provider in (typeof mailProviders)[number]]?: string };

/**
 * Parses MAIL_FEEDBACK: `sendgrid=KEY mailgun=KEY postmark=PASSWORD ses=TOPIC_ARN`.
 * @param problems array to which problems are added, without the secrets
 */
export function parseMailFeedback(text: string, problems: string[]): MailFeedback {
  const feedback: Record<string, string> = {};
  for (const part of text.split(/\s+/).filter((entry) => entry !== '')) {
    const [name = '', secret = ''] = [part.split('=', 1)[0], part.slice(part.indexOf('=') + 1)];
    if (!mailProviders.some((provider) => provider === name) || !part.includes('='))
      problems.push(`MAIL_FEEDBACK contains an entry that does not begin with one of: ${mailProviders.join('=, ')}=`);
    else if (!isFeedbackSecret(name, secret)) problems.push(`MAIL_FEEDBACK contains an invalid value for ${name}`);
    else feedback[name] = secret;
  }
  return feedback;
}

function isFeedbackSecret(provider: string, secret: string): boolean {
  if (provider === 'ses') return /^arn:aws[\w-]*:sns:[\w-]+:\d{12}:[\w.-]+$/.test(secret);
  if (provider !== 'sendgrid') return secret.length >= 16;
  try {
    return sendGridKey(secret).type === 'public';
  } catch {
    return false;
  }
}

/**
 * Parses the verification key as SendGrid displays it: DER in base64.
 * @throws Error if the key is invalid
 */
export const sendGridKey = (text: string): KeyObject =>
  createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
